import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { ChainReplaced, RangeScanned } from '../../../../src/domain/events/operations-events.ts';
import { coverageStream, rescansStream } from '../../../../src/domain/values/streams.ts';
import { RememberedRanges } from '../../../../src/features/shared/newest-ranges.ts';
import { chainCoverage } from '../../../../src/operator/chains/coverage.ts';
import { appendNext } from '../../../../src/runtime/commands/append-next.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

const range = (fromBlock: number, toBlock: number, providers = ['one']): RangeScanned => ({
  type: 'RangeScanned',
  data: {
    mode: 'test',
    network: 'bsc',
    fromBlock,
    toBlock,
    toBlockHash: `0x${toBlock}`,
    toBlockTimeSec: toBlock * 10,
    providers,
    transfersSeen: 0,
  },
});

async function recorded(...events: readonly (RangeScanned | ChainReplaced)[]): Promise<MemoryEventStore> {
  const store = new MemoryEventStore();
  await append(store, coverageStream('test', 'bsc'), 1_000, events);
  return store;
}

const coverageOf = (store: MemoryEventStore, remembered = new RememberedRanges(store)) =>
  chainCoverage(store, remembered, 'test', 'bsc');

async function append(
  store: MemoryEventStore,
  stream: string,
  atMs: number,
  events: readonly (RangeScanned | ChainReplaced)[],
): Promise<void> {
  for (const event of events) {
    const last = await store.lastOfStream(stream);
    await appendNext(
      { store, clock: { nowMs: () => atMs }, random: nodeRandom },
      { stream, last, event, actor: 'test' },
    );
  }
}

const replaced: ChainReplaced = {
  type: 'ChainReplaced',
  data: { mode: 'test', network: 'bsc', oldGenesis: '0x1', newGenesis: '0x2' },
};

describe('the recorded coverage of a chain', () => {
  it('names the unread blocks between two ranges', async () => {
    const store = await recorded(range(10, 19), range(20, 29, ['two']), range(35, 40), range(42, 50));
    expect(await coverageOf(store)).toEqual({
      mode: 'test',
      network: 'bsc',
      ranges: 4,
      since_the_beginning: true,
      from_block: 10,
      to_block: 50,
      to_time: 500,
      providers: ['one', 'two'],
      gaps: [
        { from_block: 30, to_block: 34 },
        { from_block: 41, to_block: 41 },
      ],
    });
  });

  it('does not name what was read later', async () => {
    const store = await recorded(range(10, 19), range(30, 39), range(15, 32));
    expect(await coverageOf(store)).toMatchObject({ from_block: 10, to_block: 39, gaps: [] });
  });

  it('has no gap where an operator rescanned the blocks, and reaches no further by it', async () => {
    const store = await recorded(range(10, 19), range(30, 39));
    await append(store, rescansStream('test', 'bsc'), 2_000, [range(20, 25), range(200, 210)]);
    expect(await coverageOf(store)).toMatchObject({
      ...{ from_block: 10, to_block: 39, to_time: 390 },
      gaps: [{ from_block: 26, to_block: 29 }],
    });
    await append(store, rescansStream('test', 'bsc'), 3_000, [range(5, 50, ['two'])]);
    expect(await coverageOf(store)).toMatchObject({
      ...{ from_block: 10, to_block: 39, to_time: 390, providers: ['one', 'two'], gaps: [] },
    });
  });

  it('is not helped by what was read again of a chain that was replaced', async () => {
    const store = await recorded(range(10, 19));
    await append(store, rescansStream('test', 'bsc'), 2_000, [range(20, 29)]);
    await append(store, coverageStream('test', 'bsc'), 3_000, [replaced, range(10, 19), range(30, 39)]);
    expect(await coverageOf(store)).toMatchObject({ gaps: [{ from_block: 20, to_block: 29 }] });
  });

  it('is nothing before the first range, and nothing of a chain that was replaced', async () => {
    expect(await coverageOf(await recorded())).toMatchObject({
      from_block: null,
      to_block: null,
      gaps: [],
    });
    expect(await coverageOf(await recorded(range(100, 200), replaced, range(1, 5)))).toMatchObject({
      from_block: 1,
      to_block: 5,
      gaps: [],
    });
  });

  it('is read from its end, however long it is', async () => {
    const many = Array.from({ length: 1_200 }, (_, index) => range(index * 10, index * 10 + 9));
    expect(await coverageOf(await recorded(...many))).toMatchObject({
      ranges: 1_200,
      from_block: 0,
      to_block: 11_999,
      gaps: [],
    });
  });

  it('is the same when it is read again, however it has grown, and reads only what was added', async () => {
    const store = await recorded(range(10, 19), range(30, 39));
    const remembered = new RememberedRanges(store);
    let read = 0;
    const readStream = store.readStream.bind(store);
    store.readStream = async (...given) => {
      const events = await readStream(...given);
      read += events.length;
      return events;
    };
    expect(await coverageOf(store, remembered)).toMatchObject({ ranges: 2, gaps: [{ from_block: 20, to_block: 29 }] });
    await append(store, coverageStream('test', 'bsc'), 2_000, [range(20, 24), range(40, 49)]);
    read = 0;
    expect(await coverageOf(store, remembered)).toEqual(await coverageOf(store));
    expect(read).toBe(2 + 4);
    await append(store, coverageStream('test', 'bsc'), 3_000, [replaced, range(1, 5)]);
    expect(await coverageOf(store, remembered)).toMatchObject({ ranges: 1, from_block: 1, to_block: 5 });
    await append(
      store,
      coverageStream('test', 'bsc'),
      4_000,
      Array.from({ length: 600 }, (_, index) => range(6 + index, 6 + index)),
    );
    expect(await coverageOf(store, remembered)).toEqual(await coverageOf(store));
  });
});
