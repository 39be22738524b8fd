import type { SessionId } from '../../src/domain/values/ids.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TreasuryEvent } from '../../src/domain/events/treasury-events.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { MoveKind, MoveRequested } from '../../src/domain/events/treasury-move-events.ts';
import { DEPOSIT_WALLETS, SUSPENSE } from '../../src/domain/money/ledger.ts';
import { amountOf, formatAmount, signedAmountOf } from '../../src/domain/money/money.ts';
import { settleNative, type NativeDeps } from '../../src/features/treasury/reconcile-native.ts';
import { treasuryTable } from '../../src/features/shared/handlers/treasury-handler.ts';
import { balanceKey, LEDGER_ADDRESSES_TABLE, LEDGER_BALANCES_TABLE } from '../../projections/ledger/rows.ts';
import { decideTreasury, type TreasuryCommand } from '../../state-machines/treasury/treasury.decider.ts';
import { MemoryBooks } from '../support/books.ts';
import { runsOf } from '../support/runs.ts';
import type { ReadModel } from '../../src/ports/read-model/read-model.ts';

const ADDRESSES = ['0xA', '0xB', '0xC'];
const TREASURY = '0xTreasury';
const OWED = balanceKey('test', SUSPENSE, 'ethereum', 'ETH');
const GIVEN = ADDRESSES.map((address) => ({ address, sessionId: `cs_${address}` as SessionId }));
const DRAFT: TransactionDraft = {
  kind: 'evm',
  chainId: '1',
  nonce: 0,
  tokenAddress: '0xToken',
  tokenUnits: '1',
  gasLimit: '1',
  maxFeePerGas: '1',
  maxPriorityFeePerGas: '1',
};

interface Landed {
  readonly moveId: string;
  readonly fee: bigint;
}

/** A chain whose final state lags behind, the treasury's own rules, and the books that its events make. */
class World {
  readonly books = new MemoryBooks();
  readonly events: TreasuryEvent[] = [];
  state = treasuryTable.initial;
  /** Balances after each block. */
  readonly blocks: Map<string, bigint>[] = [new Map(ADDRESSES.map((address) => [address, 0n]))];
  readonly landed: Landed[] = [];
  strays = 0n;
  /** What went back to its senders, the fee of the way included. */
  returned = 0n;
  readonly #returns = new Set<string>();
  /** Happens between two reads of a look. */
  meanwhile: (() => void) | null = null;
  #lag = 0;
  #moves = 0;

  tell(command: TreasuryCommand): string | null {
    const decision = decideTreasury(command, this.state);
    if (!decision.ok) return decision.refusal.message;
    this.state = treasuryTable.replay(decision.events, this.state);
    for (const event of decision.events) {
      this.events.push(event);
      this.books.take('treasury-test-ethereum', event, 1_800_000_000_000);
      for (const { address, booked } of this.booked()) expect([address, booked >= 0n]).toEqual([address, true]);
    }
    return null;
  }

  block(address?: string, units = 0n): void {
    const next = new Map(this.blocks.at(-1));
    if (address !== undefined) next.set(address, next.get(address)! + units);
    this.blocks.push(next);
  }

  at = (lag: number): ReadonlyMap<string, bigint> => this.blocks.at(-1 - Math.min(lag, this.blocks.length - 1))!;

  setLag(blocks: number): void {
    this.#lag = blocks;
  }

  stray(address: string, units: bigint): void {
    this.strays += units;
    this.block(address, units);
  }

