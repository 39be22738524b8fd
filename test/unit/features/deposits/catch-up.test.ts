import { afterEach, describe, expect, test } from 'vitest';
import type { RangeScanned } from '../../../../src/domain/events/operations-events.ts';
import type { DepositFacts } from '../../../../src/domain/events/session-events.ts';
import {
  type Block,
  type Chain,
  type ScanOptions,
  type Transfer,
  WrongChain,
} from '../../../../src/ports/chain/chain.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import { TrackedDeposits } from '../../../../src/features/deposits/chain/deposits.ts';
import { ChainWatcher } from '../../../../src/features/deposits/chain/watch.process.ts';
import type { CoveredBlock, WatchChainDeps, WatchChainOptions } from '../../../../src/features/deposits/chain/types.ts';
import { AddressIndex } from '../../../../src/features/addresses/address-index.ts';
import { localSettings } from '../../../support/anvil.ts';
import { depositFacts } from '../../../support/session-facts.ts';
import { keepingAll } from '../../../support/watching.ts';

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const SESSION = `cs_${'a'.repeat(32)}` as never;
const START_SEC = 1_800_000_000;
const FINALITY = 64;

const blockOf = (number: number): Block => ({
  number,
  hash: `0x${number.toString(16)}`,
  parentHash: `0x${(number - 1).toString(16)}`,
  timeSec: START_SEC + number * 12,
});

/** A chain without forks whose every `payEvery`th block pays us; it counts what is asked of it. */
class StraightChain implements Chain {
  readonly network = 'ethereum';
  readonly mode = 'test';
  readonly settings = localSettings(TOKEN);
  readonly scans: [from: number, to: number][] = [];
  /** By scan: the providers it was to be another than. */
  readonly readBefore: (readonly string[])[] = [];
  headNumber: number;
  verdict: Error | null = null;
  readonly #payEvery: number;
  readonly #maxRange: number;

  constructor(headNumber: number, payEvery: number, maxRange: number) {
    this.headNumber = headNumber;
    this.#payEvery = payEvery;
    this.#maxRange = maxRange;
  }

  async verify(): Promise<void> {
    if (this.verdict) throw this.verdict;
  }

  async agreeOnFinality(): Promise<boolean> {
    return true;
  }

  async head(): Promise<Block> {
    return blockOf(this.headNumber);
  }

  async finalized(): Promise<Block | null> {
    return blockOf(Math.max(0, this.headNumber - FINALITY));
  }

  async blockAt(number: number): Promise<Block | null> {
    return number <= this.headNumber ? blockOf(number) : null;
  }

