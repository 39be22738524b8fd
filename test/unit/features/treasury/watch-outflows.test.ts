import { describe, expect, it } from 'vitest';
import { amountOf } from '../../../../src/domain/money/money.ts';
import { WatchTreasuries, type WatchedTreasury } from '../../../../src/features/treasury/watch-outflows.process.ts';

describe('watching the treasuries', () => {
  it('reports what each holds, gas separately, and keeps the last figures of one that cannot be read', async () => {
    let reads = 0;
    const errors: unknown[] = [];
    const bsc: WatchedTreasury = {
      mode: 'live',
      network: 'bsc',
      balances: async () => {
        reads += 1;
        if (reads > 1) throw new Error('no provider answers');
        return { coins: { USDT: amountOf('1250.5'), USDC: 0n }, native: amountOf('0.04') };
      },
    };
    const tron: WatchedTreasury = { mode: 'live', network: 'tron', balances: () => Promise.reject(new Error('never')) };
    const watch = new WatchTreasuries({ treasuries: [bsc, tron], everyMs: 5, onError: (error) => errors.push(error) });
    expect(watch.balances()).toEqual([]);
    watch.start();
    await expect.poll(() => reads).toBeGreaterThan(2);
    await watch.stop();
    expect(watch.balances()).toEqual([
      { mode: 'live', network: 'bsc', kind: 'coin', coin: 'USDT', amount: 1250.5 },
      { mode: 'live', network: 'bsc', kind: 'coin', coin: 'USDC', amount: 0 },
      { mode: 'live', network: 'bsc', kind: 'gas', coin: 'BNB', amount: 0.04 },
    ]);
    expect(errors.length).toBeGreaterThan(1);
  });
});
