<?php
/**
 * What the service holds for an order, beside the order: its sessions and the money to return, asked for when the order is opened.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Box {

	const ACTION = 'quittance_return';

	public static function hook(): void {
		add_action( 'add_meta_boxes', array( self::class, 'add' ), 10, 2 );
		add_action( 'admin_post_' . self::ACTION, array( self::class, 'handle' ) );
	}

	/** @param mixed $screen Post type or screen id. @param mixed $shown Post or order. */
	public static function add( $screen, $shown ): void {
		$order = $shown instanceof \WC_Order ? $shown : ( $shown instanceof \WP_Post ? wc_get_order( $shown->ID ) : false );
		if ( $order instanceof \WC_Order && '' !== ( new Order_Record( $order ) )->get( Order_Record::EXTERNAL_ID ) ) {
			add_meta_box(
				'quittance',
				__( 'Stablecoin payment', 'quittance' ),
				static function () use ( $order ): void {
					self::show( $order );
				},
				$screen,
				'side'
			);
		}
	}

	public static function show( \WC_Order $order ): void {
		try {
			$sessions = self::own_sessions( $order );
		} catch ( Api_Exception $error ) {
			/* translators: %s: what went wrong. */
			echo '<p>' . esc_html( sprintf( __( 'The service did not answer (%s). Open the order again in a minute.', 'quittance' ), $error->getMessage() ) ) . '</p>';
			return;
		}
		foreach ( $sessions as $session ) {
			/* translators: 1: id of the payment session, 2: its status. */
			echo '<p><a href="' . esc_url( $session['url'] ) . '">' . esc_html( sprintf( __( 'Session %1$s: %2$s', 'quittance' ), substr( $session['id'], 0, 12 ) . '…', $session['status'] ) ) . '</a>';
			foreach ( $session['deposits'] as $deposit ) {
				echo '<br>' . esc_html( $deposit['amount'] . ' ' . $deposit['coin'] . ', ' . $deposit['status'] . ', ' . $deposit['kind'] ) . ': <a href="' . esc_url( (string) ( $deposit['explorer_url'] ?? '' ) ) . '">' . esc_html( substr( $deposit['tx_hash'], 0, 10 ) . '…' ) . '</a>';
			}
			echo '</p>';
		}
		$amounts = Refunds::to_return( $order, $sessions );
		/* translators: %s: amounts, or a dash. */
		echo '<p><strong>' . esc_html( sprintf( __( 'Money to return: %s', 'quittance' ), array() === $amounts ? '–' : implode( ', ', $amounts ) ) ) . '</strong></p>';
		if ( array() !== $amounts ) {
			$url = wp_nonce_url( add_query_arg( array( 'action' => self::ACTION, 'order' => $order->get_id() ), admin_url( 'admin-post.php' ) ), self::ACTION );
			echo '<p><a class="button" href="' . esc_url( $url ) . '">' . esc_html__( 'Return money that paid nothing', 'quittance' ) . '</a></p>';
		}
	}

	/**
	 * @return array[] Newest first.
	 * @throws Api_Exception When the service cannot be asked.
	 */
	private static function own_sessions( \WC_Order $order ): array {
		$record = new Order_Record( $order );
		return array_values( array_filter( $record->client()->sessions_of_order( $record->get( Order_Record::EXTERNAL_ID ) ), array( $record, 'owns' ) ) );
	}

	public static function handle(): void {
		check_admin_referer( self::ACTION );
		$order = wc_get_order( isset( $_GET['order'] ) ? absint( $_GET['order'] ) : 0 );
		if ( ! $order instanceof \WC_Order || ! current_user_can( 'edit_shop_orders' ) ) {
			wp_die( esc_html__( 'You may not do this.', 'quittance' ), '', 403 );
		}
		Order_Actions::run( 'return_surplus', $order );
		wp_safe_redirect( $order->get_edit_order_url() );
		exit;
	}
}
