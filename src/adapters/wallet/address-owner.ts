import { MAX_SOLANA_KEYS_PER_REQUEST } from '../../ports/signer/protocol.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { AddressOwner, AddressSource } from '../../ports/chain/addresses.ts';
import type { Signer } from '../../ports/signer/signer.ts';
import { fingerprintOf, readExtendedPublicKey } from './extended-public-key.ts';
import { fingerprintOfPool } from './solana-pool.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

type Exporter = Pick<Signer, 'exportWatchOnly' | 'exportSolanaKeys'>;

/** The signer as the owner of addresses: compares what it would export now with the source of the addresses. */
export function signerOwner(signer: Exporter): AddressOwner {
  /**
   * Cached pool exports, because the signer needs seconds for ten thousand keys; by wallet (its extended public key)
   * and size.
   */
  const pools = new Map<string, string>();
  return {
    owns: async ({ mode, family, fingerprint, keys }: AddressSource) => {
      const exported = await signer.exportWatchOnly(mode, 0).catch(nullWithoutWallet);
      if (exported === null) return false;
      if (keys === null)
        return (
          fingerprint === fingerprintOf(readExtendedPublicKey(family === 'tron' ? exported.tronXpub : exported.evmXpub))
        );
      const name = `${exported.evmXpub}/${keys}`;
      const pool = pools.get(name) ?? fingerprintOfPool(await allKeys(signer, mode, keys));
      pools.set(name, pool);
      return fingerprint === pool;
    },
  };
}

function nullWithoutWallet(error: unknown): null {
  if (codeOf(error) === 'no_wallet') return null;
  throw error;
}

async function allKeys(signer: Exporter, mode: Mode, count: number): Promise<(readonly string[])[]> {
  const parts: (readonly string[])[] = [];
  for (let from = 0; from < count; from += MAX_SOLANA_KEYS_PER_REQUEST)
    parts.push(await signer.exportSolanaKeys(mode, from, Math.min(MAX_SOLANA_KEYS_PER_REQUEST, count - from)));
  return parts;
}
