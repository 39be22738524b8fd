import { afterEach, describe, expect, test } from 'vitest';
import type { RangeScanned } from '../../../../src/domain/events/operations-events.ts';
import type { DepositFacts } from '../../../../src/domain/events/session-events.ts';
import type { Block, Chain, ScanOptions, Transfer } from '../../../../src/ports/chain/chain.ts';
import { ChainWatcher } from '../../../../src/features/deposits/chain/watch.process.ts';
import type { IdlePace, Reorg } from '../../../../src/features/deposits/chain/types.ts';
import { AddressIndex } from '../../../../src/features/addresses/address-index.ts';
import { DueSessions } from '../../../../src/features/sessions/due.ts';
import { localSettings } from '../../../support/anvil.ts';
import { keepingAll } from '../../../support/watching.ts';

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const SESSION = `cs_${'a'.repeat(32)}` as never;
const START_SEC = 1_800_000_000;
const FINALITY = 64;
/** Idle at once, and never polled again by itself. */
const ASLEEP: IdlePace = { afterMs: 0, pollIntervalMs: 3_600_000, secondReadingMs: 0, coverageIntervalMs: 3_600_000 };

const blockOf = (number: number): Block => ({
  number,
  hash: `0x${number.toString(16)}`,
  parentHash: `0x${(number - 1).toString(16)}`,
  timeSec: START_SEC + number * 12,
});

const transferIn = (number: number): Transfer => ({
  tokenAddress: TOKEN,
  tokenUnits: 1_000_000n,
  fromAddress: null,
  toAddress: OURS,
  txHash: `0x${number.toString(16)}`,
  logIndex: 0,
  block: blockOf(number),
});

interface World {
  readonly asked: { readonly from: number; readonly to: number; readonly isSecond: boolean }[];
  readonly recorded: number[];
  readonly ranges: RangeScanned['data'][];
  awaited: boolean;
  need(): void;
  head: number;
  /** Answers `blockAt` with another chain's blocks. */
  isReplaced: boolean;
  /** The chain has other blocks above this one than at first. */
  forkedAbove: number;
  readonly reorgs: Reorg[];
}

let watcher: ChainWatcher;
afterEach(() => watcher.stop());

/** A watcher of a network that nobody is expected to pay on, at block 1,000, covered up to 900. */
function world(paidIn: readonly number[] = [], idle = ASLEEP): World {
  const listeners = new Set<() => void>();
  const state: World = {
    asked: [],
    recorded: [],
    ranges: [],
    awaited: false,
    need: () => listeners.forEach((listener) => listener()),
    head: 1_000,
    isReplaced: false,
    ...{ forkedAbove: Infinity, reorgs: [] },
  };
  const at = (number: number): Block => ({
    ...blockOf(number),
    ...(number > state.forkedAbove && { hash: `${blockOf(number).hash}-fork` }),
    ...(number > state.forkedAbove + 1 && { parentHash: `${blockOf(number - 1).hash}-fork` }),
  });
  const addresses = new AddressIndex('evm');
  addresses.add(OURS, SESSION);
  const chain: Chain = {
    network: 'ethereum',
    mode: 'test',
    settings: localSettings(TOKEN),
    verify: async () => undefined,
    head: async () => at(state.head),
    finalized: async () => at(state.head - FINALITY),
    blockAt: async (number) => ({ ...at(number), ...(state.isReplaced && number > 900 && { hash: '0xother' }) }),
    async scan(from: number, to: number, _isOurs: unknown, { readBefore = [] }: ScanOptions = {}) {
      state.asked.push({ from, to, isSecond: readBefore.length > 0 });
      const transfers = paidIn.filter((number) => number >= from && number <= to).map(transferIn);
      return {
        transfers,
        lastBlock: at(to),
        headers: [at(Math.max(from, state.head - FINALITY)), at(to)],
        providers: ['p'],
      };
    },
    transferAt: async (txHash) => transferIn(Number(txHash)),
    agreeOnFinality: async () => true,
    disprove: async () => null,
    close: async () => undefined,
  };
  watcher = new ChainWatcher(
    {
      chain,
      addresses,
      clock: { nowMs: () => START_SEC * 1000 },
      deposits: keepingAll({
        record: async (_id, facts: DepositFacts) => void state.recorded.push(facts.blockNumber),
        confirm: async () => undefined,
        revert: async () => undefined,
        move: async () => false,
      }),
      coverage: {
        lastCovered: async () => ({ block: 900, hash: blockOf(900).hash, timeSec: blockOf(900).timeSec }),
        coveredBelow: async () => null,
        recordAgain: async () => undefined,
        record: async (range) => void state.ranges.push(range),
      },
      finalityRuleOf: () => ({ kind: 'finalized' }),
      pendingDeposits: async () => [],
      observer: { onReorg: (reorg) => state.reorgs.push(reorg) },
      awaited: {
        isAwaited: () => state.awaited,
        onAwaited: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
      },
    },
    { pollIntervalMs: 5, idle },
  );
  return state;
}

