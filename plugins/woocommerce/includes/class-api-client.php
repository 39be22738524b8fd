<?php
/**
 * Signed requests to the merchant API.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Api_Client {

	const TIMEOUT_SECONDS   = 8;
	const ATTEMPTS          = 3;
	/** All that a client asks together: a customer or a webhook waits for it. */
	const BUDGET_SECONDS    = 12;
	const WAIT_MICROSECONDS = 300000;

	/** @var array{base_url:string,api_key:string,api_secret:string,header_prefix:string} */
	private $credentials;

	/** @var float Unix seconds after which nothing is asked any more. */
	private $until;

	/** @param array{base_url:string,api_key:string,api_secret:string,header_prefix:string} $credentials Of one mode. */
	public function __construct( array $credentials ) {
		$this->credentials = $credentials;
		$this->until       = microtime( true ) + self::BUDGET_SECONDS;
	}

	public function create_session( array $session ): array {
		return $this->send( 'POST', '/api/v1/checkout/sessions/create', $session );
	}

	public function session( string $id ): array {
		return $this->send( 'GET', '/api/v1/checkout/sessions/' . rawurlencode( $id ) );
	}

	/** @return array[] Newest first. */
	public function sessions_of_order( string $order_id ): array {
		return $this->send( 'GET', '/v1/payment/sessions?order_id=' . rawurlencode( $order_id ) )['data'];
	}

	/**
	 * Of the shop with this order prefix, created since then; newest first, as many as fit the time.
	 *
	 * @param int $since Unix seconds.
	 */
	public function sessions_of_shop( string $order_prefix, int $since ): \Generator {
		$cursor = '';
		do {
			$page = $this->send( 'GET', '/v1/payment/sessions?' . http_build_query( array( 'page_size' => 100, 'created_from' => $since, 'metadata' => array( 'shop' => $order_prefix ), 'cursor' => $cursor ), '', '&', PHP_QUERY_RFC3986 ) );
			yield from $page['data'];
			$cursor = (string) ( $page['pagination']['next_cursor'] ?? '' );
		} while ( '' !== $cursor && ! empty( $page['pagination']['has_more'] ) );
	}

	public function cancel_session( string $id ): array {
		return $this->send( 'POST', '/api/v1/checkout/sessions/' . rawurlencode( $id ) . '/cancel' );
	}

	public function create_refund( array $refund, string $idempotency_key ): array {
		return $this->send( 'POST', '/v1/refunds', $refund, $idempotency_key );
	}

	public function refund( string $id ): array {
		return $this->send( 'GET', '/v1/refunds/' . rawurlencode( $id ) );
	}

	/** Whether key, secret and address belong together. */
	public function check_credentials(): void {
		$this->send( 'GET', '/v1/payment/sessions?page_size=1' );
	}

	/**
	 * All attempts of a POST have one idempotency key, so that a retry never does a thing twice.
	 *
	 * @throws Api_Exception When the service refused, or did not answer.
	 */
	private function send( string $method, string $target, ?array $body = null, string $idempotency_key = '' ): array {
		$text = null === $body ? '' : (string) wp_json_encode( $body );
		if ( 'POST' === $method && '' === $idempotency_key ) {
			$idempotency_key = wp_generate_uuid4();
		}
		for ( $attempt = 1; ; $attempt++ ) {
			try {
				return $this->attempt( $method, $target, $text, $idempotency_key );
			} catch ( Api_Exception $error ) {
				if ( $attempt >= self::ATTEMPTS || ! $error->leaves_doubt() || $this->seconds_left() < 1 ) {
					throw $error;
				}
				usleep( self::WAIT_MICROSECONDS * $attempt );
			}
		}
	}

	/** @throws Api_Exception When the service refused, or did not answer. */
	private function attempt( string $method, string $target, string $body, string $idempotency_key ): array {
		if ( $this->seconds_left() < 0.5 ) {
			throw new Api_Exception( 'the service did not answer in time' );
		}
		$url    = rtrim( $this->credentials['base_url'], '/' ) . $target;
		$answer = wp_remote_request(
			$url,
			array(
				'method'      => $method,
				'timeout'     => min( self::TIMEOUT_SECONDS, $this->seconds_left() ),
				'redirection' => 0,
				'headers'     => $this->headers( $method, $url, $body, $idempotency_key ),
				'body'        => '' === $body ? null : $body,
			)
		);
		if ( is_wp_error( $answer ) ) {
			throw new Api_Exception( $answer->get_error_message() );
		}
		$status = (int) wp_remote_retrieve_response_code( $answer );
		$parsed = json_decode( wp_remote_retrieve_body( $answer ), true );
		if ( 200 === $status && is_array( $parsed ) ) {
			return $parsed;
		}
		throw self::failure( $status, is_array( $parsed ) && isset( $parsed['error'] ) && is_array( $parsed['error'] ) ? $parsed['error'] : array(), $answer );
	}

	private function seconds_left(): float {
		return $this->until - microtime( true );
	}

	/** @param array $answer Of the HTTP API of WordPress. */
	private static function failure( int $status, array $error, $answer ): Api_Exception {
		$message = isset( $error['message'] ) ? (string) $error['message'] : 'the answer is not one of the payment service (HTTP ' . $status . ')';
		$fault   = (string) wp_remote_retrieve_header( $answer, 'quittance-authentication-fault' );
		if ( '' !== $fault ) {
			$message .= ' (' . $fault . ')';
		}
		if ( isset( $error['request_id'] ) ) {
			$message .= ' [' . $error['request_id'] . ']';
		}
		return new Api_Exception( $message, $status, (string) ( $error['code'] ?? '' ), (string) ( $error['param'] ?? '' ) );
	}

	/** @return array<string,string> */
	private function headers( string $method, string $url, string $body, string $idempotency_key ): array {
		$timestamp = (string) time();
		$nonce     = wp_generate_uuid4();
		$prefix    = $this->credentials['header_prefix'];
		$query     = wp_parse_url( $url, PHP_URL_QUERY );
		$target    = wp_parse_url( $url, PHP_URL_PATH ) . ( null === $query ? '' : '?' . $query );
		$headers   = array(
			'Accept'                      => 'application/json',
			'Content-Type'                => 'application/json',
			'Authorization'               => 'Bearer ' . $this->credentials['api_key'],
			$prefix . 'Timestamp'         => $timestamp,
			$prefix . 'Nonce'             => $nonce,
			$prefix . 'Signature'         => Signature::of_request( $this->credentials['api_secret'], $timestamp, $nonce, $method, $target, $body ),
			$prefix . 'Signature-Version' => '2',
		);
		if ( 'POST' === $method ) {
			$headers['Idempotency-Key'] = $idempotency_key;
		}
		return $headers;
	}
}
