import type { Valuation, RefundFailureReason } from '../domain/events/session-events.ts';
import type { PayoutDraft } from '../domain/events/treasury-events.ts';
import type { RefundId } from '../domain/ids.ts';
import type { Coin } from '../domain/money.ts';
import { treasuryStream } from '../domain/streams.ts';
import { ChainUnavailable } from '../ports/chain.ts';
import { StoreUnavailable } from '../ports/event-store.ts';
import { mayStillLand, validityOf, type PayoutChain, type PayoutFate, type PayoutRefusal, type Promised } from '../ports/payouts.ts';
import { crashPoint } from '../runtime/crash-point.ts';
import type { OrderedLeg } from '../use-cases/payouts-orders.ts';
import { movesInFlight } from '../../state-machines/treasury-moves.ts';
import type { SessionContext } from '../../state-machines/checkout-session.state.ts';
import { lastOfLeg, openPayout, type Reservation } from '../../state-machines/treasury.machine.ts';
import { PayoutBooks, type Found } from './pay-refunds-books.ts';
import { DeskNotes, WAIT_REASONS, type Waiting } from './pay-refunds-notes.ts';
import type { DeskDeps } from './pay-refunds-deps.ts';
import { promisedOf } from './promised.ts';
import type { LegRef } from './pay-refunds-work.ts';

/** Nodes keep only so many transactions of one sender that are not in a block (geth: 16 guaranteed). */
const MAX_IN_FLIGHT = 16;
/** Legs looked at in one round. */
const ROUND = 20;
/** Looks of a waiting leg come this many times as rarely as those of a sent one. */
const WAIT_FACTOR = 4;

