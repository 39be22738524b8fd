<?php
/**
 * One at a time for an order: a webhook, the payer's return, a scheduled check and somebody's edit often come together. The lock is
 * never held while the service is asked, so a service that hangs holds up nobody.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Lock {

	const WAIT_SECONDS = 10;

	/** How long an edit in the shop waits for a payment that is being entered; then it goes on. */
	const EDIT_WAIT_SECONDS = 5;

	const ATTEMPTS = 3;

	/** @var array<int,int> How often this request holds the lock of an order. */
	private static $held = array();

	/** Edits of an order wait while its payment is compared with it, and the other way round. */
	public static function hook(): void {
		add_action(
			'woocommerce_before_order_object_save',
			static function ( $order ): void {
				if ( $order instanceof \WC_Order && $order->get_id() > 0 && '' !== (string) $order->get_meta( Order_Record::OWNER, true ) ) {
					self::take( $order->get_id(), self::EDIT_WAIT_SECONDS );
				}
			},
			0
		);
		add_action(
			'woocommerce_after_order_object_save',
			static function ( $order ): void {
				if ( $order instanceof \WC_Order && '' !== (string) $order->get_meta( Order_Record::OWNER, true ) ) {
					self::give_back( $order->get_id() );
				}
			},
			PHP_INT_MAX
		);
	}

	/**
	 * Hands a freshly read order to `$work`; the database gives the lock up when the request dies.
	 *
	 * @throws \RuntimeException When the order stays locked, or does not exist.
	 * @return mixed What `$work` returns.
	 */
	public static function with( int $order_id, callable $work ) {
		if ( ! self::take( $order_id, self::WAIT_SECONDS ) ) {
			self::give_back( $order_id );
			throw new \RuntimeException( 'order ' . $order_id . ' is being changed by another request' );
		}
		try {
			return $work( self::fresh( $order_id ) );
		} finally {
			self::give_back( $order_id );
		}
	}

	/**
	 * Asks the service without the lock, then acts on the order as it is by then, with the lock. When another request acted on an
	 * answer in between, ours may be the older one: it is thrown away and asked for again.
	 *
	 * @param callable $ask Gets the order, returns the answer; it must not change the order.
	 * @param callable $act Gets the order, freshly read, and the answer; it saves the order.
	 * @throws \RuntimeException When the order stays locked, does not exist, or others act on it all the time.
	 * @return mixed What `$act` returns.
	 */
	public static function act_on_answer( int $order_id, callable $ask, callable $act ) {
		for ( $attempt = 1; $attempt <= self::ATTEMPTS; $attempt++ ) {
			$order   = self::fresh( $order_id );
			$before  = ( new Order_Record( $order ) )->get( Order_Record::ANSWERS );
			$answer  = $ask( $order );
			$outcome = self::with(
				$order_id,
				static function ( \WC_Order $order ) use ( $before, $answer, $act ): array {
					$record = new Order_Record( $order );
					if ( $record->get( Order_Record::ANSWERS ) !== $before ) {
						return array();
					}
					$record->set( Order_Record::ANSWERS, (string) ( (int) $before + 1 ) );
					return array( $act( $order, $answer ) );
				}
			);
			Sessions::close_superseded();
			if ( array() !== $outcome ) {
				return $outcome[0];
			}
		}
		throw new \RuntimeException( 'order ' . $order_id . ' is being changed by other requests' );
	}

	/**
	 * The order as the database has it now, whatever this request has read before.
	 *
	 * @throws \RuntimeException When it does not exist.
	 */
	public static function fresh( int $order_id ): \WC_Order {
		if ( function_exists( 'wp_cache_flush_runtime' ) ) {
			wp_cache_flush_runtime();
		}
		clean_post_cache( $order_id );
		if ( class_exists( '\Automattic\WooCommerce\Caches\OrderCache' ) ) {
			wc_get_container()->get( \Automattic\WooCommerce\Caches\OrderCache::class )->remove( $order_id );
		}
		$order = wc_get_order( $order_id );
		if ( ! $order instanceof \WC_Order ) {
			throw new \RuntimeException( 'order ' . $order_id . ' does not exist' );
		}
		$order->read_meta_data( true );
		return $order;
	}

	/** Counts as held even when it was not to be had, so that each take has its give_back. */
	private static function take( int $order_id, int $wait_seconds ): bool {
		global $wpdb;
		$held                    = self::$held[ $order_id ] ?? 0;
		self::$held[ $order_id ] = $held + 1;
		return $held > 0 || '1' === (string) $wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, %d)', self::name( $order_id ), $wait_seconds ) );
	}

	private static function give_back( int $order_id ): void {
		global $wpdb;
		if ( ( self::$held[ $order_id ] ?? 0 ) < 1 ) {
			return;
		}
		--self::$held[ $order_id ];
		if ( 0 === self::$held[ $order_id ] ) {
			$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', self::name( $order_id ) ) );
		}
	}

	private static function name( int $order_id ): string {
		global $wpdb;
		return 'quittance_' . md5( DB_NAME . $wpdb->prefix ) . '_' . $order_id;
	}
}
