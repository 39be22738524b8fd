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
	const CLOSED_ORDER = array( 'cancelled', 'processing', 'completed', 'refunded', 'trash' );

	/** Create, change of total, number used before, each at most once. */
	const STEPS = 5;

	/** @var array[] Sessions to cancel once no lock is held: order, mode, session. */
	private static $superseded = array();

	public static function hook(): void {
		add_action( 'woocommerce_order_status_changed', array( self::class, 'close_with_order' ), 10, 3 );
		add_action( 'woocommerce_after_order_object_save', array( self::class, 'compare_after_edit' ), 20 );
		add_action( 'woocommerce_before_trash_order', array( self::class, 'close_before_trash' ) );
		add_action( 'wp_trash_post', array( self::class, 'close_before_trash' ) );
		add_action( 'woocommerce_before_delete_order', array( self::class, 'close_before_delete' ) );
		add_action( 'before_delete_post', array( self::class, 'close_before_delete' ) );
		add_filter( 'woocommerce_cancel_unpaid_order', array( self::class, 'may_be_cancelled_as_unpaid' ), 10, 2 );
		add_action( 'template_redirect', array( self::class, 'look_on_return' ), 5 );
		add_action( 'woocommerce_thankyou_' . Settings::GATEWAY_ID, array( self::class, 'tell_customer' ) );
	}

	/**
	 * Where to send the customer: to the payment page, or back if the order turns out to be paid.
	 *
	 * @throws Customer_Exception When the customer should do something else.
	 * @throws Api_Exception When the service cannot be asked.
	 * @throws \RuntimeException When others change the order all the time.
	 */
	public static function begin( int $order_id ): string {
		Order_Lock::with( $order_id, array( self::class, 'prepare' ) );
		Checks::ensure();
		$client = Settings::client( Settings::mode() );
		for ( $step = 0; $step < self::STEPS; $step++ ) {
			try {
				$url = Order_Lock::act_on_answer(
					$order_id,
					static function ( \WC_Order $order ) use ( $client ): array {
						return self::usable( $client, $order );
					},
					array( self::class, 'take_up' )
				);
			} catch ( Order_Id_Taken $taken ) {
				Order_Lock::with( $order_id, array( self::class, 'rename' ) );
				continue;
			}
			if ( null !== $url ) {
				return $url;
			}
		}
		throw new \RuntimeException( 'the total of order ' . $order_id . ' keeps changing' );
	}

	/** Before anything is asked for: a session is known by what is kept here, even when no answer arrives. */
	public static function prepare( \WC_Order $order ): void {
		$fault = Currencies::fault( self::total( $order ), $order->get_currency() );
		if ( null !== $fault ) {
			Plugin::log( 'error', 'order ' . $order->get_id() . ': ' . $fault );
			throw new Customer_Exception( __( 'This order cannot be paid with stablecoins at the moment. Please choose another payment method or contact the shop.', 'quittance' ) );
		}
		$record = new Order_Record( $order );
		$record->claim();
		if ( $record->get( Order_Record::MODE ) !== Settings::mode() ) {
			$record->set( Order_Record::SESSION, '' );
		}
		$record->set( Order_Record::EXTERNAL_ID, $record->get( Order_Record::EXTERNAL_ID ) ?: Settings::order_prefix() . $order->get_id() );
		$record->set( Order_Record::MODE, Settings::mode() );
		Checks::schedule( $order, Checks::AT_ONCE_SECONDS );
		$order->save();
	}

	/** The service knows the order's number from an order that this shop does not have: the number was used before. */
	public static function rename( \WC_Order $order ): void {
		$record = new Order_Record( $order );
		$name   = Settings::order_prefix() . $order->get_id() . '.' . substr( md5( $order->get_order_key() ), 0, 8 );
		$record->set( Order_Record::SESSION, '' );
		$record->set( Order_Record::EXTERNAL_ID, $name );
		/* translators: 1: number, 2: what the service calls the order. */
		$record->tell( 'renamed', sprintf( __( 'The service knows order number %1$s already, from a shop with the same order prefix or from this shop before a backup was restored. This order is called %2$s there. If two shops use one account, give each an order prefix of its own in the settings.', 'quittance' ), $order->get_id(), $name ) );
		$order->save();
	}

	/** The session of the order, or one that takes its place: because there is none, it is over, or the order has another total by now. */
	private static function usable( Api_Client $client, \WC_Order $order ): array {
		$current = ( new Order_Record( $order ) )->get( Order_Record::SESSION );
		if ( '' === $current ) {
			return self::made( $client, $order, '' );
		}
		$session = $client->session( $current );
		if ( 'paid' === $session['payment_status'] || $order->is_paid() ) {
			return $session;
		}
		if ( ! in_array( $session['status'], self::OVER, true ) ) {
			if ( self::asks_for_total( $order, $session ) ) {
				return $session;
			}
			if ( self::is_coming( $session ) ) {
				throw new Customer_Exception( self::under_way() );
			}
			$session = self::cancelled( $client, $session['id'] );
			if ( self::is_coming( $session ) ) {
				return $session;
			}
		}
		return self::made( $client, $order, $session['id'] );
	}

	private static function under_way(): string {
		return __( 'A payment of another amount is on its way for this order. Please contact the shop.', 'quittance' );
	}

	/** Whether a payment is under way, so that nobody may be shown another address (contract for shops, A3). */
	private static function is_coming( array $session ): bool {
		return 'paid' === $session['payment_status'] || 'processing' === $session['status'] || Reconciler::is_something( $session['pending'] );
	}

	/**
	 * Cancels a session that may be over already.
	 *
	 * @return array The session as it is by then.
	 * @throws Api_Exception When the service cannot be asked.
	 */
	public static function cancelled( Api_Client $client, string $session_id ): array {
		try {
			$client->cancel_session( $session_id );
		} catch ( Api_Exception $error ) {
			if ( ! $error->is( 'session_expired' ) && ! $error->is( 'session_already_paid' ) ) {
				throw $error;
			}
		}
		return $client->session( $session_id );
	}

	/**
	 * A new session, or what follows from one that was made earlier, when its answer got lost.
	 *
	 * @throws Order_Id_Taken When the service knows the order's id from another order.
	 */
	private static function made( Api_Client $client, \WC_Order $order, string $supersedes ): array {
		try {
			$session = $client->create_session( self::body( $order, $supersedes ) );
			Currencies::forget( $order->get_currency() );
			return $session;
		} catch ( Api_Exception $error ) {
			if ( ! $error->is( 'order_id_conflict' ) && ! $error->is( 'session_expired' ) ) {
				Currencies::learn( $error, $order->get_currency() );
				throw $error;
			}
			$newest = (string) ( $client->sessions_of_order( self::external_id( $order ) )[0]['id'] ?? '' );
			if ( '' === $newest || $newest === $supersedes ) {
				throw $error;
			}
			$session = $client->session( $newest );
			if ( ! ( new Order_Record( $order ) )->has_key_of( $session ) ) {
				throw new Order_Id_Taken( $error->getMessage() );
			}
			return in_array( $session['status'], self::OVER, true ) && 'paid' !== $session['payment_status'] ? self::made( $client, $order, $newest ) : $session;
		}
	}

	/** Enters the session in the order as it is now; null when the order asks for another one by now. */
	public static function take_up( \WC_Order $order, array $session ): ?string {
		$record = new Order_Record( $order );
		if ( $record->get( Order_Record::PAID_SESSION ) === '' ) {
			$record->set( Order_Record::SESSION, $session['id'] );
		}
		/* translators: 1: id of the payment session, 2: mode (test or live), 3: link. */
		$record->tell( 'session:' . $session['id'], sprintf( __( 'Payment session %1$s (%2$s): %3$s', 'quittance' ), $session['id'], Settings::mode(), $session['url'] ) );
		Reconciler::apply( $order, $session );
		if ( $order->is_paid() || 'paid' === $session['payment_status'] ) {
			return $order->get_checkout_order_received_url();
		}
		Checks::schedule( $order, Checks::SOON_SECONDS );
		if ( self::is_coming( $session ) && ! self::asks_for_total( $order, $session ) || in_array( $session['status'], self::OVER, true ) && self::is_coming( $session ) ) {
			$order->save();
			throw new Customer_Exception( self::under_way() );
		}
		if ( in_array( $session['status'], self::OVER, true ) || ! self::asks_for_total( $order, $session ) ) {
			$order->save();
			return null;
		}
		if ( $order->has_status( 'failed' ) ) {
			$order->set_status( 'pending' );
		}
		$order->save();
		return $session['url'];
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
			'metadata'    => array(
				'order_key' => $order->get_order_key(),
				'shop'      => Settings::order_prefix(),
			),
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

	/** The total without trailing zeros, never rounded: what cannot be asked for is refused before. */
	public static function total( \WC_Order $order ): string {
		return self::plain( (string) wc_format_decimal( $order->get_total() ) );
	}

	public static function plain( string $amount ): string {
		return false === strpos( $amount, '.' ) ? $amount : rtrim( rtrim( $amount, '0' ), '.' );
	}

	public static function asks_for_total( \WC_Order $order, array $session ): bool {
		return self::plain( $session['amount_total'] ) === self::total( $order ) && strtoupper( $session['currency'] ) === strtoupper( $order->get_currency() );
	}

	/** Nobody should be able to pay an order that is cancelled, or paid by other means. */
	public static function close_with_order( $order_id, $from, $to ): void {
		$order = wc_get_order( $order_id );
		if ( $order instanceof \WC_Order && in_array( $to, self::CLOSED_ORDER, true ) ) {
			if ( 'cancelled' === $to ) {
				self::tell_of_held_money( $order );
			}
			self::close( $order );
		}
	}

	/** @param int|string $order_id Of an order, or of any other post. */
	public static function close_before_trash( $order_id ): void {
		$order = wc_get_order( $order_id );
		if ( $order instanceof \WC_Order ) {
			self::tell_of_held_money( $order );
			self::close( $order );
		}
	}

	/** WooCommerce returns nothing when a paid order is cancelled. */
	private static function tell_of_held_money( \WC_Order $order ): void {
		$record = new Order_Record( $order );
		$paid   = $record->get( Order_Record::PAID_SESSION );
		if ( '' !== $paid ) {
			/* translators: %s: amount. */
			$record->ask_for_help( 'cancelled-paid:' . $paid, sprintf( __( 'The order was given up after it was paid (%s). The shop still holds what was not refunded: "Return money that paid nothing" under the order actions sends it back.', 'quittance' ), $record->get( Order_Record::PAID_FOR ) ) );
			$order->save_meta_data();
		}
	}

	/** The session that is to be closed with the order; empty when it paid the order, or there is none. */
	private static function open_session( \WC_Order $order ): string {
		$record  = new Order_Record( $order );
		$current = $record->get( Order_Record::SESSION );
		return $current === $record->get( Order_Record::PAID_SESSION ) ? '' : $current;
	}

	private static function close( \WC_Order $order ): void {
		if ( '' === self::open_session( $order ) ) {
			return;
		}
		try {
			self::cancelled( ( new Order_Record( $order ) )->client(), self::open_session( $order ) );
			$wait = 0;
		} catch ( Api_Exception $error ) {
			Plugin::log( 'warning', 'order ' . $order->get_id() . ': its session stays open for now: ' . $error->getMessage() );
			$wait = Checks::AT_ONCE_SECONDS;
		}
		// What came before it was closed is told of by the next check: the order is being saved at this moment.
		$order->update_meta_data( Order_Record::LOOK_AT, (string) ( time() + $wait ) );
		$order->save_meta_data();
		Checks::ensure();
	}

	/** @param int|string $order_id Of an order, or of any other post. */
	public static function close_before_delete( $order_id ): void {
		$order = wc_get_order( $order_id );
		if ( ! $order instanceof \WC_Order ) {
			return;
		}
		$record = new Order_Record( $order );
		if ( '' !== $record->get( Order_Record::SESSION ) ) {
			Deleted_Orders::remember( $record->get( Order_Record::SESSION ), $record->get( Order_Record::MODE ), $record->get_list( Order_Record::RETURNED ) );
			Attention::settle_order( $order->get_id() );
			Checks::ensure();
		}
	}

	public static function close_soon( int $order_id, string $mode, string $session_id ): void {
		self::$superseded[] = array( $order_id, $mode, $session_id );
	}

	public static function close_superseded(): void {
		$todo             = self::$superseded;
		self::$superseded = array();
		foreach ( $todo as list( $order_id, $mode, $session_id ) ) {
			try {
				self::cancelled( Settings::client( $mode ), $session_id );
			} catch ( Api_Exception $error ) {
				/* translators: 1: id of the payment session, 2: what the service answered. */
				Attention::raise( $order_id . ':open:' . $session_id, $order_id, sprintf( __( 'Payment session %1$s of this paid order could not be cancelled, so that the customer could pay again: %2$s', 'quittance' ), $session_id, $error->getMessage() ) );
				Plugin::log( 'warning', 'order ' . $order_id . ': ' . $error->getMessage() );
			}
		}
	}

	/** @param mixed $order That was saved, by us or by somebody else. */
	public static function compare_after_edit( $order ): void {
		static $comparing = false;
		if ( $comparing || ! $order instanceof \WC_Order || '' === ( new Order_Record( $order ) )->get( Order_Record::PAID_FOR ) ) {
			return;
		}
		$comparing = true;
		try {
			if ( Reconciler::compare( $order ) ) {
				$order->save();
			}
		} finally {
			$comparing = false;
		}
	}

	/** An order whose money was seen, or about which nothing can be learnt now, is not given up. */
	public static function may_be_cancelled_as_unpaid( $may, $order ) {
		if ( ! $may || ! $order instanceof \WC_Order || '' === ( new Order_Record( $order ) )->get( Order_Record::SESSION ) ) {
			return $may;
		}
		try {
			Checks::look( $order->get_id() );
			return Order_Lock::fresh( $order->get_id() )->has_status( 'pending' );
		} catch ( \Exception $error ) {
			return false;
		}
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
			Checks::look( $order->get_id() );
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
