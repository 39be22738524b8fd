<?php
/**
 * What a shop does around a payment (docs/shops.md): orders that change while the service is asked, copies, deleted orders, services that
 * are away.
 */

use Quittance\WooCommerce\Attention;
use Quittance\WooCommerce\Checks;
use Quittance\WooCommerce\Currencies;
use Quittance\WooCommerce\Deleted_Orders;
use Quittance\WooCommerce\Gateway;

function needs(): array {
	return array_column( Attention::all(), 'text' );
}

it( 'does not complete an order that was cancelled while the service was asked', function () {
	$order = begun();
	is_paid( 'cs_1' );
	meanwhile( '/api/v1/checkout/sessions/cs_1', function () use ( $order ) {
		$order->becomes_status( 'cancelled' );
	} );
	told( Service::event( 'evt_paid', 'payment.completed', 'cs_1' ) );
	same( array( 'cancelled', 0 ), array( $order->status, $order->completions ) );
	has( 'although the order is cancelled', $order->notes );
	has( 'although the order is cancelled', needs() );
} );

it( 'holds an order that grew while the service was asked, and says so even when it is on hold already', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'processing', 'pending' => '10.01' ) );
	told( Service::event( 'evt_1', 'payment.processing', 'cs_1' ) );
	is_paid( 'cs_1' );
	meanwhile( '/api/v1/checkout/sessions/cs_1', function () use ( $order ) {
		$order->costs( '1472.21' );
	} );
	told( Service::event( 'evt_paid', 'payment.completed', 'cs_1' ) );
	same( array( 'on-hold', 0, null ), array( $order->status, $order->completions, $order->date_paid ) );
	has( 'Paid 10 USD, but the order costs 1472.21 USD by now. Check before you deliver.', $order->notes );
	has( 'Check before you deliver', needs() );
	told( Service::event( 'evt_again', 'payment.completed', 'cs_1' ) );
	same( 1, count( preg_grep( '/Check before you deliver/', $order->notes ) ) );
	$order->becomes_status( 'processing' );
	told( Service::event( 'evt_more', 'payment.completed', 'cs_1' ) );
	same( 'processing', $order->status );
} );

it( 'holds a paid order that grows afterwards, and says what is to be returned of one that shrinks', function () {
	$order = paid_order();
	$order->costs( '8.00' );
	same( 'processing', $order->status );
	has( 'Paid 10 USD, but the order costs 8 USD', $order->notes );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array( array( 'value' => '2', 'currency' => 'USD' ) ), array_column( bodies(), 'amount' ) );
	$order->costs( '12.00' );
	same( 'on-hold', $order->status );
} );

it( 'asks again when another request acted on an answer meanwhile, since its own may be the older one', function () {
	$order = begun();
	meanwhile( '/api/v1/checkout/sessions/cs_1', function () {
		is_told_paid( 'cs_1' );
	} );
	looked( 41 );
	same( array( 'processing', 1 ), array( $order->status, $order->completions ) );
	same( array(), preg_grep( '/Money was seen/', $order->notes ) );
} );

it( 'begins with the total of the moment when it changed while the session was made', function () {
	$order = new Stored_Order( 41 );
	meanwhile( '/api/v1/checkout/sessions/create', function () use ( $order ) {
		$order->costs( '12.50' );
	} );
	begun();
	same( array( 'cancelled', 'open', '12.50' ), array( Service::$sessions['cs_1']['status'], Service::$sessions['cs_2']['status'], Service::$sessions['cs_2']['amount_total'] ) );
	same( 'cs_2', session_of( $order ) );
} );

it( 'replaces a short session when the price changed, and keeps it while money is on its way', function () {
	$order = begun();
	becomes( 'cs_1', array( 'received' => '5.00', 'deposits' => array( deposit( 'txn_1', 'on_time' ) ) ) );
	$order->costs( '12.50' );
	begun();
	same( array( 'cancelled', 'cs_2' ), array( Service::$sessions['cs_1']['status'], session_of( $order ) ) );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array( 'txn_1' ), array_column( bodies(), 'transaction_id' ) );
} );

it( 'refunds nothing of an order that was copied with its metadata, and the copy can be paid', function () {
	$order      = paid_order();
	$copy       = new Stored_Order( 42 );
	$copy->meta = $order->meta;
	same( false, ( new Gateway() )->can_refund_order( $copy->read() ) );
	has( 'not paid by a payment session', array( refund( $copy, '4.00' )->get_error_message() ) );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $copy->read() );
	same( array(), bodies() );
	begun( 42 );
	same( array( 'cs_2', 'cs_1' ), array( session_of( $copy ), session_of( $order ) ) );
	same( false, isset( $copy->meta['_quittance_paid_session'] ) );
} );

it( 'refunds nothing when the service shows the session of another order', function () {
	$order = paid_order();
	becomes( 'cs_1', array( 'metadata' => array( 'order_key' => 'another', 'shop' => 'x' ) ) );
	has( 'belongs to another order', array( refund( $order, '4.00' )->get_error_message() ) );
	same( array(), bodies() );
} );

it( 'takes two equal refunds that run at the same time for two', function () {
	$order = paid_order();
	meanwhile( '/v1/refunds', function () use ( $order ) {
		same( true, refund( $order, '4.00' ) );
	} );
	same( true, refund( $order, '4.00' ) );
	same( array( 're_1', 're_2' ), array_keys( Service::$refunds ) );
	same( 2, count( array_unique( array_column( Service::asked( 'POST', '/v1/refunds' ), 'key' ) ) ) );
} );

it( 'does not complete an order by a payment whose money went back before', function () {
	$order = begun();
	is_told_paid( 'cs_1', array( 'received' => '0.00' ) );
	same( array( 'pending', 0 ), array( $order->status, $order->completions ) );
	has( 'its money went back', $order->notes );
} );

