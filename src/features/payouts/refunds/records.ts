import type { Valuation } from '../../../domain/events/coin-events.ts';
import type { MoveFailureReason } from '../../../domain/events/treasury-move-events.ts';
import type { TransactionDraft } from '../../../domain/events/transaction-draft.ts';
import type { RefundFailureReason } from '../../../domain/events/refund-failures.ts';
import type { Coin } from '../../../domain/money/money.ts';
import { sessionStream } from '../../../domain/values/streams.ts';
import { toSec, type Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import {
  fundedBy,
  type LandedTransaction,
  type Reserved,
  type SentTransaction,
} from '../../../ports/outgoing/transaction.ts';
import type { Random } from '../../../ports/random.ts';
import { crashPoint } from '../../../runtime/util/crash-point.ts';
import type { PayoutCommand } from '../../../../state-machines/checkout-session/payouts.decider.ts';
import { coverOf, goneSinceSec } from '../../../../state-machines/checkout-session/refund-cover.ts';
import type { SessionContext } from '../../../../state-machines/checkout-session/session.state.ts';
import { movesInFlight } from '../../../../state-machines/treasury/moves.ts';
import { lastOfLeg, openPayout } from '../../../../state-machines/treasury/treasury.machine.ts';
import type { TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import type { SessionHandler } from '../../shared/handlers/session-handler.ts';
import type { TreasuryAccount } from '../account.ts';
import type { RoundFaults } from '../faults.ts';
import type { Failure } from '../failure.ts';
import {
  isSigned,
  type Missing,
  type NewlySigned,
  type OpenListener,
  type Outgoing,
  type OutgoingRecords,
  type Precondition,
  type Sequence,
} from '../records.ts';
import { reservedOf } from '../reserved.ts';
import type { WaitFacts } from '../retry-state.ts';
import { orderedLeg, type OrderedLeg } from './orders.ts';
import type { LegRef, PayoutWork } from './work.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';

export interface RefundNames {
  readonly refundId: string;
  readonly legId: string;
}
/** Why a leg is not paid yet, for people. */
export type WaitingRefund = RefundNames & WaitFacts;

type LegIds = Pick<LegRef, 'sessionId' | 'refundId' | 'legId'>;

interface RefundRef extends LegIds {
  readonly id: string;
  readonly names: RefundNames;
  readonly logged: { readonly session: string; readonly refund: string; readonly leg: string };
}

/** A leg with everything known about it. */
export interface Leg extends OrderedLeg, Outgoing {
  readonly ref: RefundRef;
  readonly context: SessionContext;
}

export interface RefundRecordsDeps {
  readonly sessions: SessionHandler;
  readonly work: PayoutWork;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** True for every collection address ever assigned. */
  readonly isOurs: (address: string) => boolean;
  readonly valuation: (currency: string, coin: Coin) => Valuation | null;
}

/** Nodes keep only a limited number of pending transactions per sender (geth guarantees 16). */
const MAX_IN_FLIGHT = 16;

/**
 * Legs of refunds. They are recorded in the streams of their sessions, which hold the money and notify the merchant.
 * The sequence belongs to the treasury.
 */
export class RefundRecords implements OutgoingRecords<Leg> {
  readonly words = { one: 'a refund payout', all: 'payouts' };
  readonly doneOnce = 'landed';
  readonly graceAfterStart = 0.1;
  readonly #account: TreasuryAccount;
  readonly #deps: RefundRecordsDeps;

  constructor(account: TreasuryAccount, deps: RefundRecordsDeps) {
    this.#account = account;
    this.#deps = deps;
  }

  async open({ ended, unreadable }: OpenListener<RefundRef>): Promise<readonly Leg[]> {
    const legs: Leg[] = [];
    for (const ref of this.openRefs()) {
      try {
        const leg = await this.#openLeg(ref);
        if (leg) legs.push(leg);
        else {
          this.#done(ref);
          ended(ref);
        }
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        unreadable(ref, error);
      }
    }
    return legs;
  }

  openRefs(): readonly RefundRef[] {
    const { mode, network } = this.#account.chain;
    return this.#deps.work.open(mode, network).map(refOf);
  }

  async find(ref: LegIds): Promise<Leg | null> {
    const state = await this.#deps.sessions.read(sessionStream(ref.sessionId));
    const ordered = state && orderedLeg(state.context, ref.refundId, ref.legId, this.#account.address);
    return ordered && { ...ordered, ref: refOf(ref), context: state.context, signed: ordered.leg.payouts };
  }

  reservation(context: TreasuryContext): { readonly ref: RefundRef; readonly sequence: Sequence } | null {
    const open = openPayout(context);
    return open && { ref: refOf(open), sequence: open };
  }

  ownerOf({ context }: Leg): string {
    return context.created?.merchantId ?? '';
  }

  /**
   * What refunds have reserved, signed or not; with `sent`, only those that are signed and may have spent it already.
   */
  async owed(which: 'all' | 'sent'): Promise<Reserved> {
    const legs: Leg[] = [];
    for (const ref of this.openRefs()) {
      const leg = await this.#openLeg(ref);
      if (leg && (which === 'all' || isSigned(leg))) legs.push(leg);
    }
    return reservedOf(legs);
  }

  mayStart(_leg: Leg, inFlight: readonly Leg[], context: TreasuryContext): boolean {
    return inFlight.length + movesInFlight(context).length < MAX_IN_FLIGHT;
  }

  precondition({ order }: Leg): Precondition {
    const isOwn = this.#deps.isOurs(order.toAddress) || order.toAddress === this.#account.address;
    return isOwn ? { kind: 'fail', reason: 'rejected_by_policy' } : { kind: 'ready' };
  }

  async reserved(_leg: Leg, inFlight: readonly Leg[], context: TreasuryContext): Promise<Reserved> {
    return reservedOf(inFlight, movesInFlight(context));
  }

  async missing({ ref }: Leg): Promise<Missing | null> {
    const found = await this.find(ref);
    if (!found) throw new Error(`${ref.id} is unknown to its session`);
    const cover = coverOf(found.context, ref.legId);
    if (cover === 'final') return null;
    const detail = 'the deposits that it refunds left the chain or are not final again';
    return { isAwaited: cover === 'awaited', goneSinceSec: goneSinceSec(found.context), detail };
  }

  async lastDraft({ ref }: Leg): Promise<TransactionDraft | undefined> {
    return lastOfLeg(await this.#account.context(), ref.legId)?.draft;
  }

  async forgotten(fromNonce: number): Promise<readonly SentTransaction[]> {
    const { recent } = await this.#account.context();
    const sent: SentTransaction[] = [];
    for (const taken of recent) {
      if (taken.nonce === null || taken.nonce < fromNonce) continue;
      const found = await this.find(taken);
      const payout = found?.signed.find(({ txHash }) => txHash === taken.txHash);
      const isOwed = found?.leg.status === 'COMPLETED' && coverOf(found.context, taken.legId) === 'final';
      if (payout && isOwed && (await this.#account.chain.holds(fundedBy(found.order)))) sent.push(payout);
    }
    return sent;
  }

  async reserve({ ref, order }: Leg, sequence: Sequence): Promise<boolean> {
    const { sessionId, refundId, legId } = ref;
    const { mode, network } = order;
    crashPoint('before-reserve');
    const isReserved = await this.#tellTreasury({
      type: 'ReservePayoutSequence',
      data: { mode, network, sessionId, refundId, legId, ...sequence },
    });
    if (isReserved) crashPoint('after-reserve');
    return isReserved;
  }

  async release(
    { legId }: RefundRef,
    released: { attempt: number; reason: string; releasedAtSec: number },
  ): Promise<void> {
    await this.#tellTreasury({ type: 'ReleasePayoutSequence', data: { legId, ...released } });
  }

  async recordSigned(
    { ref, order, leg }: Leg,
    { journal, ...signed }: NewlySigned,
    { replaces }: Sequence,
  ): Promise<boolean> {
    const { legId } = ref;
    const { attempt, txHash } = signed;
    const data = { refundId: ref.refundId, legId, fromAddress: order.fromAddress, ...signed };
    crashPoint('after-sign');
    // An earlier transaction of the leg may have ended it in another process. This one has the same nonce and is never
    // sent then.
    const hasEnded = leg.status === 'COMPLETED' || leg.status === 'FAILED';
    if (!hasEnded) await this.#tellSession(ref, { type: 'RecordPayoutSigned', data, replaces });
    crashPoint('after-signed-event');
    await this.#tellTreasury({ type: 'RecordPayoutSequenceSigned', data: { legId, attempt, txHash, journal } });
    crashPoint('after-sequence-event');
    return !hasEnded;
  }

  async complete({ ref, leg, context }: Leg, landed: LandedTransaction): Promise<void> {
    crashPoint('before-landed-event');
    await this.#tellSession(ref, {
      type: 'RecordPayoutLanded',
      data: { refundId: ref.refundId, legId: ref.legId, ...landed, landedAtSec: this.#nowSec() },
      valuation: this.#valuationOf(context, leg.leg.coin),
    });
    crashPoint('after-landed-event');
    this.#done(ref);
  }

  async fail({ ref, signed }: Leg, { reason, ineffective }: Failure): Promise<void> {
    const found = await this.find(ref);
    const excluded = reason === 'deposit_reverted' ? signed.at(-1)?.txHash : undefined;
    await this.#tellSession(ref, {
      type: 'FailPayout',
      refundId: ref.refundId,
      legId: ref.legId,
      reason: failureOf(reason),
      networkFee: ineffective?.networkFee ?? null,
      ...(excluded !== undefined && { excludedTxHash: excluded }),
      nowSec: this.#nowSec(),
      valuation: found?.context.created ? this.#valuationOf(found.context, found.context.created.dueCoin) : null,
    });
    this.#done(ref);
  }

  landed(): readonly RefundRef[] {
    const { mode, network } = this.#account.chain;
    return this.#deps.work.landed(mode, network).map(refOf);
  }

  async watch(
    ref: RefundRef,
    faults: RoundFaults,
  ): Promise<{ readonly item: Leg; readonly sent: SentTransaction } | null> {
    const { log, work } = this.#deps;
    const { mode, network } = this.#account.chain;
    const { legId } = ref;
    const { landedTxHash: txHash, landedIn } = (await this.find(ref))?.leg ?? {};
    if (!txHash || !landedIn) {
      work.markFinal({ mode, network, legId });
      return null;
    }
    const { vanished, withheld, final, headNumber } = await this.#account.chain.hasVanished({ txHash, ...landedIn });
    faults.answered('chain');
    const place = { ...ref.logged, tx: txHash, network };
    if (final) work.markFinal({ mode, network, legId });
    if (withheld) log.warn(place, 'a provider does not show a completed refund payout whose block is in the chain');
    if (!vanished) return null;
    log.error(place, 'a completed refund payout left the chain');
    await this.#tellSession(ref, {
      type: 'RecordPayoutReverted',
      data: { refundId: ref.refundId, legId, txHash, headNumber },
    });
    crashPoint('after-reverted-event');
    work.markFinal({ mode, network, legId });
    const item = await this.find(ref);
    const sent = item?.signed.find((payout) => payout.txHash === txHash);
    return item && sent ? { item, sent } : null;
  }

  /** Null once it has ended. */
  async #openLeg(ref: LegIds): Promise<Leg | null> {
    const found = await this.find(ref);
    return found && found.leg.status !== 'COMPLETED' && found.leg.status !== 'FAILED' ? found : null;
  }

  #done({ legId }: LegIds): void {
    const { mode, network } = this.#account.chain;
    this.#deps.work.done({ mode, network, legId });
  }

  #valuationOf({ created }: SessionContext, coin: Coin): Valuation | null {
    return created?.rateLock ? this.#deps.valuation(created.currency, coin) : null;
  }

  async #tellSession({ sessionId, legId }: LegIds, command: PayoutCommand): Promise<void> {
    const why = { correlationId: this.#deps.random.uuid(), actor: ACTOR };
    const result = await this.#deps.sessions.execute(sessionStream(sessionId), command, why);
    if (!result.ok) throw new Error(`${command.type} was refused for ${legId}: ${result.refusal.message}`);
  }

  /** False if the treasury refuses. */
  async #tellTreasury(command: Parameters<TreasuryAccount['tell']>[0]): Promise<boolean> {
    const reason = await this.#account.tell(command, ACTOR);
    if (reason !== null)
      this.#deps.log.warn({ treasury: this.#account.stream, command: command.type, reason }, 'the treasury refused');
    return reason === null;
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }
}

const ACTOR = 'pay-refunds';

export const refOf = ({ sessionId, refundId, legId }: LegIds): RefundRef => ({
  ...{ sessionId, refundId, legId, id: legId },
  names: { refundId, legId },
  logged: { session: sessionId, refund: refundId, leg: legId },
});

/** The failure as merchants see it, without naming the account. */
const failureOf = (reason: MoveFailureReason): RefundFailureReason =>
  reason === 'sender_frozen' ? 'treasury_frozen' : reason;
