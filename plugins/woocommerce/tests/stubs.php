<?php
/**
 * As much of the documented interfaces of WordPress and WooCommerce as the plugin uses, in memory.
 */

define( 'ABSPATH', __DIR__ . '/' );
define( 'DB_NAME', 'shop' );
define( 'DAY_IN_SECONDS', 86400 );

final class World {
	public static $options   = array();
	public static $orders    = array();
	public static $hooks     = array();
	public static $scheduled = array();
	public static $notices   = array();
	public static $messages  = array( 'error' => array(), 'message' => array() );
	public static $query     = array( 'endpoint' => '', 'order-received' => 0 );
	public static $locked    = array();

	public static $transients     = array();
	public static $currency       = 'USD';
	public static $next_refund    = 900;
	public static $price_decimals = 2;

	public static function reset(): void {
		self::$options   = array();
		self::$orders    = array();
		self::$scheduled = array();
		self::$notices   = array();
		self::$messages  = array( 'error' => array(), 'message' => array() );
		self::$query     = array( 'endpoint' => '', 'order-received' => 0 );
		self::$locked    = array();
		self::$transients     = array();
		self::$currency       = 'USD';
		self::$price_decimals = 2;
		$_GET                 = array();
	}
}

function add_action( $name, $callback, $priority = 10, $count = 1 ) {
	World::$hooks[ $name ][] = array( $callback, $count );
}
function add_filter( $name, $callback, $priority = 10, $count = 1 ) {
	add_action( $name, $callback, $priority, $count );
}
function do_action( $name, ...$arguments ) {
	foreach ( World::$hooks[ $name ] ?? array() as list( $callback, $count ) ) {
		$callback( ...array_slice( $arguments, 0, $count ) );
	}
}
function apply_filters( $name, $value, ...$arguments ) {
	foreach ( World::$hooks[ $name ] ?? array() as list( $callback, $count ) ) {
		$value = $callback( ...array_slice( array_merge( array( $value ), $arguments ), 0, $count ) );
	}
	return $value;
}

