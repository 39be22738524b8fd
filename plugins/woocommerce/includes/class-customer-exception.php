<?php
/**
 * A refusal whose message is made for the customer.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Customer_Exception extends \Exception {
}
