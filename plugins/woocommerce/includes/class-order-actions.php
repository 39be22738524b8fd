<?php
/**
 * What people in the shop can ask for on the order screen.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Actions {

	public static function hook(): void {
		add_filter( 'woocommerce_order_actions', array( self::class, 'offer' ), 10, 2 );
		foreach ( array( 'check', 'return_surplus', 'acknowledge_sender' ) as $action ) {
			add_action(
				'woocommerce_order_action_quittance_' . $action,
				static function ( $order ) use ( $action ): void {
					self::run( $action, $order );
				}
			);
		}
	}

	public static function offer( $actions, $order = null ) {
		if ( $order instanceof \WC_Order && '' !== ( new Order_Record( $order ) )->get( Order_Record::EXTERNAL_ID ) ) {
			$actions['quittance_check']              = __( 'Look the stablecoin payment up', 'quittance' );
			$actions['quittance_return_surplus']     = __( 'Return money that paid nothing', 'quittance' );
			$actions['quittance_acknowledge_sender'] = __( 'The paying address can receive refunds', 'quittance' );
		}
		return $actions;
	}

	public static function run( string $action, \WC_Order $shown ): void {
		try {
			self::$action( $shown->get_id() );
		} catch ( \Exception $error ) {
			/* translators: %s: what went wrong. */
			$shown->add_order_note( sprintf( __( 'Quittance: %s', 'quittance' ), $error->getMessage() ) );
		}
	}

	private static function check( int $order_id ): void {
		Checks::look( $order_id );
		Order_Lock::fresh( $order_id )->add_order_note( __( 'The payment was looked up at the service.', 'quittance' ) );
	}

	private static function return_surplus( int $order_id ): void {
		if ( 0 === Refunds::return_surplus( $order_id ) ) {
			Order_Lock::fresh( $order_id )->add_order_note( __( 'There is no money that paid nothing, or the payment is not over yet.', 'quittance' ) );
		} else {
			Attention::settle_order( $order_id );
		}
	}

	private static function acknowledge_sender( int $order_id ): void {
		Order_Lock::with(
			$order_id,
			static function ( \WC_Order $order ): void {
				( new Order_Record( $order ) )->set( Order_Record::ACKNOWLEDGED, 'yes' );
				$order->save();
				$order->add_order_note( __( 'Refunds of this order may go to the address that paid, though it is a contract or an exchange.', 'quittance' ) );
			}
		);
	}
}
