<?php
/**
 * One request to a real WordPress with WooCommerce, from the command line: `php shop.php FOLDER COMMAND [JSON]`. Each call is a process of
 * its own, as two people or a webhook and a person are. Prints the outcome as JSON.
 */

list( , $folder, $command ) = $argv;
$input                      = json_decode( $argv[3] ?? '{}', true );
$_SERVER['HTTP_HOST']       = getenv( 'SHOP_HOST' );
$_SERVER['REQUEST_URI']     = '/';
define( 'WP_ADMIN', true );
if ( 'install' === $command ) {
	define( 'WP_INSTALLING', true );
}
require $folder . '/wp-load.php';

function answer( $value ): void {
	echo "\n", json_encode( $value ), "\n";
	exit;
}
function order_of( array $input ): WC_Order {
	return wc_get_order( $input['order'] );
}

switch ( $command ) {
	case 'install':
		require ABSPATH . 'wp-admin/includes/upgrade.php';
		wp_install( 'Shop', 'admin', 'admin@shop.example', true, '', wp_generate_password() );
		answer( true );
	case 'activate':
		require_once ABSPATH . 'wp-admin/includes/plugin.php';
		$fault = activate_plugin( $input['plugin'] );
		answer( is_wp_error( $fault ) ? $fault->get_error_message() : true );
	case 'deactivate':
		require_once ABSPATH . 'wp-admin/includes/plugin.php';
		deactivate_plugins( $input['plugin'] );
		answer( true );
	case 'tables':
		WC_Install::install();
		answer( WC_VERSION . ' on WordPress ' . get_bloginfo( 'version' ) );
	case 'option':
		update_option( $input['name'], $input['value'] );
		answer( get_option( $input['name'] ) );
	case 'hpos':
		// Past the check that no order waits to be copied to the other storage: each case makes orders of its own.
		wc_get_container()->get( Automattic\WooCommerce\Internal\DataStores\Orders\DataSynchronizer::class )->create_database_tables();
		$wpdb->replace( $wpdb->options, array( 'option_name' => 'woocommerce_custom_orders_table_enabled', 'option_value' => $input['on'] ? 'yes' : 'no', 'autoload' => 'yes' ) );
		answer( true );
	case 'order':
		$product = new WC_Product_Simple();
		$product->set_name( 'Mug' );
		$product->set_regular_price( $input['price'] );
		$product->save();
		$order = wc_create_order( array( 'created_via' => 'checkout' ) );
		$order->add_product( $product, 1 );
		$order->set_payment_method( 'quittance' );
		$order->set_billing_email( 'payer@example.com' );
		$order->calculate_totals();
		$order->save();
		answer( $order->get_id() );
	case 'pay':
		WC()->frontend_includes();
		WC()->initialize_session();
		$gateway = WC()->payment_gateways()->payment_gateways()['quittance'];
		answer( array( 'result' => $gateway->process_payment( $input['order'] )['result'], 'notices' => array_column( wc_get_notices( 'error' ), 'notice' ) ) );
	case 'offered':
		WC()->frontend_includes();
		WC()->initialize_session();
		WC()->initialize_cart();
		answer( isset( WC()->payment_gateways()->get_available_payment_gateways()['quittance'] ) );
	case 'state':
		$order = order_of( $input );
		$notes = array_column( wc_get_order_notes( array( 'order_id' => $order->get_id() ) ), 'content' );
		answer( array( 'status' => $order->get_status(), 'total' => $order->get_total(), 'paid' => null !== $order->get_date_paid(), 'session' => $order->get_meta( '_quittance_session' ), 'external_id' => $order->get_meta( '_quittance_order_id' ), 'notes' => $notes, 'refunded' => $order->get_total_refunded() ) );
	case 'grow':
		$product = new WC_Product_Simple();
		$product->set_regular_price( $input['price'] );
		$product->save();
		$order = order_of( $input );
		$order->add_product( $product, 1 );
		$order->calculate_totals();
		answer( $order->get_total() );
	case 'status':
		$order = order_of( $input );
		$order->update_status( $input['status'], '', true );
		answer( $order->get_status() );
	case 'copy':
		$copy  = wc_create_order();
		$order = order_of( $input );
		foreach ( $order->get_meta_data() as $one ) {
			$copy->update_meta_data( $one->key, $one->value );
		}
		foreach ( $order->get_items() as $item ) {
			$copy->add_product( $item->get_product(), 1 );
		}
		$copy->set_payment_method( 'quittance' );
		$copy->calculate_totals();
		$copy->save();
		answer( $copy->get_id() );
	case 'trash':
		answer( order_of( $input )->delete( false ) );
	case 'delete':
		answer( order_of( $input )->delete( true ) );
	case 'refund':
		$refund = wc_create_refund( array( 'order_id' => $input['order'], 'amount' => $input['amount'], 'reason' => 'Broken', 'refund_payment' => true ) );
		answer( is_wp_error( $refund ) ? $refund->get_error_message() : true );
	case 'action':
		do_action( 'woocommerce_order_action_quittance_' . $input['action'], order_of( $input ) );
		answer( true );
	case 'timer':
		Quittance\WooCommerce\Checks::ensure();
		$order = isset( $input['order'] ) ? wc_get_order( $input['order'] ) : false;
		if ( $order instanceof WC_Order && '' !== $order->get_meta( '_quittance_look_at' ) ) {
			$order->update_meta_data( '_quittance_look_at', (string) time() );
			$order->save_meta_data();
		}
		delete_option( 'quittance_compared_at' );
		$deleted = get_option( 'quittance_deleted_orders', array() );
		foreach ( array_keys( $deleted ) as $key ) {
			$deleted[ $key ]['look_at'] = 0;
		}
		update_option( 'quittance_deleted_orders', $deleted );
		do_action( 'quittance_check_orders' );
		answer( as_has_scheduled_action( 'quittance_check_orders' ) );
	case 'needs':
		answer( array_column( get_option( 'quittance_attention', array() ), 'text' ) );
	case 'return_deleted':
		answer( Quittance\WooCommerce\Deleted_Orders::return_money( $input['key'] ) );
	case 'screen':
		ob_start();
		Quittance\WooCommerce\Order_Box::show( order_of( $input ) );
		wp_set_current_user( 1 );
		Quittance\WooCommerce\Attention::show();
		answer( ob_get_clean() );
}
fwrite( STDERR, "unknown command $command\n" );
exit( 2 );
