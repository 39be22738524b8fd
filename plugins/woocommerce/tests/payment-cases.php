<?php
/**
 * Orders and their payments.
 */

use Quittance\WooCommerce\Checks;
use Quittance\WooCommerce\Gateway;
use Quittance\WooCommerce\Sessions;
use Quittance\WooCommerce\Webhook;

function begun( int $id = 41 ): Stored_Order {
	$order = World::$orders[ $id ] ?? new Stored_Order( $id );
	same( 'success', ( new Gateway() )->process_payment( $id )['result'] );
	return $order;
}
function session_of( Stored_Order $order ): string {
	return $order->meta['_quittance_session'];
}
function deposit( string $id, string $kind, string $status = 'final' ): array {
	return array( 'transaction_id' => $id, 'kind' => $kind, 'status' => $status, 'amount' => '10.01', 'coin' => 'USDT', 'network' => 'tron', 'tx_hash' => 'hash-' . $id, 'block_time' => 1, 'explorer_url' => 'https://explorer.example/' . $id, 'refundable' => 'final' === $status ? '10.01' : '0.00' );
}
function becomes( string $session_id, array $changes ): void {
	Service::$sessions[ $session_id ] = array_replace( Service::$sessions[ $session_id ], $changes );
}
function is_paid( string $session_id, array $changes = array() ): void {
	becomes( $session_id, $changes + array( 'status' => 'paid', 'payment_status' => 'paid', 'received' => '10.01', 'paid_at' => 7, 'deposits' => array( deposit( 'txn_1', 'on_time' ) ) ) );
}
function told( Rest_Request $request ): int {
	return Webhook::receive( $request )->status;
}
/** The service shows the session as paid, and says so. */
function is_told_paid( string $session_id, array $changes = array() ): void {
	is_paid( $session_id, $changes );
	same( 200, told( Service::event( 'evt_paid', 'payment.completed', $session_id ) ) );
}
/** The scheduled check, at a time when this order is due. */
function looked( int $id ): void {
	World::$orders[ $id ]->meta['_quittance_look_at'] = (string) time();
	Checks::run();
}
/** Somebody does something in the shop while the service is being asked for this path. */
function meanwhile( string $path, callable $what ): void {
	Service::$meanwhile[ $path ] = $what;
}
function paid_order(): Stored_Order {
	$order = begun();
	is_told_paid( session_of( $order ) );
	return $order;
}

it( 'sends the customer to the payment page of a session of the order', function () {
	$order    = new Stored_Order( 41 );
	$redirect = ( new Gateway() )->process_payment( 41 )['redirect'];
	$body     = Service::asked( 'POST', '/api/v1/checkout/sessions/create' )[0]['body'];
	same( 'https://pay.example/pay/cs_1', $redirect );
	same( array( '10', 'USD', 'Order 41 at Mugs & more' ), array( $body['amount'], $body['currency'], $body['description'] ) );
	same( array( $order->read()->get_checkout_order_received_url(), $order->read()->get_checkout_payment_url() ), array( $body['success_url'], $body['cancel_url'] ) );
	same( 1, preg_match( '/^wc-[0-9a-f]{8}-41$/', $body['order_id'] ) );
	same( 'pending', $order->status );
	same( array( 'quittance_check_orders' ), World::$scheduled );
	same( true, (int) $order->meta['_quittance_look_at'] > time() );
} );

it( 'asks with the time to pay and the domain that are set', function () {
	World::$options['woocommerce_quittance_settings'] += array( 'expires_in_minutes' => '20', 'merchant_domain_id' => 'dom_1', 'order_prefix' => 'shop-b-' );
	begun();
	$body = Service::asked( 'POST', '/api/v1/checkout/sessions/create' )[0]['body'];
	same( array( 1200, 'dom_1', 'shop-b-41' ), array( $body['expires_in'], $body['merchant_domain_id'], $body['order_id'] ) );
} );