  async scan(from: number, to: number, _isOurs: unknown, { readBefore = [] }: ScanOptions) {
    const end = Math.min(to, from + this.#maxRange - 1);
    this.scans.push([from, end]);
    this.readBefore.push(readBefore);
    const transfers: Transfer[] = [];
    for (let number = from; number <= end; number += 1)
      if (number % this.#payEvery === 0) transfers.push(this.#transferIn(number));
    return { transfers, lastBlock: blockOf(end), providers: ['p'] };
  }

  async disprove(): Promise<null> {
    return null;
  }

  async transferAt(txHash: string): Promise<Transfer> {
    return this.#transferIn(Number(txHash));
  }

  async close(): Promise<void> {}

  #transferIn(number: number): Transfer {
    return {
      tokenAddress: TOKEN,
      tokenUnits: 1_000_000n,
      fromAddress: null,
      toAddress: OURS,
      txHash: `0x${number.toString(16)}`,
      logIndex: 0,
      block: blockOf(number),
    };
  }
}

let watcher: ChainWatcher;
afterEach(() => watcher.stop());

function watch(
  chain: Chain,
  covered: CoveredBlock | null,
  change: Partial<WatchChainDeps> = {},
  options: Partial<WatchChainOptions> = {},
) {
  const recorded: DepositFacts[] = [];
  const confirmed: number[] = [];
  const ranges: RangeScanned['data'][] = [];
  const addresses = new AddressIndex('evm');
  addresses.add(OURS, SESSION);
  watcher = new ChainWatcher(
    {
      chain,
      addresses,
      clock: { nowMs: () => START_SEC * 1000 },
      deposits: keepingAll({
        record: async (_id, facts) => void recorded.push(facts),
        confirm: async (_id, data) => void confirmed.push(data.blockNumber),
        revert: async () => expect.unreachable(),
        move: async () => false,
      }),
      coverage: {
        lastCovered: async () => covered,
        coveredBelow: async () => null,
        recordAgain: async () => undefined,
        record: async (range) => void ranges.push(range),
      },
      finalityRuleOf: () => ({ kind: 'finalized' }),
      pendingDeposits: async () => [],
      ...change,
    },
    { pollIntervalMs: 5, maxScanBlocks: 500, ...options },
  );
  return { recorded, confirmed, ranges };
}

const coveredAt = (number: number): CoveredBlock => ({
  block: number,
  hash: blockOf(number).hash,
  timeSec: blockOf(number).timeSec,
});

describe('ten thousand blocks behind', () => {
  test('every block is read, and a second time up to finality, oldest first, in bounded ranges', async () => {
    const chain = new StraightChain(11_000, 100, 300);
    const { recorded, ranges } = watch(chain, coveredAt(1_000));
    await watcher.start();
    await watcher.stop();
    for (const [readings, end] of [
      [chain.scans.filter((_, index) => chain.readBefore[index]!.length === 0), 11_000],
      [chain.scans.filter((_, index) => chain.readBefore[index]!.length > 0), 11_000 - FINALITY],
    ] as const) {
      expect([readings[0]![0], readings.at(-1)![1]]).toEqual([1_001, end]);
      for (const [index, [from]] of readings.entries()) if (index > 0) expect(from).toBe(readings[index - 1]![1] + 1);
    }
    expect(Math.max(...chain.scans.map(([from, to]) => to - from + 1))).toBeLessThanOrEqual(500);
    expect(recorded.map(({ blockNumber }) => blockNumber)).toEqual(
      Array.from({ length: 100 }, (_, index) => 1_100 + index * 100),
    );
    expect(ranges.at(-1)).toMatchObject({
      toBlock: 11_000 - FINALITY,
      toBlockTimeSec: blockOf(11_000 - FINALITY).timeSec,
    });
    expect(watcher.scannedToSec()).toBe(blockOf(11_000).timeSec);
  });

  test('payments found on the way are confirmed, those above finality wait', async () => {
    const { confirmed } = watch(new StraightChain(3_050, 100, 300), coveredAt(1_000));
    await watcher.start();
    expect(confirmed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 19 }, (_, index) => 1_100 + index * 100));
  });

  test('no block is recorded as read before its payments are confirmed, so a restart without any memory finds them', async () => {
    const chain = new StraightChain(2_000, 100, 300);
    let isDown = true;
    const deposits = keepingAll({
      record: async () => undefined,
      revert: async () => expect.unreachable(),
      move: async () => false,
      confirm: async (_id: unknown, data: { blockNumber: number }) => {
        if (isDown && data.blockNumber >= 1_500) throw new StoreUnavailable('no answer');
      },
    });
    const { ranges } = watch(chain, coveredAt(1_000), { deposits }, { coverageIntervalMs: 0 });
    await watcher.start();
    await watcher.stop();
    expect(ranges.at(-1)!.toBlock).toBeLessThan(1_500);
    isDown = false;
    const again = watch(chain, coveredAt(ranges.at(-1)!.toBlock));
    await watcher.start();
    expect(again.confirmed).toContain(1_500);
  });

  test('the coverage is recorded in few events without a gap between them', async () => {
    const { ranges } = watch(
      new StraightChain(11_000, 1_000, 300),
      coveredAt(1_000),
      {},
      { coverageIntervalMs: 3_600_000 },
    );
    await watcher.start();
    await watcher.stop();
    expect(ranges.length).toBe(2);
    expect(ranges[0]!.fromBlock).toBe(1_001);
    expect(ranges[1]!.fromBlock).toBe(ranges[0]!.toBlock + 1);
  });
});

