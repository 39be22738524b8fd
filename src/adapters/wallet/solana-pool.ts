import { createHash } from 'node:crypto';
import type { Mode } from '../../domain/values/ids.ts';
import type { AddressDeriver } from '../../ports/chain/addresses.ts';
import type { Signer } from '../../ports/signer/signer.ts';
import { HARDENED_OFFSET } from './child-public-key.ts';
import { isSolanaPublicKey } from './address-format.ts';

/** The exported pool contains something other than Solana public keys. Names the place, never the text. */
export class InvalidSolanaPool extends Error {
  override readonly name = 'InvalidSolanaPool';
}

/**
 * Collection addresses from a pool that the signer exported once (ed25519 has no public derivation): the key at place i
 * belongs to `m/44'/501'/i'/0'`. Throws `InvalidSolanaPool`.
 */
export function solanaPoolDeriver(mode: Mode, publicKeys: readonly string[]): AddressDeriver {
  const seen = new Set<string>();
  publicKeys.forEach((key, place) => {
    if (!isSolanaPublicKey(key)) throw new InvalidSolanaPool(`entry ${place} of the Solana pool is not a public key`);
    if (seen.has(key)) throw new InvalidSolanaPool(`entry ${place} of the Solana pool occurs twice`);
    seen.add(key);
  });
  return {
    family: 'solana',
    mode,
    capacity: publicKeys.length,
    source: { mode, family: 'solana', fingerprint: fingerprintOfPool([publicKeys]), keys: publicKeys.length },
    derive: async (fromIndex, count) => publicKeys.slice(fromIndex, fromIndex + count),
  };
}

/** Fingerprint of the keys of a pool, given in parts. */
export function fingerprintOfPool(parts: readonly (readonly string[])[]): string {
  const digest = createHash('sha256');
  for (const keys of parts) for (const key of keys) digest.update(`${key}\n`);
  return digest.digest('hex');
}

/** Collection addresses requested from the signer as needed. A pool of a local signer is unlimited. */
export function signerSolanaDeriver(mode: Mode, signer: Pick<Signer, 'exportSolanaKeys'>): AddressDeriver {
  return {
    family: 'solana',
    mode,
    capacity: HARDENED_OFFSET,
    derive: async (fromIndex, count) => [...(await signer.exportSolanaKeys(mode, fromIndex, count))],
  };
}
