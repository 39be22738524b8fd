import { hash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58, fromBase58 } from '../../chain-formats/base58.ts';
import { must } from '../../domain/values/must.ts';

/** First byte of every TRON address on every TRON network. */
const TRON_PREFIX = 0x41;
const ED25519_KEY_BYTES = 32;

/**
 * The account of a secp256k1 key (65 bytes uncompressed) on the EVM and on TRON: the last 20 bytes of its Keccak-256.
 */
const accountOf = (publicKey: Uint8Array): Uint8Array => keccak_256(publicKey.subarray(1)).subarray(12);

/** EIP-55 checksummed address of an uncompressed secp256k1 public key. */
export function evmAddress(publicKey: Uint8Array): string {
  const hex = Buffer.from(accountOf(publicKey)).toString('hex');
  const mask = keccak_256(Buffer.from(hex, 'latin1'));
  let address = '0x';
  for (let i = 0; i < hex.length; i += 1) {
    const nibble = i % 2 === 0 ? (mask[i >> 1] ?? 0) >> 4 : (mask[i >> 1] ?? 0) & 0x0f;
    address += nibble >= 8 ? must(hex[i]).toUpperCase() : must(hex[i]);
  }
  return address;
}

/** Base58check address (`T...`) of an uncompressed secp256k1 public key. */
export function tronAddress(publicKey: Uint8Array): string {
  const payload = Buffer.concat([Buffer.of(TRON_PREFIX), accountOf(publicKey)]);
  const checksum = sha256(sha256(payload)).subarray(0, 4);
  return base58(Buffer.concat([payload, checksum]));
}

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

/**
 * True for the base58 form of exactly 32 bytes, which Solana calls a public key. Does not check whether it is on the
 * curve.
 */
export function isSolanaPublicKey(text: string): boolean {
  return text.length >= 32 && text.length <= 44 && fromBase58(text)?.length === ED25519_KEY_BYTES;
}
