import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TokenDraft } from '../../src/domain/events/transaction-draft.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { amountOf, fitsDecimals } from '../../src/domain/money/money.ts';
import { ChainUnavailable } from '../../src/ports/chain/chain.ts';
import {
  type Fate,
  type OutgoingTransaction,
  type SentTransaction,
  TransferImpossible,
} from '../../src/ports/outgoing/transaction.ts';
import type { SigningRequest } from '../../src/ports/outgoing/signer.ts';
import { refunded, refundedOrReserved, type LegState } from '../../state-machines/checkout-session/session.state.ts';
import { coverOf } from '../../state-machines/checkout-session/refund-cover.ts';
import { EVM_DRAFT, landedAs, PayoutStage, signedAs, TRON_DRAFT } from '../support/payout-stage.ts';
import { runsOf } from '../support/runs.ts';

const POLL_MS = 1_000;
const LONGEST_PAUSE_MS = 64 * POLL_MS;
const GRACE_MS = 60_000;
const LIFETIME_MS = 90_000;
/** Rounds in which everything ends once nothing is wrong any more, each a longest pause after the one before. */
const BOUND = 8;
const DECIMALS = 6;
const SESSIONS = ['a', 'b'].map((letter) => `cs_${letter.repeat(32)}` as SessionId);

interface Signed {
  readonly legId: string;
  readonly sessionId: SessionId;
  /** Of the account; null where the chain numbers nothing. */
  readonly nonce: number | null;
  readonly cancels: boolean;
  readonly expiresAtMs: number;
}

/** A chain that takes what it is given when it is told to, and loses it as well; and the executor that pays over it. */
class World {
  readonly stage: PayoutStage;
  readonly network: 'ethereum' | 'tron';
  readonly signed = new Map<string, Signed>();
  readonly deposits = new Map<
    string,
    { readonly sessionId: SessionId; readonly amount: string; readonly payer: string; gone: boolean }
  >();
  mempool = new Set<string>();
  blocks: string[] = [];
  isAway = false;
  isPoisoned = false;
  nowMs = 1_000_000;
  /** Transactions that went out while the money that they pay back was gone. */
  readonly wrong: string[] = [];
  #refunds = 0;

