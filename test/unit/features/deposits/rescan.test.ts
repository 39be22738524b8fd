import { describe, expect, it } from 'vitest';
import { ChainUnavailable, type ScanResult } from '../../../../src/ports/chain/chain.ts';
import { rescan, type RescanParts } from '../../../../src/features/deposits/chain/rescan.ts';

const hashOf = (number: number): string => `0x${number}`;
const answer = (to: number, provider: string, hash = hashOf(to)): ScanResult => ({
  transfers: [],
  lastBlock: { number: to, hash, parentHash: hashOf(to - 1), timeSec: to * 10 },
  providers: [provider],
});

/** A chain of two providers that is read for good up to block 100. */
function world(change: Partial<RescanParts> = {}) {
  const scans: string[] = [];
  const recorded: Parameters<RescanParts['record']>[0][] = [];
  const parts: RescanParts = {
    scan: async (from, to, readBefore) => {
      scans.push(`${from}-${to}${readBefore ? ' again' : ''}`);
      return answer(to, readBefore ? 'two' : 'one');
    },
    observe: async () => undefined,
    oldestParked: () => Infinity,
    isSound: async () => true,
    coveredBlock: 100,
    maxScanBlocks: 20,
    record: async (range) => void recorded.push(range),
    ...change,
  };
  return { parts, scans, recorded };
}

describe('rescanned blocks', () => {
  it('are read twice and recorded, in bounded ranges', async () => {
    const { parts, scans, recorded } = world();
    expect(await rescan(parts, 10, 39)).toEqual({
      ...{ fromBlock: 10, toBlock: 39, transfers: 0, providers: ['one', 'two'], recordedTo: 39 },
    });
    expect(scans).toEqual(['10-29', '10-29 again', '30-39', '30-39 again']);
    expect(recorded).toMatchObject([
      { fromBlock: 10, toBlock: 29, toBlockHash: '0x29', toBlockTimeSec: 290, providers: ['one', 'two'] },
      { fromBlock: 30, toBlock: 39 },
    ]);
  });

  it('are read once above the durable cursor, which passes them in its turn', async () => {
    const { parts, scans, recorded } = world();
    expect(await rescan(parts, 96, 105)).toMatchObject({ recordedTo: 100 });
    expect(scans).toEqual(['96-100', '96-100 again', '101-105']);
    expect(recorded).toMatchObject([{ fromBlock: 96, toBlock: 100 }]);
  });

  it('are recorded as far as the second read gets, and the rest is read later', async () => {
    const { parts, recorded } = world({
      scan: async (from, to, readBefore) => (readBefore ? answer(Math.min(to, from + 4), 'one') : answer(to, 'one')),
    });
    expect(await rescan(parts, 10, 22)).toMatchObject({ recordedTo: 22 });
    expect(recorded.map(({ fromBlock, toBlock }) => [fromBlock, toBlock])).toEqual([
      [10, 14],
      [15, 19],
      [20, 22],
    ]);
  });

  it.each<[string, Partial<RescanParts>]>([
    ['the readings differ', { scan: async (_, to, before) => answer(to, 'one', before ? '0xother' : hashOf(to)) }],
    ['a known transfer is missing in it', { isSound: async () => false }],
    ['a session did not accept a transfer of it', { oldestParked: () => 15 }],
    [
      'nobody reads it a second time',
      {
        scan: async (_, to, before) => {
          if (before) throw new ChainUnavailable('none left');
          return answer(to, 'one');
        },
      },
    ],
  ])('are not written down while %s', async (_, change) => {
    const { parts, recorded } = world(change);
    expect(await rescan(parts, 10, 19)).toMatchObject({ recordedTo: null });
    expect(recorded).toEqual([]);
  });

  it('reports no block as recorded beyond the first that is not', async () => {
    const { parts } = world({ isSound: async (from) => from !== 30 });
    expect(await rescan(parts, 10, 69)).toMatchObject({ recordedTo: 29 });
  });
});
