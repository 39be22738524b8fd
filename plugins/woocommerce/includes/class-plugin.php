<?php
/**
 * Hooks the parts into WordPress and WooCommerce.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Plugin {

	const PARTS = array( 'signature', 'api-exception', 'customer-exception', 'order-id-taken', 'api-client', 'order-lock', 'order-record', 'settings', 'currencies', 'attention', 'deleted-orders', 'reconciler', 'refunds', 'sessions', 'webhook', 'checks', 'order-actions', 'order-box' );

	/** @var string */
	private static $file = '';

	public static function start( string $file ): void {
		self::$file = $file;
		foreach ( self::PARTS as $part ) {
			require_once __DIR__ . '/class-' . $part . '.php';
		}
		add_action( 'before_woocommerce_init', array( self::class, 'declare_compatibility' ) );
		add_action( 'init', array( self::class, 'load_translations' ) );
		add_action( 'plugins_loaded', array( self::class, 'load_gateway' ) );
		add_action( 'woocommerce_blocks_payment_method_type_registration', array( self::class, 'register_block' ) );
		add_action( 'rest_api_init', array( Webhook::class, 'register' ) );
		add_filter( 'plugin_action_links_' . plugin_basename( $file ), array( self::class, 'action_links' ) );
		register_activation_hook( $file, array( Checks::class, 'ensure' ) );
		register_deactivation_hook( $file, array( Checks::class, 'unschedule_all' ) );
	}

	public static function declare_compatibility(): void {
		if ( class_exists( '\Automattic\WooCommerce\Utilities\FeaturesUtil' ) ) {
			foreach ( array( 'custom_order_tables', 'cart_checkout_blocks' ) as $feature ) {
				\Automattic\WooCommerce\Utilities\FeaturesUtil::declare_compatibility( $feature, self::$file, true );
			}
		}
	}

	public static function load_translations(): void {
		load_plugin_textdomain( 'quittance', false, dirname( plugin_basename( self::$file ) ) . '/languages' );
	}

	/** Without WooCommerce there is nothing to hook into. */
	public static function load_gateway(): void {
		if ( ! class_exists( '\WC_Payment_Gateway' ) ) {
			return;
		}
		require_once __DIR__ . '/class-gateway.php';
		add_filter(
			'woocommerce_payment_gateways',
			static function ( array $gateways ): array {
				$gateways[] = Gateway::class;
				return $gateways;
			}
		);
		Order_Lock::hook();
		Sessions::hook();
		Refunds::hook();
		Checks::hook();
		Order_Actions::hook();
		Attention::hook();
		Order_Box::hook();
	}

	/** @param object $registry Of WooCommerce Blocks. */
	public static function register_block( $registry ): void {
		require_once __DIR__ . '/class-blocks-method.php';
		$registry->register( new Blocks_Method( plugins_url( 'assets/blocks.js', self::$file ) ) );
	}

	public static function action_links( array $links ): array {
		$url = admin_url( 'admin.php?page=wc-settings&tab=checkout&section=' . Settings::GATEWAY_ID );
		array_unshift( $links, '<a href="' . esc_url( $url ) . '">' . esc_html__( 'Settings', 'quittance' ) . '</a>' );
		return $links;
	}

	public static function log( string $level, string $message ): void {
		wc_get_logger()->log( $level, $message, array( 'source' => 'quittance' ) );
	}
}
