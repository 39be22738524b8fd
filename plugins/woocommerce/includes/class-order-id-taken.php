<?php
/**
 * The service knows the id of an order from another order, which this shop does not have.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Order_Id_Taken extends \Exception {
}
