<?php
/**
 * One at a time for an order: a webhook, the payer's return and a scheduled check often come together.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Lock {

	const WAIT_SECONDS = 20;

	/** @var array<int,int> How often this request holds the lock of an order. */
	private static $held = array();

	/**
	 * Hands a freshly read order to `$work`; the database gives the lock up when the request dies.
	 *
	 * @throws \RuntimeException When the order stays locked, or does not exist.
	 * @return mixed What `$work` returns.
	 */
	public static function with( int $order_id, callable $work ) {
		global $wpdb;
		$name = 'quittance_' . md5( DB_NAME . $wpdb->prefix ) . '_' . $order_id;
		if ( 0 === ( self::$held[ $order_id ] ?? 0 ) && '1' !== (string) $wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, %d)', $name, self::WAIT_SECONDS ) ) ) {
			throw new \RuntimeException( 'order ' . $order_id . ' is being changed by another request' );
		}
		self::$held[ $order_id ] = ( self::$held[ $order_id ] ?? 0 ) + 1;
		try {
			$order = wc_get_order( $order_id );
			if ( ! $order instanceof \WC_Order ) {
				throw new \RuntimeException( 'order ' . $order_id . ' does not exist' );
			}
			// What another request wrote while this one waited is in no cache of this one.
			$order->read_meta_data( true );
			return $work( $order );
		} finally {
			--self::$held[ $order_id ];
			if ( 0 === self::$held[ $order_id ] ) {
				$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', $name ) );
			}
		}
	}
}
