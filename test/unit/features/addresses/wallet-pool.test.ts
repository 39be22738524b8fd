import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { startSignerProcess } from '../../../../src/adapters/signer/process.ts';
import { openSqliteEventStore } from '../../../../src/adapters/sqlite/event-log/event-store.ts';
import { startHdDerivation } from '../../../../src/adapters/wallet/hd-derivation.ts';
import { signerSolanaDeriver, solanaPoolDeriver } from '../../../../src/adapters/wallet/solana-pool.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { startAddressPool } from '../../../../src/features/addresses/pool.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = temporaryFolder('wallet');
});

const FAMILIES = ['evm', 'tron', 'solana'] as const;

/** One life of the watch-only side as the service assembles it: signer, derivation, event log, pool. */
async function oneLife(taken: number): Promise<{ addresses: string[]; solanaPool: readonly string[] }> {
  const store = await openSqliteEventStore({ dataDir });
  const signer = await startSignerProcess({
    directory: dataDir,
    wallets: { test: { kind: 'sandbox', directory: join(dataDir, 'wallet') } },
    log: silentLog,
  });
  const hd = startHdDerivation();
  const { evmXpub, tronXpub, solanaPool } = await signer.exportWatchOnly('test', 100);
  const derivers = [
    hd.deriver('test', 'evm', evmXpub),
    hd.deriver('test', 'tron', tronXpub),
    signerSolanaDeriver('test', signer),
  ];
  const pool = startAddressPool({
    store,
    derivers,
    node: 'a',
    clock: systemClock,
    random: nodeRandom,
    log: silentLog,
    stock: 8,
  });
  try {
    await pool.ready();
    const addresses = Array.from({ length: taken }, () =>
      FAMILIES.map((family) => pool.take('test', family)!.address),
    ).flat();
    return { addresses, solanaPool };
  } finally {
    await pool.close();
    await Promise.all([hd.close(), signer.close(), store.close()]);
  }
}

describe('the wallet from signer to pool, on the real event log', () => {
  it('assigns every address once across restarts, each of its family, from the same keys', async () => {
    const first = await oneLife(3);
    const second = await oneLife(3);
    const all = [...first.addresses, ...second.addresses];
    expect(new Set(all).size).toBe(18);
    expect(all.filter((address) => /^0x[0-9a-fA-F]{40}$/.test(address))).toHaveLength(6);
    expect(all.filter((address) => /^T\w{33}$/.test(address))).toHaveLength(6);
    expect(second.solanaPool).toEqual(first.solanaPool);
    expect(first.solanaPool.slice(0, 3)).toEqual(first.addresses.filter((_, i) => i % 3 === 2));
    expect(first.solanaPool.slice(8, 11)).toEqual(second.addresses.filter((_, i) => i % 3 === 2));
    expect(solanaPoolDeriver('test', first.solanaPool).capacity).toBe(100);
  });
});
