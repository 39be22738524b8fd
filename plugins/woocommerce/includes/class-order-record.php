<?php
/**
 * What the plugin keeps with an order, in its metadata alone, wherever WooCommerce stores orders. The record names the order that it
 * belongs to: plugins that copy an order copy its metadata, too, and a copy has no payment.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Record {

	/** Id and key of the order. */
	const OWNER = '_quittance_owner';

	const EXTERNAL_ID  = '_quittance_order_id';
	const MODE         = '_quittance_mode';
	const SESSION      = '_quittance_session';
	const PAID_SESSION = '_quittance_paid_session';

	/** What the paid session asked for: amount, blank, currency. */
	const PAID_FOR = '_quittance_paid_for';

	/** How many answers of the service were acted on. */
	const ANSWERS = '_quittance_answers';

	/** When the service is to be asked again, in Unix seconds; the scheduled check finds orders by it. */
	const LOOK_AT = '_quittance_look_at';

	const MONEY_SEEN      = '_quittance_money_seen';
	const REVERSED_FROM   = '_quittance_reversed_from';
	const TOLD            = '_quittance_told';
	const EVENTS          = '_quittance_events';
	const REFUNDS         = '_quittance_refunds';
	const REFUND_ATTEMPTS = '_quittance_refund_attempts';
	const RETURNED        = '_quittance_returned';
	const ACKNOWLEDGED    = '_quittance_sender_acknowledged';
	const TRANSACTION_URL = '_quittance_transaction_url';

	const ALL = array( self::OWNER, self::EXTERNAL_ID, self::MODE, self::SESSION, self::PAID_SESSION, self::PAID_FOR, self::ANSWERS, self::LOOK_AT, self::MONEY_SEEN, self::REVERSED_FROM, self::TOLD, self::EVENTS, self::REFUNDS, self::REFUND_ATTEMPTS, self::RETURNED, self::ACKNOWLEDGED, self::TRANSACTION_URL );

	const EVENTS_KEPT = 100;

	/** @var \WC_Order */
	private $order;

	public function __construct( \WC_Order $order ) {
		$this->order = $order;
	}

	/** Makes the record this order's own; what was copied from another one goes. */
	public function claim(): void {
		if ( ! $this->is_own() ) {
			foreach ( self::ALL as $key ) {
				$this->order->delete_meta_data( $key );
			}
			$this->order->update_meta_data( self::OWNER, $this->owner() );
		}
	}

	private function is_own(): bool {
		return $this->order->get_meta( self::OWNER, true ) === $this->owner();
	}

	private function owner(): string {
		return $this->order->get_id() . ':' . $this->order->get_order_key();
	}

	/** The service in the mode in which the order was begun. */
	public function client(): Api_Client {
		return Settings::client( $this->get( self::MODE ) );
	}

	public function get( string $key ): string {
		return $this->is_own() ? (string) $this->order->get_meta( $key, true ) : '';
	}

	public function set( string $key, string $value ): void {
		if ( '' === $value ) {
			$this->order->delete_meta_data( $key );
		} else {
			$this->order->update_meta_data( $key, $value );
		}
	}

	public function get_list( string $key ): array {
		$list = $this->is_own() ? $this->order->get_meta( $key, true ) : array();
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
		return '' !== $this->get( self::EXTERNAL_ID )
			&& $this->get( self::EXTERNAL_ID ) === (string) ( $session['order_id'] ?? '' )
			&& $this->has_key_of( $session );
	}

	public function has_key_of( array $session ): bool {
		return hash_equals( (string) $this->order->get_order_key(), (string) ( $session['metadata']['order_key'] ?? '' ) );
	}

	public function has_handled( string $event_id ): bool {
		return in_array( $event_id, $this->get_list( self::EVENTS ), true );
	}

	public function handled( string $event_id ): void {
		$this->set_list( self::EVENTS, array_slice( array_merge( $this->get_list( self::EVENTS ), array( $event_id ) ), -self::EVENTS_KEPT ) );
	}

	/**
	 * Adds a note to the order, once for each key. A note of its own is kept whatever becomes of the order's status; WooCommerce drops
	 * the one that comes with a status that the order already has.
	 */
	public function tell( string $key, string $note ): void {
		$told = $this->get_list( self::TOLD );
		if ( ! in_array( $key, $told, true ) ) {
			$this->order->add_order_note( $note );
			$this->set_list( self::TOLD, array_merge( $told, array( $key ) ) );
		}
	}

	/** The same for what a person must settle: it stands above the shop's pages as well, until somebody says that it is done. */
	public function ask_for_help( string $key, string $note ): void {
		if ( ! in_array( $key, $this->get_list( self::TOLD ), true ) ) {
			Attention::raise( $this->order->get_id() . ':' . $key, $this->order->get_id(), $note );
		}
		$this->tell( $key, $note );
	}

	public function has_told( string $key ): bool {
		return in_array( $key, $this->get_list( self::TOLD ), true );
	}
}
