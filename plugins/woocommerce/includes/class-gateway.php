<?php
/**
 * The payment method that WooCommerce knows.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Gateway extends \WC_Payment_Gateway {

	public function __construct() {
		$this->id                 = Settings::GATEWAY_ID;
		$this->has_fields         = false;
		$this->method_title       = __( 'Quittance', 'quittance' );
		$this->method_description = __( 'Stablecoin payments through a Quittance service of your own.', 'quittance' );
		$this->supports           = array( 'products', 'refunds' );
		$this->order_button_text  = __( 'Continue to payment', 'quittance' );
		$this->init_form_fields();
		$this->init_settings();
		$this->title       = $this->get_option( 'title' );
		$this->description = $this->get_option( 'description' );
		add_action( 'woocommerce_update_options_payment_gateways_' . $this->id, array( $this, 'process_admin_options' ) );
	}

	public function init_form_fields() {
		$this->form_fields = Settings::form_fields();
	}

	public function is_available() {
		return parent::is_available() && Settings::is_complete( Settings::mode() ) && null === Currencies::fault( $this->amount_to_pay(), get_woocommerce_currency() );
	}

	/** Of the order that is being paid, or of the cart. */
	private function amount_to_pay(): string {
		$order_id = is_wc_endpoint_url( 'order-pay' ) ? absint( get_query_var( 'order-pay' ) ) : 0;
		$order    = $order_id > 0 ? wc_get_order( $order_id ) : false;
		if ( $order instanceof \WC_Order ) {
			return Sessions::total( $order );
		}
		return isset( WC()->cart ) ? (string) wc_format_decimal( WC()->cart->get_total( 'edit' ) ) : '0';
	}

	public function needs_setup() {
		return ! Settings::is_complete( Settings::mode() );
	}

	public function process_payment( $order_id ) {
		try {
			return array(
				'result'   => 'success',
				'redirect' => Sessions::begin( (int) $order_id ),
			);
		} catch ( Customer_Exception $refusal ) {
			wc_add_notice( $refusal->getMessage(), 'error' );
		} catch ( \Exception $error ) {
			Plugin::log( 'error', 'order ' . $order_id . ': no payment session: ' . $error->getMessage() );
			wc_add_notice( __( 'The payment could not be started. Please try again in a moment, or choose another method.', 'quittance' ), 'error' );
		}
		return array( 'result' => 'failure' );
	}

	public function can_refund_order( $order ) {
		return $order && '' !== ( new Order_Record( $order ) )->get( Order_Record::PAID_SESSION );
	}

	public function process_refund( $order_id, $amount = null, $reason = '' ) {
		return Refunds::create( (int) $order_id, (string) $amount, (string) $reason );
	}

	public function get_transaction_url( $order ) {
		return ( new Order_Record( $order ) )->get( Order_Record::TRANSACTION_URL );
	}

	/** Refuses what cannot work, naming the field, and asks the service about the rest. */
	public function process_admin_options() {
		$before = get_option( Settings::OPTION, array() );
		$posted = $this->get_post_data();
		$faults = array();
		foreach ( $this->get_form_fields() as $key => $field ) {
			if ( 'title' !== $this->get_field_type( $field ) ) {
				$faults[] = Settings::fault( $key, (string) $this->get_field_value( $key, $field, $posted ) );
			}
		}
		foreach ( array_filter( $faults ) as $fault ) {
			\WC_Admin_Settings::add_error( $fault );
		}
		if ( array() !== array_filter( $faults ) ) {
			$this->settings = is_array( $before ) ? $before : array();
			return false;
		}
		$saved = parent::process_admin_options();
		$this->report_connection();
		return $saved;
	}

	private function report_connection(): void {
		$mode = Settings::mode();
		if ( ! Settings::is_complete( $mode ) ) {
			/* translators: %s: mode (test or live). */
			\WC_Admin_Settings::add_error( sprintf( __( 'Customers are not offered this method before address, API key, API secret and webhook secret (%s) are all set.', 'quittance' ), $mode ) );
			return;
		}
		try {
			Settings::client( $mode )->check_credentials();
			Currencies::forget( get_woocommerce_currency() );
			if ( wc_get_price_decimals() > Currencies::decimals( get_woocommerce_currency() ) ) {
				/* translators: 1: currency, 2: number, 3: number. */
				\WC_Admin_Settings::add_error( sprintf( __( 'The shop shows prices in %1$s with %2$d decimals, but the currency has %3$d: orders whose total has more cannot be paid, and are not offered this method. Set the number of decimals under WooCommerce > Settings > General.', 'quittance' ), get_woocommerce_currency(), wc_get_price_decimals(), Currencies::decimals( get_woocommerce_currency() ) ) );
			}
			/* translators: %s: mode (test or live). */
			\WC_Admin_Settings::add_message( sprintf( __( 'The service knows this key (%s).', 'quittance' ), $mode ) );
		} catch ( Api_Exception $error ) {
			/* translators: 1: mode (test or live), 2: what the service answered. */
			\WC_Admin_Settings::add_error( sprintf( __( 'The service (%1$s) did not accept address, API key and API secret: %2$s', 'quittance' ), $mode, $error->getMessage() ) );
		}
	}

	/** A saved secret is never sent to a browser again. */
	public function generate_secret_html( $key, $data ) {
		$kept                   = $this->get_option( $key );
		$this->settings[ $key ] = '';
		$data['type']           = 'password';
		$data['placeholder']    = '' === $kept ? '' : __( 'Saved. Leave empty to keep it.', 'quittance' );
		$html                   = $this->generate_text_html( $key, $data );
		$this->settings[ $key ] = $kept;
		return $html;
	}

	public function validate_secret_field( $key, $value ) {
		$value = trim( wp_unslash( (string) $value ) );
		return '' === $value ? $this->get_option( $key ) : $value;
	}

	public function validate_text_field( $key, $value ) {
		return trim( parent::validate_text_field( $key, $value ) );
	}
}