describe('a first start', () => {
  test('begins before the oldest session and writes the durable cursor at once', async () => {
    const chain = new StraightChain(50_000, 1_000_000, 300);
    const oldest = blockOf(40_000).timeSec;
    const { ranges } = watch(
      chain,
      null,
      { clock: { nowMs: () => blockOf(50_000).timeSec * 1000 }, oldestSessionSec: () => oldest },
      { maxScanBlocks: 100_000 },
    );
    await watcher.start();
    const [first] = ranges;
    expect(first).toMatchObject({ fromBlock: first!.toBlock });
    expect(first!.toBlockTimeSec).toBeLessThan(oldest);
    expect(first!.toBlock).toBeGreaterThan(39_900);
  });

  test('counts from the start of the process, however long the chain could not be reached', async () => {
    const chain = new StraightChain(50_000, 1_000_000, 300);
    let nowSec = blockOf(45_000).timeSec;
    let isUp = false;
    const head = chain.head.bind(chain);
    chain.head = async () => {
      if (!isUp) throw new Error('down');
      return head();
    };
    const { ranges } = watch(chain, null, { clock: { nowMs: () => nowSec * 1000 } }, { maxScanBlocks: 100_000 });
    await watcher.start();
    nowSec = blockOf(50_000).timeSec;
    isUp = true;
    await expect.poll(() => ranges.length).toBeGreaterThan(0);
    expect(ranges[0]!.toBlockTimeSec).toBeLessThan(blockOf(45_000).timeSec);
  });

  test('without any session begins at the newest final block that is old enough', async () => {
    const chain = new StraightChain(50_000, 1_000_000, 300);
    const { ranges } = watch(chain, null, { clock: { nowMs: () => blockOf(50_000).timeSec * 1000 } });
    await watcher.start();
    expect(ranges[0]!.toBlock).toBe(50_000 - FINALITY);
  });
});