// phpcs:disable
function __( $text, $domain ) { assert( 'quittance' === $domain ); return $text; }
function esc_html__( $text, $domain ) { return esc_html( __( $text, $domain ) ); }
function esc_html( $text ) { return htmlspecialchars( $text, ENT_QUOTES ); }
function esc_url( $url ) { return $url; }
function get_option( $name, $fallback = false ) { return World::$options[ $name ] ?? $fallback; }
function update_option( $name, $value ) { World::$options[ $name ] = $value; }
function delete_option( $name ) { unset( World::$options[ $name ] ); }
function home_url() { return 'https://shop.example'; }
function rest_url( $path ) { return 'https://shop.example/wp-json/' . $path; }
function admin_url( $path ) { return 'https://shop.example/wp-admin/' . $path; }
function plugins_url( $path ) { return 'https://shop.example/wp-content/plugins/quittance/' . $path; }
function plugin_basename( $file ) { return 'quittance/quittance.php'; }
function get_bloginfo( $what ) { return 'Mugs &amp; more'; }
function wp_specialchars_decode( $text, $flags ) { return htmlspecialchars_decode( $text, $flags ); }
function wp_json_encode( $value ) { return json_encode( $value ); }
function wp_parse_url( $url, $part ) { return parse_url( $url, $part ); }
function wp_unslash( $value ) { return stripslashes( $value ); }
function sanitize_text_field( $text ) { return trim( strip_tags( $text ) ); }
function absint( $number ) { return abs( (int) $number ); }
function wp_generate_uuid4() { return implode( '-', array_map( 'bin2hex', array( random_bytes( 4 ), random_bytes( 2 ), random_bytes( 2 ), random_bytes( 2 ), random_bytes( 6 ) ) ) ); }
function load_plugin_textdomain() {}
function register_deactivation_hook() {}
function register_activation_hook() {}
function current_user_can() { return true; }
function add_query_arg( $query, $url ) { return $url . '?' . http_build_query( $query ); }
function wp_nonce_url( $url ) { return $url . '&_wpnonce=n'; }
function register_rest_route( $namespace, $route, $how ) { World::$options['routes'][ $namespace . $route ] = $how; }
function is_multisite() { return false; }
function wp_register_script( ...$script ) { World::$options['script'] = $script; }
function is_wc_endpoint_url( $name ) { return World::$query['endpoint'] === $name; }
function get_query_var( $name ) { return World::$query[ $name ]; }
function wc_format_decimal( $number ) { return (string) $number; }
function wc_get_price_decimals() { return World::$price_decimals; }
function wc_add_notice( $text, $kind ) { World::$notices[] = $text; }
function wc_get_order( $id ) { return isset( World::$orders[ (int) $id ] ) ? World::$orders[ (int) $id ]->read() : false; }
function clean_post_cache( $id ) {}
function wp_cache_flush_runtime() {}
function get_woocommerce_currency() { return World::$currency; }
function wc_get_order_statuses() { return array_fill_keys( array( 'wc-pending', 'wc-on-hold', 'wc-processing', 'wc-completed', 'wc-cancelled', 'wc-refunded', 'wc-failed' ), '' ); }
function get_posts( $query ) {
	assert( 'shop_order' === $query['post_type'] && 'fields' !== $query['fields'] );
	return array_keys( array_filter( World::$orders, static function ( $one ) use ( $query ) {
		return isset( $one->meta[ $query['meta_key'] ] ) && $one->meta[ $query['meta_key'] ] <= $query['meta_value'];
	} ) );
}
function get_transient( $name ) { return World::$transients[ $name ] ?? false; }
function set_transient( $name, $value, $seconds ) { World::$transients[ $name ] = $value; }
function delete_transient( $name ) { unset( World::$transients[ $name ] ); }
function WC() { return new class { public $cart = null; }; }
function wc_maybe_increase_stock_levels( $id ) { World::$orders[ $id ]->stock_increased = true; }
function wc_get_logger() { return new class { public function log() {} }; }
function as_has_scheduled_action( $action ) { return in_array( $action, World::$scheduled, true ); }
function as_schedule_recurring_action( $time, $interval, $action, $arguments, $group ) { World::$scheduled[] = $action; }
function as_unschedule_all_actions( $action, $arguments, $group ) { World::$scheduled = array(); }
// phpcs:enable

class WP_Error {
	public $message;
	public function __construct( $code, $message ) {
		$this->message = $message;
	}
	public function get_error_message() {
		return $this->message;
	}
}
function is_wp_error( $thing ) {
	return $thing instanceof WP_Error;
}

class WP_REST_Response {
	public $data;
	public $status;
	public function __construct( $data, $status ) {
		$this->data   = $data;
		$this->status = $status;
	}
}

final class Rest_Request {
	private $body;
	private $headers;
	public function __construct( string $body, array $headers ) {
		$this->body    = $body;
		$this->headers = array_change_key_case( $headers );
	}
	public function get_body() {
		return $this->body;
	}
	public function get_header( $name ) {
		return $this->headers[ strtolower( $name ) ] ?? null;
	}
}

/** One lock a name, as the database has them; a test may hold one as another request would. */
final class Database {
	public $prefix = 'wp_';
	public function prepare( $query, ...$values ) {
		return array( $query, $values );
	}
	public function get_var( $query ) {
		list( $text, $values ) = $query;
		if ( false !== strpos( $text, 'RELEASE_LOCK' ) ) {
			unset( World::$locked[ $values[0] ] );
			return '1';
		}
		foreach ( array_keys( World::$locked ) as $name ) {
			if ( 'all' === $name || $values[0] === $name ) {
				return '0';
			}
		}
		World::$locked[ $values[0] ] = true;
		return '1';
	}
}
$wpdb = new Database();

