<?php
/**
 * What the plugin keeps with an order, in its metadata alone, wherever WooCommerce stores orders.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Record {

	const EXTERNAL_ID     = '_quittance_order_id';
	const MODE            = '_quittance_mode';
	const SESSION         = '_quittance_session';
	const PAID_SESSION    = '_quittance_paid_session';
	const MONEY_SEEN      = '_quittance_money_seen';
	const REVERSED_FROM   = '_quittance_reversed_from';
	const TOLD            = '_quittance_told';
	const EVENTS          = '_quittance_events';
	const REFUNDS         = '_quittance_refunds';
	const REFUND_ATTEMPT  = '_quittance_refund_attempt';
	const ACKNOWLEDGED    = '_quittance_sender_acknowledged';
	const TRANSACTION_URL = '_quittance_transaction_url';

	const EVENTS_KEPT = 100;

	/** @var \WC_Order */
	private $order;

	public function __construct( \WC_Order $order ) {
		$this->order = $order;
	}

	/** The service in the mode in which the order was begun. */
	public function client(): Api_Client {
		return Settings::client( $this->get( self::MODE ) );
	}

	public function get( string $key ): string {
		return (string) $this->order->get_meta( $key, true );
	}

	public function set( string $key, string $value ): void {
		if ( '' === $value ) {
			$this->order->delete_meta_data( $key );
		} else {
			$this->order->update_meta_data( $key, $value );
		}
	}

	public function get_list( string $key ): array {
		$list = $this->order->get_meta( $key, true );
		return is_array( $list ) ? $list : array();
	}

	public function set_list( string $key, array $list ): void {
		if ( array() === $list ) {
			$this->order->delete_meta_data( $key );
		} else {
			$this->order->update_meta_data( $key, $list );
		}
	}

	/** Whether the session was made for this very order: its id may be guessed, its key may not. */
	public function owns( array $session ): bool {
		$key = (string) ( $session['metadata']['order_key'] ?? '' );
		return '' !== $this->get( self::EXTERNAL_ID )
			&& $this->get( self::EXTERNAL_ID ) === (string) ( $session['order_id'] ?? '' )
			&& hash_equals( (string) $this->order->get_order_key(), $key );
	}

	public function has_handled( string $event_id ): bool {
		return in_array( $event_id, $this->get_list( self::EVENTS ), true );
	}

	public function handled( string $event_id ): void {
		$this->set_list( self::EVENTS, array_slice( array_merge( $this->get_list( self::EVENTS ), array( $event_id ) ), -self::EVENTS_KEPT ) );
	}

	/** Adds a note to the order, once for each key. */
	public function tell( string $key, string $note ): void {
		$told = $this->get_list( self::TOLD );
		if ( ! in_array( $key, $told, true ) ) {
			$this->order->add_order_note( $note );
			$this->set_list( self::TOLD, array_merge( $told, array( $key ) ) );
		}
	}

	public function has_told( string $key ): bool {
		return in_array( $key, $this->get_list( self::TOLD ), true );
	}
}
