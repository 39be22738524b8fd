<?php
/**
 * What the shop set, for each mode.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Settings {

	const GATEWAY_ID = 'quittance';
	const OPTION     = 'woocommerce_quittance_settings';
	const MODES      = array( 'test', 'live' );

	const DEFAULT_HEADER_PREFIX = 'X-Service-';

	public static function get( string $key, string $fallback = '' ): string {
		$all = get_option( self::OPTION, array() );
		return isset( $all[ $key ] ) && '' !== $all[ $key ] ? (string) $all[ $key ] : $fallback;
	}

	/** The mode of new payments. */
	public static function mode(): string {
		return 'live' === self::get( 'mode' ) ? 'live' : 'test';
	}

	/** @return array{base_url:string,api_key:string,api_secret:string,header_prefix:string} */
	public static function credentials( string $mode ): array {
		return array(
			'base_url'      => self::get( $mode . '_base_url' ),
			'api_key'       => self::get( $mode . '_api_key' ),
			'api_secret'    => self::get( $mode . '_api_secret' ),
			'header_prefix' => self::header_prefix(),
		);
	}

	public static function client( string $mode ): Api_Client {
		return new Api_Client( self::credentials( $mode ) );
	}

	public static function webhook_secret( string $mode ): string {
		return self::get( $mode . '_webhook_secret' );
	}

	public static function header_prefix(): string {
		return self::get( 'header_prefix', self::DEFAULT_HEADER_PREFIX );
	}

	/** Tells the orders of this shop from those of another one with the same account. */
	public static function order_prefix(): string {
		return self::get( 'order_prefix', 'wc-' . substr( md5( home_url() ), 0, 8 ) . '-' );
	}

	public static function webhook_url(): string {
		return rest_url( Webhook::REST_NAMESPACE . Webhook::ROUTE );
	}

	/** Everything that payments of this mode need: without a webhook secret no message would be believed. */
	public static function is_complete( string $mode ): bool {
		return ! in_array( '', self::credentials( $mode ), true ) && '' !== self::webhook_secret( $mode );
	}

	/**
	 * What is wrong with a setting, in words; null when nothing is.
	 *
	 * @param string $key   Of the field.
	 * @param string $value As it was entered.
	 */
	public static function fault( string $key, string $value ): ?string {
		if ( '' === $value ) {
			return null;
		}
		if ( 1 === preg_match( '/\A(test|live)_(\w+)\z/', $key, $parts ) ) {
			return self::fault_of_mode( $parts[1], $parts[2], $value );
		}
		if ( 'order_prefix' === $key && 1 !== preg_match( '/\A[A-Za-z0-9._-]{0,39}[A-Za-z._-]\z/', $value ) ) {
			return __( 'Order prefix: at most 40 letters, digits, dots, dashes and underscores, the last of them no digit.', 'quittance' );
		}
		if ( 'header_prefix' === $key && 1 !== preg_match( '/\A[A-Za-z][A-Za-z0-9-]{0,38}-\z/', $value ) ) {
			return __( 'Header prefix: letters, digits and dashes, ending with a dash, such as X-Service-.', 'quittance' );
		}
		if ( 'expires_in_minutes' === $key && ( 1 !== preg_match( '/\A\d{1,5}\z/', $value ) || (int) $value < 1 || (int) $value > 43200 ) ) {
			return __( 'Time to pay: a whole number of minutes from 1 to 43200.', 'quittance' );
		}
		return null;
	}

	private static function fault_of_mode( string $mode, string $field, string $value ): ?string {
		if ( 'api_key' === $field && 0 !== strpos( $value, 'sk_' . $mode . '_' ) ) {
			/* translators: 1: mode (test or live), 2: how keys of that mode begin. */
			return sprintf( __( 'API key (%1$s): it must begin with %2$s.', 'quittance' ), $mode, 'sk_' . $mode . '_' );
		}
		if ( 'base_url' !== $field ) {
			return null;
		}
		$scheme = wp_parse_url( $value, PHP_URL_SCHEME );
		$host   = wp_parse_url( $value, PHP_URL_HOST );
		$local  = in_array( $host, array( '127.0.0.1', 'localhost', '[::1]' ), true );
		if ( ! $host || null !== wp_parse_url( $value, PHP_URL_QUERY ) || ! ( 'https' === $scheme || ( 'http' === $scheme && 'test' === $mode && $local ) ) ) {
			/* translators: %s: mode (test or live). */
			return sprintf( __( 'Address of the service (%s): an https address, or in test mode http to this machine.', 'quittance' ), $mode );
		}
		return null;
	}

	/** @return array[] For the settings screen of WooCommerce. */
	public static function form_fields(): array {
		$fields = array(
			'enabled'            => array(
				'title'   => __( 'Enable', 'quittance' ),
				'type'    => 'checkbox',
				'label'   => __( 'Take stablecoin payments', 'quittance' ),
				'default' => 'no',
			),
			'title'              => self::text( __( 'Title', 'quittance' ), __( 'What customers read at the checkout.', 'quittance' ), __( 'Stablecoins (USDT, USDC)', 'quittance' ) ),
			'description'        => array(
				'title'       => __( 'Description', 'quittance' ),
				'type'        => 'textarea',
				'description' => __( 'Shown when the method is chosen.', 'quittance' ),
				'default'     => __( 'Pay with USDT or USDC. You will be shown the address and the exact amount.', 'quittance' ),
			),
			'mode'               => array(
				'title'       => __( 'Mode', 'quittance' ),
				'type'        => 'select',
				'options'     => array(
					'test' => __( 'Test: no real money', 'quittance' ),
					'live' => __( 'Live', 'quittance' ),
				),
				'description' => __( 'Of new payments. Payments that were begun in the other mode are still looked after.', 'quittance' ),
				'default'     => 'test',
			),
			'order_prefix'       => self::text( __( 'Order prefix', 'quittance' ), __( 'Put before the number of each order. Two shops with one account need two prefixes.', 'quittance' ), '', self::order_prefix() ),
			'expires_in_minutes' => self::text( __( 'Time to pay', 'quittance' ), __( 'In minutes; empty: as your account says.', 'quittance' ) ),
			'merchant_domain_id' => self::text( __( 'Domain', 'quittance' ), __( 'Id of the domain that you registered for this shop, if any: payment pages show its name.', 'quittance' ) ),
			'header_prefix'      => self::text( __( 'Header prefix', 'quittance' ), __( 'Only if your service uses another one.', 'quittance' ), '', self::DEFAULT_HEADER_PREFIX ),
			'webhook_url'        => array(
				'title'       => __( 'Webhook', 'quittance' ),
				'type'        => 'title',
				/* translators: %s: address. */
				'description' => sprintf( __( 'Give this address to the service as your webhook URL: %s', 'quittance' ), '<code>' . esc_html( self::webhook_url() ) . '</code>' ),
			),
		);
		return $fields + self::fields_of_mode( 'test', __( 'Test', 'quittance' ) ) + self::fields_of_mode( 'live', __( 'Live', 'quittance' ) );
	}

	/** @return array[] */
	private static function fields_of_mode( string $mode, string $name ): array {
		return array(
			$mode . '_heading'        => array(
				'title' => $name,
				'type'  => 'title',
			),
			$mode . '_base_url'       => self::text( __( 'Address of the service', 'quittance' ), '', '', 'https://pay.example' ),
			$mode . '_api_key'        => self::text( __( 'API key', 'quittance' ), '', '', 'sk_' . $mode . '_…' ),
			$mode . '_api_secret'     => self::secret( __( 'API secret', 'quittance' ), __( 'Signs what the shop asks for.', 'quittance' ) ),
			$mode . '_webhook_secret' => self::secret( __( 'Webhook secret', 'quittance' ), __( 'Proves that a message comes from the service.', 'quittance' ) ),
		);
	}

	private static function text( string $title, string $description, string $fallback = '', string $placeholder = '' ): array {
		return array(
			'title'       => $title,
			'type'        => 'text',
			'description' => $description,
			'default'     => $fallback,
			'placeholder' => $placeholder,
		);
	}

	private static function secret( string $title, string $description ): array {
		return array(
			'title'       => $title,
			'type'        => 'secret',
			'description' => $description,
			'default'     => '',
		);
	}
}
