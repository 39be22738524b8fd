<?php
/**
 * Plugin Name: Quittance for WooCommerce
 * Description: Take stablecoin payments (USDT, USDC) on TRON, Ethereum, BSC and Solana through a Quittance service of your own.
 * Version: 0.1.0
 * Requires at least: 6.4
 * Requires PHP: 7.4
 * Requires Plugins: woocommerce
 * WC requires at least: 8.2
 * WC tested up to: 11.0
 * License: Apache-2.0
 * License URI: https://www.apache.org/licenses/LICENSE-2.0
 * Text Domain: quittance
 * Domain Path: /languages
 *
 * @package Quittance\WooCommerce
 */

defined( 'ABSPATH' ) || exit;

require_once __DIR__ . '/includes/class-plugin.php';

Quittance\WooCommerce\Plugin::start( __FILE__ );
