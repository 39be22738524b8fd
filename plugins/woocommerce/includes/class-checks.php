<?php
/**
 * Looks after payments and refunds that no message told of. The orders carry when they are to be looked at, so that nothing is lost when
 * the plugin or the scheduler was away.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

use Automattic\WooCommerce\Utilities\OrderUtil;

defined( 'ABSPATH' ) || exit;

final class Checks {

	const ACTION           = 'quittance_check_orders';
	const GROUP            = 'quittance';
	const INTERVAL_SECONDS = 300;
	const AT_ONCE_SECONDS  = 30;
	const SOON_SECONDS     = 600;
	/** A payment in time can be found after the session expired, while a network was out of reach. */
	const LATE_SECONDS = 86400;
	const AT_A_TIME    = 25;

	const COMPARED        = 'quittance_compared_at';
	const COMPARE_SECONDS = 3600;
	const COMPARED_DAYS   = 3;

	public static function hook(): void {
		add_action( self::ACTION, array( self::class, 'run' ) );
		add_action( 'admin_init', array( self::class, 'ensure' ) );
	}

	public static function ensure(): void {
		if ( function_exists( 'as_has_scheduled_action' ) && ! as_has_scheduled_action( self::ACTION, array(), self::GROUP ) ) {
			as_schedule_recurring_action( time(), self::INTERVAL_SECONDS, self::ACTION, array(), self::GROUP );
		}
	}

	public static function unschedule_all(): void {
		if ( function_exists( 'as_unschedule_all_actions' ) ) {
			as_unschedule_all_actions( '', array(), self::GROUP );
		}
	}

	/** The caller saves the order. */
	public static function schedule( \WC_Order $order, ?int $seconds ): void {
		( new Order_Record( $order ) )->set( Order_Record::LOOK_AT, null === $seconds ? '' : (string) ( time() + $seconds ) );
	}

	public static function run(): void {
		try {
			self::compare_with_service();
			Deleted_Orders::look_at_due();
		} catch ( \Exception $error ) {
			Plugin::log( 'warning', 'payments at the service were not compared: ' . $error->getMessage() );
		}
		foreach ( self::due() as $order_id ) {
			if ( ! self::checked( $order_id ) ) {
				return;
			}
		}
	}

	/** @return bool False when the service does not answer, so that the other orders need not wait for it, too. */
	private static function checked( int $order_id ): bool {
		try {
			self::look( $order_id );
		} catch ( \Exception $error ) {
			Plugin::log( 'warning', 'order ' . $order_id . ': not checked: ' . $error->getMessage() );
			self::put_off( $order_id );
			return ! ( $error instanceof Api_Exception && 0 === $error->status() );
		}
		return true;
	}

	/**
	 * Every hour the other way round: sessions of the last days at the service against the orders here, so that no lost message, restored
	 * backup or deleted order leaves money without a word.
	 *
	 * @throws Api_Exception When the service cannot be asked.
	 */
	private static function compare_with_service(): void {
		$mode = Settings::mode();
		if ( (int) get_option( self::COMPARED, 0 ) > time() - self::COMPARE_SECONDS || ! Settings::is_complete( $mode ) ) {
			return;
		}
		update_option( self::COMPARED, time(), false );
		foreach ( Settings::client( $mode )->sessions_of_shop( Settings::order_prefix(), time() - self::COMPARED_DAYS * DAY_IN_SECONDS ) as $session ) {
			$order_id = Webhook::order_id_of( (string) $session['order_id'], $mode );
			$order    = null === $order_id ? false : wc_get_order( $order_id );
			if ( ! $order instanceof \WC_Order || ! ( new Order_Record( $order ) )->has_key_of( $session ) ) {
				if ( array() !== Refunds::held( $session ) || Reconciler::has_money( $session ) ) {
					Deleted_Orders::remember( $session['id'], $mode );
				}
			} elseif ( ! Reconciler::has_told_all( new Order_Record( $order ), $session ) ) {
				self::look( $order->get_id(), $session['id'] );
			}
		}
	}

	private static function put_off( int $order_id ): void {
		try {
			Order_Lock::with(
				$order_id,
				static function ( \WC_Order $order ): void {
					self::schedule( $order, self::SOON_SECONDS );
					$order->save_meta_data();
				}
			);
		} catch ( \RuntimeException $error ) {
			Plugin::log( 'warning', $error->getMessage() );
		}
	}

	/** @return int[] Orders that are to be looked at by now, those in the trash included. */
	private static function due(): array {
		$query = array(
			'meta_key'     => Order_Record::LOOK_AT, // phpcs:ignore WordPress.DB.SlowDBQuery
			'meta_value'   => time(), // phpcs:ignore WordPress.DB.SlowDBQuery
			'meta_compare' => '<=',
			'meta_type'    => 'NUMERIC',
			'orderby'      => 'ID',
			'order'        => 'ASC',
		);
		if ( class_exists( OrderUtil::class ) && OrderUtil::custom_orders_table_usage_is_enabled() ) {
			$statuses = array_merge( array_keys( wc_get_order_statuses() ), array( 'trash' ) );
			$ids      = wc_get_orders(
				$query + array(
					'limit'  => self::AT_A_TIME,
					'return' => 'ids',
					'type'   => 'shop_order',
					'status' => $statuses,
				)
			);
		} else {
			$ids = get_posts(
				$query + array(
					'numberposts' => self::AT_A_TIME,
					'fields'      => 'ids',
					'post_type'   => 'shop_order',
					'post_status' => array_merge( array_keys( wc_get_order_statuses() ), array( 'trash' ) ),
				)
			);
		}
		return array_map( 'intval', $ids );
	}

	/**
	 * Looks the order's session (or another one of it) and refunds up at the service, and closes the session of an order that nobody
	 * should pay.
	 *
	 * @throws \Exception When the service or the order is not to be had.
	 */
	public static function look( int $order_id, string $session_id = '' ): void {
		Order_Lock::act_on_answer(
			$order_id,
			static function ( \WC_Order $order ) use ( $session_id ): array {
				$record = new Order_Record( $order );
				$client = $record->client();
				$id     = '' === $session_id ? $record->get( Order_Record::SESSION ) : $session_id;
				if ( '' === $id ) {
					return array( null, array() );
				}
				$session = $client->session( $id );
				if ( $order->has_status( Sessions::CLOSED_ORDER ) && in_array( $session['status'], array( 'open', 'processing' ), true ) ) {
					$session = Sessions::cancelled( $client, $id );
				}
				return array( $session, array_map( array( $client, 'refund' ), array_keys( Refunds::under_way( $record ) ) ) );
			},
			static function ( \WC_Order $order, array $answer ): void {
				list( $session, $refunds ) = $answer;
				$next                      = null;
				if ( null !== $session ) {
					Reconciler::apply( $order, $session );
					foreach ( $refunds as $refund ) {
						Refunds::apply( $order, $refund );
					}
					$next = self::next_look( $order, $session );
				}
				self::schedule( $order, $next );
				$order->save();
			}
		);
	}

	/** Seconds until the next look is worth it; null when it is not. */
	private static function next_look( \WC_Order $order, array $session ): ?int {
		if ( array() !== Refunds::under_way( new Order_Record( $order ) ) || Reconciler::is_something( $session['pending'] ) ) {
			return self::SOON_SECONDS;
		}
		if ( 'paid' === $session['payment_status'] ) {
			return null;
		}
		if ( ! in_array( $session['status'], Sessions::OVER, true ) ) {
			return self::SOON_SECONDS;
		}
		return time() - $session['expires_at'] < self::LATE_SECONDS ? self::LATE_SECONDS : null;
	}
}
