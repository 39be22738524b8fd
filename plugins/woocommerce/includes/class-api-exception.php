<?php
/**
 * Why the service did not do what was asked.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Api_Exception extends \Exception {

	/** @var int HTTP status; 0 when no answer came. */
	private $status;

	/** @var string Stable code of the service, such as `sender_not_acknowledged`. */
	private $error_code;

	/** @var string The field at fault. */
	private $param;

	public function __construct( string $message, int $status = 0, string $error_code = '', string $param = '' ) {
		parent::__construct( $message );
		$this->status     = $status;
		$this->error_code = $error_code;
		$this->param      = $param;
	}

	public function is( string $error_code ): bool {
		return $this->error_code === $error_code;
	}

	public function status(): int {
		return $this->status;
	}

	public function param(): string {
		return $this->param;
	}

	/** Whether the request may have been carried out all the same. */
	public function leaves_doubt(): bool {
		return $this->status < 400 || $this->status >= 500 || 408 === $this->status || 429 === $this->status || $this->is( 'conflict' );
	}
}
