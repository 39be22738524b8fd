<?php
/**
 * Refunds from the order screen, and money that paid nothing.
 */

use Quittance\WooCommerce\Checks;
use Quittance\WooCommerce\Gateway;

/** As WooCommerce does it: the refund is there before the gateway is asked, and gone when the gateway refuses. */
function refund( Stored_Order $order, string $amount ) {
	$refund           = new WC_Order_Refund( World::$next_refund++, $order->id );
	$order->refunds[] = $refund;
	do_action( 'woocommerce_create_refund', $refund, array() );
	$result = ( new Gateway() )->process_refund( $order->id, $amount, 'Broken' );
	if ( true !== $result ) {
		$refund->delete();
	}
	return $result;
}
function bodies(): array {
	return array_column( Service::asked( 'POST', '/v1/refunds' ), 'body' );
}
function ends( Stored_Order $order, string $refund_id, string $status, string $type ): void {
	Service::$refunds[ $refund_id ] = array_replace( Service::$refunds[ $refund_id ], array( 'status' => $status, 'tx_hash' => 'hash-back', 'failure_reason' => 'recipient_frozen' ) );
	same( 200, told( Service::event( 'evt_' . $refund_id, $type, 'cs_1', array( 'refund_id' => $refund_id ) ) ) );
}

it( 'refunds in the currency of the order, and says when the money is back', function () {
	$order = paid_order();
	same( true, ( new Gateway() )->can_refund_order( $order->read() ) );
	same( true, refund( $order, '4.00' ) );
	same( array( 'session_id' => 'cs_1', 'amount' => array( 'value' => '4', 'currency' => 'USD' ), 'reason' => 'Broken' ), bodies()[0] );
	has( 'Refund re_1 of 4 USDT was accepted', $order->notes );
	ends( $order, 're_1', 'COMPLETED', 'refund.succeeded' );
	has( 'has reached the payer (hash-back)', $order->notes );
	same( 1, count( $order->refunds ) );
} );

it( 'makes each refund under a key of its own', function () {
	$order = paid_order();
	refund( $order, '4.00' );
	refund( $order, '4.00' );
	same( array( 're_1', 're_2' ), array_keys( Service::$refunds ) );
} );

it( 'never refunds twice when no answer came', function () {
	$order              = paid_order();
	Service::$loses_answers = true;
	has( 'Ask for the same amount again', array( refund( $order, '4.00' )->get_error_message() ) );
	same( array(), $order->refunds );
	has( 'Refund amount: no answer came to the refund of 4 USD', array( refund( $order, '5.00' )->get_error_message() ) );
	Service::$loses_answers = false;
	same( true, refund( $order, '4.00' ) );
	same( array( 're_1' ), array_keys( Service::$refunds ) );
	same( 1, count( array_unique( array_column( Service::asked( 'POST', '/v1/refunds' ), 'key' ) ) ) );
	same( true, refund( $order, '4.00' ) );
	same( array( 're_1', 're_2' ), array_keys( Service::$refunds ) );
} );

it( 'says why a refund was refused, with the field', function () {
	$order = paid_order();
	Service::fails( '/v1/refunds', 1, 400, 'refund_exceeds_paid', 'amount.value' );
	same( 'amount.value: it says refund_exceeds_paid [req_1]', refund( $order, '4.00' )->get_error_message() );
	same( true, refund( $order, '3.00' ) );
	has( 'above zero', array( refund( $order, '0.00' )->get_error_message() ) );
} );

it( 'refunds nothing of an order that no session paid', function () {
	$order = begun();
	same( false, ( new Gateway() )->can_refund_order( $order->read() ) );
	has( 'not paid by a payment session', array( refund( $order, '4.00' )->get_error_message() ) );
	same( array(), bodies() );
} );

