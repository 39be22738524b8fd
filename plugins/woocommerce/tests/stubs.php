<?php
/**
 * As much of the documented interfaces of WordPress and WooCommerce as the plugin uses, in memory.
 */

define( 'ABSPATH', __DIR__ . '/' );
define( 'DB_NAME', 'shop' );

final class World {
	public static $options   = array();
	public static $orders    = array();
	public static $hooks     = array();
	public static $scheduled = array();
	public static $notices   = array();
	public static $messages  = array( 'error' => array(), 'message' => array() );
	public static $query     = array( 'endpoint' => '', 'order-received' => 0 );
	public static $locked    = array();

	public static function reset(): void {
		self::$options   = array();
		self::$orders    = array();
		self::$scheduled = array();
		self::$notices   = array();
		self::$messages  = array( 'error' => array(), 'message' => array() );
		self::$query     = array( 'endpoint' => '', 'order-received' => 0 );
		self::$locked    = array();
		$_GET            = array();
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
function register_rest_route( $namespace, $route, $how ) { World::$options['routes'][ $namespace . $route ] = $how; }
function is_multisite() { return false; }
function wp_register_script( ...$script ) { World::$options['script'] = $script; }
function is_wc_endpoint_url( $name ) { return World::$query['endpoint'] === $name; }
function get_query_var( $name ) { return World::$query[ $name ]; }
function wc_format_decimal( $number, $decimals ) { return number_format( (float) $number, $decimals, '.', '' ); }
function wc_get_price_decimals() { return 2; }
function wc_add_notice( $text, $kind ) { World::$notices[] = $text; }
function wc_get_order( $id ) { return World::$orders[ (int) $id ] ?? false; }
function wc_maybe_increase_stock_levels( $id ) { World::$orders[ $id ]->stock_increased = true; }
function wc_get_logger() { return new class { public function log() {} }; }
function as_schedule_single_action( $time, $action, $arguments, $group ) { World::$scheduled[] = array( $time, $action, $arguments, $group ); }
function as_unschedule_all_actions( $action, $arguments, $group ) {
	World::$scheduled = array_values( array_filter( World::$scheduled, static function ( $one ) use ( $action, $arguments, $group ) {
		return $group !== $one[3] || ( '' !== $action && array( $action, $arguments ) !== array( $one[1], $one[2] ) );
	} ) );
}
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
	public $parent;
	public function __construct( int $id, WC_Order $parent ) {
		$this->id     = $id;
		$this->parent = $parent;
	}
	public function get_id() {
		return $this->id;
	}
	public function get_parent_id() {
		return $this->parent->get_id();
	}
	public function update_meta_data( $key, $value ) {
		$this->meta[ $key ] = $value;
	}
	public function get_meta( $key ) {
		return $this->meta[ $key ] ?? '';
	}
	public function delete() {
		$this->parent->refunds = array_values( array_filter( $this->parent->refunds, function ( $one ) {
			return $one !== $this;
		} ) );
	}
}

/** Like WooCommerce's: changes of status take effect, with their hooks, when the order is saved. */
class WC_Order {
	public $id;
	public $status          = 'pending';
	public $saved_status    = 'pending';
	public $total           = '10.00';
	public $currency        = 'USD';
	public $payment_method  = 'quittance';
	public $meta            = array();
	public $saved_meta      = array();
	public $notes           = array();
	public $refunds         = array();
	public $date_paid       = null;
	public $transaction_id  = '';
	public $completions     = 0;
	public $stock_increased = false;
	public $refuses         = false;

	public function __construct( int $id ) {
		$this->id             = $id;
		World::$orders[ $id ] = $this;
	}
	// phpcs:disable
	public function get_id() { return $this->id; }
	public function get_order_key() { return 'wc_order_' . md5( (string) $this->id ); }
	public function get_order_number() { return (string) $this->id; }
	public function get_total() { return $this->total; }
	public function get_currency() { return $this->currency; }
	public function get_status() { return $this->status; }
	public function has_status( $status ) { return in_array( $this->status, (array) $status, true ); }
	public function is_paid() { return $this->has_status( array( 'processing', 'completed' ) ); }
	public function needs_payment() { return $this->has_status( array( 'pending', 'failed' ) ); }
	public function get_date_paid() { return $this->date_paid; }
	public function set_date_paid( $date ) { $this->date_paid = $date; }
	public function get_payment_method() { return $this->payment_method; }
	public function set_payment_method( $method ) { $this->payment_method = $method; }
	public function set_payment_method_title() {}
	public function set_transaction_id( $id ) { $this->transaction_id = $id; }
	public function get_checkout_order_received_url() { return 'https://shop.example/received/' . $this->id . '?key=' . $this->get_order_key(); }
	public function get_checkout_payment_url() { return 'https://shop.example/pay/' . $this->id . '?key=' . $this->get_order_key(); }
	public function get_meta( $key ) { return $this->meta[ $key ] ?? ''; }
	public function update_meta_data( $key, $value ) { $this->meta[ $key ] = $value; }
	public function delete_meta_data( $key ) { unset( $this->meta[ $key ] ); }
	public function read_meta_data( $force ) { $this->meta = $this->saved_meta; }
	public function add_order_note( $note ) { $this->notes[] = $note; }
	public function get_refunds() { return $this->refunds; }
	// phpcs:enable
	public function set_status( $status, $note = '' ) {
		$this->status = $status;
		if ( '' !== $note ) {
			$this->notes[] = $note;
		}
	}
	public function save() {
		$this->saved_meta   = $this->meta;
		$from               = $this->saved_status;
		$this->saved_status = $this->status;
		if ( $from !== $this->status ) {
			do_action( 'woocommerce_order_status_changed', $this->id, $from, $this->status );
		}
	}
	public function payment_complete( $transaction_id ) {
		if ( $this->refuses ) {
			return false;
		}
		++$this->completions;
		$this->transaction_id = $transaction_id;
		$this->date_paid      = time();
		$this->status         = 'processing';
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
