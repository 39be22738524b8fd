<?php
/**
 * Takes what the service tells. A message wakes the shop up; what it then does follows from what the service answers to the shop's own
 * signed question.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Webhook {

	const REST_NAMESPACE = 'quittance/v1';
	const ROUTE          = '/webhook';
	const MAX_BYTES      = 262144;

	public static function register(): void {
		register_rest_route(
			self::REST_NAMESPACE,
			self::ROUTE,
			array(
				'methods'             => 'POST',
				'callback'            => array( self::class, 'receive' ),
				// Everybody may knock; the signature decides.
				'permission_callback' => '__return_true',
			)
		);
	}

	/** @param \WP_REST_Request $request As it came in. */
	public static function receive( $request ): \WP_REST_Response {
		$body = (string) $request->get_body();
		$mode = strlen( $body ) > self::MAX_BYTES ? null : self::mode_of( $request, $body );
		if ( null === $mode ) {
			return self::answer( 401, array( 'error' => 'invalid signature' ) );
		}
		$event = json_decode( $body, true );
		if ( ! is_array( $event ) || ! is_string( $event['id'] ?? null ) || ! is_string( $event['type'] ?? null ) || ! is_array( $event['data']['object'] ?? null ) ) {
			return self::answer( 400, array( 'error' => 'id, type and data.object are required' ) );
		}
		try {
			self::handle( $mode, $event );
		} catch ( \Exception $error ) {
			Plugin::log( 'error', 'webhook ' . $event['id'] . ' (' . $event['type'] . '): ' . $error->getMessage() );
			// The service tries again.
			return self::answer( 503, array( 'error' => 'the event could not be handled now' ) );
		}
		return self::answer( 200, array( 'received' => true ) );
	}

	/** The mode whose secret signed the request; null when none did. */
	private static function mode_of( $request, string $body ): ?string {
		$header = static function ( string $name ) use ( $request ): string {
			return (string) $request->get_header( Settings::header_prefix() . $name );
		};
		$given  = array( $header( 'Signature' ), $header( 'Signature-Next' ) );
		foreach ( Settings::MODES as $mode ) {
			if ( Signature::verifies( Settings::webhook_secret( $mode ), $header( 'Timestamp' ), $header( 'Nonce' ), $body, $given, time() ) ) {
				return $mode;
			}
		}
		return null;
	}

	/** @throws \Exception When the event must be sent again. */
	private static function handle( string $mode, array $event ): void {
		$object   = $event['data']['object'];
		$external = (string) ( $object['order_id'] ?? '' );
		$order_id = self::order_id_of( $external, $mode );
		if ( ! is_string( $object['session_id'] ?? null ) ) {
			return;
		}
		if ( null === $order_id ) {
			Plugin::log( 'info', 'webhook ' . $event['id'] . ' (' . $event['type'] . ') is about no order of this shop' );
			if ( 0 === strpos( $external, Settings::order_prefix() ) ) {
				Deleted_Orders::remember( $object['session_id'], $mode );
				Checks::ensure();
			}
			return;
		}
		if ( ( new Order_Record( Order_Lock::fresh( $order_id ) ) )->has_handled( $event['id'] ) ) {
			return;
		}
		$client = Settings::client( $mode );
		Order_Lock::act_on_answer(
			$order_id,
			static function () use ( $client, $object ): array {
				return array( $client->session( $object['session_id'] ), is_string( $object['refund_id'] ?? null ) ? $client->refund( $object['refund_id'] ) : null );
			},
			static function ( \WC_Order $order, array $answer ) use ( $event ): void {
				list( $session, $refund ) = $answer;
				// Another node of the service may not be as far as the one that told.
				if ( 'payment.completed' === $event['type'] && 'paid' !== $session['payment_status'] ) {
					throw new \RuntimeException( 'session ' . $session['id'] . ' does not show as paid yet' );
				}
				Reconciler::apply( $order, $session );
				if ( null !== $refund ) {
					self::refund( $order, $event, $refund );
				}
				( new Order_Record( $order ) )->handled( $event['id'] );
				$order->save();
			}
		);
	}

	/** @throws \RuntimeException When the event must be sent again. */
	private static function refund( \WC_Order $order, array $event, array $refund ): void {
		if ( $refund['session_id'] !== $event['data']['object']['session_id'] ) {
			throw new \RuntimeException( 'refund ' . $refund['id'] . ' is not of the session told' );
		}
		if ( in_array( $event['type'], array( 'refund.succeeded', 'refund.failed' ), true ) && ! in_array( $refund['status'], Refunds::ENDED, true ) ) {
			throw new \RuntimeException( 'refund ' . $refund['id'] . ' does not show as ended yet' );
		}
		Refunds::apply( $order, $refund );
	}

	/** The order of this shop that an id at the service stands for. */
	public static function order_id_of( string $external_id, string $mode ): ?int {
		if ( 1 !== preg_match( '/(?<!\d)(\d{1,18})(?:\.[0-9a-f]{8})?\z/', $external_id, $parts ) ) {
			return null;
		}
		$order = wc_get_order( (int) $parts[1] );
		if ( ! $order instanceof \WC_Order ) {
			return null;
		}
		$record = new Order_Record( $order );
		return $record->get( Order_Record::EXTERNAL_ID ) === $external_id && $record->get( Order_Record::MODE ) === $mode ? $order->get_id() : null;
	}

	private static function answer( int $status, array $body ): \WP_REST_Response {
		return new \WP_REST_Response( $body, $status );
	}
}