class WC_Order_Refund {
	public $meta = array();
	public $id;
	public $parent_id;
	public function __construct( int $id, int $parent_id ) {
		$this->id        = $id;
		$this->parent_id = $parent_id;
	}
	public function get_id() {
		return $this->id;
	}
	public function get_parent_id() {
		return $this->parent_id;
	}
	public function update_meta_data( $key, $value ) {
		$this->meta[ $key ] = $value;
	}
	public function get_meta( $key ) {
		return $this->meta[ $key ] ?? '';
	}
	public function delete() {
		World::$orders[ $this->parent_id ]->refunds = array_values( array_filter( World::$orders[ $this->parent_id ]->refunds, function ( $one ) {
			return $one !== $this;
		} ) );
	}
}

/** An order as the database has it; a test that sets something here is somebody else who edits it. */
final class Stored_Order {
	public $id;
	public $status          = 'pending';
	public $total           = '10.00';
	public $currency        = 'USD';
	public $payment_method  = 'quittance';
	public $meta            = array();
	public $notes           = array();
	public $refunds         = array();
	public $date_paid       = null;
	public $transaction_id  = '';
	public $completions     = 0;
	public $stock_increased = false;
	public $refuses         = false;
	public $order_key;

	public function __construct( int $id ) {
		$this->id             = $id;
		$this->order_key      = 'wc_order_' . md5( $id . 'key' );
		World::$orders[ $id ] = $this;
	}
	public function read(): WC_Order {
		return new WC_Order( $this );
	}
	/** What somebody does on the order screen. */
	public function becomes_status( string $status ): void {
		$order = $this->read();
		$order->set_status( $status );
		$order->save();
	}
	public function costs( string $total ): void {
		$order = $this->read();
		$order->set_total( $total );
		$order->save();
	}
}

/**
 * One request's view of an order, like WooCommerce's: read once, and what was changed is written when it is saved. Changes of status take
 * effect, with their hooks, when the order is saved; a note that comes with a status that the order already has is dropped.
 */
class WC_Order {
	const PROPS = array( 'status', 'total', 'currency', 'payment_method', 'date_paid', 'transaction_id' );
	private $stored;
	private $props      = array();
	private $changes    = array();
	private $meta       = array();
	private $meta_keys  = array();
	private $transition = null;

