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

	/** Coins have six decimals; sums of them as floats differ by less. */
	const LESS_THAN_A_UNIT = 0.0000005;

	/**
	 * Call it with the order locked and freshly read.
	 *
	 * @param array $session Read from the service with the shop's own key.
	 * @throws \RuntimeException When the session belongs to another order, or the order could not be changed.
	 */
	public static function apply( \WC_Order $order, array $session ): void {
		$record = new Order_Record( $order );
		if ( ! $record->owns( $session ) ) {
			throw new \RuntimeException( 'session ' . $session['id'] . ' was not made for order ' . $order->get_id() );
		}
		self::tell_of_deposits( $order, $record, $session );
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

	private static function tell_of_deposits( \WC_Order $order, Order_Record $record, array $session ): void {
		$closed = $order->has_status( array( 'cancelled', 'trash' ) );
		foreach ( $session['deposits'] as $deposit ) {
			$key  = 'deposit:' . $deposit['transaction_id'];
			$what = self::described( $deposit );
			if ( 'dust' === $deposit['kind'] ) {
				continue;
			}
			if ( 'reverted' === $deposit['status'] ) {
				if ( self::has_told_of( $record, $deposit ) ) {
					/* translators: %s: amount, network and transaction. */
					$record->tell( $key . ':reverted', sprintf( __( '%s left the blockchain again: the shop does not hold this money any more.', 'quittance' ), $what ) );
				}
			} elseif ( 'final' !== $deposit['status'] ) {
				if ( $closed ) {
					/* translators: 1: amount, network and transaction, 2: status of the order. */
					$record->tell( $key . ':coming', sprintf( __( '%1$s is on its way to this order, which is %2$s. It pays nothing. Once it is final, "Return money that paid nothing" under the order actions sends it back.', 'quittance' ), $what, $order->get_status() ) );
				}
			} elseif ( 'on_time' === $deposit['kind'] && ! $closed ) {
				/* translators: %s: amount, network and transaction. */
				$record->tell( $key, sprintf( __( 'Received %s.', 'quittance' ), $what ) );
			} else {
				// An order may be given up after the transfer was told of as received.
				$record->ask_for_help( 'stray:' . $deposit['transaction_id'], self::note_of_stray( $deposit['kind'], $what, $closed ) );
			}
		}
	}

	/** Whether the order knows of all that came to a session of it. */
	public static function has_told_all( Order_Record $record, array $session ): bool {
		foreach ( $session['deposits'] as $deposit ) {
			if ( 'final' === $deposit['status'] && 'dust' !== $deposit['kind'] && ! self::has_told_of( $record, $deposit ) ) {
				return false;
			}
		}
		return 'paid' !== $session['payment_status'] || $record->get( Order_Record::PAID_SESSION ) === $session['id'] || $record->has_told( 'twice:' . $session['id'] ) || $record->has_told( 'returned:' . $session['id'] );
	}

	private static function has_told_of( Order_Record $record, array $deposit ): bool {
		return $record->has_told( 'deposit:' . $deposit['transaction_id'] ) || $record->has_told( 'stray:' . $deposit['transaction_id'] );
	}

	public static function described( array $deposit ): string {
		return $deposit['amount'] . ' ' . $deposit['coin'] . ' (' . $deposit['network'] . ', ' . $deposit['tx_hash'] . ')';
	}

	private static function note_of_stray( string $kind, string $what, bool $closed ): string {
		$back = __( 'It does not pay the order. "Return money that paid nothing" under the order actions sends it back.', 'quittance' );
		if ( $closed && 'wrong_coin' !== $kind && 'wrong_network' !== $kind ) {
			/* translators: %s: amount, network and transaction. */
			return sprintf( __( 'Received for an order that is cancelled or in the trash: %s.', 'quittance' ), $what ) . ' ' . $back;
		}
		if ( 'late' === $kind ) {
			/* translators: %s: amount, network and transaction. */
			return sprintf( __( 'Received too late: %s.', 'quittance' ), $what ) . ' ' . $back;
		}
		/* translators: %s: amount, network and transaction. */
		return sprintf( __( 'Received in a coin or on a network that was not asked for: %s.', 'quittance' ), $what ) . ' ' . $back;
	}

	/** @throws \RuntimeException When WooCommerce could not complete the payment. */
	private static function paid( \WC_Order $order, Order_Record $record, array $session ): void {
		$paid_by = $record->get( Order_Record::PAID_SESSION );
		if ( $session['id'] === $paid_by && ( null !== $order->get_date_paid() || self::is_doubted( $record ) ) ) {
			self::reversal( $order, $record, $session );
		} elseif ( ( '' !== $paid_by && $session['id'] !== $paid_by ) || null !== $order->get_date_paid() ) {
			self::paid_again( $order, $record, $session );
		} elseif ( ! $session['reversed'] && ! self::is_held( $session ) ) {
			/* translators: %s: id of the payment session. */
			$record->tell( 'returned:' . $session['id'], sprintf( __( 'Payment session %s was paid and its money went back, so it pays nothing. Deliver nothing for it.', 'quittance' ), $session['id'] ) );
		} elseif ( ! $session['reversed'] ) {
			self::settle( $order, $record, $session );
		} elseif ( $order->has_status( array( 'pending', 'failed' ) ) ) {
			$record->tell( 'reversed:' . $session['id'], __( 'The payment left the blockchain again. Do not deliver.', 'quittance' ) );
			$order->set_status( 'on-hold' );
		}
		if ( self::is_something( $session['excess'] ) ) {
			$excess = $session['excess'] . ' ' . $session['settlement_currency'];
			/* translators: %s: amount. */
			$record->ask_for_help( 'excess:' . $session['id'] . ':' . $excess, sprintf( __( 'Paid more than was due: %s. "Return money that paid nothing" under the order actions sends the surplus back.', 'quittance' ), $excess ) );
		}
	}

	/** Whether the money that paid is still there (contract for shops, S1). */
	private static function is_held( array $session ): bool {
		$came = 0.0;
		foreach ( $session['deposits'] as $deposit ) {
			if ( 'final' === $deposit['status'] && 'on_time' === $deposit['kind'] && $deposit['coin'] === $session['settlement_currency'] ) {
				$came += (float) $deposit['amount'];
			}
		}
		$received = (float) $session['received'];
		return $received >= (float) ( $session['target_amount_total'] ?? $session['amount_total'] ) - self::LESS_THAN_A_UNIT || $received >= $came - self::LESS_THAN_A_UNIT;
	}

	private static function paid_again( \WC_Order $order, Order_Record $record, array $session ): void {
		if ( '' === $record->get( Order_Record::PAID_SESSION ) && $order->get_payment_method() === Settings::GATEWAY_ID ) {
			self::keep_what_paid( $record, $session );
			/* translators: %s: id of the payment session. */
			$record->tell( 'paid:' . $session['id'], sprintf( __( 'Payment session %s is paid. The order had been marked as paid before.', 'quittance' ), $session['id'] ) );
			self::compare( $order );
			return;
		}
		/* translators: %s: id of the payment session. */
		$record->ask_for_help( 'twice:' . $session['id'], sprintf( __( 'Paid a second time, by payment session %s. "Return money that paid nothing" under the order actions sends this payment back.', 'quittance' ), $session['id'] ) );
	}

	private static function keep_what_paid( Order_Record $record, array $session ): void {
		$record->set( Order_Record::PAID_SESSION, $session['id'] );
		$record->set( Order_Record::PAID_FOR, Sessions::plain( $session['amount_total'] ) . ' ' . strtoupper( $session['currency'] ) );
	}

	/**
	 * The order is the one that the database has at this moment, and the lock is held: what is compared here is what will be delivered.
	 *
	 * @throws \RuntimeException When WooCommerce could not complete the payment.
	 */
	private static function settle( \WC_Order $order, Order_Record $record, array $session ): void {
		$deposit = self::newest_deposit( $session );
		$current = $record->get( Order_Record::SESSION );
		self::keep_what_paid( $record, $session );
		$record->set( Order_Record::SESSION, $session['id'] );
		$record->set( Order_Record::MONEY_SEEN, '' );
		$record->set( Order_Record::TRANSACTION_URL, (string) ( $deposit['explorer_url'] ?? '' ) );
		$order->set_payment_method( Settings::GATEWAY_ID );
		$order->set_payment_method_title( Settings::get( 'title', 'Quittance' ) );
		$hash = $deposit['tx_hash'] ?? $session['id'];
		if ( self::stops_delivery( $order, $record ) ) {
			$order->set_transaction_id( $hash );
		} elseif ( ! $order->payment_complete( $hash ) || ! self::is_saved_as_paid( $order->get_id() ) ) {
			throw new \RuntimeException( 'WooCommerce could not complete the payment of order ' . $order->get_id() );
		}
		if ( '' !== $current && $current !== $session['id'] ) {
			// An older session was paid after all; nobody should pay the newer one, too.
			Sessions::close_soon( $order->get_id(), $record->get( Order_Record::MODE ), $current );
		}
	}

	/** WooCommerce swallows what goes wrong while an order is saved. */
	private static function is_saved_as_paid( int $order_id ): bool {
		return null !== Order_Lock::fresh( $order_id )->get_date_paid();
	}

	/** Says why nothing may be delivered for the payment, and holds an order that could be. */
	private static function stops_delivery( \WC_Order $order, Order_Record $record ): bool {
		$paid_for = $record->get( Order_Record::PAID_FOR );
		$costs    = Sessions::total( $order ) . ' ' . strtoupper( $order->get_currency() );
		$payable  = $order->has_status( array( 'pending', 'on-hold', 'failed', 'checkout-draft' ) );
		if ( $payable && $paid_for === $costs ) {
			return false;
		}
		if ( $payable ) {
			$record->ask_for_help( 'doubt:' . $record->get( Order_Record::PAID_SESSION ), self::note_of_difference( $paid_for, $costs ) );
			$order->set_status( 'on-hold' );
		} else {
			/* translators: 1: amount, 2: status of the order. */
			$record->ask_for_help( 'doubt:' . $record->get( Order_Record::PAID_SESSION ), sprintf( __( 'Paid %1$s, although the order is %2$s. Deliver nothing: "Return money that paid nothing" under the order actions sends it back. To deliver after all, set the order to Processing.', 'quittance' ), $paid_for, $order->get_status() ) );
		}
		return true;
	}

	private static function is_doubted( Order_Record $record ): bool {
		return $record->has_told( 'doubt:' . $record->get( Order_Record::PAID_SESSION ) );
	}

	private static function note_of_difference( string $paid_for, string $costs ): string {
		/* translators: 1: amount paid, 2: total of the order. */
		return sprintf( __( 'Paid %1$s, but the order costs %2$s by now. Check before you deliver. If it costs less, "Return money that paid nothing" under the order actions sends the difference back; to return everything, refund or cancel the order.', 'quittance' ), $paid_for, $costs );
	}

	/**
	 * Somebody changed the order after it was paid: goods must not leave for a price that nobody paid.
	 *
	 * @return bool Whether there was something to say; the caller saves the order.
	 */
	public static function compare( \WC_Order $order ): bool {
		$record   = new Order_Record( $order );
		$paid_for = $record->get( Order_Record::PAID_FOR );
		$costs    = Sessions::total( $order ) . ' ' . strtoupper( $order->get_currency() );
		if ( '' === $paid_for || $paid_for === $costs || ! $order->is_paid() || self::is_doubted( $record ) || $record->has_told( 'changed:' . $costs ) ) {
			return false;
		}
		$record->ask_for_help( 'changed:' . $costs, self::note_of_difference( $paid_for, $costs ) );
		if ( explode( ' ', $paid_for )[1] !== strtoupper( $order->get_currency() ) || (float) $paid_for < (float) Sessions::total( $order ) ) {
			$order->set_status( 'on-hold' );
		}
		return true;
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
		if ( $session['reversed'] && '' === $before ) {
			$record->set( Order_Record::REVERSED_FROM, $order->get_status() );
			$order->add_order_note( __( 'The payment left the blockchain again. Do not deliver.', 'quittance' ) );
			if ( $order->is_paid() ) {
				$order->set_status( 'on-hold' );
			}
		} elseif ( ! $session['reversed'] && '' !== $before ) {
			$record->set( Order_Record::REVERSED_FROM, '' );
			$order->add_order_note( __( 'The payment is back on the blockchain.', 'quittance' ) );
			if ( $order->has_status( 'on-hold' ) ) {
				$order->set_status( $before );
			}
			self::compare( $order );
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
			$order->add_order_note( sprintf( __( 'Money was seen (final: %1$s, on its way: %2$s, due: %3$s). The order waits for it to be enough and final.', 'quittance' ), $session['received'], $session['pending'], self::due( $session ) ) );
			$order->set_status( 'on-hold' );
		} elseif ( ! self::has_money( $session ) && $order->has_status( 'on-hold' ) && 'yes' === $record->get( Order_Record::MONEY_SEEN ) ) {
			$record->set( Order_Record::MONEY_SEEN, '' );
			$order->add_order_note( __( 'The money that was seen is gone from the blockchain.', 'quittance' ) );
			$order->set_status( 'pending' );
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
		$note = sprintf( __( 'The payment session is over (%1$s): received %2$s of %3$s. The customer can pay the order again.', 'quittance' ), $session['status'], $session['received'], self::due( $session ) );
		if ( self::is_something( $session['received'] ) ) {
			$record->ask_for_help( $key, $note . ' ' . __( '"Return money that paid nothing" under the order actions sends back what came.', 'quittance' ) );
		} else {
			$record->tell( $key, $note );
		}
		$order->set_status( 'failed' );
		$order->save();
		wc_maybe_increase_stock_levels( $order->get_id() );
	}

	private static function due( array $session ): string {
		return ( $session['target_amount_total'] ?? $session['amount_total'] ) . ' ' . $session['settlement_currency'];
	}
}