/** One treasury account: at most one payout is between reservation and broadcast at any time. */
export class TreasuryDesk {
  readonly #deps: DeskDeps;
  readonly #notes: DeskNotes;
  readonly #books: PayoutBooks;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: DeskDeps) {
    this.#deps = deps;
    const stream = treasuryStream(deps.chain.mode, deps.chain.network);
    this.#books = new PayoutBooks(deps, stream);
    this.#notes = new DeskNotes({ log: deps.log, treasury: stream, nowMs: () => deps.clock.nowMs(), pollMs: deps.pollMs });
  }

  get chain(): PayoutChain {
    return this.#deps.chain;
  }

  get treasury(): string {
    return this.#deps.treasury;
  }

  get waiting(): readonly Waiting[] {
    return this.#notes.waiting;
  }

  /** What keeps the whole treasury from paying, or null. */
  get alarm(): string | null {
    return this.#notes.alarm;
  }

  /** One look at everything this treasury owes. Throws when the store or every provider is gone; the next round goes on. */
  round(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#round();
      } catch (error) {
        if (error instanceof ChainUnavailable)
          this.#deps.work.open(this.chain.mode, this.chain.network).forEach((ref) => this.#notes.wait(ref, 'chain_unavailable', error.message));
        throw error;
      }
    });
  }

  async #round(): Promise<void> {
    const context = await this.#books.treasury();
    const open = openPayout(context);
    // A reservation of another kind of move is that move's to finish.
    const isFree = context.open === null || (open !== null && this.#notes.isDue(open) && (await this.#finish(open)));
    const unknown = Object.values(context.unknownOutflows)[0];
    this.#notes.setAlarm('outflow', unknown ? `${unknown.txHash ?? unknown.outflowKey} moved money of ours and is not in the ledger` : null);
    const { mode, network } = this.chain;
    const legs = await this.#legs(this.#deps.work.open(mode, network));
    // A leg that ended could not take the replacement that is reserved for it, and the reservation would hold up everything.
    await this.#followSent(isFree ? legs : legs.filter(({ ref }) => ref.legId !== open?.legId));
    await this.#watchLanded();
    if (isFree && !this.#notes.isHalted()) await this.#payPending(await this.#legs(legs.map(({ ref }) => ref)));
  }

  /** What refunds that are not done still take; with `sent`, those alone that are signed and may have taken it already. */
  async owed(which: 'all' | 'sent'): Promise<Promised> {
    const legs = await this.#legs(this.#deps.work.open(this.chain.mode, this.chain.network));
    return promisedOf(legs.filter(({ leg }) => which === 'all' || leg.status === 'PROCESSING'));
  }

  /** Gives up a leg of this treasury between two rounds, so that it cannot be signed at the same moment. */
  async reject(leg: Pick<LegRef, 'sessionId' | 'refundId' | 'legId'>): Promise<void> {
    const ref = this.#deps.work.open(this.chain.mode, this.chain.network).find(({ legId }) => legId === leg.legId);
    if (!ref) return;
    await this.#inTurn(async () => {
      if (openPayout(await this.#books.treasury())?.legId === ref.legId) throw new Error(`${ref.legId} is being signed`);
      await this.#fail(ref, 'rejected_by_operator', null);
    });
  }

  /* What was sent */

  async #followSent(legs: readonly Found[]): Promise<void> {
    for (const found of legs.filter(({ leg, ref }) => leg.status === 'PROCESSING' && this.#notes.isDue(ref)).slice(0, ROUND)) {
      this.#notes.postpone(found.ref, 1);
      await this.#each(found.ref, async () => {
        const fate = await this.chain.fate(found.order, this.treasury, found.leg.payouts);
        this.#notes.setAlarm(found.ref.legId, fate.kind === 'alarm' ? fate.detail : null);
        if (fate.kind !== 'alarm') await this.#act(found, fate);
      });
    }
  }

  /** One payout that cannot go on must not hold up the others. False when it could not. */
  async #each(ref: LegRef, task: () => Promise<void>): Promise<boolean> {
    try {
      await task();
      return true;
    } catch (error) {
      if (isTransient(error) || error instanceof StoreUnavailable) throw error;
      this.#notes.postpone(ref, WAIT_FACTOR);
      this.#deps.log.error({ err: error, refund: ref.refundId, leg: ref.legId }, 'a refund payout cannot go on');
      this.#notes.wait(ref, 'chain_unavailable', error instanceof Error ? error.message : 'unknown');
      return false;
    }
  }

  async #act(found: Found, fate: Exclude<PayoutFate, { kind: 'alarm' }>): Promise<void> {
    const { ref, leg, order } = found;
    const last = leg.payouts.at(-1)!;
    switch (fate.kind) {
      case 'landed':
        return this.#land(found, fate.landed);
      case 'ineffective': {
        const released = await this.#deps.signer.releasePayout(order);
        if (!released.ok) return this.#notes.wait(ref, 'signer_unavailable', released.message);
        crashPoint('after-release');
        return this.#fail(ref, 'execution_reverted', fate.networkFee);
      }
      case 'never':
        return this.#replace(found, await this.chain.draft(order, this.treasury, null), 'can_never_land');
      case 'absent':
        for (const payout of mayStillLand(leg.payouts)) await this.chain.broadcast(payout);
        return;
      case 'pending': {
        const outMs = this.#notes.sentSince.outMs(ref.legId, last, this.#deps.clock.nowMs());
        const draft = lastOfLeg(await this.#books.treasury(), ref.legId)?.draft;
        if (fate.inBlock || outMs < this.chain.bumpAfterMs || !draft) return;
        const bumped = await this.chain.bump(draft);
        return bumped
          ? this.#replace(found, bumped, 'fee_bump')
          : this.#notes.wait(ref, 'network_fee_too_high', 'the network wants more for a replacement than the limit allows');
      }
    }
  }

  async #land({ ref, order, context }: Found, landed: Extract<PayoutFate, { kind: 'landed' }>['landed']): Promise<void> {
    const nowSec = this.#books.nowSec();
    crashPoint('before-landed-event');
    await this.#books.tellSession(ref, {
      type: 'RecordPayoutLanded',
      data: { refundId: ref.refundId as RefundId, legId: ref.legId, ...landed, landedAtSec: nowSec },
      valuation: this.#valuationOf(context, order.coin),
    });
    crashPoint('after-landed-event');
    this.#finished(ref);
    this.#deps.log.info({ refund: ref.refundId, leg: ref.legId, tx: landed.txHash, network: ref.network }, 'a refund payout landed');
  }

  /** A payout that was reported as done stays watched until the chain cannot take it back. */
  async #watchLanded(): Promise<void> {
    const { mode, network } = this.chain;
    for (const ref of this.#deps.work
      .landed(mode, network)
      .filter((candidate) => this.#notes.isDue(candidate))
      .slice(0, ROUND)) {
      this.#notes.postpone(ref, 1);
      const found = await this.#books.find(ref);
      const txHash = found?.leg.landedTxHash;
      const landedIn = found?.leg.landedIn;
      if (!found || !txHash || !landedIn) {
        this.#deps.work.isFinal(ref);
        continue;
      }
      const { vanished, withheld, final, headNumber } = await this.chain.hasVanished({ txHash, ...landedIn });
      if (final) this.#deps.work.isFinal(ref);
      if (withheld)
        this.#deps.log.warn(
          { refund: ref.refundId, leg: ref.legId, tx: txHash, network },
          'a provider does not show a completed refund payout whose block is in the chain',
        );
      if (!vanished) continue;
      this.#deps.log.error(
        { refund: ref.refundId, leg: ref.legId, tx: txHash, network },
        'a completed refund payout left the chain; the same bytes go out again',
      );
      await this.#books.tellSession(ref, {
        type: 'RecordPayoutReverted',
        data: { refundId: ref.refundId as RefundId, legId: ref.legId, txHash, headNumber },
      });
      crashPoint('after-reverted-event');
      this.#deps.work.isFinal(ref);
      await this.chain.broadcast(found.leg.payouts.find((payout) => payout.txHash === txHash)!);
    }
  }

  /* What is owed */

  async #payPending(legs: readonly Found[]): Promise<void> {
    const sent = legs.filter(({ leg }) => leg.status === 'PROCESSING');
    const pending = legs.filter(({ leg, ref }) => leg.status === 'PENDING' && this.#notes.isDue(ref));
    if (pending.length === 0) return;
    if (!(await this.#sequenceAgrees())) return;
    const moves = movesInFlight(await this.#books.treasury());
    const inFlight = [...sent];
    for (const found of pending.slice(0, ROUND)) {
      if (inFlight.length + moves.length >= MAX_IN_FLIGHT) return;
      this.#notes.postpone(found.ref, WAIT_FACTOR);
      const isFine = await this.#each(found.ref, async () => {
        if (await this.#pay(found, promisedOf(inFlight, moves))) inFlight.push(found);
      });
      // What it left behind, bytes perhaps, is counted from the next round on.
      if (!isFine || this.alarm !== null) return;
    }
  }

  /** True once the payout is signed and sent. */
  async #pay({ ref, order }: Found, promised: Promised): Promise<boolean> {
    if (this.#deps.isOurs(order.toAddress) || order.toAddress === this.treasury) {
      await this.#fail(ref, 'rejected_by_policy', null);
      return false;
    }
    const check = await this.chain.check(order, this.treasury, promised);
    if (check.kind === 'fail') await this.#fail(ref, check.reason, null);
    if (check.kind === 'wait') this.#notes.wait(ref, check.reason, check.detail);
    if (check.kind !== 'ready') return false;
    const verdict = await this.#deps.signer.checkPayout(order);
    if (!verdict.ok) {
      await this.#refused(ref, verdict, true);
      return false;
    }
    const { nextNonce } = await this.#books.treasury();
    const draft = await this.chain.draft(order, this.treasury, nextNonce ?? (await this.chain.sequence(this.treasury)).next);
    return this.#reserve(ref, order, draft, 1, null);
  }

  async #replace({ ref, order, leg }: Found, draft: PayoutDraft, why: 'fee_bump' | 'can_never_land'): Promise<void> {
    const last = leg.payouts.at(-1)!;
    await this.#reserve(ref, order, draft, last.attempt + 1, { txHash: last.txHash, why });
  }

  async #reserve(ref: LegRef, order: OrderedLeg['order'], draft: PayoutDraft, attempt: number, replaces: Reservation['replaces']): Promise<boolean> {
    const { mode, network, sessionId, refundId, legId, coin, amount, toAddress } = order;
    const reservedAtSec = this.#books.nowSec();
    crashPoint('before-reserve');
    const data: Reservation = {
      ...{ mode, network, sessionId, refundId, legId, attempt, coin, amount },
      ...{ fromAddress: this.treasury, toAddress, draft, replaces, reservedAtSec },
    };
    const reserved = await this.#books.tellTreasury({ type: 'ReservePayoutSequence', data });
    if (!reserved) return false;
    crashPoint('after-reserve');
    return this.#finish(data, ref);
  }

  /** Signs what is reserved, writes the bytes down, and only then lets them out. Safe to repeat after any crash. */
  async #finish(reservation: Reservation, known?: LegRef): Promise<boolean> {
    const { sessionId, refundId, legId, attempt, draft, fromAddress, replaces, mode, network } = reservation;
    const ref = known ?? ({ sessionId, refundId, legId, mode, network } as LegRef);
    const found = await this.#books.find(ref);
    if (!found) throw new Error(`${legId} is reserved but unknown to its session`);
    const { journal } = await this.#books.treasury();
    const signature = await this.#deps.signer.signPayout({ order: found.order, attempt, fromAddress, draft, ledger: journal });
    if (!signature.ok) {
      if (signature.kind !== 'stopped')
        await this.#books.tellTreasury({
          type: 'ReleasePayoutSequence',
          data: { legId, attempt, reason: signature.code, releasedAtSec: this.#books.nowSec() },
        });
      await this.#refused(ref, signature, replaces === null);
      return false;
    }
    const { txHash, signedBytes } = signature;
    const payout = {
      ...{ refundId: refundId as RefundId, legId, attempt, txHash, signedBytes, fromAddress },
      ...{ validity: validityOf(draft), signedAtSec: this.#books.nowSec() },
    };
    crashPoint('after-sign');
    // Another process may have seen an earlier transaction of the leg land: then this one, of the same nonce, is never sent.
    const isPaid = found.leg.status === 'COMPLETED';
    if (!isPaid) await this.#books.tellSession(ref, { type: 'RecordPayoutSigned', data: payout, replaces });
    crashPoint('after-signed-event');
    await this.#books.tellTreasury({ type: 'RecordPayoutSequenceSigned', data: { legId, attempt, txHash, journal: signature.journal } });
    crashPoint('after-sequence-event');
    this.#notes.setAlarm('signer', null);
    this.#notes.goesOn(reservation);
    if (isPaid) return true;
    this.#notes.postpone(ref, 1);
    await this.chain.broadcast(payout);
    this.#deps.log.info({ refund: refundId, leg: legId, attempt, tx: txHash, network }, 'a refund payout was sent');
    return true;
  }

  async #refused(ref: LegRef, refusal: PayoutRefusal, first: boolean): Promise<void> {
    if (refusal.kind === 'stopped') {
      this.#notes.setAlarm('signer', `the signer refuses to sign: ${refusal.message}`);
      this.#notes.postpone(ref, WAIT_FACTOR);
      return this.#notes.wait(ref, 'payouts_stopped', refusal.message);
    }
    if (refusal.kind === 'denied' && first) {
      this.#deps.log.error({ refund: ref.refundId, leg: ref.legId, code: refusal.code }, 'the signer denied a refund payout');
      return this.#fail(ref, 'rejected_by_policy', null);
    }
    this.#notes.wait(ref, WAIT_REASONS[refusal.code] ?? 'policy_limit', refusal.message);
  }

  /**
   * The account's own sequence must be where the ledger is. Ahead: somebody else holds the key. Behind: a node forgot
   * payouts, which block every later one, so they go out again.
   */
  async #sequenceAgrees(): Promise<boolean> {
    const { nextNonce, recent } = await this.#books.treasury();
    const { next } = await this.chain.sequence(this.treasury);
    if (next === null) return true;
    if (next > (nextNonce ?? 0)) {
      this.#notes.setAlarm(
        'sequence',
        `${this.treasury} has sent ${next} transactions on ${this.chain.network}, the ledger knows ${nextNonce ?? 0}: somebody else holds its key`,
      );
      return false;
    }
    this.#notes.setAlarm('sequence', null);
    for (const taken of recent.filter(({ nonce }) => nonce !== null && nonce >= next)) {
      const found = await this.#books.find({ ...taken, mode: this.chain.mode, network: this.chain.network } as unknown as LegRef);
      const payout = found?.leg.payouts.find(({ txHash }) => txHash === taken.txHash);
      if (payout && found!.leg.status === 'COMPLETED') await this.chain.broadcast(payout);
    }
    return true;
  }

  /* Small parts */

  #inTurn(task: () => Promise<void>): Promise<void> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }

  async #legs(refs: readonly LegRef[]): Promise<Found[]> {
    const found: Found[] = [];
    for (const ref of refs) {
      const leg = await this.#books.find(ref);
      if (!leg || leg.leg.status === 'COMPLETED' || leg.leg.status === 'FAILED') this.#finished(ref);
      else found.push(leg);
    }
    return found;
  }

  #valuationOf({ created }: SessionContext, coin: Coin): Valuation | null {
    return created?.rateLock ? this.#deps.valuation(created.currency, coin) : null;
  }

  async #fail(ref: LegRef, reason: RefundFailureReason, networkFee: string | null): Promise<void> {
    const found = await this.#books.find(ref);
    await this.#books.tellSession(ref, {
      type: 'FailPayout',
      refundId: ref.refundId,
      legId: ref.legId,
      reason,
      networkFee,
      nowSec: this.#books.nowSec(),
      valuation: found && this.#valuationOf(found.context, found.context.created!.dueCoin),
    });
    this.#finished(ref);
    this.#deps.log.warn({ refund: ref.refundId, leg: ref.legId, reason }, 'a refund payout failed');
  }

  #finished(ref: LegRef): void {
    this.#notes.forget(ref);
    this.#deps.work.done(ref);
  }
}

export const isTransient = (error: unknown): boolean =>
  error instanceof ChainUnavailable || (error instanceof Error && error.name === 'SignerUnavailable');
