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

	const ENDED      = array( 'COMPLETED', 'FAILED' );
	const MAX_REASON = 200;

	/** A request that has not ended after this time has died, and nobody knows what became of its refund. */
	const ASKING_SECONDS = 60;

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
		$plain = Sessions::plain( (string) wc_format_decimal( $amount ) );
		try {
			$name   = self::name_of_attempt( $order_id );
			$client = ( new Order_Record( Order_Lock::fresh( $order_id ) ) )->client();
			$fault  = self::fault( $client, Order_Lock::fresh( $order_id ), $plain );
			if ( null !== $fault ) {
				return new \WP_Error( 'quittance_refund', $fault );
			}
			$attempt = Order_Lock::with(
				$order_id,
				static function ( \WC_Order $order ) use ( $name, $plain, $reason ) {
					return self::attempt( $order, $name, $plain, $reason );
				}
			);
			return is_wp_error( $attempt ) ? $attempt : self::send( $client, $order_id, $attempt );
		} catch ( Api_Exception $error ) {
			return new \WP_Error( 'quittance_refund', $error->getMessage() );
		} catch ( \RuntimeException $error ) {
			return new \WP_Error( 'quittance_refund', $error->getMessage() );
		}
	}

	/** WooCommerce's own id of the refund names it: two equal refunds at the same time are two. */
	private static function name_of_attempt( int $order_id ): string {
		$refund = self::$being_made;
		return null !== $refund && (int) $refund->get_parent_id() === $order_id && $refund->get_id() > 0 ? 'refund-' . $refund->get_id() : 'refund-' . wp_generate_uuid4();
	}

	/**
	 * Why nothing is asked for, in words; null when the refund may be asked for.
	 *
	 * @throws Api_Exception When the service cannot be asked.
	 */
	private static function fault( Api_Client $client, \WC_Order $order, string $amount ): ?string {
		$record = new Order_Record( $order );
		$paid   = $record->get( Order_Record::PAID_SESSION );
		if ( '' === $paid ) {
			return __( 'The order was not paid by a payment session, so there is nothing to refund.', 'quittance' );
		}
		if ( ! Reconciler::is_something( $amount ) ) {
			return __( 'Refund amount: it must be above zero.', 'quittance' );
		}
		$decimals = Currencies::decimals( $order->get_currency() );
		if ( strlen( (string) substr( (string) strrchr( $amount, '.' ), 1 ) ) > $decimals ) {
			/* translators: 1: number, 2: currency. */
			return sprintf( __( 'Refund amount: at most %1$d decimals in %2$s.', 'quittance' ), $decimals, $order->get_currency() );
		}
		return $record->owns( $client->session( $paid ) ) ? null : __( 'The payment session belongs to another order, so this order has nothing to refund.', 'quittance' );
	}

	/**
	 * What is asked for, written down first: asked for again, it is the same refund, whatever became of the first answer.
	 *
	 * @return array|\WP_Error
	 */
	private static function attempt( \WC_Order $order, string $name, string $amount, string $reason ) {
		$record   = new Order_Record( $order );
		$attempts = $record->get_list( Order_Record::REFUND_ATTEMPTS );
		$asked    = array(
			'value'    => $amount,
			'currency' => $order->get_currency(),
		);
		foreach ( $attempts as $known => $one ) {
			$is_dead = $one['in_doubt'] || $one['at'] < time() - self::ASKING_SECONDS;
			if ( $is_dead && $one['body']['amount'] !== $asked ) {
				/* translators: %s: amount. */
				return new \WP_Error( 'quittance_refund', sprintf( __( 'Refund amount: no answer came to the refund of %s before this one. Ask for that amount again first: it is never paid twice.', 'quittance' ), $one['body']['amount']['value'] . ' ' . $one['body']['amount']['currency'] ) );
			}
			if ( $is_dead ) {
				$name = $known;
			}
		}
		$attempt           = $attempts[ $name ] ?? array(
			'name' => $name,
			'key'  => $record->get( Order_Record::EXTERNAL_ID ) . '-' . $name,
			'body' => array_filter(
				array(
					'session_id'         => $record->get( Order_Record::PAID_SESSION ),
					'amount'             => $asked,
					'reason'             => self::short( $reason ),
					'acknowledge_sender' => 'yes' === $record->get( Order_Record::ACKNOWLEDGED ),
				)
			),
		);
		$attempts[ $name ] = array(
			'in_doubt' => false,
			'at'       => time(),
		) + $attempt;
		$record->set_list( Order_Record::REFUND_ATTEMPTS, $attempts );
		$order->save();
		return $attempts[ $name ];
	}

	/** @return true|\WP_Error */
	private static function send( Api_Client $client, int $order_id, array $attempt ) {
		try {
			$refund = $client->create_refund( $attempt['body'], $attempt['key'] );
		} catch ( Api_Exception $error ) {
			Plugin::log( 'error', 'order ' . $order_id . ': refund: ' . $error->getMessage() );
			self::end_attempt( $order_id, $attempt['name'], $error->leaves_doubt() );
			/* translators: %s: what went wrong. */
			return new \WP_Error( 'quittance_refund', $error->leaves_doubt() ? sprintf( __( 'No answer came, so the refund may have been accepted (%s). Ask for the same amount again: it is never paid twice.', 'quittance' ), $error->getMessage() ) : self::explained( $error ) );
		}
		Order_Lock::with(
			$order_id,
			static function ( \WC_Order $order ) use ( $attempt, $refund ): void {
				$record   = new Order_Record( $order );
				$attempts = $record->get_list( Order_Record::REFUND_ATTEMPTS );
				unset( $attempts[ $attempt['name'] ] );
				$record->set_list( Order_Record::REFUND_ATTEMPTS, $attempts );
				self::accepted( $order, $record, $refund );
			}
		);
		if ( null !== self::$being_made && (int) self::$being_made->get_parent_id() === $order_id ) {
			self::$being_made->update_meta_data( self::LINK, $refund['id'] );
		}
		return true;
	}

	private static function end_attempt( int $order_id, string $name, bool $in_doubt ): void {
		Order_Lock::with(
			$order_id,
			static function ( \WC_Order $order ) use ( $name, $in_doubt ): void {
				$record   = new Order_Record( $order );
				$attempts = $record->get_list( Order_Record::REFUND_ATTEMPTS );
				if ( $in_doubt ) {
					$attempts[ $name ]['in_doubt'] = true;
				} else {
					unset( $attempts[ $name ] );
				}
				$record->set_list( Order_Record::REFUND_ATTEMPTS, $attempts );
				$order->save();
			}
		);
	}

	private static function accepted( \WC_Order $order, Order_Record $record, array $refund ): void {
		$known                  = $record->get_list( Order_Record::REFUNDS );
		$known[ $refund['id'] ] = $refund['status'];
		$record->set_list( Order_Record::REFUNDS, $known );
		/* translators: 1: id of the refund, 2: amount. */
		$record->tell( 'refund:' . $refund['id'], sprintf( __( 'Refund %1$s of %2$s was accepted and is on its way to the payer.', 'quittance' ), $refund['id'], self::amount( $refund ) ) );
		Checks::schedule( $order, Checks::SOON_SECONDS );
		$order->save();
	}

	private static function explained( Api_Exception $error ): string {
		if ( $error->is( 'sender_not_acknowledged' ) ) {
			/* translators: %s: what the service answered. */
			return sprintf( __( 'The payment came from a contract or an exchange, where a refund may be lost. Ask the customer whether that address can receive it, choose "The paying address can receive refunds" under the order actions, and refund again. (%s)', 'quittance' ), $error->getMessage() );
		}
		return ( '' === $error->param() ? '' : $error->param() . ': ' ) . $error->getMessage();
	}

	/**
	 * Sends back what came late, in another coin, beyond what was due or what the order costs by now, or a second time; of an order that
	 * nobody paid or that is cancelled, everything.
	 *
	 * @return int How many refunds were asked for.
	 * @throws \Exception When the service refused one.
	 */
	public static function return_surplus( int $order_id ): int {
		$order  = Order_Lock::fresh( $order_id );
		$record = new Order_Record( $order );
		$client = $record->client();
		$asked  = 0;
		foreach ( $client->sessions_of_order( $record->get( Order_Record::EXTERNAL_ID ) ) as $session ) {
			if ( ! $record->owns( $session ) || in_array( $session['status'], array( 'open', 'processing' ), true ) ) {
				continue;
			}
			foreach ( self::surplus_of( $order, $session ) as $name => $what ) {
				$asked += self::give_back( $client, $order_id, (string) $name, $what + array( 'session_id' => $session['id'] ) );
			}
		}
		return $asked;
	}

	/**
	 * What `return_surplus` would send back, in words.
	 *
	 * @param array[] $sessions Of this order.
	 * @return string[]
	 */
	public static function to_return( \WC_Order $order, array $sessions ): array {
		$amounts = array();
		foreach ( $sessions as $session ) {
			if ( in_array( $session['status'], array( 'open', 'processing' ), true ) ) {
				continue;
			}
			$by_id = array_column( $session['deposits'], null, 'transaction_id' );
			foreach ( self::surplus_of( $order, $session ) as $name => $what ) {
				$amounts[] = isset( $what['amount'] ) ? $what['amount']['value'] . ' ' . $what['amount']['currency'] : $by_id[ $name ]['refundable'] . ' ' . $by_id[ $name ]['coin'];
			}
		}
		return $amounts;
	}

	/** The same key until an answer came, so that nothing goes back twice. */
	private static function give_back( Api_Client $client, int $order_id, string $name, array $what ): int {
		$record = new Order_Record( Order_Lock::fresh( $order_id ) );
		$times  = count( array_keys( $record->get_list( Order_Record::RETURNED ), $name, true ) );
		$body   = array_filter(
			$what + array(
				'reason'             => 'It did not pay the order',
				'acknowledge_sender' => 'yes' === $record->get( Order_Record::ACKNOWLEDGED ),
			)
		);
		$refund = $client->create_refund( $body, self::return_key( $name, $times ) );
		Order_Lock::with(
			$order_id,
			static function ( \WC_Order $order ) use ( $name, $refund ): void {
				$record = new Order_Record( $order );
				if ( ! isset( $record->get_list( Order_Record::REFUNDS )[ $refund['id'] ] ) ) {
					$record->set_list( Order_Record::RETURNED, array_merge( $record->get_list( Order_Record::RETURNED ), array( $name ) ) );
				}
				self::accepted( $order, $record, $refund );
			}
		);
		return 1;
	}

	public static function return_key( string $name, int $times ): string {
		return 'return-' . $name . '-' . $times;
	}

	/** @return array[] By a name that stays the same: what to refund. */
	private static function surplus_of( \WC_Order $order, array $session ): array {
		$record = new Order_Record( $order );
		if ( $session['id'] !== $record->get( Order_Record::PAID_SESSION ) || $order->has_status( array( 'cancelled', 'trash' ) ) ) {
			return self::held( $session );
		}
		$surplus = array_filter(
			self::held( $session ),
			static function ( string $name ) use ( $session ): bool {
				foreach ( $session['deposits'] as $deposit ) {
					if ( $deposit['transaction_id'] === $name ) {
						return 'on_time' !== $deposit['kind'];
					}
				}
				return true;
			},
			ARRAY_FILTER_USE_KEY
		);
		if ( Reconciler::is_something( $session['excess'] ) ) {
			$surplus[ $session['id'] . '-excess' ] = array(
				'amount' => array(
					'value'    => $session['excess'],
					'currency' => $session['settlement_currency'],
				),
			);
		}
		return $surplus + self::difference( $order, $record, $session );
	}

	/** What an order that became cheaper was paid too much, less what was refunded of it in the shop. */
	private static function difference( \WC_Order $order, Order_Record $record, array $session ): array {
		list( $paid, $currency ) = explode( ' ', $record->get( Order_Record::PAID_FOR ) . ' ' );
		$decimals                = Currencies::decimals( $order->get_currency() );
		$units                   = static function ( $amount ) use ( $decimals ): int {
			return (int) round( (float) $amount * 10 ** $decimals );
		};
		$name                    = $session['id'] . '-difference-' . Sessions::total( $order );
		$too_much                = $units( $paid ) - $units( $order->get_total() );
		if ( $too_much <= 0 || $currency !== strtoupper( $order->get_currency() ) || in_array( $name, $record->get_list( Order_Record::RETURNED ), true ) ) {
			return array();
		}
		return array(
			$name => array(
				'amount' => array(
					'value'    => Sessions::plain( number_format( $too_much / 10 ** $decimals, $decimals, '.', '' ) ),
					'currency' => $currency,
				),
			),
		);
	}

	/** @return array[] By the transaction's id: each transfer of the session that can be sent back whole. */
	public static function held( array $session ): array {
		$held = array();
		foreach ( $session['deposits'] as $deposit ) {
			if ( Reconciler::is_something( $deposit['refundable'] ) && 'dust' !== $deposit['kind'] ) {
				$held[ $deposit['transaction_id'] ] = array( 'transaction_id' => $deposit['transaction_id'] );
			}
		}
		return $held;
	}

	public static function listed( array $session ): string {
		return implode( ', ', array_map( array( Reconciler::class, 'described' ), $session['deposits'] ) );
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