describe('a watcher', () => {
  test('reads nothing from another chain, and begins once the chain is the right one', async () => {
    const chain = new StraightChain(100, 10, 300);
    chain.verdict = new WrongChain('serves chain 1 instead of 31337');
    const { ranges } = watch(chain, null, {}, { pollIntervalMs: 5 });
    await watcher.start();
    await expect.poll(() => watcher.status().consecutiveFailures).toBeGreaterThan(2);
    expect([chain.scans, ranges, watcher.scannedToSec()]).toEqual([[], [], null]);
    chain.verdict = null;
    await expect.poll(() => watcher.scannedToSec()).not.toBeNull();
    expect(watcher.status().consecutiveFailures).toBe(0);
  });

  test('goes on reading while no block is called final, and calls nothing final', async () => {
    const chain = new StraightChain(1_000, 995, 300);
    chain.finalized = async () => null;
    const { recorded, confirmed } = watch(chain, coveredAt(900));
    await watcher.start();
    expect([recorded.length, confirmed.length, watcher.status().finalizedBlock]).toEqual([1, 0, null]);
    expect(watcher.status().scannedBlock).toBe(1_000);
  });

  test('matches no block before all addresses assigned by then are known', async () => {
    const chain = new StraightChain(1_000, 100_000, 300);
    let headAsked = 0;
    const order: string[] = [];
    chain.head = async () => ((headAsked += 1), order.push('head'), blockOf(chain.headNumber));
    const scan = chain.scan.bind(chain);
    chain.scan = async (from, to, isOurs, options) => (order.push('scan'), scan(from, to, isOurs, options));
    watch(chain, coveredAt(900), { addressesComplete: async () => void order.push('complete') });
    await watcher.start();
    expect(headAsked).toBe(1);
    expect(order.slice(0, 3)).toEqual(['head', 'complete', 'scan']);
  });

  test('reads no final block that is newer than the addresses it knows', async () => {
    const chain = new StraightChain(1_000, 1, 300);
    // Final in the moment it is mined; the next block comes while the addresses are waited for.
    chain.finalized = async () => blockOf(chain.headNumber);
    const readTo: number[] = [];
    let knownTo = 0;
    const scan = chain.scan.bind(chain);
    chain.scan = async (from, to, isOurs, options) => (readTo.push(to - knownTo), scan(from, to, isOurs, options));
    const addressesComplete = async (): Promise<void> => {
      knownTo = chain.headNumber;
      chain.headNumber += 1;
    };
    watch(chain, coveredAt(900), { addressesComplete }, { secondReadingMs: 0 });
    await watcher.start();
    expect(Math.max(...readTo)).toBeLessThanOrEqual(0);
    expect(readTo.length).toBeGreaterThan(0);
  });

  test('confirms the other payments without delay while many sessions fail to record theirs', async () => {
    const chain = new StraightChain(1_000, 1, 300);
    const confirmed: number[] = [];
    const anomalies = new Set<string>();
    const troubles: unknown[] = [];
    const deposits = keepingAll({
      record: async () => undefined,
      revert: async () => expect.unreachable(),
      move: async () => false,
      confirm: async (_id: unknown, { blockNumber }: { blockNumber: number }) => {
        if (blockNumber <= 840) throw new Error('the session does not take it now');
        confirmed.push(blockNumber);
      },
    });
    const observer: WatchChainDeps['observer'] = {
      onAnomaly: ({ kind }) => anomalies.add(kind),
      onTrouble: ({ error }) => troubles.push(error),
    };
    const { ranges } = watch(chain, coveredAt(800), { deposits, observer });
    await watcher.start();
    expect(confirmed).toContain(1_000 - FINALITY);
    expect(troubles).toEqual([]);
    expect([...anomalies]).toEqual(['parked']);
    expect(ranges).toEqual([]);
  });

  test('that is stopped while it catches up ends at its position, and its evidence has no gap', async () => {
    const chain = new StraightChain(1_000_000, 1_000_000, 300);
    const ranges: RangeScanned['data'][] = [];
    const record = async (range: RangeScanned['data']): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      ranges.push(range);
    };
    const coverage = {
      lastCovered: async () => coveredAt(1_000),
      coveredBelow: async () => null,
      recordAgain: async () => undefined,
      record,
    };
    watch(chain, null, { coverage }, { coverageIntervalMs: 1 });
    const started = watcher.start();
    await expect.poll(() => ranges.length).toBeGreaterThan(1);
    await watcher.stop();
    const scans = chain.scans.length;
    await started;
    expect(chain.scans.length).toBe(scans);
    expect(scans).toBeLessThan(3_000);
    for (const [index, { fromBlock }] of ranges.entries())
      if (index > 0) expect(fromBlock).toBe(ranges[index - 1]!.toBlock + 1);
    expect(ranges.at(-1)!.toBlock).toBe(chain.scans.at(-1)![1]);
  });

  test('reverts a payment only when two checks show that it is gone, with one request each', async () => {
    const chain = new StraightChain(1_000, 1_000_000, 300);
    let looks = 0;
    const asked: number[] = [];
    const disprove: Chain['disprove'] = async () => (asked.push(looks), 'reorg');
    Object.assign(chain, {
      head: async () => ((looks += 1), blockOf(chain.headNumber)),
      transferAt: async () => null,
      disprove,
    });
    const undone: number[] = [];
    const deposits = keepingAll({
      record: async () => undefined,
      confirm: async () => expect.unreachable(),
      revert: async () => void undone.push(looks),
      move: async () => false,
    });
    const facts = depositFacts({ blockNumber: 910, toAddress: OURS });
    const pendingDeposits = async () => [
      { sessionId: SESSION, facts, rule: { kind: 'finalized' }, status: 'detected' } as const,
    ];
    watch(chain, coveredAt(900), { deposits, pendingDeposits }, { secondReadingMs: 0 });
    await watcher.start();
    expect(undone).toEqual([]);
    await expect.poll(() => undone).toEqual([2]);
    expect(asked).toEqual([1, 2]);
  });

  test('reports a confirmed payment that a deep reorganisation moved, and confirms it in its new block', async () => {
    const chain = new StraightChain(1_000, 1_000_000, 300);
    const facts = depositFacts({ blockNumber: 910, blockHash: '0xleft', toAddress: OURS, tokenAddress: TOKEN });
    chain.transferAt = async () => ({ ...facts, tokenUnits: 10_000_000n, block: blockOf(905) });
    const told: unknown[] = [];
    const deposits = keepingAll({
      record: async () => expect.unreachable(),
      revert: async () => expect.unreachable(),
      move: async (_id: unknown, { blockHash }: DepositFacts) => told.push(['move', blockHash]) > 0,
      confirm: async (_id: unknown, { blockHash }: { blockHash: string }) => void told.push(['confirm', blockHash]),
    });
    const pendingDeposits = async () => [
      { sessionId: SESSION, facts, rule: { kind: 'confirmations', confirmations: 12 }, status: 'final' } as const,
    ];
    watch(chain, coveredAt(900), { deposits, pendingDeposits });
    await watcher.start();
    const { hash } = blockOf(905);
    await expect
      .poll(() => told)
      .toEqual([
        ['move', hash],
        ['confirm', hash],
      ]);
  });

  test('raises the alarm for a payment that was moved, stayed confirmed and then left the chain', async () => {
    const chain = new StraightChain(1_000, 1_000_000, 300);
    const facts = depositFacts({ blockNumber: 900, blockHash: '0xleft', toAddress: OURS, tokenAddress: TOKEN });
    const moved: Transfer = { ...facts, tokenUnits: 10_000_000n, block: blockOf(905) };
    let shown: Transfer | null = moved;
    Object.assign(chain, { transferAt: async () => shown, disprove: async () => 'reorg' });
    const reverted: boolean[] = [];
    const tracked = new TrackedDeposits({
      ...{ chain, addresses: new AddressIndex('evm'), finalityRuleOf: () => expect.unreachable() },
      deposits: keepingAll({
        record: async () => expect.unreachable(),
        confirm: async () => expect.unreachable(),
        revert: async () => undefined,
        move: async () => false,
      }),
      observer: { onReverted: ({ afterFinal }) => void reverted.push(afterFinal) },
    });
    const rule = { kind: 'confirmations', confirmations: 12 } as const;
    tracked.restore([{ sessionId: SESSION, facts, rule, status: 'final' }], false);
    tracked.suspect(facts.depositKey);
    const view = { headNumber: 910, finalizedNumber: 846, isReadToHead: true };
    await tracked.settle({ ...view, look: 1 });
    shown = null;
    tracked.suspect(facts.depositKey);
    for (const look of [2, 3]) await tracked.settle({ ...view, look });
    expect(reverted).toEqual([]);
    for (const look of [4, 5]) await tracked.settle({ ...view, headNumber: 917, look });
    expect(reverted).toEqual([true]);
  });

  test('polls more often while a payment waits for its block to become final', async () => {
    const heads = { waiting: 0, idle: 0 };
    for (const [name, payEvery] of [
      ['waiting', 990],
      ['idle', 1_000_000],
    ] as const) {
      const chain = new StraightChain(1_000, payEvery, 300);
      chain.head = async () => ((heads[name] += 1), blockOf(chain.headNumber));
      watch(chain, coveredAt(950), {}, { pollIntervalMs: 60_000, pollWhileWaitingMs: 1 });
      await watcher.start();
      if (name === 'waiting') await expect.poll(() => heads.waiting).toBeGreaterThan(5);
      await watcher.stop();
    }
    expect(heads.idle).toBe(1);
  });

  test('reads a block once for all its payments that became final, and single payments individually', async () => {
    const chain = new StraightChain(1_000, 1_000_000, 300);
    const looks: unknown[] = [];
    const paid = (block: number, logIndex: number): Transfer => ({
      ...{ tokenAddress: TOKEN, tokenUnits: 1_000_000n, fromAddress: null, toAddress: OURS },
      ...{ txHash: `0x${block.toString(16)}`, logIndex, block: blockOf(block) },
    });
    const transfers = [...Array.from({ length: 20 }, (_, index) => paid(910, index)), paid(920, 0)];
    chain.scan = async (_from, to) => ({ transfers, lastBlock: blockOf(to), providers: ['p'] });
    const blocksAsked: number[] = [];
    chain.blockAt = async (number) => (blocksAsked.push(number), blockOf(number));
    const asked: Chain['transferAt'] = async (txHash, logIndex, look) => (
      looks.push(look),
      paid(Number(txHash), logIndex)
    );
    Object.assign(chain, { transferAt: asked });
    const { confirmed } = watch(chain, coveredAt(900));
    await watcher.start();
    expect(confirmed.toSorted()).toEqual([...Array.from({ length: 20 }, () => 910), 920]);
    expect(new Set(looks)).toEqual(new Set([{ blockNumber: 910 }, undefined]));
    expect(new Set(looks.filter((look) => look !== undefined)).size).toBe(1);
    expect(blocksAsked.filter((number) => number === 910)).toHaveLength(1);
  });

  test('does not take a node that still synchronises for a reorganisation', async () => {
    const reorgs: unknown[] = [];
    const troubles: unknown[] = [];
    const chain = new StraightChain(500, 100, 300);
    watch(chain, coveredAt(900), {
      observer: { onReorg: (reorg) => reorgs.push(reorg), onTrouble: ({ error }) => troubles.push(error) },
    });
    await watcher.start();
    expect(reorgs).toEqual([]);
    expect(String(troubles[0])).toMatch(/does not yet have block 900/);
    expect(chain.scans).toEqual([]);
  });
});