it( 'asks before it refunds to an exchange', function () {
	$order = paid_order();
	Service::fails( '/v1/refunds', 1, 400, 'sender_not_acknowledged' );
	has( 'Ask the customer', array( refund( $order, '4.00' )->get_error_message() ) );
	do_action( 'woocommerce_order_action_quittance_acknowledge_sender', $order->read() );
	same( true, refund( $order, '4.00' ) );
	same( true, bodies()[1]['acknowledge_sender'] );
} );

it( 'takes a refund that failed out of the order again', function () {
	$order = paid_order();
	refund( $order, '10.00' );
	$order->becomes_status( 'refunded' );
	ends( $order, 're_1', 'FAILED', 'refund.failed' );
	same( array( array(), 'on-hold' ), array( $order->refunds, $order->status ) );
	has( 'failed (recipient_frozen): the shop still holds the money', $order->notes );
	same( true, refund( $order, '10.00' ) );
} );

it( 'has the message of a refund sent again while the service does not show its end', function () {
	$order = paid_order();
	refund( $order, '4.00' );
	same( 503, told( Service::event( 'evt_r', 'refund.succeeded', 'cs_1', array( 'refund_id' => 're_1' ) ) ) );
} );

it( 'tells of a refund that was made at the service', function () {
	$order = paid_order();
	Service::$refunds['re_9'] = array( 'id' => 're_9', 'session_id' => 'cs_1', 'amount' => array( 'value' => '2.00', 'currency' => 'USDT' ), 'status' => 'PENDING', 'tx_hash' => null );
	ends( $order, 're_9', 'COMPLETED', 'refund.succeeded' );
	has( 'Refund re_9 of 2.00 USDT was made at the service', $order->notes );
} );

it( 'looks after a refund that no message told of', function () {
	$order = paid_order();
	refund( $order, '4.00' );
	Service::$refunds['re_1']['status']  = 'COMPLETED';
	Service::$refunds['re_1']['tx_hash'] = 'hash-back';
	looked( 41 );
	has( 'has reached the payer', $order->notes );
} );

it( 'sends late and surplus money back, and never what pays the order', function () {
	$order = paid_order();
	becomes( 'cs_1', array( 'excess' => '1.50', 'deposits' => array( deposit( 'txn_1', 'on_time' ), deposit( 'txn_2', 'late' ), deposit( 'txn_3', 'dust' ) ) ) );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array( array( 'transaction_id' => 'txn_2' ), array( 'amount' => array( 'value' => '1.50', 'currency' => 'USDT' ) ) ), array_map( static function ( $body ) {
		return array_intersect_key( $body, array( 'transaction_id' => 1, 'amount' => 1 ) );
	}, bodies() ) );
	becomes( 'cs_1', array( 'excess' => '0.00', 'deposits' => array() ) );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	has( 'There is no money that paid nothing', $order->notes );
} );

it( 'sends everything back of an order that was not paid, once it is over', function () {
	$order = begun();
	becomes( 'cs_1', array( 'received' => '5.00', 'deposits' => array( deposit( 'txn_1', 'on_time' ) ) ) );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array(), bodies() );
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	Service::fails( '/v1/refunds', 3, 503 );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	has( 'Quittance: it says service_unavailable', $order->notes );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( 1, count( array_unique( array_column( Service::asked( 'POST', '/v1/refunds' ), 'key' ) ) ) );
	Service::$refunds['re_1']['status'] = 'FAILED';
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array( 're_1', 're_2' ), array_keys( Service::$refunds ) );
} );

it( 'sends back what paid an order a second time', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	begun();
	is_paid( 'cs_2', array( 'deposits' => array( deposit( 'txn_2', 'on_time' ) ) ) );
	told( Service::event( 'evt_2', 'payment.completed', 'cs_2' ) );
	is_paid( 'cs_1' );
	told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) );
	do_action( 'woocommerce_order_action_quittance_return_surplus', $order->read() );
	same( array( array( 'cs_1', 'txn_1' ) ), array_map( static function ( $body ) {
		return array( $body['session_id'], $body['transaction_id'] );
	}, bodies() ) );
} );