	public function __construct( Stored_Order $stored ) {
		$this->stored = $stored;
		foreach ( self::PROPS as $name ) {
			$this->props[ $name ] = $stored->$name;
		}
		$this->meta = $stored->meta;
	}
	private function set( string $name, $value ): void {
		if ( $this->props[ $name ] !== $value ) {
			$this->changes[ $name ] = $value;
			$this->props[ $name ]   = $value;
		}
	}
	// phpcs:disable
	public function get_id() { return $this->stored->id; }
	public function get_order_key() { return $this->stored->order_key; }
	public function get_order_number() { return (string) $this->stored->id; }
	public function get_edit_order_url() { return 'https://shop.example/edit/' . $this->stored->id; }
	public function get_total() { return $this->props['total']; }
	public function set_total( $total ) { $this->set( 'total', $total ); }
	public function get_currency() { return $this->props['currency']; }
	public function get_status() { return $this->props['status']; }
	public function has_status( $status ) { return in_array( $this->props['status'], (array) $status, true ); }
	public function is_paid() { return $this->has_status( array( 'processing', 'completed' ) ); }
	public function needs_payment() { return $this->has_status( array( 'pending', 'failed' ) ); }
	public function get_date_paid() { return $this->props['date_paid']; }
	public function get_payment_method() { return $this->props['payment_method']; }
	public function set_payment_method( $method ) { $this->set( 'payment_method', $method ); }
	public function set_payment_method_title() {}
	public function set_transaction_id( $id ) { $this->set( 'transaction_id', $id ); }
	public function get_checkout_order_received_url() { return 'https://shop.example/received/' . $this->stored->id . '?key=' . $this->stored->order_key; }
	public function get_checkout_payment_url() { return 'https://shop.example/pay/' . $this->stored->id . '?key=' . $this->stored->order_key; }
	public function get_meta( $key ) { return $this->meta[ $key ] ?? ''; }
	public function update_meta_data( $key, $value ) { $this->meta[ $key ] = $value; $this->meta_keys[ $key ] = true; }
	public function delete_meta_data( $key ) { unset( $this->meta[ $key ] ); $this->meta_keys[ $key ] = true; }
	public function read_meta_data( $force ) { $this->meta = $this->stored->meta; $this->meta_keys = array(); }
	public function add_order_note( $note ) { $this->stored->notes[] = $note; }
	public function get_refunds() { return $this->stored->refunds; }
	// phpcs:enable
	public function set_status( $status, $note = '' ) {
		$from = $this->props['status'];
		if ( $from !== $status ) {
			$this->transition = array( $this->transition[0] ?? $from, $status, $note );
			$this->set( 'status', $status );
			if ( null === $this->props['date_paid'] && $this->is_paid() ) {
				$this->set( 'date_paid', time() );
			}
		}
	}
	public function save_meta_data() {
		foreach ( array_keys( $this->meta_keys ) as $key ) {
			if ( isset( $this->meta[ $key ] ) ) {
				$this->stored->meta[ $key ] = $this->meta[ $key ];
			} else {
				unset( $this->stored->meta[ $key ] );
			}
		}
		$this->meta_keys = array();
	}
	public function save() {
		do_action( 'woocommerce_before_order_object_save', $this );
		foreach ( $this->changes as $name => $value ) {
			$this->stored->$name = $value;
		}
		$this->changes = array();
		$this->save_meta_data();
		do_action( 'woocommerce_after_order_object_save', $this );
		if ( null !== $this->transition ) {
			list( $from, $to, $note ) = $this->transition;
			$this->transition         = null;
			$this->add_order_note( trim( "$note Order status changed from $from to $to." ) );
			do_action( 'woocommerce_order_status_changed', $this->stored->id, $from, $to );
		}
	}
	public function payment_complete( $transaction_id ) {
		if ( $this->stored->refuses ) {
			return false;
		}
		if ( ! $this->has_status( array( 'on-hold', 'pending', 'failed', 'cancelled' ) ) ) {
			return true;
		}
		++$this->stored->completions;
		$this->set_transaction_id( $transaction_id );
		$this->set_status( 'processing' );
		$this->save();
		return true;
	}
}

abstract class WC_Payment_Gateway {
	public $id, $has_fields, $method_title, $method_description, $supports, $order_button_text, $title, $description, $form_fields;
	public $settings = array();
	public $posted   = array();
	// phpcs:disable
	public function init_settings() { $this->settings = get_option( 'woocommerce_' . $this->id . '_settings', array() ); }
	public function get_form_fields() { return $this->form_fields; }
	public function get_field_type( $field ) { return $field['type']; }
	public function get_option( $key ) { return $this->settings[ $key ] ?? ( $this->form_fields[ $key ]['default'] ?? '' ); }
	public function get_post_data() { return $this->posted; }
	public function validate_text_field( $key, $value ) { return trim( (string) $value ); }
	public function is_available() { return 'yes' === $this->get_option( 'enabled' ); }
	public function generate_text_html( $key, $data ) { return '<input type="' . $data['type'] . '" value="' . $this->get_option( $key ) . '" placeholder="' . $data['placeholder'] . '">'; }
	// phpcs:enable
	public function get_field_value( $key, $field, $posted ) {
		$value = $posted[ 'woocommerce_' . $this->id . '_' . $key ] ?? null;
		return 'secret' === $field['type'] ? $this->validate_secret_field( $key, $value ) : $this->validate_text_field( $key, $value );
	}
	public function process_admin_options() {
		foreach ( $this->form_fields as $key => $field ) {
			if ( 'title' !== $field['type'] ) {
				$this->settings[ $key ] = $this->get_field_value( $key, $field, $this->posted );
			}
		}
		update_option( 'woocommerce_' . $this->id . '_settings', $this->settings );
		return true;
	}
}

final class WC_Admin_Settings {
	public static function add_error( $text ) {
		World::$messages['error'][] = $text;
	}
	public static function add_message( $text ) {
		World::$messages['message'][] = $text;
	}
}