it( 'uses the open session again when the customer comes back', function () {
	begun();
	begun();
	same( 1, count( Service::$sessions ) );
} );

it( 'finds the session again whose answer was lost', function () {
	new Stored_Order( 41 );
	Service::$loses_answers = true;
	same( 'failure', ( new Gateway() )->process_payment( 41 )['result'] );
	has( 'could not be started', World::$notices );
	Service::$loses_answers              = false;
	World::$orders[41]->currency     = 'EUR';
	begun();
	same( array( 'cancelled', 'open' ), array_column( array_values( Service::$sessions ), 'status' ) );
} );

it( 'makes another session when those whose answers were lost are over', function () {
	$order = begun();
	$order->meta['_quittance_session'] = '';
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	begun();
	same( array( 'cs_2', 'cs_1' ), array( session_of( $order ), Service::$sessions['cs_2']['asked']['supersedes'] ) );
	$order->meta['_quittance_session'] = 'cs_1';
	becomes( 'cs_2', array( 'status' => 'cancelled' ) );
	begun();
	same( array( 'cs_3', 'cs_2' ), array( session_of( $order ), Service::$sessions['cs_3']['asked']['supersedes'] ) );
} );

it( 'makes another session after the first one expired', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	begun();
	same( 'cs_1', Service::$sessions['cs_2']['asked']['supersedes'] );
	same( array( 'cs_2', 'pending' ), array( session_of( $order ), $order->status ) );
} );

it( 'asks for the new total when the order was changed', function () {
	$order        = begun();
	$order->total = '12.50';
	begun();
	same( array( 'cancelled', 'open', '12.50' ), array( Service::$sessions['cs_1']['status'], Service::$sessions['cs_2']['status'], Service::$sessions['cs_2']['amount_total'] ) );
} );

it( 'asks nobody to pay again while money for another total is on its way', function () {
	$order        = begun();
	$order->total = '12.50';
	becomes( 'cs_1', array( 'status' => 'processing', 'pending' => '10.01' ) );
	same( 'failure', ( new Gateway() )->process_payment( 41 )['result'] );
	has( 'on its way', World::$notices );
	same( 1, count( Service::$sessions ) );
} );

it( 'sends a customer who has paid to the order', function () {
	$order = begun();
	is_paid( 'cs_1' );
	same( $order->read()->get_checkout_order_received_url(), ( new Gateway() )->process_payment( 41 )['redirect'] );
	same( 'processing', $order->status );
} );

it( 'completes the order when the service says that it is paid', function () {
	$order = paid_order();
	same( array( 'processing', 1, 'hash-txn_1' ), array( $order->status, $order->completions, $order->transaction_id ) );
	same( 'https://explorer.example/txn_1', ( new Gateway() )->get_transaction_url( $order->read() ) );
	has( 'Received 10.01 USDT (tron, hash-txn_1)', $order->notes );
} );

it( 'does nothing when the same is told again, under the same id or another one', function () {
	$order  = paid_order();
	$before = count( $order->notes );
	$asked  = count( Service::$requests );
	same( 200, told( Service::event( 'evt_paid', 'payment.completed', 'cs_1' ) ) );
	same( $asked, count( Service::$requests ) );
	same( 200, told( Service::event( 'evt_again', 'payment.completed', 'cs_1' ) ) );
	same( array( 1, $before ), array( $order->completions, count( $order->notes ) ) );
} );

