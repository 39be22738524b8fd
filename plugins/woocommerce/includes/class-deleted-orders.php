<?php
/**
 * Money for orders that the shop does not have any more: deleted for good, or lost with a restored backup. Their sessions are looked at
 * until nothing can arrive in time, and what came is shown with a button that sends it back.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Deleted_Orders {

	const OPTION = 'quittance_deleted_orders';
	const KEPT   = 500;

	/** @return array{session:string,mode:string,returned:array,look_at:int}|null */
	public static function entry( string $key ): ?array {
		return self::all()[ $key ] ?? null;
	}

	/** @return array<string,array> */
	private static function all(): array {
		$all = get_option( self::OPTION, array() );
		return is_array( $all ) ? $all : array();
	}

	private static function keep( array $all ): void {
		update_option( self::OPTION, array_slice( $all, -self::KEPT, null, true ), false );
	}

	public static function remember( string $session_id, string $mode, array $returned = array() ): void {
		$all = self::all();
		$key = 'session:' . $session_id;
		if ( ! isset( $all[ $key ] ) ) {
			$all[ $key ] = array(
				'session'  => $session_id,
				'mode'     => $mode,
				'returned' => $returned,
				'look_at'  => time(),
			);
			self::keep( $all );
		}
	}

	/** @throws Api_Exception When the service cannot be asked. */
	public static function look_at_due(): void {
		foreach ( self::all() as $key => $one ) {
			if ( $one['look_at'] <= time() ) {
				$all = self::all();
				$next = self::look( (string) $key, $one );
				if ( null === $next ) {
					unset( $all[ $key ] );
				} else {
					$all[ $key ]['look_at'] = time() + $next;
				}
				self::keep( $all );
			}
		}
	}

	/** @return int|null Seconds until the next look is worth it; null when nothing can come and nothing is held. */
	private static function look( string $key, array $one ): ?int {
		$client  = Settings::client( $one['mode'] );
		$session = $client->session( $one['session'] );
		if ( in_array( $session['status'], array( 'open', 'processing' ), true ) ) {
			$session = Sessions::cancelled( $client, $session['id'] );
		}
		$held = Refunds::held( $session );
		if ( array() !== $held || Reconciler::has_money( $session ) ) {
			/* translators: 1: id of the payment session, 2: what the service calls the order, 3: amounts. */
			Attention::raise( $key, 0, sprintf( __( 'Money came for an order that this shop does not have any more (payment session %1$s, order %2$s at the service): %3$s.', 'quittance' ), $session['id'], $session['order_id'], Refunds::listed( $session ) ) );
			return Checks::SOON_SECONDS;
		}
		return time() - $session['expires_at'] < Checks::LATE_SECONDS ? Checks::LATE_SECONDS : null;
	}

	/**
	 * @return bool Whether everything is on its way back; false while money is not final yet.
	 * @throws Api_Exception When the service refused.
	 */
	public static function return_money( string $key ): bool {
		$all = self::all();
		if ( ! isset( $all[ $key ] ) ) {
			return true;
		}
		$client  = Settings::client( $all[ $key ]['mode'] );
		$session = $client->session( $all[ $key ]['session'] );
		foreach ( Refunds::held( $session ) as $name => $what ) {
			$times = count( array_keys( $all[ $key ]['returned'], $name, true ) );
			$client->create_refund( $what + array( 'session_id' => $session['id'], 'reason' => 'The order was deleted' ), Refunds::return_key( $name, $times ) );
			$all[ $key ]['returned'][] = $name;
			self::keep( $all );
		}
		return ! Reconciler::is_something( $session['pending'] );
	}
}
