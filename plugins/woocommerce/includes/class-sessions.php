<?php
/**
 * Payment sessions of orders: made when a customer wants to pay, closed when the order is over.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Sessions {

	const OVER = array( 'expired', 'failed', 'cancelled' );

	/** Statuses of an order that nobody should be able to pay. */
	const CLOSED_ORDER = array( 'cancelled', 'processing', 'completed', 'refunded' );

	public static function hook(): void {
		add_action( 'woocommerce_order_status_changed', array( self::class, 'close_with_order' ), 10, 3 );
		add_filter( 'woocommerce_cancel_unpaid_order', array( self::class, 'may_be_cancelled_as_unpaid' ), 10, 2 );
		add_action( 'template_redirect', array( self::class, 'look_on_return' ), 5 );
		add_action( 'woocommerce_thankyou_' . Settings::GATEWAY_ID, array( self::class, 'tell_customer' ) );
	}

	/**
	 * Where to send the customer: to the payment page, or back if the order turns out to be paid.
	 *
	 * @throws Customer_Exception When the customer should do something else.
	 * @throws Api_Exception When the service cannot be asked.
	 */
	public static function begin( int $order_id ): string {
		return Order_Lock::with(
			$order_id,
			static function ( \WC_Order $order ): string {
				$record = new Order_Record( $order );
				if ( $record->get( Order_Record::MODE ) !== Settings::mode() ) {
					$record->set( Order_Record::SESSION, '' );
				}
				// Before anything is asked for: a session is known by it, even when no answer arrives.
				$record->set( Order_Record::EXTERNAL_ID, $record->get( Order_Record::EXTERNAL_ID ) ?: Settings::order_prefix() . $order->get_id() );
				$record->set( Order_Record::MODE, Settings::mode() );
				$order->save();

				$current = $record->get( Order_Record::SESSION );
				$session = self::usable( $order, '' === $current ? null : Settings::client( Settings::mode() )->session( $current ) );
				if ( $order->is_paid() || 'paid' === ( $session['payment_status'] ?? '' ) ) {
					return $order->get_checkout_order_received_url();
				}
				$record->set( Order_Record::SESSION, $session['id'] );
				/* translators: 1: id of the payment session, 2: mode (test or live), 3: link. */
				$record->tell( 'session:' . $session['id'], sprintf( __( 'Payment session %1$s (%2$s): %3$s', 'quittance' ), $session['id'], Settings::mode(), $session['url'] ) );
				if ( $order->has_status( 'failed' ) ) {
					$order->set_status( 'pending' );
				}
				$order->save();
				Checks::schedule( $order->get_id(), Checks::SOON_SECONDS );
				return $session['url'];
			}
		);
	}

	/**
	 * The session given, or one that takes its place: because there is none, it is over, or the order has another total by now.
	 *
	 * @param array|null $session As the service shows it.
	 */
	private static function usable( \WC_Order $order, ?array $session ): array {
		$client = Settings::client( Settings::mode() );
		if ( null === $session ) {
			return self::made( $order, '' );
		}
		Reconciler::apply( $order, $session );
		if ( $order->is_paid() || 'paid' === $session['payment_status'] ) {
			return $session;
		}
		if ( ! in_array( $session['status'], self::OVER, true ) ) {
			if ( self::asks_for_total( $order, $session ) ) {
				return $session;
			}
			if ( Reconciler::has_money( $session ) ) {
				throw new Customer_Exception( __( 'A payment of another amount is on its way for this order. Please contact the shop.', 'quittance' ) );
			}
			$client->cancel_session( $session['id'] );
		}
		return self::made( $order, $session['id'] );
	}

	/** A new session, or what follows from one that was made earlier, when its answer got lost. */
	private static function made( \WC_Order $order, string $supersedes ): array {
		$client = Settings::client( Settings::mode() );
		try {
			return $client->create_session( self::body( $order, $supersedes ) );
		} catch ( Api_Exception $error ) {
			if ( ! $error->is( 'order_id_conflict' ) && ! $error->is( 'session_expired' ) ) {
				throw $error;
			}
			$newest = (string) ( $client->sessions_of_order( self::external_id( $order ) )[0]['id'] ?? '' );
			if ( $newest === $supersedes ) {
				throw $error;
			}
			return self::usable( $order, $client->session( $newest ) );
		}
	}

	/** Repeating it must give the same bytes, so it holds nothing of the moment. */
	private static function body( \WC_Order $order, string $supersedes ): array {
		$minutes = (int) Settings::get( 'expires_in_minutes' );
		$body    = array(
			'amount'      => self::total( $order ),
			'currency'    => $order->get_currency(),
			'order_id'    => self::external_id( $order ),
			/* translators: 1: order number, 2: name of the shop. */
			'description' => sprintf( __( 'Order %1$s at %2$s', 'quittance' ), $order->get_order_number(), wp_specialchars_decode( get_bloginfo( 'name' ), ENT_QUOTES ) ),
			'success_url' => $order->get_checkout_order_received_url(),
			// Not the address that cancels the order: giving up here may mean another payment method.
			'cancel_url'  => $order->get_checkout_payment_url(),
			'metadata'    => array( 'order_key' => $order->get_order_key() ),
		);
		if ( $minutes > 0 ) {
			$body['expires_in'] = $minutes * 60;
		}
		if ( '' !== Settings::get( 'merchant_domain_id' ) ) {
			$body['merchant_domain_id'] = Settings::get( 'merchant_domain_id' );
		}
		if ( '' !== $supersedes ) {
			$body['supersedes'] = $supersedes;
		}
		return $body;
	}

	private static function external_id( \WC_Order $order ): string {
		return ( new Order_Record( $order ) )->get( Order_Record::EXTERNAL_ID );
	}

	/** The total without trailing zeros: shops may show more decimals than the currency has. */
	public static function total( \WC_Order $order ): string {
		return self::plain( wc_format_decimal( $order->get_total(), wc_get_price_decimals() ) );
	}

	public static function plain( string $amount ): string {
		return false === strpos( $amount, '.' ) ? $amount : rtrim( rtrim( $amount, '0' ), '.' );
	}

	public static function asks_for_total( \WC_Order $order, array $session ): bool {
		return self::plain( $session['amount_total'] ) === self::total( $order ) && strtoupper( $session['currency'] ) === strtoupper( $order->get_currency() );
	}

	/** Looks the current session up and does what follows from it. */
	public static function look( int $order_id ): void {
		Order_Lock::with(
			$order_id,
			static function ( \WC_Order $order ): void {
				$record  = new Order_Record( $order );
				$current = $record->get( Order_Record::SESSION );
				if ( '' !== $current ) {
					Reconciler::apply( $order, $record->client()->session( $current ) );
				}
			}
		);
	}

	/** Nobody should be able to pay an order that is cancelled, or paid by other means. */
	public static function close_with_order( $order_id, $from, $to ): void {
		$order = wc_get_order( $order_id );
		if ( ! $order instanceof \WC_Order || ! in_array( $to, self::CLOSED_ORDER, true ) ) {
			return;
		}
		$record  = new Order_Record( $order );
		$current = $record->get( Order_Record::SESSION );
		if ( '' === $current || $current === $record->get( Order_Record::PAID_SESSION ) ) {
			return;
		}
		try {
			$record->client()->cancel_session( $current );
		} catch ( Api_Exception $error ) {
			if ( ! $error->is( 'session_expired' ) ) {
				Plugin::log( 'warning', 'order ' . $order_id . ': session ' . $current . ' stays open for now: ' . $error->getMessage() );
				Checks::schedule( (int) $order_id, Checks::AT_ONCE_SECONDS );
			}
		}
	}

	/** An order whose money was seen, or about which nothing can be learnt now, is not given up. */
	public static function may_be_cancelled_as_unpaid( $may, $order ) {
		if ( ! $may || ! $order instanceof \WC_Order || '' === ( new Order_Record( $order ) )->get( Order_Record::SESSION ) ) {
			return $may;
		}
		try {
			self::look( $order->get_id() );
		} catch ( \Exception $error ) {
			return false;
		}
		return wc_get_order( $order->get_id() )->has_status( 'pending' );
	}

	/** The return proves nothing; it is an occasion to ask the service. */
	public static function look_on_return(): void {
		if ( ! function_exists( 'is_wc_endpoint_url' ) || ! is_wc_endpoint_url( 'order-received' ) ) {
			return;
		}
		$order = wc_get_order( absint( get_query_var( 'order-received' ) ) );
		// phpcs:ignore WordPress.Security.NonceVerification.Recommended
		$key = isset( $_GET['key'] ) ? sanitize_text_field( wp_unslash( $_GET['key'] ) ) : '';
		if ( ! $order instanceof \WC_Order || ! hash_equals( $order->get_order_key(), $key ) || $order->is_paid() || $order->get_payment_method() !== Settings::GATEWAY_ID ) {
			return;
		}
		try {
			self::look( $order->get_id() );
		} catch ( \Exception $error ) {
			Plugin::log( 'warning', 'order ' . $order->get_id() . ': not looked up on return: ' . $error->getMessage() );
		}
	}

	public static function tell_customer( $order_id ): void {
		$order = wc_get_order( $order_id );
		if ( ! $order instanceof \WC_Order || $order->is_paid() ) {
			return;
		}
		if ( $order->has_status( 'on-hold' ) ) {
			$text = __( 'Your payment was seen. The order goes on as soon as the network has confirmed it; you need not wait here.', 'quittance' );
		} else {
			$text = __( 'Your payment was not seen yet. Once it is confirmed by the network the order goes on by itself.', 'quittance' );
		}
		echo '<p>' . esc_html( $text ) . '</p>';
		if ( $order->needs_payment() ) {
			echo '<p><a class="button" href="' . esc_url( $order->get_checkout_payment_url() ) . '">' . esc_html__( 'Back to the payment', 'quittance' ) . '</a></p>';
		}
	}
}