  constructor(network: 'ethereum' | 'tron') {
    this.network = network;
    this.stage = new PayoutStage({ network, pollMs: POLL_MS, depositGraceMs: GRACE_MS });
    vi.spyOn(performance, 'now').mockImplementation(() => this.nowMs);
    const { stage } = this;
    stage.check = (order) => this.#fault(order) ?? { kind: 'ready' };
    stage.drawUp = (order, nonce) => this.#fault(order) ?? this.#draft(nonce);
    stage.fateOf = (order, sent) => this.#fault(order) ?? this.#fate(sent);
    stage.vanished = (txHash) => !this.blocks.includes(txHash);
    stage.sign = (request) => {
      const signature = signedAs(({ order: { id }, attempt }) => `0x${id}-${attempt}`)(request);
      if (signature.ok) this.signed.set(signature.txHash, this.#signedBy(request));
      return signature;
    };
    stage.onBroadcast = async ({ txHash }) => {
      const { sessionId, legId, cancels } = this.signed.get(txHash)!;
      if (!cancels && coverOf(await stage.context(sessionId), legId) !== 'final') this.wrong.push(txHash);
      if (!this.isAway && !this.blocks.includes(txHash)) this.mempool.add(txHash);
    };
  }

  async begin(): Promise<void> {
    for (const sessionId of SESSIONS) {
      const key = await this.stage.paidSession(sessionId);
      this.deposits.set(key, { sessionId, amount: '10.00', payer: '0xPayer', gone: false });
    }
  }

  async deposit(sessionId: SessionId, amount: string, payer: string): Promise<void> {
    const txHash = `0xd${this.deposits.size}`;
    const key = await this.stage.deposit(sessionId, { network: this.network, txHash, amount, fromAddress: payer });
    this.deposits.set(key, { sessionId, amount, payer, gone: false });
  }

  /** Takes the transfer away, or brings it back. */
  async turnOver(at: number): Promise<void> {
    const [key, deposit] = [...this.deposits][at % Math.max(1, this.deposits.size)] ?? [];
    if (key === undefined || !deposit) return;
    if (!deposit.gone) await this.stage.revert(deposit.sessionId, key);
    else await this.#comesBack(key);
    deposit.gone = !deposit.gone;
  }

  async requestRefund(sessionId: SessionId, coins: number | null): Promise<void> {
    this.#refunds += 1;
    await this.stage.requestRefund(`re_${this.#refunds}`, coins, sessionId);
  }

  async round(): Promise<void> {
    await this.stage.executor.round().catch((error: unknown) => {
      if (!(error instanceof ChainUnavailable)) throw error;
    });
    await this.#followEventLog();
  }

  wait(polls: number): void {
    this.nowMs += polls * POLL_MS;
  }

  forget(): void {
    this.mempool.clear();
  }

  setAway(isAway: boolean): void {
    this.isAway = isAway;
  }

  setPoisoned(isPoisoned: boolean): void {
    this.isPoisoned = isPoisoned;
  }

  mine(): void {
    for (const txHash of this.mempool) {
      const { nonce, expiresAtMs } = this.signed.get(txHash)!;
      const isTaken = nonce !== null && this.blocks.some((mined) => this.signed.get(mined)!.nonce === nonce);
      if (isTaken || (nonce === null && expiresAtMs <= this.nowMs)) this.mempool.delete(txHash);
      if (!this.mempool.has(txHash) || (nonce !== null && nonce !== this.blocks.length)) continue;
      this.mempool.delete(txHash);
      this.blocks.push(txHash);
      this.stage.nonce = this.blocks.length;
      // A block holds what it makes possible, too.
      return this.mine();
    }
  }

  /** Only where the chain does not call a payout final before it counts. */
  reorganise(depth: number, forgets: boolean): void {
    if (this.network === 'tron') return;
    for (const txHash of this.blocks.splice(-depth)) if (!forgets) this.mempool.add(txHash);
    this.stage.nonce = this.blocks.length;
  }

  /** Nobody is at fault any more; what left the chain stays away. */
  mend(): void {
    this.isAway = false;
    this.isPoisoned = false;
  }

  async legs(): Promise<LegState[]> {
    const contexts = await Promise.all(SESSIONS.map((sessionId) => this.stage.context(sessionId)));
    return contexts.flatMap(({ refunds }) => Object.values(refunds).flatMap(({ legs }) => Object.values(legs)));
  }

  async #comesBack(key: string): Promise<void> {
    const { sessionId, amount, payer } = this.deposits.get(key)!;
    await this.stage.deposit(sessionId, {
      network: this.network,
      txHash: key.split(':')[1]!,
      amount,
      fromAddress: payer,
    });
  }

  #fault({ amount, id }: OutgoingTransaction): Error | null {
    if (this.isAway) return new ChainUnavailable('nobody answers');
    if (!fitsDecimals(amountOf(amount), DECIMALS)) return new TransferImpossible('amount_not_payable', 'too fine');
    return this.isPoisoned && /[02468]-\d$/.test(id) ? new TypeError('nobody foresaw this') : null;
  }

  #draft(nonce: number | null): TokenDraft {
    return this.network === 'tron'
      ? ({ ...TRON_DRAFT, expirationMs: this.nowMs + LIFETIME_MS } as TokenDraft)
      : { ...EVM_DRAFT, nonce: nonce ?? 0 };
  }

  #signedBy({ order, draft }: SigningRequest): Signed {
    const nonce = 'nonce' in draft && draft.kind !== 'solana' ? draft.nonce : null;
    const expiresAtMs = draft.kind === 'tron' ? draft.expirationMs : Infinity;
    return {
      legId: order.id,
      sessionId: order.refund!.sessionId as SessionId,
      nonce,
      cancels: draft.kind === 'evm-cancel',
      expiresAtMs,
    };
  }

  #fate(sent: readonly SentTransaction[]): Fate {
    const landed = sent.find(({ txHash }) => this.blocks.includes(txHash));
    if (landed && this.signed.get(landed.txHash)!.cancels)
      return { kind: 'ineffective', txHash: landed.txHash, networkFee: '0.001' };
    if (landed) return landedAs(landed.txHash);
    if (sent.every(({ txHash }) => this.signed.get(txHash)!.expiresAtMs <= this.nowMs)) return { kind: 'never' };
    return sent.some(({ txHash }) => this.mempool.has(txHash))
      ? { kind: 'pending', inBlock: false }
      : { kind: 'absent' };
  }

  /** What the service's own subscription does: what landed is watched, and what was reverted is owed again. */
  async #followEventLog(): Promise<void> {
    for (const sessionId of SESSIONS) {
      const { refunds, created } = await this.stage.context(sessionId);
      for (const refund of Object.values(refunds))
        for (const { leg, status } of Object.values(refund.legs)) {
          const place = {
            sessionId,
            merchantId: created!.merchantId,
            refundId: refund.requested.refundId,
            legId: leg.legId,
          };
          const list = status === 'COMPLETED' ? this.stage.landed : status === 'PROCESSING' ? this.stage.legs : null;
          if (list?.every(({ legId }) => legId !== leg.legId))
            list.push({ ...place, mode: 'test', network: this.network });
        }
    }
  }
}