it( 'believes no message that is unsigned, of another secret, changed, or old', function () {
	$order = begun();
	is_paid( 'cs_1' );
	$genuine = Service::event( 'evt_1', 'payment.completed', 'cs_1' );
	$headers = array( 'X-Service-Timestamp' => (string) time(), 'X-Service-Nonce' => 'n', 'X-Service-Signature' => str_repeat( 'a', 64 ) );
	same( 401, told( new Rest_Request( $genuine->get_body(), array() ) ) );
	same( 401, told( new Rest_Request( $genuine->get_body(), $headers ) ) );
	same( 401, told( Service::event( 'evt_1', 'payment.completed', 'cs_1', array(), null, 'another' ) ) );
	same( 401, told( Service::event( 'evt_1', 'payment.completed', 'cs_1', array(), time() - 360 ) ) );
	same( 401, told( Service::event( 'evt_1', 'payment.completed', 'cs_1', array(), time() + 360 ) ) );
	same( array( 'error' => 'invalid signature' ), Webhook::receive( new Rest_Request( '{}', array() ) )->data );
	unset( World::$options['woocommerce_quittance_settings']['test_webhook_secret'] );
	same( 401, told( Service::event( 'evt_1', 'payment.completed', 'cs_1', array(), null, '' ) ) );
	same( 'pending', $order->status );
} );

it( 'takes the signature of the next secret while the secret is changed', function () {
	begun();
	is_paid( 'cs_1' );
	$signed  = Service::event( 'evt_1', 'payment.completed', 'cs_1' );
	$headers = array();
	foreach ( array( 'Timestamp', 'Nonce' ) as $name ) {
		$headers[ 'X-Service-' . $name ] = $signed->get_header( 'X-Service-' . $name );
	}
	$headers += array( 'X-Service-Signature' => str_repeat( '0', 64 ), 'X-Service-Signature-Next' => $signed->get_header( 'X-Service-Signature' ) );
	same( 200, told( new Rest_Request( $signed->get_body(), $headers ) ) );
} );

it( 'does not pay an order because a message says so: the service must show it, too', function () {
	$order = begun();
	same( 503, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	same( 'pending', $order->status );
	is_paid( 'cs_1' );
	same( 200, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	same( 'processing', $order->status );
} );

it( 'has the message sent again while the service cannot be asked, the order is locked or WooCommerce fails', function () {
	$order = begun();
	is_paid( 'cs_1' );
	Service::fails( '/api/v1/checkout/sessions/cs_1', 3, 503 );
	same( 503, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	World::$locked = array( 'all' => true );
	same( 503, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	World::$locked  = array();
	$order->refuses = true;
	same( 503, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	$order->refuses = false;
	same( array( 'pending', 200, 'processing' ), array( $order->status, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ), $order->status ) );
} );

it( 'ignores what is about no order of this shop', function () {
	$order = begun();
	is_paid( 'cs_1' );
	same( 200, told( Service::event( 'evt_1', 'payment.completed', 'cs_1', array( 'order_id' => 'another-41' ) ) ) );
	same( 200, told( Service::event( 'evt_2', 'settings.changed', 'cs_1', array( 'order_id' => '' ) ) ) );
	same( 200, told( Service::event( 'evt_3', 'payment.completed', 'cs_1', array( 'order_id' => str_replace( '41', '42', $order->meta['_quittance_order_id'] ) ) ) ) );
	same( 'pending', $order->status );
} );

it( 'does not take the session of another shop with the same order id', function () {
	$order = begun();
	is_paid( 'cs_1', array( 'metadata' => array( 'order_key' => 'wc_order_of_another_shop' ) ) );
	same( 503, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	same( 'pending', $order->status );
} );

it( 'takes no test payment for an order of the live mode', function () {
	$order = begun();
	is_paid( 'cs_1' );
	$order->meta['_quittance_mode'] = 'live';
	same( 200, told( Service::event( 'evt_1', 'payment.completed', 'cs_1' ) ) );
	same( 'pending', $order->status );
} );

it( 'pays nothing on the return alone, and looks the payment up there', function () {
	$order        = begun();
	World::$query = array( 'endpoint' => 'order-received', 'order-received' => 41 );
	$_GET['key']  = $order->order_key;
	Sessions::look_on_return();
	same( 'pending', $order->status );
	is_paid( 'cs_1' );
	$_GET['key'] = 'wrong';
	Sessions::look_on_return();
	same( 'pending', $order->status );
	$_GET['key'] = $order->order_key;
	Sessions::look_on_return();
	same( 'processing', $order->status );
} );

it( 'holds the order while money is seen, and lets it go when it is gone', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'processing', 'pending' => '10.01' ) );
	same( 200, told( Service::event( 'evt_1', 'payment.processing', 'cs_1' ) ) );
	same( 'on-hold', $order->status );
	becomes( 'cs_1', array( 'status' => 'open', 'pending' => '0.00' ) );
	looked( 41 );
	same( 'pending', $order->status );
} );

it( 'says what is missing of a part payment, and fails the order when the time is over', function () {
	$order = begun();
	becomes( 'cs_1', array( 'received' => '5.00' ) );
	same( 200, told( Service::event( 'evt_1', 'payment.partially_paid', 'cs_1' ) ) );
	has( 'final: 5.00, on its way: 0.00, due: 10.01 USDT', $order->notes );
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	same( 200, told( Service::event( 'evt_2', 'payment.expired', 'cs_1' ) ) );
	same( array( 'failed', true ), array( $order->status, $order->stock_increased ) );
	has( 'expired): received 5.00 of 10.01 USDT', $order->notes );
} );

it( 'completes an order whose payment in time was found after the session had expired', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	told( Service::event( 'evt_1', 'payment.expired', 'cs_1' ) );
	same( 'failed', $order->status );
	is_paid( 'cs_1' );
	told( Service::event( 'evt_2', 'payment.completed', 'cs_1', array( 'after_expiry' => true ) ) );
	same( 'processing', $order->status );
} );

it( 'is not confused by messages in another order', function () {
	$order = paid_order();
	same( 200, told( Service::event( 'evt_0', 'payment.expired', 'cs_1' ) ) );
	same( 'processing', $order->status );
} );

it( 'completes the order with the older session and closes the newer one', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'expired' ) );
	begun();
	is_told_paid( 'cs_1' );
	same( array( 'processing', 'cancelled' ), array( $order->status, Service::$sessions['cs_2']['status'] ) );
	is_paid( 'cs_2' );
	same( 200, told( Service::event( 'evt_2', 'payment.completed', 'cs_2' ) ) );
	has( 'Paid a second time, by payment session cs_2', $order->notes );
	same( 1, $order->completions );
} );

