<?php
/**
 * Signatures of requests (version 2) and of webhooks.
 *
 * @package Quittance\WooCommerce
 */

namespace Quittance\WooCommerce;

defined( 'ABSPATH' ) || exit;

final class Signature {

	const TOLERANCE_SECONDS = 300;

	/**
	 * Version 2 covers method and target, so that no signature serves another request.
	 *
	 * @param string $target Path and query exactly as they are sent.
	 */
	public static function of_request( string $secret, string $timestamp, string $nonce, string $method, string $target, string $body ): string {
		return hash_hmac( 'sha256', implode( "\n", array( 'v2', $timestamp, $nonce, $method, $target, $body ) ), $secret );
	}

	public static function of_webhook( string $secret, string $timestamp, string $nonce, string $body ): string {
		return hash_hmac( 'sha256', $timestamp . '.' . $nonce . '.' . $body, $secret );
	}

	/**
	 * Whether a delivery is genuine and fresh.
	 *
	 * @param string[] $given The signatures of the request: while a secret is being changed there are two.
	 */
	public static function verifies( string $secret, string $timestamp, string $nonce, string $body, array $given, int $now ): bool {
		if ( '' === $secret || '' === $nonce || 1 !== preg_match( '/\A\d{1,12}\z/', $timestamp ) || abs( $now - (int) $timestamp ) > self::TOLERANCE_SECONDS ) {
			return false;
		}
		$expected = self::of_webhook( $secret, $timestamp, $nonce, $body );
		$matches  = false;
		foreach ( $given as $signature ) {
			$matches = hash_equals( $expected, strtolower( (string) $signature ) ) || $matches;
		}
		return $matches;
	}
}
