import type { RefundFailureReason } from '../../../domain/events/refund-failures.ts';
import type { TransactionDraft } from '../../../domain/events/transaction-draft.ts';
import type { RefundId } from '../../../domain/ids.ts';
import { treasuryStream } from '../../../domain/streams.ts';
import { StoreUnavailable } from '../../../ports/event-store.ts';
import { type Reserved, TransferImpossible, validityOf, type WaitReason } from '../../../ports/outgoing.ts';
import type { OutgoingChain } from '../../../ports/outgoing-chain.ts';
import type { SignerRefusal } from '../../../ports/outgoing-signer.ts';
import { crashPoint } from '../../../runtime/util/crash-point.ts';
import type { OrderedLeg } from './orders.ts';
import { coverOf, type Cover } from '../../../../state-machines/checkout-session/refund-cover.ts';
import { movesInFlight } from '../../../../state-machines/treasury/moves.ts';
import { openPayout } from '../../../../state-machines/treasury/treasury.machine.ts';
import type { Reservation } from '../../../../state-machines/treasury/treasury.state.ts';
import { helperGone, isTransient, OUTAGE_REASON, RoundFaults, textOf } from '../faults.ts';
import { PayoutBooks, type Found } from './books.ts';
import type { RefundExecutorDeps } from './deps.ts';
import { isGraceOver } from './deposit-grace.ts';
import { RefundRetryState, SEQUENCE_BUSY, WAIT_REASONS, type Waiting } from './retry-state.ts';
import { SentPayouts } from './sent.ts';
import type { LegRef } from './work.ts';
import { reservedOf } from '../reserved.ts';
import { WAIT_LOOKS } from '../turns.ts';
import { InTurn } from '../../../runtime/util/in-turn.ts';

/** Nodes keep only so many transactions of one sender that are not in a block (geth: 16 guaranteed). */
const MAX_IN_FLIGHT = 16;
/** Legs tried in one round. */
const ROUND = 20;

/** One treasury account: at most one payout is between reservation and broadcast at any time. */
export class RefundExecutor {
  readonly #deps: RefundExecutorDeps;
  readonly #retries: RefundRetryState;
  readonly #books: PayoutBooks;
  readonly #sent: SentPayouts;
  readonly #turns = new InTurn();

