<?php
/**
 * Brings an order in line with its payment session as the service shows it. Whatever arrives, how often and in which order, the
 * outcome follows from that alone.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Reconciler {

	/**
	 * Call it with the order locked.
	 *
	 * @param array $session Read from the service with the shop's own key.
	 * @throws \RuntimeException When the session belongs to another order, or the order could not be changed.
	 */
	public static function apply( \WC_Order $order, array $session ): void {
		$record = new Order_Record( $order );
		if ( ! $record->owns( $session ) ) {
			throw new \RuntimeException( 'session ' . $session['id'] . ' was not made for order ' . $order->get_id() );
		}
		self::tell_of_deposits( $record, $session );
		if ( 'paid' === $session['payment_status'] ) {
			self::paid( $order, $record, $session );
		} elseif ( $session['id'] === $record->get( Order_Record::SESSION ) ) {
			self::unpaid( $order, $record, $session );
		}
		$order->save();
	}

	public static function has_money( array $session ): bool {
		return 'processing' === $session['status'] || self::is_something( $session['received'] ) || self::is_something( $session['pending'] );
	}

	public static function is_something( string $amount ): bool {
		return '' !== trim( $amount, '0.' );
	}

	private static function tell_of_deposits( Order_Record $record, array $session ): void {
		foreach ( $session['deposits'] as $deposit ) {
			$key  = 'deposit:' . $deposit['transaction_id'];
			$what = $deposit['amount'] . ' ' . $deposit['coin'] . ' (' . $deposit['network'] . ', ' . $deposit['tx_hash'] . ')';
			if ( 'final' === $deposit['status'] && 'dust' !== $deposit['kind'] ) {
				$record->tell( $key, self::note_of_deposit( $deposit['kind'], $what ) );
			} elseif ( 'reverted' === $deposit['status'] && $record->has_told( $key ) ) {
				/* translators: %s: amount, network and transaction. */
				$record->tell( $key . ':reverted', sprintf( __( '%s left the blockchain again: the shop does not hold this money any more.', 'quittance' ), $what ) );
			}
		}
	}

	private static function note_of_deposit( string $kind, string $what ): string {
		switch ( $kind ) {
			case 'on_time':
				/* translators: %s: amount, network and transaction. */
				return sprintf( __( 'Received %s.', 'quittance' ), $what );
			case 'late':
				/* translators: %s: amount, network and transaction. */
				return sprintf( __( 'Received too late: %s. It does not pay the order. "Return money that paid nothing" under the order actions sends it back.', 'quittance' ), $what );
			default:
				/* translators: %s: amount, network and transaction. */
				return sprintf( __( 'Received in a coin or on a network that was not asked for: %s. It does not pay the order. "Return money that paid nothing" under the order actions sends it back.', 'quittance' ), $what );
		}
	}

	private static function paid( \WC_Order $order, Order_Record $record, array $session ): void {
		if ( $session['id'] === $record->get( Order_Record::PAID_SESSION ) ) {
			self::reversal( $order, $record, $session );
		} elseif ( '' !== $record->get( Order_Record::PAID_SESSION ) || null !== $order->get_date_paid() ) {
			self::paid_again( $order, $record, $session );
		} elseif ( ! $session['reversed'] ) {
			self::settle( $order, $record, $session );
		} elseif ( $order->has_status( array( 'pending', 'failed' ) ) ) {
			$order->set_status( 'on-hold', __( 'The payment left the blockchain again. Do not deliver.', 'quittance' ) );
		}
		if ( self::is_something( $session['excess'] ) ) {
			$excess = $session['excess'] . ' ' . $session['settlement_currency'];
			/* translators: %s: amount. */
			$record->tell( 'excess:' . $session['id'] . ':' . $excess, sprintf( __( 'Paid more than was due: %s. "Return money that paid nothing" under the order actions sends the surplus back.', 'quittance' ), $excess ) );
		}
	}

	private static function paid_again( \WC_Order $order, Order_Record $record, array $session ): void {
		if ( '' === $record->get( Order_Record::PAID_SESSION ) && $order->get_payment_method() === Settings::GATEWAY_ID ) {
			$record->set( Order_Record::PAID_SESSION, $session['id'] );
			/* translators: %s: id of the payment session. */
			$record->tell( 'paid:' . $session['id'], sprintf( __( 'Payment session %s is paid. The order had been marked as paid before.', 'quittance' ), $session['id'] ) );
			return;
		}
		/* translators: %s: id of the payment session. */
		$record->tell( 'twice:' . $session['id'], sprintf( __( 'Paid a second time, by payment session %s. "Return money that paid nothing" under the order actions sends this payment back.', 'quittance' ), $session['id'] ) );
	}

	/** @throws \RuntimeException When WooCommerce could not complete the payment. */
	private static function settle( \WC_Order $order, Order_Record $record, array $session ): void {
		$deposit = self::newest_deposit( $session );
		$current = $record->get( Order_Record::SESSION );
		$record->set( Order_Record::PAID_SESSION, $session['id'] );
		$record->set( Order_Record::SESSION, $session['id'] );
		$record->set( Order_Record::MONEY_SEEN, '' );
		$record->set( Order_Record::TRANSACTION_URL, (string) ( $deposit['explorer_url'] ?? '' ) );
		$order->set_payment_method( Settings::GATEWAY_ID );
		$order->set_payment_method_title( Settings::get( 'title', 'Quittance' ) );
		$doubt = self::doubt( $order, $session );
		if ( null !== $doubt ) {
			$order->set_transaction_id( $deposit['tx_hash'] ?? $session['id'] );
			$order->set_date_paid( $session['paid_at'] ?? time() );
			$order->set_status( 'on-hold', $doubt );
		} elseif ( ! $order->payment_complete( $deposit['tx_hash'] ?? $session['id'] ) ) {
			throw new \RuntimeException( 'WooCommerce could not complete the payment of order ' . $order->get_id() );
		}
		if ( '' !== $current && $current !== $session['id'] ) {
			self::close( $order, $record, $current );
		}
	}

	/** Why somebody should look at the payment before anything is delivered. */
	private static function doubt( \WC_Order $order, array $session ): ?string {
		if ( ! Sessions::asks_for_total( $order, $session ) ) {
			/* translators: 1: amount paid, 2: total of the order. */
			return sprintf( __( 'Paid %1$s, but the order costs %2$s by now. Check before you deliver.', 'quittance' ), $session['amount_total'] . ' ' . strtoupper( $session['currency'] ), Sessions::total( $order ) . ' ' . $order->get_currency() );
		}
		if ( ! $order->has_status( array( 'pending', 'on-hold', 'failed' ) ) ) {
			/* translators: %s: status of the order. */
			return sprintf( __( 'Paid, although the order was %s. Deliver it or refund it.', 'quittance' ), $order->get_status() );
		}
		return null;
	}

	/** An older session of the order was paid after all; nobody should pay the newer one, too. */
	private static function close( \WC_Order $order, Order_Record $record, string $session_id ): void {
		try {
			$record->client()->cancel_session( $session_id );
		} catch ( Api_Exception $error ) {
			/* translators: 1: id of the payment session, 2: what the service answered. */
			$record->tell( 'open:' . $session_id, sprintf( __( 'Payment session %1$s of this order could not be cancelled: %2$s', 'quittance' ), $session_id, $error->getMessage() ) );
			Plugin::log( 'warning', 'order ' . $order->get_id() . ': ' . $error->getMessage() );
		}
	}

	private static function newest_deposit( array $session ): array {
		$newest = array();
		foreach ( $session['deposits'] as $deposit ) {
			if ( 'on_time' === $deposit['kind'] && 'final' === $deposit['status'] && $deposit['block_time'] >= ( $newest['block_time'] ?? 0 ) ) {
				$newest = $deposit;
			}
		}
		return $newest;
	}

	private static function reversal( \WC_Order $order, Order_Record $record, array $session ): void {
		$before = $record->get( Order_Record::REVERSED_FROM );
		if ( $session['reversed'] && '' === $before && $order->is_paid() ) {
			$record->set( Order_Record::REVERSED_FROM, $order->get_status() );
			$order->set_status( 'on-hold', __( 'The payment left the blockchain again. Do not deliver.', 'quittance' ) );
		} elseif ( ! $session['reversed'] && '' !== $before ) {
			$record->set( Order_Record::REVERSED_FROM, '' );
			if ( $order->has_status( 'on-hold' ) ) {
				$order->set_status( $before, __( 'The payment is back on the blockchain.', 'quittance' ) );
			}
		}
	}

	private static function unpaid( \WC_Order $order, Order_Record $record, array $session ): void {
		if ( null !== $order->get_date_paid() || ! $order->has_status( array( 'pending', 'on-hold', 'failed' ) ) ) {
			return;
		}
		if ( in_array( $session['status'], Sessions::OVER, true ) ) {
			self::over( $order, $record, $session );
		} elseif ( self::has_money( $session ) && 'yes' !== $record->get( Order_Record::MONEY_SEEN ) && ! $order->has_status( 'on-hold' ) ) {
			$record->set( Order_Record::MONEY_SEEN, 'yes' );
			/* translators: 1: amount received, 2: amount on its way, 3: amount due. */
			$order->set_status( 'on-hold', sprintf( __( 'Money was seen (final: %1$s, on its way: %2$s, due: %3$s). The order waits for it to be enough and final.', 'quittance' ), $session['received'], $session['pending'], self::due( $session ) ) );
		} elseif ( ! self::has_money( $session ) && $order->has_status( 'on-hold' ) && 'yes' === $record->get( Order_Record::MONEY_SEEN ) ) {
			$record->set( Order_Record::MONEY_SEEN, '' );
			$order->set_status( 'pending', __( 'The money that was seen is gone from the blockchain.', 'quittance' ) );
		}
	}

	private static function over( \WC_Order $order, Order_Record $record, array $session ): void {
		$key = 'over:' . $session['id'];
		// An order on hold for another reason waits for another payment method.
		if ( $record->has_told( $key ) || ( $order->has_status( 'on-hold' ) && 'yes' !== $record->get( Order_Record::MONEY_SEEN ) ) ) {
			return;
		}
		$record->set( Order_Record::MONEY_SEEN, '' );
		/* translators: 1: how the session ended, 2: amount received, 3: amount due. */
		$record->tell( $key, sprintf( __( 'The payment session is over (%1$s): received %2$s of %3$s. The customer can pay the order again.', 'quittance' ), $session['status'], $session['received'], self::due( $session ) ) );
		$order->set_status( 'failed' );
		$order->save();
		wc_maybe_increase_stock_levels( $order->get_id() );
	}

	private static function due( array $session ): string {
		return ( $session['target_amount_total'] ?? $session['amount_total'] ) . ' ' . $session['settlement_currency'];
	}
}
