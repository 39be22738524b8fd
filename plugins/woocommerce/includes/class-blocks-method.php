<?php
/**
 * The payment method in the checkout that is made of blocks.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

defined( 'ABSPATH' ) || exit;

final class Blocks_Method extends AbstractPaymentMethodType {

	const SCRIPT = 'quittance-blocks';

	/** @var string */
	protected $name = Settings::GATEWAY_ID;

	/** @var string */
	private $script_url;

	public function __construct( string $script_url ) {
		$this->script_url = $script_url;
	}

	public function initialize() {
		$this->settings = get_option( Settings::OPTION, array() );
	}

	public function is_active() {
		return 'yes' === $this->get_setting( 'enabled', 'no' ) && Settings::is_complete( Settings::mode() ) && null === Currencies::fault( '0', get_woocommerce_currency() );
	}

	public function get_payment_method_script_handles() {
		wp_register_script( self::SCRIPT, $this->script_url, array( 'wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities' ), '0.1.0', true );
		return array( self::SCRIPT );
	}

	public function get_payment_method_data() {
		return array(
			'title'       => $this->get_setting( 'title' ),
			'description' => $this->get_setting( 'description' ),
			'button'      => __( 'Continue to payment', 'quittance' ),
			'supports'    => array( 'products' ),
		);
	}
}
