<?php
/**
 * Looks after payments and refunds that no message told of.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Checks {

	const ACTION          = 'quittance_check_order';
	const GROUP           = 'quittance';
	const AT_ONCE_SECONDS = 30;
	const SOON_SECONDS    = 600;
	/** A payment in time can be found after the session expired, while a network was out of reach. */
	const LATE_SECONDS = 86400;

	public static function hook(): void {
		add_action( self::ACTION, array( self::class, 'run' ) );
	}

	public static function schedule( int $order_id, int $seconds ): void {
		as_unschedule_all_actions( self::ACTION, array( $order_id ), self::GROUP );
		as_schedule_single_action( time() + $seconds, self::ACTION, array( $order_id ), self::GROUP );
	}

	public static function unschedule_all(): void {
		if ( function_exists( 'as_unschedule_all_actions' ) ) {
			as_unschedule_all_actions( '', array(), self::GROUP );
		}
	}

	public static function run( $order_id ): void {
		$order_id = (int) $order_id;
		if ( ! wc_get_order( $order_id ) instanceof \WC_Order ) {
			return;
		}
		try {
			$next = Order_Lock::with( $order_id, array( self::class, 'look' ) );
		} catch ( \Exception $error ) {
			Plugin::log( 'warning', 'order ' . $order_id . ': not checked: ' . $error->getMessage() );
			$next = self::SOON_SECONDS;
		}
		if ( null !== $next ) {
			self::schedule( $order_id, $next );
		}
	}

	/**
	 * Looks the order's session and refunds up at the service.
	 *
	 * @return int|null Seconds until the next look is worth it.
	 */
	public static function look( \WC_Order $order ): ?int {
		$record  = new Order_Record( $order );
		$current = $record->get( Order_Record::SESSION );
		if ( '' === $current ) {
			return null;
		}
		$client  = $record->client();
		$session = $client->session( $current );
		Reconciler::apply( $order, $session );
		Refunds::look( $order );
		if ( array() !== Refunds::under_way( $record ) ) {
			return self::SOON_SECONDS;
		}
		if ( 'paid' === $session['payment_status'] ) {
			return null;
		}
		if ( ! in_array( $session['status'], Sessions::OVER, true ) ) {
			if ( $order->has_status( Sessions::CLOSED_ORDER ) ) {
				$client->cancel_session( $current );
			}
			return self::SOON_SECONDS;
		}
		return time() - $session['expires_at'] < self::LATE_SECONDS ? self::LATE_SECONDS : null;
	}
}
