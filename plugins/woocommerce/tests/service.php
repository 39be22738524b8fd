<?php
/**
 * The payment service as far as the plugin talks to it. It refuses what is not signed by version 2.
 */

final class Service {
	const SECRET         = 'sks_test_secret';
	const WEBHOOK_SECRET = 'whs_test_secret';

	public static $sessions      = array();
	public static $refunds       = array();
	public static $requests      = array();
	public static $answered      = array();
	public static $failures      = array();
	public static $loses_answers = false;
	public static $meanwhile     = array();

	public static function reset(): void {
		self::$sessions      = array();
		self::$refunds       = array();
		self::$requests      = array();
		self::$answered      = array();
		self::$failures      = array();
		self::$loses_answers = false;
		self::$meanwhile     = array();
		World::$options['woocommerce_quittance_settings'] = array(
			'enabled'             => 'yes',
			'title'               => 'Stablecoins',
			'mode'                => 'test',
			'test_base_url'       => 'https://pay.example/base',
			'test_api_key'        => 'sk_test_key',
			'test_api_secret'     => self::SECRET,
			'test_webhook_secret' => self::WEBHOOK_SECRET,
		);
	}

	/** From now on requests whose path begins so fail that often. */
	public static function fails( string $path, int $times, int $status, string $code = 'service_unavailable', string $param = '' ): void {
		self::$failures[] = array( $path, $times, $status, $code, $param );
	}

	public static function asked( string $method, string $path ): array {
		return array_values( array_filter( self::$requests, static function ( $one ) use ( $method, $path ) {
			return $method === $one['method'] && 0 === strpos( $one['path'], $path );
		} ) );
	}

	public static function answer( string $method, string $target, array $headers, string $body ): array {
		$expected = hash_hmac( 'sha256', "v2\n{$headers['X-Service-Timestamp']}\n{$headers['X-Service-Nonce']}\n$method\n$target\n$body", self::SECRET );
		if ( $expected !== $headers['X-Service-Signature'] || '2' !== $headers['X-Service-Signature-Version'] || 'Bearer sk_test_key' !== $headers['Authorization'] ) {
			return self::error( 401, 'authentication_failed' );
		}
		$path = substr( $target, strlen( '/base' ) );
		$key  = $headers['Idempotency-Key'] ?? '';
		self::$requests[] = array( 'method' => $method, 'path' => $path, 'body' => json_decode( $body, true ), 'key' => $key );
		foreach ( self::$failures as $index => list( $prefix, $times, $status, $code, $param ) ) {
			if ( 0 === strpos( $path, $prefix ) && $times > 0 ) {
				--self::$failures[ $index ][1];
				return self::error( $status, $code, $param );
			}
		}
		$answer = self::$answered[ $key ] ?? self::carry_out( $method, $path, json_decode( $body, true ) ?? array() );
		if ( '' !== $key && 200 === $answer[0] ) {
			self::$answered[ $key ] = $answer;
		}
		foreach ( self::$meanwhile as $prefix => $what ) {
			if ( 0 === strpos( $path, $prefix ) ) {
				unset( self::$meanwhile[ $prefix ] );
				$what();
			}
		}
		return self::$loses_answers && 'POST' === $method ? self::error( 503, 'service_unavailable' ) : $answer;
	}

	private static function carry_out( string $method, string $path, array $body ): array {
		if ( '/api/v1/checkout/sessions/create' === $path ) {
			return self::create( $body );
		}
		if ( '/v1/refunds' === $path ) {
			return self::refund( $body );
		}
		if ( 0 === strpos( $path, '/v1/refunds/' ) ) {
			return self::found( self::$refunds[ basename( $path ) ] ?? null );
		}
		if ( 0 === strpos( $path, '/v1/payment/sessions?' ) ) {
			parse_str( (string) parse_url( $path, PHP_URL_QUERY ), $query );
			return array( 200, array( 'data' => array_reverse( array_values( array_filter( self::$sessions, static function ( $one ) use ( $query ) {
				return ( $query['order_id'] ?? $one['order_id'] ) === $one['order_id'] && ( $query['metadata']['shop'] ?? $one['metadata']['shop'] ) === $one['metadata']['shop'];
			} ) ) ) ) );
		}
		if ( 'POST' === $method ) {
			return self::cancel( basename( dirname( $path ) ) );
		}
		return self::found( self::$sessions[ basename( $path ) ] ?? null );
	}