  constructor(deps: RefundExecutorDeps) {
    this.#deps = deps;
    const stream = treasuryStream(deps.chain.mode, deps.chain.network);
    this.#books = new PayoutBooks(deps, stream);
    this.#retries = new RefundRetryState({ log: deps.log, treasury: stream, nowMs: () => deps.clock.nowMs(), pollMs: deps.pollMs });
    this.#sent = new SentPayouts({
      ...{ deps, books: this.#books, notes: this.#retries },
      replace: (found, draft, why) => this.#replace(found, draft, why),
      fail: (ref, reason, networkFee, excludedTxHash) => this.#fail(ref, reason, networkFee, excludedTxHash),
      finished: (ref) => this.#finished(ref),
    });
  }

  get chain(): OutgoingChain {
    return this.#deps.chain;
  }

  get treasury(): string {
    return this.#deps.treasury;
  }

  /** While the chain or the signer is away, everything waits for it. */
  get waiting(): readonly Waiting[] {
    const { outage, waiting } = this.#retries;
    if (outage === null) return waiting;
    return this.#deps.work.open(this.chain.mode, this.chain.network).map(({ refundId, legId }) => ({ refundId, legId, ...outage }));
  }

  /** What keeps the whole treasury from paying, or null. */
  get alarm(): string | null {
    return this.#retries.alarm;
  }

  /** One look at everything this treasury owes. Throws when the store, the chain or the signer is gone; the next round goes on. */
  round(): Promise<void> {
    return this.#turns.run(async () => {
      const faults = new RoundFaults();
      try {
        await this.#round(faults);
        faults.settle();
        this.#retries.setOutage(null);
      } catch (error) {
        const helper = helperGone(error);
        if (helper) this.#retries.setOutage(OUTAGE_REASON[helper], textOf(error));
        throw error;
      }
    });
  }

  async #round(faults: RoundFaults): Promise<void> {
    const context = await this.#books.treasury();
    const open = openPayout(context);
    // A reservation of another kind of move is that move's to finish.
    const isFree = context.open === null || (open !== null && (await this.#finishOpen(open)));
    const unknown = Object.values(context.unknownOutflows)[0];
    this.#retries.setAlarm('outflow', unknown ? `${unknown.txHash ?? unknown.outflowKey} moved money of ours and is not in the ledger` : null);
    const { mode, network } = this.chain;
    const legs = await this.#readable(this.#deps.work.open(mode, network));
    // A leg that ended could not take the replacement that is reserved for it, and the reservation would hold up everything.
    await this.#sent.follow(isFree ? legs : legs.filter(({ ref }) => ref.legId !== open?.legId), faults);
    await this.#sent.watchLanded(faults);
    if (isFree && !this.#retries.isHalted()) await this.#payPending(await this.#readable(legs.map(({ ref }) => ref)), faults);
  }

  /** What was reserved comes before everything else, since it holds the account's sequence. False while it is not finished. */
  async #finishOpen(open: Reservation): Promise<boolean> {
    if (!this.#retries.turns.isDue(open.legId)) return false;
    try {
      const isFinished = await this.#finish(open);
      this.#retries.setAlarm('reservation', null);
      return isFinished;
    } catch (error) {
      if (isTransient(error) || error instanceof StoreUnavailable) throw error;
      this.#retries.turns.backOff(open.legId);
      this.#retries.setAlarm('reservation', `the payout of ${open.legId} is reserved and cannot be finished: ${textOf(error)}`);
      return false;
    }
  }

  /** What refunds that are not done still take; with `sent`, those alone that are signed and may have taken it already. */
  async owed(which: 'all' | 'sent'): Promise<Reserved> {
    const legs = await this.#legs(this.#deps.work.open(this.chain.mode, this.chain.network));
    return reservedOf(legs.filter(({ leg }) => which === 'all' || leg.status === 'PROCESSING'));
  }

  /** Gives up a leg of this treasury between two rounds, so that it cannot be signed at the same moment. */
  async reject(leg: Pick<LegRef, 'sessionId' | 'refundId' | 'legId'>): Promise<void> {
    const ref = this.#deps.work.open(this.chain.mode, this.chain.network).find(({ legId }) => legId === leg.legId);
    if (!ref) return;
    await this.#turns.run(async () => {
      if (openPayout(await this.#books.treasury())?.legId === ref.legId) throw new Error(`${ref.legId} is being signed`);
      await this.#fail(ref, 'rejected_by_operator', null);
    });
  }

  /* What is owed */

  async #payPending(legs: readonly Found[], faults: RoundFaults): Promise<void> {
    const pending = legs.filter(({ leg }) => leg.status === 'PENDING');
    if (!pending.some(({ ref }) => this.#retries.turns.isDue(ref.legId)) || !(await this.#sequenceAgrees(faults))) return;
    const moves = movesInFlight(await this.#books.treasury());
    const inFlight = legs.filter(({ leg }) => leg.status === 'PROCESSING');
    const mayGoOn = (): boolean => inFlight.length + moves.length < MAX_IN_FLIGHT && this.alarm === null;
    if (!mayGoOn()) return;
    const turns = this.#retries.turns.take(pending, ROUND, { id: ({ ref }) => ref.legId, owner: ({ ref }) => ref.merchantId });
    for (const found of turns) {
      try {
        if (await this.#payOrFail(found, reservedOf(inFlight, moves), faults)) inFlight.push(found);
      } catch (error) {
        faults.judge(error, () => this.#blame(found.ref, error));
        // What it left behind counts: bytes take money, and a reservation is finished before anything else.
        if ((await this.#books.find(found.ref))?.leg.status === 'PROCESSING') inFlight.push(found);
        if ((await this.#books.treasury()).open !== null) return;
      }
      if (!mayGoOn()) return;
    }
  }

  /** True once the payout is signed. */
  async #payOrFail(found: Found, reserved: Reserved, faults: RoundFaults): Promise<boolean> {
    try {
      return await this.#pay(found, reserved, faults);
    } catch (error) {
      if (!(error instanceof TransferImpossible)) throw error;
      const { refundId, legId } = found.ref;
      this.#deps.log.error({ refund: refundId, leg: legId, reason: error.reason, detail: error.message }, 'a refund payout can never be made');
      await this.#fail(found.ref, error.reason, null);
      return false;
    }
  }

  async #pay({ ref, order, context, refund }: Found, reserved: Reserved, faults: RoundFaults): Promise<boolean> {
    const { claim } = refund.requested;
    if (claim && this.#books.nowSec() < claim.payableFromSec) {
      const until = new Date(claim.payableFromSec * 1000).toISOString();
      this.#holdUp(ref, 'waiting_period', `the claim can be withdrawn until shortly before ${until}`);
      return false;
    }
    if (this.#deps.isOurs(order.toAddress) || order.toAddress === this.treasury) {
      await this.#fail(ref, 'rejected_by_policy', null);
      return false;
    }
    const cover = coverOf(context, ref.legId);
    if (cover !== 'final') {
      await this.#missed({ ref, context }, cover);
      return false;
    }
    this.#retries.found(ref);
    const check = await this.chain.check(order, reserved);
    faults.answered('chain');
    if (check.kind === 'fail') await this.#fail(ref, check.reason === 'sender_frozen' ? 'treasury_frozen' : check.reason, null);
    if (check.kind === 'wait') this.#holdUp(ref, check.reason, check.detail);
    if (check.kind !== 'ready') return false;
    const verdict = await this.#deps.signer.check(order);
    faults.answered('signer');
    if (!verdict.ok) {
      await this.#refused(ref, verdict, true);
      return false;
    }
    const { nextNonce, usedNonces } = await this.#books.treasury();
    const draft = await this.chain.draft(order, nextNonce ?? (await this.chain.nextNonce(this.treasury)), usedNonces);
    if (draft !== null) return this.#reserve(ref, order, draft, 1, null);
    this.#retries.wait(ref, 'sequence_busy', SEQUENCE_BUSY);
    return false;
  }

  /** Nothing is signed for it yet. Within a reorganisation the money may come back; once that is over the leg ends. */
  async #missed({ ref, context }: Pick<Found, 'ref' | 'context'>, cover: Exclude<Cover, 'final'>): Promise<void> {
    if (cover === 'awaited') this.#retries.found(ref);
    else if (isGraceOver({ ref, context }, this.#retries, this.#deps)) return this.#fail(ref, 'deposit_reverted', null);
    this.#holdUp(ref, 'deposit_not_final', `the deposits that ${ref.legId} pays back left the chain or are not final again`);
  }

  #blame(ref: LegRef, error: unknown): void {
    this.#deps.log.error({ err: error, refund: ref.refundId, leg: ref.legId }, 'a refund payout cannot go on');
    this.#holdUp(ref, 'unexpected_error', textOf(error));
  }

  /** It waits for a reason of its own, and less often each time. */
  #holdUp(ref: LegRef, reason: WaitReason, detail: string): void {
    this.#retries.turns.backOff(ref.legId);
    this.#retries.wait(ref, reason, detail);
  }

  async #replace({ ref, order, leg }: Found, draft: TransactionDraft | null, why: NonNullable<Reservation['replaces']>['why']): Promise<void> {
    if (draft === null) return this.#retries.wait(ref, 'sequence_busy', SEQUENCE_BUSY);
    const last = leg.payouts.at(-1)!;
    await this.#reserve(ref, order, draft, last.attempt + 1, { txHash: last.txHash, why });
  }

  async #reserve(
    ref: LegRef,
    order: OrderedLeg['order'],
    draft: TransactionDraft,
    attempt: number,
    replaces: Reservation['replaces'],
  ): Promise<boolean> {
    const { mode, network, id: legId } = order;
    const { sessionId, refundId } = ref;
    const reservedAtSec = this.#books.nowSec();
    crashPoint('before-reserve');
    const data: Reservation = {
      ...{ mode, network, sessionId, refundId, legId, attempt, fromAddress: this.treasury, draft, replaces, reservedAtSec },
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
    const signature = await this.#deps.signer.sign({ order: found.order, attempt, draft, ledger: journal });
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
    this.#retries.setAlarm('signer', null);
    this.#retries.goesOn(reservation);
    if (isPaid) return true;
    this.#retries.turns.forget(legId);
    this.#retries.turns.postpone(legId, 1);
    if (await this.#sent.send(ref, [txHash]))
      this.#deps.log.info({ refund: refundId, leg: legId, attempt, tx: txHash, network }, 'a refund payout was sent');
    return true;
  }

  async #refused(ref: LegRef, refusal: SignerRefusal, first: boolean): Promise<void> {
    if (refusal.kind === 'stopped') {
      this.#retries.setAlarm('signer', `the signer refuses to sign: ${refusal.message}`);
      this.#retries.turns.postpone(ref.legId, WAIT_LOOKS);
      return this.#retries.wait(ref, 'payouts_stopped', refusal.message);
    }
    if (refusal.kind === 'denied' && first) {
      this.#deps.log.error({ refund: ref.refundId, leg: ref.legId, code: refusal.code }, 'the signer denied a refund payout');
      return this.#fail(ref, 'rejected_by_policy', null);
    }
    this.#holdUp(ref, WAIT_REASONS[refusal.code] ?? 'policy_limit', refusal.message);
  }

  /**
   * The account's own sequence must be where the ledger is. Ahead: somebody else holds the key. Behind: a node forgot
   * payouts, which block every later one, so they go out again.
   */
  async #sequenceAgrees(faults: RoundFaults): Promise<boolean> {
    const { nextNonce, recent } = await this.#books.treasury();
    const next = await this.chain.nextNonce(this.treasury);
    if (next === null) return true;
    faults.answered('chain');
    if (next > (nextNonce ?? 0)) {
      this.#retries.setAlarm(
        'sequence',
        `${this.treasury} has sent ${next} transactions on ${this.chain.network}, the ledger knows ${nextNonce ?? 0}: somebody else holds its key`,
      );
      return false;
    }
    this.#retries.setAlarm('sequence', null);
    for (const taken of recent.filter(({ nonce }) => nonce !== null && nonce >= next)) {
      const found = await this.#books.find({ ...taken, mode: this.chain.mode, network: this.chain.network } as unknown as LegRef);
      const payout = found?.leg.payouts.find(({ txHash }) => txHash === taken.txHash);
      const isOwed = found?.leg.status === 'COMPLETED' && coverOf(found.context, found.leg.leg.legId) === 'final';
      if (payout && isOwed) await this.chain.broadcast(payout);
    }
    return true;
  }

  /* Small parts */

  async #legs(refs: readonly LegRef[]): Promise<Found[]> {
    const found: Found[] = [];
    for (const ref of refs) found.push(...(await this.#leg(ref)));
    return found;
  }

  /** The same without those whose session cannot be read, which must not hold up the others. */
  async #readable(refs: readonly LegRef[]): Promise<Found[]> {
    const found: Found[] = [];
    for (const ref of refs) {
      try {
        found.push(...(await this.#leg(ref)));
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        if (this.#retries.turns.isDue(ref.legId)) this.#blame(ref, error);
      }
    }
    return found;
  }

  /** None once it has ended. */
  async #leg(ref: LegRef): Promise<Found[]> {
    const found = await this.#books.find(ref);
    if (found && found.leg.status !== 'COMPLETED' && found.leg.status !== 'FAILED') return [found];
    this.#finished(ref);
    return [];
  }

  async #fail(ref: LegRef, reason: RefundFailureReason, networkFee: string | null, excludedTxHash?: string): Promise<void> {
    const found = await this.#books.find(ref);
    await this.#books.tellSession(ref, {
      type: 'FailPayout',
      refundId: ref.refundId,
      legId: ref.legId,
      reason,
      networkFee,
      ...(excludedTxHash !== undefined && { excludedTxHash }),
      nowSec: this.#books.nowSec(),
      valuation: found && this.#books.valuationOf(found.context, found.context.created!.dueCoin),
    });
    this.#finished(ref);
    this.#deps.log.warn({ refund: ref.refundId, leg: ref.legId, reason }, 'a refund payout failed');
  }

  #finished(ref: LegRef): void {
    this.#retries.forget(ref);
    this.#deps.work.done(ref);
  }
}
