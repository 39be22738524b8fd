<?php
/**
 * Decimals of currencies (ISO 4217), and why a payment in one cannot be asked for at the moment.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Currencies {

	/** Those that have not two. */
	const DECIMALS = array(
		0 => array( 'BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF' ),
		3 => array( 'BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND' ),
		4 => array( 'CLF', 'UYW' ),
		6 => array( 'USDT', 'USDC' ),
	);

	const REFUSED = 'quittance_refused_';

	/** A service without a rate may have one again soon; a key or a currency that it refuses takes somebody's hand. */
	const RATE_SECONDS    = 300;
	const REFUSED_SECONDS = 3600;

	public static function decimals( string $currency ): int {
		foreach ( self::DECIMALS as $decimals => $currencies ) {
			if ( in_array( strtoupper( $currency ), $currencies, true ) ) {
				return $decimals;
			}
		}
		return 2;
	}

	/** Why an amount cannot be paid; null when nothing is known against it. */
	public static function fault( string $amount, string $currency ): ?string {
		$plain = Sessions::plain( $amount );
		$point = strpos( $plain, '.' );
		if ( false !== $point && strlen( $plain ) - $point - 1 > self::decimals( $currency ) ) {
			/* translators: 1: amount, 2: currency, 3: number. */
			return sprintf( __( '%1$s %2$s has more decimals than the currency (%3$d). Set the number of decimals under WooCommerce > Settings > General.', 'quittance' ), $plain, $currency, self::decimals( $currency ) );
		}
		$refused = get_transient( self::key( $currency ) );
		return is_string( $refused ) && '' !== $refused ? $refused : null;
	}

	/** Learns from a refusal: the next customer is not offered what would fail. */
	public static function learn( Api_Exception $error, string $currency ): void {
		$is_credentials = in_array( $error->status(), array( 401, 403 ), true );
		$is_rate        = $error->is( 'rate_unavailable' );
		if ( ! $is_credentials && ! $is_rate && 'currency' !== $error->param() ) {
			return;
		}
		set_transient( self::key( $currency ), $error->getMessage(), $is_rate ? self::RATE_SECONDS : self::REFUSED_SECONDS );
		/* translators: 1: currency, 2: what the service answered. */
		Attention::raise( self::key( $currency ), 0, sprintf( __( 'Customers are not offered stablecoins in %1$s: the service refuses payments (%2$s).', 'quittance' ), $currency, $error->getMessage() ) );
	}

	public static function forget( string $currency ): void {
		delete_transient( self::key( $currency ) );
		Attention::settle( self::key( $currency ) );
	}

	private static function key( string $currency ): string {
		return self::REFUSED . Settings::mode() . '_' . strtoupper( $currency );
	}
}
