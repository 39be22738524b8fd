<?php
/**
 * Removes settings, secrets and scheduled checks. What an order was paid with stays with the order.
 *
 * @package Quittance\WooCommerce
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

$quittance_clean = static function () {
	foreach ( array( 'woocommerce_quittance_settings', 'quittance_attention', 'quittance_deleted_orders', 'quittance_compared_at' ) as $quittance_option ) {
		delete_option( $quittance_option );
	}
	if ( function_exists( 'as_unschedule_all_actions' ) ) {
		as_unschedule_all_actions( '', array(), 'quittance' );
	}
};

if ( is_multisite() ) {
	foreach ( get_sites( array( 'fields' => 'ids', 'number' => 0 ) ) as $quittance_site ) {
		switch_to_blog( $quittance_site );
		$quittance_clean();
		restore_current_blog();
	}
} else {
	$quittance_clean();
}
