<?php
/**
 * What a person in the shop must settle: shown above WooCommerce's pages until it is settled, since nobody reads the notes of an order
 * that looks finished, and a deleted order has none.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Attention {

	const OPTION = 'quittance_attention';
	const ACTION = 'quittance_settled';
	const SHOWN  = 10;
	const KEPT   = 500;

	public static function hook(): void {
		add_action( 'admin_notices', array( self::class, 'show' ) );
		add_action( 'admin_post_' . self::ACTION, array( self::class, 'handle' ) );
	}

	/** @param int $order_id 0 when it is about no single order. */
	public static function raise( string $key, int $order_id, string $text ): void {
		$all = self::all();
		if ( ! isset( $all[ $key ] ) ) {
			$all[ $key ] = array(
				'order_id' => $order_id,
				'text'     => $text,
				'at'       => time(),
			);
			self::keep( $all );
		}
	}

	public static function settle( string $key ): void {
		$all = self::all();
		if ( isset( $all[ $key ] ) ) {
			unset( $all[ $key ] );
			self::keep( $all );
		}
	}

	public static function settle_order( int $order_id ): void {
		$all = self::all();
		self::keep(
			array_filter(
				$all,
				static function ( array $one ) use ( $order_id ): bool {
					return $one['order_id'] !== $order_id;
				}
			)
		);
	}

	/** @return array<string,array{order_id:int,text:string,at:int}> Oldest first. */
	public static function all(): array {
		$all = get_option( self::OPTION, array() );
		return is_array( $all ) ? $all : array();
	}

	private static function keep( array $all ): void {
		update_option( self::OPTION, array_slice( $all, -self::KEPT, null, true ), false );
	}

	public static function show(): void {
		$all = self::all();
		if ( array() === $all || ! current_user_can( 'edit_shop_orders' ) ) {
			return;
		}
		echo '<div class="notice notice-warning"><p><strong>' . esc_html__( 'Stablecoin payments need you', 'quittance' ) . '</strong></p><ul>';
		foreach ( array_slice( $all, 0, self::SHOWN, true ) as $key => $one ) {
			echo '<li>' . esc_html( self::heading( $one['order_id'] ) . $one['text'] ) . ' ' . self::buttons( (string) $key, $one['order_id'] ) . '</li>'; // phpcs:ignore WordPress.Security.EscapeOutput
		}
		echo '</ul>';
		if ( count( $all ) > self::SHOWN ) {
			/* translators: %d: number. */
			echo '<p>' . esc_html( sprintf( __( 'And %d more.', 'quittance' ), count( $all ) - self::SHOWN ) ) . '</p>';
		}
		echo '</div>';
	}

	private static function heading( int $order_id ): string {
		$order = $order_id > 0 ? wc_get_order( $order_id ) : false;
		/* translators: %s: order number. */
		return $order instanceof \WC_Order ? sprintf( __( 'Order %s:', 'quittance' ), $order->get_order_number() ) . ' ' : '';
	}

	private static function buttons( string $key, int $order_id ): string {
		$links = array();
		$order = $order_id > 0 ? wc_get_order( $order_id ) : false;
		if ( $order instanceof \WC_Order ) {
			$links[ $order->get_edit_order_url() ] = __( 'Open the order', 'quittance' );
		}
		if ( null !== Deleted_Orders::entry( $key ) ) {
			$links[ self::url( $key, 'return' ) ] = __( 'Send the money back', 'quittance' );
		}
		$links[ self::url( $key, 'done' ) ] = __( 'Done', 'quittance' );
		$html                               = '';
		foreach ( $links as $url => $text ) {
			$html .= ' <a href="' . esc_url( $url ) . '">' . esc_html( $text ) . '</a>';
		}
		return $html;
	}

	private static function url( string $key, string $what ): string {
		$query = array(
			'action' => self::ACTION,
			'key'    => rawurlencode( $key ),
			'what'   => $what,
		);
		return wp_nonce_url( add_query_arg( $query, admin_url( 'admin-post.php' ) ), self::ACTION );
	}

	public static function handle(): void {
		check_admin_referer( self::ACTION );
		if ( ! current_user_can( 'edit_shop_orders' ) ) {
			wp_die( esc_html__( 'You may not do this.', 'quittance' ), '', 403 );
		}
		$key  = isset( $_GET['key'] ) ? sanitize_text_field( wp_unslash( $_GET['key'] ) ) : '';
		$what = isset( $_GET['what'] ) ? sanitize_key( $_GET['what'] ) : '';
		if ( 'return' !== $what || self::returned( $key ) ) {
			self::settle( $key );
		}
		wp_safe_redirect( wp_get_referer() ? wp_get_referer() : admin_url() );
		exit;
	}

	private static function returned( string $key ): bool {
		try {
			return Deleted_Orders::return_money( $key );
		} catch ( \Exception $error ) {
			Plugin::log( 'error', $key . ': money of a deleted order was not sent back: ' . $error->getMessage() );
			wp_die( esc_html( $error->getMessage() ), '', array( 'back_link' => true ) );
		}
	}
}
