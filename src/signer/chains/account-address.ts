import { ECDH, hash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58 } from '../../chain-formats/base58.ts';
import { must } from '../../domain/values/must.ts';

/** The 20-byte account id of the EVM and TRON. `publicKey` is a secp256k1 key in any form. */
export function accountOfKey(publicKey: Uint8Array): Uint8Array {
  const uncompressed = String(ECDH.convertKey(publicKey, 'secp256k1', undefined, 'hex', 'uncompressed'));
  return keccak_256(Buffer.from(uncompressed, 'hex').subarray(1)).subarray(12);
}

/** EIP-55 form of an account. */
export function evmAddressOf(account: Uint8Array): string {
  const hex = Buffer.from(account).toString('hex');
  const mask = Buffer.from(keccak_256(Buffer.from(hex, 'latin1'))).toString('hex');
  return `0x${[...hex].map((digit, place) => (Number.parseInt(must(mask[place]), 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`;
}

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

/** Base58check form (`T...`) of an account. */
export function tronAddressOf(account: Uint8Array): string {
  const payload = Buffer.concat([Buffer.of(0x41), account]);
  return base58(Buffer.concat([payload, sha256(sha256(payload)).subarray(0, 4)]));
}