describe('a network on which nobody is expected to pay', () => {
  test('is read once: blocks that hold nothing of ours count as read where the chain still has them', async () => {
    const state = world();
    await watcher.start();
    expect(state.asked).toEqual([{ from: 901, to: 1_000, isSecond: false }]);
    expect(watcher.status()).toMatchObject({ scannedBlock: 1_000, coveredBlock: 936 });
  });

  test('is read a second time where money of ours came, and where the chain differs from what was read', async () => {
    const paid = world([920]);
    await watcher.start();
    expect(paid.recorded).toEqual([920]);
    await watcher.stop();
    expect(paid.asked.filter(({ isSecond }) => isSecond)).toEqual([{ from: 901, to: 936, isSecond: true }]);
    const replaced = world();
    replaced.isReplaced = true;
    await watcher.start();
    expect(replaced.asked.some(({ isSecond }) => isSecond)).toBe(true);
  });

  test('is read again as soon as a session offers it', async () => {
    const state = world();
    await watcher.start();
    state.head = 1_001;
    await new Promise((wait) => setTimeout(wait, 50));
    expect(state.asked).toHaveLength(1);
    state.awaited = true;
    state.need();
    await expect.poll(() => state.asked.at(-1)).toEqual({ from: 1_001, to: 1_001, isSecond: false });
  });

  test('writes what was read when it stops, in one event', async () => {
    const state = world();
    await watcher.start();
    expect(state.ranges).toHaveLength(1);
    await watcher.stop();
    expect(state.ranges.at(-1)).toMatchObject({ toBlock: 936, transfersSeen: 0 });
  });

  test('counts as needed for a while after the last need, since payments that come late come soon', async () => {
    const state = world([], { ...ASLEEP, afterMs: 3_600_000 });
    await watcher.start();
    state.head = 1_001;
    await expect.poll(() => state.asked.at(-1)?.to).toBe(1_001);
  });
});

/* As java-tron comes back after a restart: at its solid block, 18 or 19 lower; without peers it makes other blocks then. */
describe('a node that restarts 18 blocks lower', () => {
  const restarted = async (forkedAbove: number): Promise<World> => {
    const state = world();
    state.awaited = true;
    await watcher.start();
    await expect.poll(() => watcher.status().scannedBlock).toBe(1_000);
    state.head = 982;
    const { length } = state.asked;
    await expect.poll(() => watcher.status().headBlock).toBe(982);
    expect(watcher.status().scannedBlock).toBe(1_000);
    expect(state.asked.slice(length).filter(({ isSecond }) => !isSecond)).toEqual([]);
    Object.assign(state, { forkedAbove, head: 1_003 });
    await expect.poll(() => watcher.status().scannedBlock).toBe(1_003);
    return state;
  };

  test('and comes back with the same blocks is read on where it was', async () => {
    const { asked, reorgs } = await restarted(Infinity);
    expect(asked.filter(({ isSecond }) => !isSecond).at(-1)).toMatchObject({ from: 1_001, to: 1_003 });
    expect(reorgs).toEqual([]);
  });

  test('and makes other blocks is read again from the last common one, whether or not it had passed the old head', async () => {
    const { asked, reorgs } = await restarted(982);
    expect(reorgs).toEqual([{ commonBlock: 936, depthBlocks: 64, beyondFinality: false }]);
    expect(asked.filter(({ isSecond }) => !isSecond).at(-1)).toMatchObject({ from: 937, to: 1_003 });
  });
});

describe('sessions that can still be paid', () => {
  test('are counted by mode and network, and the first of a network is told', () => {
    const due = new DueSessions();
    const told: string[] = [];
    const stop = due.onAwaited((mode, network) => told.push(`${mode} ${network}`));
    const session = (sessionId: string, expiresAtSec: number) =>
      ({ sessionId: sessionId as never, mode: 'live', networks: ['tron', 'bsc'], expiresAtSec }) as const;
    due.add(session('cs_1', 10));
    due.add(session('cs_2', 20));
    due.add(session('cs_2', 20));
    expect(told).toEqual(['live tron', 'live bsc']);
    expect([due.isAwaited('live', 'tron'), due.isAwaited('test', 'tron'), due.isAwaited('live', 'solana')]).toEqual([
      true,
      false,
      false,
    ]);
    due.remove('cs_1' as never);
    due.remove('cs_1' as never);
    expect(due.isAwaited('live', 'bsc')).toBe(true);
    due.remove('cs_2' as never);
    expect(due.isAwaited('live', 'bsc')).toBe(false);
    stop();
    due.add(session('cs_3', 30));
    expect(told).toHaveLength(2);
  });
});