it( 'finds what was paid while the plugin was deactivated', function () {
	$order = begun();
	Checks::unschedule_all();
	same( array(), World::$scheduled );
	is_paid( 'cs_1' );
	World::$orders[41]->meta['_quittance_look_at'] = (string) ( time() - 3600 );
	do_action( 'admin_init' );
	same( array( 'quittance_check_orders' ), World::$scheduled );
	Checks::run();
	same( 'processing', $order->status );
} );

it( 'says what comes for an order that is cancelled or in the trash, and sends it back', function () {
	foreach ( array( 41 => 'cancelled', 42 => 'trash' ) as $id => $status ) {
		$order   = begun( $id );
		$session = session_of( $order );
		becomes( $session, array( 'status' => 'processing', 'pending' => '10.01', 'deposits' => array( deposit( "txn_$id", 'on_time', 'detected' ) ) ) );
		if ( 'trash' === $status ) {
			do_action( 'woocommerce_before_trash_order', $id );
		}
		$order->becomes_status( $status );
		same( 'cancelled', Service::$sessions[ $session ]['status'] );
		looked( $id );
		has( "on its way to this order, which is $status", $order->notes );
		becomes( $session, array( 'pending' => '0.00', 'deposits' => array( deposit( "txn_$id", 'late' ) ) ) );
		looked( $id );
		has( 'cancelled or in the trash: 10.01 USDT', needs() );
		do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
		same( "txn_$id", bodies()[ $id - 41 ]['transaction_id'] );
		same( array(), needs() );
	}
} );

it( 'says that part of the price is held for an order that is cancelled after it came', function () {
	$order = begun();
	becomes( 'cs_1', array( 'received' => '5.00', 'deposits' => array( deposit( 'txn_1', 'on_time' ) ) ) );
	told( Service::event( 'evt_1', 'payment.partially_paid', 'cs_1' ) );
	same( array(), needs() );
	$order->becomes_status( 'cancelled' );
	looked( 41 );
	has( 'cancelled or in the trash', needs() );
} );

it( 'says that a cancelled order was paid, and sends all of it back', function () {
	$order = paid_order();
	$order->becomes_status( 'cancelled' );
	has( 'given up after it was paid (10 USD)', needs() );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array( 'txn_1' ), array_column( bodies(), 'transaction_id' ) );
} );

it( 'closes the session of a deleted order, and keeps the money that came in sight, with a way back', function () {
	begun();
	becomes( 'cs_1', array( 'status' => 'processing', 'pending' => '10.01', 'deposits' => array( deposit( 'txn_1', 'on_time', 'detected' ) ) ) );
	do_action( 'woocommerce_before_delete_order', 41 );
	unset( World::$orders[41] );
	Checks::run();
	same( 'cancelled', Service::$sessions['cs_1']['status'] );
	has( 'this shop does not have any more', needs() );
	same( false, Deleted_Orders::return_money( 'session:cs_1' ) );
	becomes( 'cs_1', array( 'pending' => '0.00', 'deposits' => array( deposit( 'txn_1', 'late' ) ) ) );
	same( true, Deleted_Orders::return_money( 'session:cs_1' ) );
	same( array( 'txn_1' ), array_column( bodies(), 'transaction_id' ) );
} );

it( 'finds money at the service for orders that a restored backup does not have', function () {
	begun();
	is_paid( 'cs_1' );
	unset( World::$orders[41] );
	Checks::run();
	World::$options['quittance_deleted_orders']['session:cs_1']['look_at'] = 0;
	Checks::run();
	has( 'this shop does not have any more', needs() );
} );

it( 'pays an order whose number the service knows from another one, and says what to do about it', function () {
	begun();
	$order            = new Stored_Order( 41 );
	$order->order_key = 'wc_order_after_the_backup';
	begun();
	same( 1, preg_match( '/-41\.[0-9a-f]{8}$/', $order->meta['_quittance_order_id'] ) );
	has( 'order prefix of its own', $order->notes );
	is_told_paid( 'cs_2' );
	same( 'processing', $order->status );
} );

it( 'does not offer what the service refuses, until it may work again', function () {
	new Stored_Order( 41 );
	foreach ( array( array( 503, 'rate_unavailable', '' ), array( 400, 'invalid_request', 'currency' ), array( 401, 'authentication_failed', '' ) ) as list( $status, $code, $param ) ) {
		World::reset();
		Service::reset();
		new Stored_Order( 41 );
		Service::fails( '/api/v1/checkout/sessions/create', 3, $status, $code, $param );
		same( true, ( new Gateway() )->is_available() );
		same( 'failure', ( new Gateway() )->process_payment( 41 )['result'] );
		same( false, ( new Gateway() )->is_available() );
		has( "it says $code", needs() );
		Currencies::forget( 'USD' );
		same( array( true, array() ), array( ( new Gateway() )->is_available(), needs() ) );
	}
} );

it( 'does not offer a total with more decimals than its currency has, and never rounds it', function () {
	$order                 = new Stored_Order( 41 );
	$order->currency       = 'JPY';
	$order->total          = '170.50';
	World::$currency       = 'JPY';
	World::$query          = array( 'endpoint' => 'order-pay', 'order-pay' => 41, 'order-received' => 0 );
	same( false, ( new Gateway() )->is_available() );
	same( 'failure', ( new Gateway() )->process_payment( 41 )['result'] );
	same( array(), Service::$requests );
	$order->total = '170.00';
	same( true, ( new Gateway() )->is_available() );
	begun();
	same( '170', Service::asked( 'POST', '/api/v1/checkout/sessions/create' )[0]['body']['amount'] );
	saved( array() );
	has( 'shows prices in JPY with 2 decimals', World::$messages['error'] );
} );