  /** Signed and in a block; it is completed some time later. */
  move(kind: MoveKind, address: string, share: bigint): void {
    const moveId = `move-${(this.#moves += 1)}`;
    const isSweep = kind === 'sweep';
    const [fromAddress, toAddress] = isSweep ? [address, TREASURY] : [TREASURY, address];
    const held = this.at(0).get(address)!;
    if (isSweep && held === 0n) return;
    const units = isSweep ? 1n + ((held - 1n) * share) / 100n : share;
    const data: MoveRequested = {
      moveId,
      mode: 'test' as const,
      network: 'ethereum' as const,
      coin: isSweep ? 'USDT' : 'ETH',
      amount: formatAmount(units),
      fromAddress,
      toAddress,
      derivationIndex: 1,
      merchantId: null,
      forMoveId: isSweep ? null : `for-${moveId}`,
      requestedBy: 'ada',
      reason: null,
      requestedAtSec: 1,
    };
    if (this.tell({ type: 'RequestMove', kind, data }) !== null) return;
    this.#sign(moveId, fromAddress, isSweep);
    this.block(address, isSweep ? -units : units);
    this.landed.push({ moveId, fee: isSweep ? units : 0n });
  }

  #sign(moveId: string, fromAddress: string, isSweep: boolean): void {
    const draft = { ...DRAFT, nonce: isSweep ? 0 : (this.state.context.nextNonce ?? 0) } as TransactionDraft;
    const seq = (this.state.context.journal?.seq ?? 0) + 1;
    const signed = {
      moveId,
      attempt: 1,
      txHash: `0x${moveId}`,
      signedBytes: '0x',
      journal: { seq, hash: `h${seq}` },
      signedAtSec: 1,
    };
    const validity = { kind: 'evm-nonce', nonce: 0, maxFeePerGas: '1' } as const;
    expect(
      this.tell({
        type: 'ReserveMove',
        data: { moveId, attempt: 1, fromAddress, draft, replaces: null, reservedAtSec: 1 },
      }),
    ).toBeNull();
    expect(this.tell({ type: 'RecordMoveSigned', data: { ...signed, validity } })).toBeNull();
  }

  /** The treasury pays it, so no balance of an address changes. */
  giveBack(fee: bigint): void {
    const owed = -signedAmountOf(
      (this.books.tables.get(LEDGER_BALANCES_TABLE)?.get(OWED)?.balance as string | undefined) ?? '0',
    );
    const onItsWay = this.landed.reduce(
      (sum, { moveId, fee: each }) => sum + (this.#returns.has(moveId) ? each + this.#amountOf(moveId) : 0n),
      0n,
    );
    const units = owed - onItsWay - fee;
    if (units <= 0n) return;
    const moveId = `return-${this.events.length}`;
    const terms = {
      moveId,
      mode: 'test',
      network: 'ethereum',
      coin: 'ETH',
      amount: formatAmount(units),
      fromAddress: TREASURY,
    } as const;
    const transfer = { txHash: `0xcame-${moveId}`, toAddress: '0xA', derivationIndex: 1 };
    const data = {
      ...terms,
      toAddress: '0xStranger',
      derivationIndex: null,
      merchantId: null,
      forMoveId: null,
      transfer,
    };
    const told = { requestedBy: 'ada', reason: 'sent by mistake', requestedAtSec: 1 };
    expect(this.tell({ type: 'RequestMove', kind: 'native_return', data: { ...data, ...told } })).toBeNull();
    for (const approver of ['ben', 'cleo'])
      expect(this.tell({ type: 'ApproveMove', moveId, approver, nowSec: 1 })).toBeNull();
    this.#sign(moveId, TREASURY, false);
    this.#returns.add(moveId);
    this.landed.push({ moveId, fee });
  }

  #amountOf(moveId: string): bigint {
    return amountOf(this.state.context.moves[moveId]!.terms.amount);
  }

  complete(): void {
    const move = this.landed.shift();
    if (!move) return;
    const { moveId, fee } = move;
    if (this.#returns.has(moveId)) this.returned += fee + amountOf(this.state.context.moves[moveId]!.terms.amount);
    const { kind, terms } = this.state.context.moves[moveId]!;
    const feeAddress = kind === 'sweep' ? terms.fromAddress : TREASURY;
    const landed = {
      txHash: `0x${moveId}`,
      blockNumber: 1,
      blockHash: '0xb',
      blockTimeSec: 1,
      networkFee: formatAmount(fee),
      feeAddress,
    };
    expect(this.tell({ type: 'CompleteMove', moveId, landed: { ...landed, completedAtSec: 1 } })).toBeNull();
  }

  async look(): Promise<void> {
    const happens = (): void => {
      this.meanwhile?.();
      this.meanwhile = null;
    };
    const chain: NativeDeps['executor']['chain'] = {
      ...{ mode: 'test' as const, network: 'ethereum' as const, finalBlock: async () => this.blocks.length },
      newestBlock: async () => this.blocks.length,
      finalBalances: async (addresses: readonly string[]) => {
        const state = this.at(this.#lag);
        return addresses.map((address) => ({ coins: {}, native: state.get(address)! }));
      },
      balances: async (address: string) => {
        const answer = { coins: {}, native: this.at(0).get(address)!, provider: 'one' };
        happens();
        return answer;
      },
    };
    const deps: NativeDeps = {
      executor: { chain, context: async () => this.state.context, tell: async (command) => this.tell(command) },
      // Tables that are made later are read, too.
      readModel: {
        getMany: (async (table: string, keys: readonly string[]) =>
          keys.map((key) => this.books.tables.get(table)?.get(key) ?? null)) as ReadModel['getMany'],
      },
      wholeBooks: (read) => read(),
      proveBooks: async () => true,
      newestBooked: async () => 0,
      derivedForm: (address) => address,
      reportOutflows: async () => undefined,
      clock: { nowMs: () => 1_800_000_000_000 },
    };
    await settleNative(deps, GIVEN);
  }

  booked(): { address: string; booked: bigint }[] {
    const prefix = `${balanceKey('test', DEPOSIT_WALLETS, 'ethereum', 'ETH')}/`;
    return ADDRESSES.map((address) => {
      const row = this.books.tables.get(LEDGER_ADDRESSES_TABLE)?.get(`${prefix}${address}`);
      return { address, booked: signedAmountOf((row?.balance as string | undefined) ?? '0') };
    });
  }
}

type Step = (world: World) => void | Promise<void>;
const address = fc.constantFrom(...ADDRESSES);
const units = fc.bigInt({ min: 1n, max: 1_000_000_000n });
const change: fc.Arbitrary<(world: World) => void> = fc.oneof(
  fc.tuple(address, units).map(
    ([to, amount]) =>
      (world: World) =>
        world.stray(to, amount),
  ),
  fc.tuple(address, units).map(
    ([to, amount]) =>
      (world: World) =>
        world.move('gas_top_up', to, amount),
  ),
  fc.tuple(address, fc.bigInt({ min: 0n, max: 100n })).map(
    ([from, share]) =>
      (world: World) =>
        world.move('sweep', from, share),
  ),
  fc.constant((world: World) => world.complete()),
  units.map((fee) => (world: World) => world.giveBack(fee)),
  fc.nat({ max: 6 }).map((lag) => (world: World) => world.setLag(lag)),
  fc.constant((world: World) => world.block()),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: change },
  {
    weight: 2,
    arbitrary: fc.option(change).map((meanwhile): Step => (world) => {
      world.meanwhile = meanwhile && (() => meanwhile(world));
      return world.look();
    }),
  },
);

describe('native coin at collection addresses', () => {
  it('is never below zero in the books, and is what the chain holds once everything is final, whoever sent it and whatever gas it paid', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const world = new World();
        for (const take of steps) await take(world);
        while (world.landed.length > 0) world.complete();
        world.setLag(0);
        await world.look();
        expect(world.booked()).toEqual(ADDRESSES.map((each) => ({ address: each, booked: world.at(0).get(each)! })));
        const owed = world.books.tables.get(LEDGER_BALANCES_TABLE)?.get(OWED);
        // Neither twice nor too little: whoever sent it is owed all of it, burnt as gas or not, but for what went back.
        expect(-signedAmountOf((owed?.balance as string | undefined) ?? '0')).toBe(world.strays - world.returned);
        expect(world.events.filter(({ type }) => type === 'UnknownOutflowFound')).toEqual([]);
      }),
      { numRuns: runsOf(200) },
    );
  });
});
