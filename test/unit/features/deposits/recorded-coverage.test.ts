import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { RecordedCoverage } from '../../../../src/features/deposits/recorded-coverage.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

const RANGES = 1_203;
const PER_RANGE = 10;

async function coverageOf(ranges: number): Promise<RecordedCoverage> {
  const random = { bytes: () => new Uint8Array(0), uuid: randomUUID };
  const coverage = new RecordedCoverage(
    { store: new MemoryEventStore(), clock: { nowMs: () => 1_000 }, random },
    'test',
    'bsc',
  );
  for (let range = 1; range <= ranges; range += 1) {
    const toBlock = range * PER_RANGE;
    await coverage.record({
      mode: 'test',
      network: 'bsc',
      fromBlock: toBlock - PER_RANGE + 1,
      toBlock,
      toBlockHash: `0x${toBlock}`,
      toBlockTimeSec: toBlock,
      providers: ['p'],
      transfersSeen: 0,
    });
  }
  return coverage;
}

describe('the evidence of read blocks', () => {
  it('can be read back to any block, however long it is', async () => {
    const coverage = await coverageOf(RANGES);
    expect((await coverage.lastCovered())?.block).toBe(RANGES * PER_RANGE);
    expect(await coverage.coveredBelow(RANGES * PER_RANGE)).toEqual({
      block: 12_020,
      hash: '0x12020',
      timeSec: 12_020,
    });
    expect((await coverage.coveredBelow(12_005))?.block).toBe(12_000);
    expect((await coverage.coveredBelow(7_000))?.block).toBe(6_990);
    expect((await coverage.coveredBelow(11))?.block).toBe(10);
    expect(await coverage.coveredBelow(10)).toBeNull();
  });

  it('is empty on a first start', async () => {
    const coverage = await coverageOf(0);
    expect([await coverage.lastCovered(), await coverage.coveredBelow(5)]).toEqual([null, null]);
  });
});
