<?php
/**
 * Settings, signatures and what is left behind.
 */

use Quittance\WooCommerce\Blocks_Method;
use Quittance\WooCommerce\Gateway;
use Quittance\WooCommerce\Settings;
use Quittance\WooCommerce\Signature;

function saved( array $changes ): Gateway {
	$gateway = new Gateway();
	foreach ( $changes + World::$options[ Settings::OPTION ] as $key => $value ) {
		$gateway->posted[ 'woocommerce_quittance_' . $key ] = $value;
	}
	$gateway->process_admin_options();
	return $gateway;
}

it( 'signs as the documented vectors say', function () {
	$vectors = json_decode( file_get_contents( getenv( 'SIGNATURE_VECTORS' ) ), true );
	same( true, count( $vectors['vectors'] ) > 3 && count( $vectors['vectors_v2'] ) > 3 );
	foreach ( $vectors['vectors'] as $one ) {
		same( $one['signature'], Signature::of_webhook( $one['secret'], $one['timestamp'], $one['nonce'], $one['body'] ) );
	}
	foreach ( $vectors['vectors_v2'] as $one ) {
		same( $one['signature'], Signature::of_request( $one['secret'], $one['timestamp'], $one['nonce'], $one['method'], $one['target'], $one['body'] ) );
	}
} );

it( 'refuses settings that cannot work, naming the field, and keeps the old ones', function () {
	$bad = array(
		'test_base_url'      => array( 'http://pay.example', 'https://pay.example/?a=b', 'pay.example', 'https://' ),
		'live_base_url'      => array( 'http://127.0.0.1:8080' ),
		'test_api_key'       => array( 'sk_live_1' ),
		'live_api_key'       => array( 'sk_test_1' ),
		'order_prefix'       => array( 'shop-1', 'shop b-', str_repeat( 'a', 41 ) ),
		'header_prefix'      => array( 'X-Service', 'X Y-' ),
		'expires_in_minutes' => array( '0', '1.5', '43201', 'soon' ),
	);
	$names = array( 'base_url' => 'Address of the service', 'api_key' => 'API key', 'order_prefix' => 'Order prefix', 'header_prefix' => 'Header prefix', 'expires_in_minutes' => 'Time to pay' );
	foreach ( $bad as $key => $values ) {
		foreach ( $values as $value ) {
			World::$messages['error'] = array();
			$before                   = World::$options[ Settings::OPTION ];
			saved( array( $key => $value ) );
			same( 1, count( World::$messages['error'] ) );
			has( $names[ preg_replace( '/^(test|live)_/', '', $key ) ], World::$messages['error'] );
			same( $before, World::$options[ Settings::OPTION ] );
		}
	}
} );

it( 'asks the service whether the key is good', function () {
	saved( array() );
	has( 'knows this key (test)', World::$messages['message'] );
	saved( array( 'test_api_secret' => 'wrong' ) );
	has( 'did not accept address, API key and API secret', World::$messages['error'] );
	has( '(signature)', World::$messages['error'] );
} );

it( 'says what is missing, and offers customers nothing before', function () {
	same( true, ( new Gateway() )->is_available() );
	unset( World::$options[ Settings::OPTION ]['test_webhook_secret'] );
	same( array( false, true ), array( ( new Gateway() )->is_available(), ( new Gateway() )->needs_setup() ) );
	saved( array() );
	has( 'webhook secret (test)', World::$messages['error'] );
} );

it( 'keeps a secret that is left empty, and never shows it', function () {
	saved( array( 'test_api_secret' => '', 'test_webhook_secret' => '' ) );
	same( Service::SECRET, World::$options[ Settings::OPTION ]['test_api_secret'] );
	$html = ( new Gateway() )->generate_secret_html( 'test_api_secret', array( 'title' => 'API secret' ) );
	same( false, strpos( $html, Service::SECRET ) );
	has( 'Leave empty to keep it', array( $html ) );
} );

it( 'registers the webhook route and the method of the block checkout', function () {
	eval( 'namespace Automattic\WooCommerce\Blocks\Payments\Integrations; abstract class AbstractPaymentMethodType { protected $settings; protected function get_setting( $key, $fallback = "" ) { return $this->settings[ $key ] ?? $fallback; } }' );
	$registry = new class() {
		public $methods = array();
		public function register( $method ) {
			$method->initialize();
			$this->methods[] = $method;
		}
	};
	do_action( 'woocommerce_blocks_payment_method_type_registration', $registry );
	$method = $registry->methods[0];
	same( true, $method instanceof Blocks_Method && $method->is_active() );
	same( array( 'quittance-blocks' ), $method->get_payment_method_script_handles() );
	same( 'Stablecoins', $method->get_payment_method_data()['title'] );
	do_action( 'rest_api_init' );
	same( 'POST', World::$options['routes']['quittance/v1/webhook']['methods'] );
} );

it( 'leaves no settings and no scheduled checks behind', function () {
	begun();
	define( 'WP_UNINSTALL_PLUGIN', 'quittance/quittance.php' );
	require dirname( __DIR__ ) . '/uninstall.php';
	same( array( false, array() ), array( get_option( Settings::OPTION ), World::$scheduled ) );
} );