it( 'tells of late money and of the wrong coin, and pays nothing by them', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'expired', 'deposits' => array( deposit( 'txn_1', 'late' ), deposit( 'txn_2', 'wrong_coin' ), deposit( 'txn_3', 'dust' ) ) ) );
	same( 200, told( Service::event( 'evt_1', 'payment.late', 'cs_1' ) ) );
	same( 200, told( Service::event( 'evt_2', 'payment.wrong_coin', 'cs_1' ) ) );
	has( 'Received too late: 10.01 USDT (tron, hash-txn_1)', $order->notes );
	has( 'not asked for: 10.01 USDT (tron, hash-txn_2)', $order->notes );
	same( 2, count( preg_grep( '/^Received/', $order->notes ) ) );
	same( 'failed', $order->status );
} );

it( 'tells of a surplus', function () {
	$order = begun();
	is_told_paid( 'cs_1', array( 'excess' => '1.50' ) );
	has( 'more than was due: 1.50 USDT', $order->notes );
	same( 'processing', $order->status );
} );

it( 'holds a paid order back while its payment is off the blockchain', function () {
	$order = paid_order();
	becomes( 'cs_1', array( 'reversed' => true, 'deposits' => array( deposit( 'txn_1', 'on_time', 'reverted' ) ) ) );
	same( 200, told( Service::event( 'evt_1', 'payment.reversed', 'cs_1' ) ) );
	same( 'on-hold', $order->status );
	has( 'Do not deliver', $order->notes );
	has( 'left the blockchain again', $order->notes );
	is_paid( 'cs_1', array( 'reversed' => false ) );
	same( 200, told( Service::event( 'evt_2', 'payment.restored', 'cs_1' ) ) );
	same( array( 'processing', 1 ), array( $order->status, $order->completions ) );
} );

