<?php
/**
 * Money back to whoever paid: refunds from the order screen, and money that paid nothing.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Refunds {

	/** Of a refund of WooCommerce: the one at the service that pays it. */
	const LINK = '_quittance_refund';

	const RETURNED   = '_quittance_returned';
	const ENDED      = array( 'COMPLETED', 'FAILED' );
	const MAX_REASON = 200;

	/** @var \WC_Order_Refund|null The refund of WooCommerce that is being made by this request. */
	private static $being_made = null;

	public static function hook(): void {
		add_action(
			'woocommerce_create_refund',
			static function ( $refund ): void {
				self::$being_made = $refund;
			}
		);
	}

	/**
	 * Asks for a refund in the order's currency.
	 *
	 * @return true|\WP_Error
	 */
	public static function create( int $order_id, string $amount, string $reason ) {
		try {
			return Order_Lock::with(
				$order_id,
				static function ( \WC_Order $order ) use ( $amount, $reason ) {
					return self::request( $order, Sessions::plain( wc_format_decimal( $amount, wc_get_price_decimals() ) ), $reason );
				}
			);
		} catch ( \RuntimeException $error ) {
			return new \WP_Error( 'quittance_refund', $error->getMessage() );
		}
	}

	/** @return true|\WP_Error */
	private static function request( \WC_Order $order, string $amount, string $reason ) {
		$record = new Order_Record( $order );
		if ( '' === $record->get( Order_Record::PAID_SESSION ) ) {
			return new \WP_Error( 'quittance_refund', __( 'The order was not paid by a payment session, so there is nothing to refund.', 'quittance' ) );
		}
		if ( ! Reconciler::is_something( $amount ) ) {
			return new \WP_Error( 'quittance_refund', __( 'Refund amount: it must be above zero.', 'quittance' ) );
		}
		$asked   = array(
			'value'    => $amount,
			'currency' => $order->get_currency(),
		);
		$attempt = $record->get_list( Order_Record::REFUND_ATTEMPT );
		if ( array() !== $attempt && $attempt['body']['amount'] !== $asked ) {
			/* translators: %s: amount. */
			return new \WP_Error( 'quittance_refund', sprintf( __( 'Refund amount: no answer came to the refund of %s before this one. Ask for that amount again first: it is never paid twice.', 'quittance' ), $attempt['body']['amount']['value'] . ' ' . $attempt['body']['amount']['currency'] ) );
		}
		if ( array() === $attempt ) {
			$attempt = array(
				'key'  => wp_generate_uuid4(),
				'body' => array_filter(
					array(
						'session_id'         => $record->get( Order_Record::PAID_SESSION ),
						'amount'             => $asked,
						'reason'             => self::short( $reason ),
						'acknowledge_sender' => 'yes' === $record->get( Order_Record::ACKNOWLEDGED ),
					)
				),
			);
			// Written first: asked for again, it is the same refund, whatever became of the first answer.
			$record->set_list( Order_Record::REFUND_ATTEMPT, $attempt );
			$order->save();
		}
		return self::send( $order, $record, $attempt );
	}

	/** @return true|\WP_Error */
	private static function send( \WC_Order $order, Order_Record $record, array $attempt ) {
		try {
			$refund = $record->client()->create_refund( $attempt['body'], $attempt['key'] );
		} catch ( Api_Exception $error ) {
			Plugin::log( 'error', 'order ' . $order->get_id() . ': refund: ' . $error->getMessage() );
			if ( $error->leaves_doubt() ) {
				/* translators: %s: what went wrong. */
				return new \WP_Error( 'quittance_refund', sprintf( __( 'No answer came, so the refund may have been accepted (%s). Ask for the same amount again: it is never paid twice.', 'quittance' ), $error->getMessage() ) );
			}
			$record->set_list( Order_Record::REFUND_ATTEMPT, array() );
			$order->save();
			return new \WP_Error( 'quittance_refund', self::explained( $error ) );
		}
		$record->set_list( Order_Record::REFUND_ATTEMPT, array() );
		self::accepted( $order, $record, $refund );
		if ( null !== self::$being_made && self::$being_made->get_parent_id() === $order->get_id() ) {
			self::$being_made->update_meta_data( self::LINK, $refund['id'] );
		}
		return true;
	}

	private static function accepted( \WC_Order $order, Order_Record $record, array $refund ): void {
		$known                  = $record->get_list( Order_Record::REFUNDS );
		$known[ $refund['id'] ] = $refund['status'];
		$record->set_list( Order_Record::REFUNDS, $known );
		/* translators: 1: id of the refund, 2: amount. */
		$record->tell( 'refund:' . $refund['id'], sprintf( __( 'Refund %1$s of %2$s was accepted and is on its way to the payer.', 'quittance' ), $refund['id'], self::amount( $refund ) ) );
		$order->save();
		Checks::schedule( $order->get_id(), Checks::SOON_SECONDS );
	}

	private static function explained( Api_Exception $error ): string {
		if ( $error->is( 'sender_not_acknowledged' ) ) {
			/* translators: %s: what the service answered. */
			return sprintf( __( 'The payment came from a contract or an exchange, where a refund may be lost. Ask the customer whether that address can receive it, choose "The paying address can receive refunds" under the order actions, and refund again. (%s)', 'quittance' ), $error->getMessage() );
		}
		return ( '' === $error->param() ? '' : $error->param() . ': ' ) . $error->getMessage();
	}

	/**
	 * Sends back what came late, in another coin, beyond what was due, or a second time; of an order that nobody paid, everything.
	 *
	 * @return int How many refunds were asked for.
	 * @throws Api_Exception When the service refused one.
	 */
	public static function return_surplus( \WC_Order $order ): int {
		$record = new Order_Record( $order );
		$client = $record->client();
		$asked  = 0;
		foreach ( $client->sessions_of_order( $record->get( Order_Record::EXTERNAL_ID ) ) as $session ) {
			if ( ! $record->owns( $session ) || in_array( $session['status'], array( 'open', 'processing' ), true ) ) {
				continue;
			}
			foreach ( self::surplus_of( $session, $session['id'] === $record->get( Order_Record::PAID_SESSION ) ) as $name => $what ) {
				$before = $record->get_list( self::RETURNED );
				$body   = array_filter(
					$what + array(
						'session_id'         => $session['id'],
						'reason'             => 'It did not pay the order',
						'acknowledge_sender' => 'yes' === $record->get( Order_Record::ACKNOWLEDGED ),
					)
				);
				// The same key until an answer came: nothing goes back twice.
				$times  = count( array_keys( $before, $name, true ) );
				$refund = $client->create_refund( $body, 'return-' . $name . '-' . $times );
				$record->set_list( self::RETURNED, array_merge( $before, array( $name ) ) );
				self::accepted( $order, $record, $refund );
				++$asked;
			}
		}
		return $asked;
	}

	/** @return array[] By a name that stays the same: what to refund. */
	private static function surplus_of( array $session, bool $pays_the_order ): array {
		$surplus = array();
		foreach ( $session['deposits'] as $deposit ) {
			if ( Reconciler::is_something( $deposit['refundable'] ) && 'dust' !== $deposit['kind'] && ! ( $pays_the_order && 'on_time' === $deposit['kind'] ) ) {
				$surplus[ $deposit['transaction_id'] ] = array( 'transaction_id' => $deposit['transaction_id'] );
			}
		}
		if ( $pays_the_order && Reconciler::is_something( $session['excess'] ) ) {
			$surplus[ $session['id'] . '-excess' ] = array(
				'amount' => array(
					'value'    => $session['excess'],
					'currency' => $session['settlement_currency'],
				),
			);
		}
		return $surplus;
	}

	/** What became of a refund, as the service shows it. Call it with the order locked. */
	public static function apply( \WC_Order $order, array $refund ): void {
		$record = new Order_Record( $order );
		$known  = $record->get_list( Order_Record::REFUNDS );
		if ( ! isset( $known[ $refund['id'] ] ) ) {
			/* translators: 1: id of the refund, 2: amount. */
			$record->tell( 'refund:' . $refund['id'], sprintf( __( 'Refund %1$s of %2$s was made at the service, not in this shop. Enter it by hand if it belongs to the order.', 'quittance' ), $refund['id'], self::amount( $refund ) ) );
		}
		$known[ $refund['id'] ] = $refund['status'];
		$record->set_list( Order_Record::REFUNDS, $known );
		if ( 'COMPLETED' === $refund['status'] ) {
			/* translators: 1: id of the refund, 2: amount, 3: transaction. */
			$record->tell( 'refund:' . $refund['id'] . ':COMPLETED', sprintf( __( 'Refund %1$s of %2$s has reached the payer (%3$s).', 'quittance' ), $refund['id'], self::amount( $refund ), $refund['tx_hash'] ?? '…' ) );
		} elseif ( 'FAILED' === $refund['status'] && ! $record->has_told( 'refund:' . $refund['id'] . ':FAILED' ) ) {
			self::undo( $order, $refund['id'] );
			/* translators: 1: id of the refund, 2: amount, 3: reason. */
			$record->tell( 'refund:' . $refund['id'] . ':FAILED', sprintf( __( 'Refund %1$s of %2$s failed (%3$s): the shop still holds the money. The refund was taken out of the order; items that were restocked with it stay restocked.', 'quittance' ), $refund['id'], self::amount( $refund ), $refund['failure_reason'] ?? '' ) );
		}
		$order->save();
	}

	/** An order must not show as refunded what was not. */
	private static function undo( \WC_Order $order, string $refund_id ): void {
		foreach ( $order->get_refunds() as $refund ) {
			if ( $refund->get_meta( self::LINK, true ) === $refund_id ) {
				$id = $refund->get_id();
				$refund->delete( true );
				do_action( 'woocommerce_refund_deleted', $id, $order->get_id() );
			}
		}
		if ( $order->has_status( 'refunded' ) ) {
			$order->set_status( 'on-hold' );
		}
	}

	/** Looks up the refunds that are not over. */
	public static function look( \WC_Order $order ): void {
		$record = new Order_Record( $order );
		foreach ( array_keys( self::under_way( $record ) ) as $id ) {
			self::apply( $order, $record->client()->refund( $id ) );
		}
	}

	/** @return array<string,string> Status by id. */
	public static function under_way( Order_Record $record ): array {
		return array_diff( $record->get_list( Order_Record::REFUNDS ), self::ENDED );
	}

	private static function amount( array $refund ): string {
		return $refund['amount']['value'] . ' ' . $refund['amount']['currency'];
	}

	private static function short( string $reason ): string {
		return function_exists( 'mb_substr' ) ? mb_substr( $reason, 0, self::MAX_REASON ) : substr( $reason, 0, self::MAX_REASON );
	}
}
