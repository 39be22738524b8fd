<?php
/**
 * Runs every case against the stubs and prints one line of JSON for each: {"name", "fault"}.
 */

namespace Quittance\WooCommerce {
	/** Retries need not wait here. */
	function usleep() {}
}

namespace {
	error_reporting( E_ALL );
	set_error_handler(
		static function ( $level, $message, $file, $line ) {
			throw new ErrorException( $message, 0, $level, $file, $line );
		}
	);

	require __DIR__ . '/stubs.php';
	require __DIR__ . '/service.php';
	require dirname( __DIR__ ) . '/quittance.php';
	do_action( 'plugins_loaded' );
	do_action( 'rest_api_init' );

	$cases = array();
	function it( string $name, callable $case ): void {
		$GLOBALS['cases'][ $name ] = $case;
	}
	function same( $expected, $actual ): void {
		if ( $expected !== $actual ) {
			throw new RuntimeException( 'expected ' . json_encode( $expected ) . ', got ' . json_encode( $actual ) );
		}
	}
	function has( string $part, array $texts ): void {
		foreach ( $texts as $text ) {
			if ( false !== strpos( $text, $part ) ) {
				return;
			}
		}
		throw new RuntimeException( json_encode( $part ) . ' is in none of ' . json_encode( $texts ) );
	}

	foreach ( glob( __DIR__ . '/*-cases.php' ) as $file ) {
		require $file;
	}
	foreach ( $cases as $name => $case ) {
		World::reset();
		Service::reset();
		$fault = null;
		try {
			$case();
		} catch ( Throwable $error ) {
			$fault = $error->getMessage() . ' (' . basename( $error->getFile() ) . ':' . $error->getLine() . ")\n" . $error->getTraceAsString();
		}
		echo json_encode( array( 'name' => $name, 'fault' => $fault ) ), "\n";
	}
}