it( 'does not complete an order by a payment that is already off the blockchain', function () {
	$order = begun();
	is_told_paid( 'cs_1', array( 'reversed' => true ) );
	same( array( 'on-hold', 0 ), array( $order->status, $order->completions ) );
	becomes( 'cs_1', array( 'reversed' => false ) );
	looked( 41 );
	same( array( 'processing', 1 ), array( $order->status, $order->completions ) );
} );

it( 'has somebody look when the order costs something else by now', function () {
	$order        = begun();
	$order->total = '99.00';
	is_told_paid( 'cs_1' );
	same( array( 'on-hold', 0 ), array( $order->status, $order->completions ) );
	has( 'Paid 10 USD, but the order costs 99 USD', $order->notes );
} );

it( 'closes the session of a cancelled order, and has somebody look when it was paid all the same', function () {
	$order = begun();
	$order->becomes_status( 'cancelled' );
	same( 'cancelled', Service::$sessions['cs_1']['status'] );
	is_told_paid( 'cs_1' );
	same( array( 'cancelled', 0 ), array( $order->status, $order->completions ) );
	has( 'although the order is cancelled', $order->notes );
} );

it( 'closes the session of an order that was paid by other means', function () {
	$order                 = begun();
	$order->payment_method = 'cheque';
	$order->read()->payment_complete( 'cheque 7' );
	same( 'cancelled', Service::$sessions['cs_1']['status'] );
	is_told_paid( 'cs_1' );
	has( 'Paid a second time', $order->notes );
	same( 'cheque 7', $order->transaction_id );
} );

it( 'tries again to close a session when the service could not be asked', function () {
	$order = begun();
	Service::fails( '/api/v1/checkout/sessions/cs_1/cancel', 3, 503 );
	$order->becomes_status( 'cancelled' );
	same( 'open', Service::$sessions['cs_1']['status'] );
	looked( 41 );
	same( 'cancelled', Service::$sessions['cs_1']['status'] );
} );

it( 'does not let an order be given up as unpaid whose money was seen, or about which nothing is known', function () {
	$order = begun();
	same( true, apply_filters( 'woocommerce_cancel_unpaid_order', true, $order->read() ) );
	Service::fails( '/api/v1/checkout/sessions/cs_1', 3, 503 );
	same( false, apply_filters( 'woocommerce_cancel_unpaid_order', true, $order->read() ) );
	becomes( 'cs_1', array( 'status' => 'processing', 'pending' => '10.01' ) );
	same( false, apply_filters( 'woocommerce_cancel_unpaid_order', true, $order->read() ) );
	same( true, apply_filters( 'woocommerce_cancel_unpaid_order', true, ( new Stored_Order( 50 ) )->read() ) );
} );

it( 'finds a payment that no message told of, and stops looking then', function () {
	$order = begun();
	looked( 41 );
	same( true, isset( $order->meta['_quittance_look_at'] ) );
	Service::fails( '/api/v1/checkout/sessions/cs_1', 3, 503 );
	looked( 41 );
	same( true, (int) $order->meta['_quittance_look_at'] > time() );
	is_paid( 'cs_1' );
	looked( 41 );
	same( array( 'processing', false ), array( $order->status, isset( $order->meta['_quittance_look_at'] ) ) );
} );

it( 'looks at an expired session once more, a day later', function () {
	$order = begun();
	becomes( 'cs_1', array( 'status' => 'expired', 'expires_at' => time() - 60 ) );
	looked( 41 );
	same( true, (int) $order->meta['_quittance_look_at'] > time() + 80000 );
	becomes( 'cs_1', array( 'expires_at' => time() - 90000 ) );
	looked( 41 );
	same( false, isset( $order->meta['_quittance_look_at'] ) );
} );