	private static function create( array $body ): array {
		foreach ( self::$sessions as $session ) {
			if ( $session['order_id'] === $body['order_id'] && $session['asked'] === $body ) {
				return in_array( $session['status'], array( 'expired', 'cancelled' ), true ) ? self::error( 400, 'session_expired', 'order_id' ) : array( 200, $session );
			}
		}
		foreach ( self::$sessions as $session ) {
			if ( $session['order_id'] === $body['order_id'] && ( $body['supersedes'] ?? '' ) !== $session['id'] && ! isset( $session['superseded'] ) ) {
				return self::error( 409, 'order_id_conflict', 'order_id' );
			}
		}
		if ( isset( $body['supersedes'] ) ) {
			if ( 'open' === self::$sessions[ $body['supersedes'] ]['status'] ) {
				return self::error( 409, 'order_id_conflict', 'supersedes' );
			}
			self::$sessions[ $body['supersedes'] ]['superseded'] = true;
		}
		$id                     = 'cs_' . ( count( self::$sessions ) + 1 );
		self::$sessions[ $id ] = array(
			'id'                  => $id,
			'asked'               => $body,
			'amount_total'        => number_format( (float) $body['amount'], 2, '.', '' ),
			'currency'            => strtolower( $body['currency'] ),
			'target_amount_total' => '10.01',
			'settlement_currency' => 'USDT',
			'order_id'            => $body['order_id'],
			'metadata'            => $body['metadata'] + array( 'order_id' => $body['order_id'] ),
			'status'              => 'open',
			'payment_status'      => 'unpaid',
			'received'            => '0.00',
			'pending'             => '0.00',
			'excess'              => '0.00',
			'reversed'            => false,
			'expires_at'          => time() + 1800,
			'deposits'            => array(),
			'url'                 => 'https://pay.example/pay/' . $id,
		);
		return array( 200, self::$sessions[ $id ] );
	}

	private static function cancel( string $id ): array {
		if ( 'paid' === self::$sessions[ $id ]['payment_status'] ) {
			return self::error( 400, 'session_already_paid' );
		}
		if ( ! in_array( self::$sessions[ $id ]['status'], array( 'open', 'processing' ), true ) ) {
			return self::error( 400, 'session_expired' );
		}
		self::$sessions[ $id ]['status'] = 'cancelled';
		return array( 200, self::$sessions[ $id ] );
	}

	private static function refund( array $body ): array {
		$id                   = 're_' . ( count( self::$refunds ) + 1 );
		self::$refunds[ $id ] = array(
			'id'             => $id,
			'session_id'     => $body['session_id'],
			'amount'         => array( 'value' => $body['amount']['value'] ?? 'all', 'currency' => 'USDT' ),
			'status'         => 'PENDING',
			'tx_hash'        => null,
			'failure_reason' => null,
		);
		return array( 200, self::$refunds[ $id ] );
	}

	private static function found( ?array $thing ): array {
		return null === $thing ? self::error( 404, 'not_found' ) : array( 200, $thing );
	}

	private static function error( int $status, string $code, string $param = '' ): array {
		return array( $status, array( 'error' => array( 'code' => $code, 'message' => 'it says ' . $code, 'param' => $param ?: null, 'request_id' => 'req_1' ) ) );
	}

	/** What the service tells of a session, signed; `$at` in Unix seconds. */
	public static function event( string $id, string $type, string $session_id, array $more = array(), ?int $at = null, string $secret = self::WEBHOOK_SECRET ): Rest_Request {
		$body      = json_encode( array(
			'id'   => $id,
			'type' => $type,
			'data' => array( 'object' => $more + array( 'session_id' => $session_id, 'order_id' => self::$sessions[ $session_id ]['order_id'] ?? 'order-1' ) ),
		) );
		$timestamp = (string) ( $at ?? time() );
		return new Rest_Request( $body, array(
			'X-Service-Timestamp' => $timestamp,
			'X-Service-Nonce'     => 'n-' . $id,
			'X-Service-Signature' => hash_hmac( 'sha256', "$timestamp.n-$id.$body", $secret ),
		) );
	}
}

function wp_remote_request( $url, $how ) {
	assert( 0 === $how['redirection'] );
	$target                = parse_url( $url, PHP_URL_PATH ) . ( parse_url( $url, PHP_URL_QUERY ) ? '?' . parse_url( $url, PHP_URL_QUERY ) : '' );
	list( $status, $body ) = Service::answer( $how['method'], $target, $how['headers'], $how['body'] ?? '' );
	return 0 === $status ? new WP_Error( 'http', 'connection refused' ) : array( 'status' => $status, 'body' => json_encode( $body ) );
}
function wp_remote_retrieve_response_code( $answer ) {
	return $answer['status'];
}
function wp_remote_retrieve_body( $answer ) {
	return $answer['body'];
}
function wp_remote_retrieve_header( $answer, $name ) {
	return 401 === $answer['status'] && 'quittance-authentication-fault' === $name ? 'signature' : '';
}