const session = fc.constantFrom(...SESSIONS);
/** A method of the world with what it is given, so that a counterexample can be read. */
type Step = readonly [name: string, ...given: readonly unknown[]];
const named = (name: string, ...given: fc.Arbitrary<unknown>[]): fc.Arbitrary<Step> =>
  fc.tuple(...given).map((values): Step => [name, ...values]);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: named(
      'deposit',
      session,
      fc.constantFrom('3.00', '10.00', '0.000000000000000001'),
      fc.constantFrom('0xPayer', '0xStranger', '0xOther'),
    ),
  },
  { weight: 3, arbitrary: named('turnOver', fc.nat(9)) },
  { weight: 3, arbitrary: named('requestRefund', session, fc.option(fc.integer({ min: 1, max: 9 }))) },
  { weight: 6, arbitrary: named('round') },
  { weight: 1, arbitrary: named('mine') },
  { weight: 4, arbitrary: named('wait', fc.integer({ min: 1, max: 80 })) },
  { weight: 1, arbitrary: named('reorganise', fc.integer({ min: 1, max: 3 }), fc.boolean()) },
  { weight: 2, arbitrary: named('forget') },
  { weight: 1, arbitrary: named('setAway', fc.boolean()) },
  { weight: 1, arbitrary: named('setPoisoned', fc.boolean()) },
);

beforeEach(() => vi.spyOn(performance, 'now'));
afterEach(() => vi.restoreAllMocks());

describe('refunds over deposits, strangers, reorganisations and outages', () => {
  it.each(['ethereum', 'tron'] as const)(
    'each end, reserve nothing after that, and never go out for money that is gone (%s)',
    async (network) => {
      let cancelled = 0;
      const ends = { COMPLETED: 0, FAILED: 0, PENDING: 0, PROCESSING: 0 };
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50 }), async (steps) => {
          const world = new World(network);
          await world.begin();
          for (const [name, ...given] of steps)
            await (world as unknown as Record<string, (...given: unknown[]) => unknown>)[name]!(...given);
          world.mend();
          for (let round = 0; round < BOUND; round += 1) {
            world.nowMs += LONGEST_PAUSE_MS;
            await world.round();
            world.mine();
          }
          expect(world.wrong).toEqual([]);
          const open = (await world.legs()).filter(({ status }) => status === 'PENDING' || status === 'PROCESSING');
          expect(open).toEqual([]);
          for (const { status, failureReason } of await world.legs()) {
            ends[status] += 1;
            // What was accepted can be drafted.
            expect(failureReason).not.toBe('amount_not_payable');
          }
          for (const sessionId of SESSIONS) {
            const context = await world.stage.context(sessionId);
            expect(refundedOrReserved(context, 'USDT')).toBe(refunded(context, 'USDT'));
            for (const { status, legs } of Object.values(context.refunds))
              expect(status).toBe(
                Object.values(legs).every((leg) => leg.status === 'COMPLETED') ? 'COMPLETED' : 'FAILED',
              );
          }
          cancelled += world.blocks.filter((txHash) => world.signed.get(txHash)!.cancels).length;
          const paid = world.blocks
            .map((txHash) => world.signed.get(txHash)!)
            .flatMap(({ cancels, legId }) => (cancels ? [] : [legId]));
          expect(new Set(paid).size).toBe(paid.length);
          expect(
            (await world.legs())
              .filter(({ status }) => status === 'COMPLETED')
              .map(({ leg }) => leg.legId)
              .sort(),
          ).toEqual(paid.sort());
          expect(world.stage.executor.waiting).toEqual([]);
        }),
        { numRuns: runsOf(150) },
      );
      // A property over refunds that all ended one way would say little.
      expect(ends.COMPLETED).toBeGreaterThan(50);
      expect(ends.FAILED).toBeGreaterThan(5);
      expect(cancelled > 0).toBe(network === 'ethereum');
    },
  );
});
