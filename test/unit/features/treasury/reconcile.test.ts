import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { TREASURY } from '../../../../src/domain/money/ledger.ts';
import { amountOf, formatAmount } from '../../../../src/domain/money/money.ts';
import type { TreasuryEvent } from '../../../../src/domain/events/treasury-events.ts';
import {
  inTurnReconciler,
  reconcileTreasury,
  type ReconcileDeps,
} from '../../../../src/features/treasury/reconcile.ts';
import { Comparisons, keepsFailing } from '../../../../src/features/treasury/comparisons.ts';
import { treasuryTable } from '../../../../src/features/shared/handlers/treasury-handler.ts';
import type { MoveExecutor } from '../../../../src/features/payouts/moves/records.ts';
import type { SeenInflow, SeenOutflow } from '../../../../src/ports/outgoing/chain.ts';
import { balanceKey } from '../../../../projections/ledger/rows.ts';
import { decideTreasury, type TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';

const OWNER = '0xTreasury';

/** One treasury, whose books are what was written down of it. */
class World {
  readonly history: TreasuryEvent[] = [];
  readonly warn = vi.fn();
  finalBlock = 100;
  /** Looks that read the chain at the same time. */
  readonly reading = { now: 0, most: 0 };
  /** Whole units of USDT. */
  held = 0n;
  /** What the next looks see of them, before `held`. */
  readonly seen: bigint[] = [];
  /** What is held after each further pause. */
  heldAfterPauses: bigint[] = [];
  usdcBooked = 0n;
  providers = ['one', 'other'];
  /** What a provider shows in place of what is held. */
  heldAt: Partial<Record<string, () => bigint>> = {};
  inflows: () => Promise<readonly SeenInflow[]> = async () => [];
  outflows: readonly SeenOutflow[] = [];
  readonly reportOutflows = vi.fn(async () => ({ ok: true }));
  proof: () => Promise<boolean> = async () => true;
  #state = treasuryTable.initial;

  readonly executor = {
    treasury: OWNER,
    context: async () => this.#state.context,
    tell: async (command: TreasuryCommand) => {
      const decided = decideTreasury(command, this.#state);
      if (!decided.ok) return decided.refusal.message;
      this.history.push(...decided.events);
      this.#state = treasuryTable.replay(decided.events, this.#state);
      return null;
    },
    chain: {
      network: 'ethereum',
      mode: 'test',
      settings: { tokens: (['USDT', 'USDC'] as const).map((coin) => ({ coin, address: `0x${coin}`, decimals: 6 })) },
      finalBlock: async () => this.finalBlock,
      newestBlock: async () => 103,
      balances: async (_address: string, _atLeast: number, preferOtherThan: readonly string[] = []) => {
        const others = this.providers.filter((name) => !preferOtherThan.includes(name));
        const provider = [...others, ...preferOtherThan][0] ?? '';
        this.reading.now += 1;
        this.reading.most = Math.max(this.reading.most, this.reading.now);
        await nextTurn();
        this.reading.now -= 1;
        const held = this.seen.shift() ?? this.heldAt[provider]?.() ?? this.held;
        return { coins: { USDT: held * 10n ** 18n, USDC: 0n }, native: 0n, provider };
      },
      outflows: async () => this.outflows,
      inflows: () => this.inflows(),
    },
  } as unknown as MoveExecutor;

  readonly deps = {
    readModel: {
      get: async (_: string, key: string) => {
        if (key === balanceKey('test', TREASURY, 'ethereum', 'USDT')) return { balance: formatAmount(this.booked()) };
        return key === balanceKey('test', TREASURY, 'ethereum', 'USDC')
          ? { balance: formatAmount(this.usdcBooked * 10n ** 18n) }
          : null;
      },
      scan: async () => [],
    },
    sent: async () => ({ coins: {}, payouts: 0 }),
    newestBooked: async () => 0,
    wholeBooks: (read: () => unknown) => read(),
    proveBooks: () => this.proof(),
    signer: { unknownTransactions: async () => [], reportOutflows: this.reportOutflows },
    clock: { nowMs: () => 5_000 },
    log: { info: () => undefined, warn: this.warn, error: () => undefined },
    pause: async () => void (this.held = this.heldAfterPauses.shift() ?? this.held),
  } as unknown as ReconcileDeps;

  booked(): bigint {
    return this.history.reduce(
      (sum, { type, data }) => (type === 'TreasuryFunded' ? sum + amountOf(data.amount) : sum),
      0n,
    );
  }

  /** Compared once already, with nothing in it. */
  static async compared(): Promise<World> {
    const world = new World();
    await reconcileTreasury(world.executor, world.deps);
    return world;
  }
}

const told = (look: Promise<unknown>): Promise<string | null> =>
  look.then(
    () => null,
    (error: Error) => error.message,
  );

describe('money that is missing', () => {
  it.each([
    { what: 'is there again at the third look', seen: [900n, 950n], held: 1_000n, outflows: [] },
    { what: 'is the same in the last two of three looks', seen: [900n, 950n], held: 950n, outflows: ['50.00'] },
    { what: 'still changes at the third look', seen: [900n, 910n, 940n], held: 950n, outflows: ['50.00'] },
    { what: 'still changes at the fifth look', seen: [900n, 910n, 920n, 930n, 940n], held: 0n, outflows: ['60.00'] },
  ])('counts only if two looks agree, or after five: it $what', async ({ seen, held, outflows }) => {
    const world = await World.compared();
    world.held = 1_000n;
    await reconcileTreasury(world.executor, world.deps);
    world.seen.push(...seen);
    world.held = held;
    await reconcileTreasury(world.executor, world.deps);
    const found = world.history.flatMap(({ type, data }) => (type === 'UnknownOutflowFound' ? [data.amount] : []));
    expect(found).toEqual(outflows);
  });
});

describe('a balance that one provider shows wrongly', () => {
  it.each([
    { what: 'too much', at: 'one', held: 2_000n, growth: 0n },
    { what: 'too much', at: 'other', held: 2_000n, growth: 0n },
    { what: 'too little', at: 'one', held: 400n, growth: 0n },
    { what: 'ever more', at: 'one', held: 2_000n, growth: 1n },
    { what: 'ever more', at: 'other', held: 2_000n, growth: 1n },
  ])('is not booked if it is $what at $at of two, and the comparison keeps failing', async ({ at, held, growth }) => {
    const world = await World.compared();
    world.held = 1_000n;
    await reconcileTreasury(world.executor, world.deps);
    const before = world.history.length;
    let shown = held;
    world.heldAt = { [at]: () => (shown += growth) };
    const reconcile = inTurnReconciler(world.deps);
    // The first comparison may begin at the right one; the next one begins at the other.
    await told(reconcile(world.executor));
    for (let looks = 0; looks < 3; looks += 1)
      expect(await told(reconcile(world.executor))).toMatch(/^one and other show different balances of our addresses/);
    const written = world.history.slice(before).map(({ type }) => type);
    expect(written.filter((type) => type !== 'TreasuryReconciled')).toEqual([]);
    world.heldAt = {};
    expect(await told(reconcile(world.executor))).toBeNull();
  });

  it('hides no outflow from a comparison with one of two, so that somebody is told', async () => {
    const world = await World.compared();
    world.held = 1_000n;
    await reconcileTreasury(world.executor, world.deps);
    world.held = 400n;
    world.heldAt = { other: () => 1_000n };
    const reconcile = inTurnReconciler(world.deps);
    const comparisons = new Comparisons();
    for (let looks = 0; looks < 3; looks += 1)
      await told(comparisons.run(world.executor.chain, 'treasury', () => reconcile(world.executor)));
    expect(comparisons.all.map(keepsFailing)).toEqual([true]);
  });

  it('hides no transaction that the signer does not know, and the signer is told until it has heard', async () => {
    const world = await World.compared();
    world.held = 1_000n;
    await reconcileTreasury(world.executor, world.deps);
    const stolen = { coin: 'USDT', units: 600n * 10n ** 18n, toAddress: '0xThief', txHash: '0xa', part: '1' } as const;
    world.outflows = [{ ...stolen, blockNumber: 101 }];
    world.held = 400n;
    world.heldAt = { other: () => 1_000n };
    world.reportOutflows.mockResolvedValueOnce({ ok: false });
    const reconcile = inTurnReconciler(world.deps);
    await expect(reconcile(world.executor)).rejects.toThrow();
    await expect(reconcile(world.executor)).rejects.toThrow(/show different balances of our addresses/);
    const found = world.history.filter(({ type }) => type === 'UnknownOutflowFound');
    expect(found).toMatchObject([{ data: { outflowKey: '0xa:1', amount: '600.00' } }]);
    expect(world.reportOutflows).toHaveBeenCalledTimes(2);
    world.heldAt = {};
    expect(await reconcile(world.executor)).toMatchObject({ unknown: [] });
  });

  it.each(['one', 'other', 'third'])('is outvoted by two others if it is at %s of three', async (at) => {
    const world = await World.compared();
    world.providers = ['one', 'other', 'third'];
    world.held = 1_000n;
    await reconcileTreasury(world.executor, world.deps);
    world.held = 400n;
    world.heldAt = { [at]: () => 1_000n };
    const reconcile = inTurnReconciler(world.deps);
    for (let looks = 0; looks < 2; looks += 1) expect(await told(reconcile(world.executor))).toBeNull();
    const found = world.history.flatMap(({ type, data }) => (type === 'UnknownOutflowFound' ? [data.amount] : []));
    expect(found).toEqual(['600.00']);
  });
});

describe('treasury funding', () => {
  it('is booked once by two simultaneous comparisons, the later of which begins when the first is recorded', async () => {
    const world = await World.compared();
    world.held = 1_000n;
    const reconcile = inTurnReconciler(world.deps);
    const looks = await Promise.all([reconcile(world.executor), reconcile(world.executor)]);
    expect(looks.map(({ accounts }) => accounts[0])).toMatchObject([
      { difference: '1000.00' },
      { booked: '1000.00', difference: '0.00' },
    ]);
    expect([formatAmount(world.booked()), world.history.some(({ type }) => type === 'UnknownOutflowFound')]).toEqual([
      '1000.00',
      false,
    ]);
    expect(world.reading.most).toBe(1);
  });

  it('is booked once by two concurrent comparisons: the later one is not recorded and starts over', async () => {
    const world = await World.compared();
    world.held = 1_000n;
    const looks = await Promise.all([1, 2].map(() => reconcileTreasury(world.executor, world.deps)));
    expect(looks.map(({ accounts }) => accounts[0])).toMatchObject([
      { difference: '1000.00' },
      { booked: '1000.00', difference: '0.00' },
    ]);
    expect([formatAmount(world.booked()), world.reading.most]).toEqual(['1000.00', 2]);
  });

  it.each([
    ['the third look at the earliest', [7n, 7n, 8n], 7n],
    ['a later look that finds the same', [6n, 7n, 7n, 8n], 7n],
    ['the fifth look, although it still changes', [6n, 7n, 8n, 9n, 10n], 9n],
  ])('is believed by %s', async (_, pauses, believed) => {
    const world = await World.compared();
    world.held = 5n;
    world.heldAfterPauses = pauses;
    await reconcileTreasury(world.executor, world.deps);
    expect(formatAmount(world.booked())).toBe(`${believed}.00`);
  });

  it('is compared, too, by a provider that calls fewer blocks final than one before', async () => {
    const world = await World.compared();
    world.finalBlock = 99;
    world.held = 7n;
    expect(await reconcileTreasury(world.executor, world.deps)).toMatchObject({ throughBlock: 100 });
    expect(formatAmount(world.booked())).toBe('7.00');
  });

  it('says why it cannot be recorded if another reading would not change that', async () => {
    const world = await World.compared();
    const refusing = { ...world.executor, tell: async () => 'another reconciliation got further' };
    await expect(reconcileTreasury(refusing as never, world.deps)).rejects.toThrow(
      'test ethereum cannot be recorded: another reconciliation got further',
    );
  });

  it('is not booked when the books contradict the log; missing money is reported all the same', async () => {
    const world = await World.compared();
    world.proof = () => Promise.reject(new Error('1 row is not what the ledger says'));
    world.held = 7n;
    await expect(reconcileTreasury(world.executor, world.deps)).rejects.toThrow('1 row is not what the ledger says');
    world.usdcBooked = 4n;
    await reconcileTreasury(world.executor, world.deps);
    expect(world.history.slice(1).map(({ type }) => type)).toEqual(['UnknownOutflowFound', 'TreasuryReconciled']);
    expect(world.history[1]).toMatchObject({ data: { coin: 'USDC', amount: '4.00' } });
  });

  it('waits to be booked while the books cannot be verified', async () => {
    const world = await World.compared();
    world.proof = async () => false;
    world.held = 7n;
    await reconcileTreasury(world.executor, world.deps);
    expect(world.history.slice(1).map(({ type }) => type)).toEqual(['TreasuryReconciled']);
    world.proof = async () => true;
    await reconcileTreasury(world.executor, world.deps);
    expect(world.history.slice(2).map(({ type }) => type)).toEqual(['TreasuryFunded', 'TreasuryReconciled']);
  });

  it('is booked without its transaction, with a warning, if the chain does not show it', async () => {
    const world = await World.compared();
    world.held = 7n;
    world.inflows = () => Promise.reject(new Error('no provider answers'));
    await reconcileTreasury(world.executor, world.deps);
    expect(world.history.at(-2)).toMatchObject({ type: 'TreasuryFunded', data: { amount: '7.00', txHash: null } });
    expect(world.warn.mock.calls).toEqual([
      [{ mode: 'test', network: 'ethereum', message: 'no provider answers' }, expect.any(String)],
    ]);
  });

  it('is not reported again for a transaction that a reorganisation moved', async () => {
    const world = await World.compared();
    const seen = {
      coin: 'USDT',
      units: 5n * 10n ** 18n,
      fromAddress: '0xBank',
      txHash: '0xa',
      blockNumber: 102,
    } as const;
    world.held = 5n;
    world.inflows = async () => [{ ...seen, logIndex: 3 }];
    await reconcileTreasury(world.executor, world.deps);
    expect(world.history.at(-2)).toMatchObject({ data: { txHash: '0xa', logIndex: 3 } });
    world.held = 10n;
    world.inflows = async () => [{ ...seen, logIndex: 9 }];
    await reconcileTreasury(world.executor, world.deps);
    expect(world.history.at(-2)).toMatchObject({ type: 'TreasuryFunded', data: { amount: '5.00', txHash: null } });
  });
});
