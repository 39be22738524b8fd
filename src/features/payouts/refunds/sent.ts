import type { RefundFailureReason } from '../../../domain/events/refund-failures.ts';
import { isCancelling, type TransactionDraft } from '../../../domain/events/transaction-draft.ts';
import type { RefundId } from '../../../domain/ids.ts';
import { type Fate, mayStillLand, waitsUnseen } from '../../../ports/outgoing.ts';
import type { OutgoingChain } from '../../../ports/outgoing-chain.ts';
import { crashPoint } from '../../../runtime/util/crash-point.ts';
import { coverOf } from '../../../../state-machines/checkout-session/refund-cover.ts';
import { lastOfLeg } from '../../../../state-machines/treasury/treasury.machine.ts';
import type { Reservation } from '../../../../state-machines/treasury/treasury.state.ts';
import { textOf, type RoundFaults } from '../faults.ts';
import type { Found, PayoutBooks } from './books.ts';
import type { RefundExecutorDeps } from './deps.ts';
import { isGraceOver } from './deposit-grace.ts';
import type { RefundRetryState } from './retry-state.ts';
import type { LegRef } from './work.ts';

/** Legs looked at in one round. */
const ROUND = 20;

interface Parts {
  readonly deps: RefundExecutorDeps;
  readonly books: PayoutBooks;
  readonly notes: RefundRetryState;
  readonly replace: (found: Found, draft: TransactionDraft | null, why: NonNullable<Reservation['replaces']>['why']) => Promise<void>;
  readonly fail: (ref: LegRef, reason: RefundFailureReason, networkFee: string | null, excludedTxHash?: string) => Promise<void>;
  readonly finished: (ref: LegRef) => void;
}

/** Payouts of one treasury whose bytes exist, until the chain cannot take them back. */
export class SentPayouts {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get #chain(): OutgoingChain {
    return this.#parts.deps.chain;
  }

  async follow(legs: readonly Found[], faults: RoundFaults): Promise<void> {
    const { notes } = this.#parts;
    const sent = legs.filter(({ leg }) => leg.status === 'PROCESSING');
    for (const found of notes.turns.due(sent, ({ ref }) => ref.legId).slice(0, ROUND)) {
      const { ref, order, leg } = found;
      notes.turns.postpone(ref.legId, 1);
      try {
        const fate = await this.#chain.fate(order, leg.payouts);
        faults.answered('chain');
        if (fate.kind === 'alarm') notes.setAlarm(ref.legId, fate.detail);
        else await this.#act(found, fate);
        notes.turns.clear(ref.legId);
      } catch (error) {
        faults.judge(error, () => this.#blame(ref, error));
      }
    }
  }

  /** A payout that was reported as done stays watched until the chain cannot take it back. */
  async watchLanded(faults: RoundFaults): Promise<void> {
    const { deps, notes } = this.#parts;
    const landed = deps.work.landed(this.#chain.mode, this.#chain.network);
    for (const ref of notes.turns.due(landed, ({ legId }) => legId).slice(0, ROUND)) {
      notes.turns.postpone(ref.legId, 1);
      try {
        await this.#watch(ref, faults);
      } catch (error) {
        faults.judge(error, () => this.#blame(ref, error));
      }
    }
  }

  /** Lets the bytes out, unless the money that they pay back is gone: then nobody hears of them before it is there again. */
  async send(ref: LegRef, txHashes: readonly string[]): Promise<boolean> {
    const { books, notes } = this.#parts;
    // Read anew: the deposit may have left while the signer was asked.
    const found = await books.find(ref);
    if (!found || (!isCancelled(found) && coverOf(found.context, ref.legId) !== 'final')) {
      if (found) this.#withhold(found);
      return false;
    }
    notes.goesOn(ref);
    for (const payout of found.leg.payouts) if (txHashes.includes(payout.txHash)) await this.#chain.broadcast(payout);
    return true;
  }

  async #act(found: Found, fate: Exclude<Fate, { kind: 'alarm' }>): Promise<void> {
    const { ref, leg, order, context } = found;
    const { notes, deps } = this.#parts;
    if (!notes.isWithheld(ref)) notes.setAlarm(ref.legId, null);
    switch (fate.kind) {
      case 'landed':
        return this.#land(found, fate.landed);
      case 'ineffective': {
        const released = await deps.signer.release(order);
        if (!released.ok) return notes.wait(ref, 'signer_unavailable', released.message);
        crashPoint('after-release');
        return leg.payouts.some((payout) => payout.txHash === fate.txHash && isCancelling(payout))
          ? this.#parts.fail(ref, 'deposit_reverted', fate.networkFee, leg.txHashes.at(-1))
          : this.#parts.fail(ref, 'execution_reverted', fate.networkFee);
      }
      case 'never':
        if (coverOf(context, ref.legId) !== 'final') return this.#giveUp(found);
        return this.#parts.replace(found, await this.#chain.draft(order, null, {}), 'can_never_land');
      case 'absent': {
        const sent = await this.send(
          ref,
          mayStillLand(leg.payouts).map(({ txHash }) => txHash),
        );
        if (!sent) return this.#cancelWhenDue(found);
        return waitsUnseen(leg.payouts) ? this.#bumpWhenDue(found) : undefined;
      }
      case 'pending':
        if (!isCancelled(found) && coverOf(context, ref.legId) !== 'final') {
          notes.withhold(ref, `a node has the transaction of ${ref.legId}, whose deposits are no longer final: it may land`, false);
          return fate.inBlock ? undefined : this.#cancelWhenDue(found);
        }
        notes.goesOn(ref);
        return fate.inBlock ? undefined : this.#bumpWhenDue(found);
    }
  }

  /** Offers more for the same once it is out for long. */
  async #bumpWhenDue(found: Found): Promise<void> {
    const { ref, leg } = found;
    const { notes, deps, books } = this.#parts;
    const outMs = notes.sentSince.outMs(ref.legId, leg.payouts.at(-1)!, deps.clock.nowMs());
    const draft = lastOfLeg(await books.treasury(), ref.legId)?.draft;
    // A higher fee helps nothing that waits for its place in the sequence.
    if (outMs < this.#chain.bumpAfterMs || !draft || notes.isWithholding) return;
    const bumped = await this.#chain.bump(draft);
    return bumped
      ? this.#parts.replace(found, bumped, 'fee_bump')
      : notes.wait(ref, 'network_fee_too_high', 'the network wants more for a replacement than the limit allows');
  }

  /**
   * The money is gone for good and what was signed keeps every later payout from landing: a transaction that moves nothing takes its nonce.
   * One of the two lands, and the leg ends by it.
   */
  async #cancelWhenDue(found: Found): Promise<void> {
    const { ref, context } = found;
    const { notes, deps, books, replace } = this.#parts;
    if (coverOf(context, ref.legId) !== 'gone') return notes.found(ref);
    if (this.#chain.cancel === undefined || !isGraceOver(found, notes, deps)) return;
    const draft = lastOfLeg(await books.treasury(), ref.legId)?.draft;
    const cancel = draft && (await this.#chain.cancel(draft));
    if (!cancel) return notes.wait(ref, 'network_fee_too_high', 'the network wants more for a cancellation than the limit allows');
    await replace(found, cancel, 'cancel');
  }

  #withhold({ ref, leg }: Found): void {
    const last = leg.payouts.at(-1)!;
    const detail = `${last.txHash} of ${ref.legId} is signed and not sent, since the deposits that it pays back are no longer final`;
    this.#parts.notes.withhold(ref, detail, last.validity.kind === 'evm-nonce');
  }

  /** Nothing that was signed can land any more and the money is gone: it ends, once the signer saw so itself. */
  async #giveUp(found: Found): Promise<void> {
    const { ref, order, leg, context } = found;
    const { notes, deps } = this.#parts;
    this.#withhold(found);
    if (coverOf(context, ref.legId) !== 'gone') return notes.found(ref);
    if (!isGraceOver(found, notes, deps)) return;
    const released = await deps.signer.release(order);
    if (!released.ok) return notes.wait(ref, 'signer_unavailable', released.message);
    crashPoint('after-release');
    return this.#parts.fail(ref, 'deposit_reverted', null, leg.txHashes.at(-1));
  }

  async #land({ ref, leg, context }: Found, landed: Extract<Fate, { kind: 'landed' }>['landed']): Promise<void> {
    const { books, deps, finished } = this.#parts;
    crashPoint('before-landed-event');
    await books.tellSession(ref, {
      type: 'RecordPayoutLanded',
      data: { refundId: ref.refundId as RefundId, legId: ref.legId, ...landed, landedAtSec: books.nowSec() },
      valuation: books.valuationOf(context, leg.leg.coin),
    });
    crashPoint('after-landed-event');
    finished(ref);
    deps.log.info({ refund: ref.refundId, leg: ref.legId, tx: landed.txHash, network: ref.network }, 'a refund payout landed');
  }

  async #watch(ref: LegRef, faults: RoundFaults): Promise<void> {
    const { books, deps } = this.#parts;
    const { landedTxHash: txHash, landedIn } = (await books.find(ref))?.leg ?? {};
    if (!txHash || !landedIn) return deps.work.markFinal(ref);
    const { vanished, withheld, final, headNumber } = await this.#chain.hasVanished({ txHash, ...landedIn });
    faults.answered('chain');
    const place = { refund: ref.refundId, leg: ref.legId, tx: txHash, network: ref.network };
    if (final) deps.work.markFinal(ref);
    if (withheld) deps.log.warn(place, 'a provider does not show a completed refund payout whose block is in the chain');
    if (!vanished) return;
    deps.log.error(place, 'a completed refund payout left the chain');
    await books.tellSession(ref, {
      type: 'RecordPayoutReverted',
      data: { refundId: ref.refundId as RefundId, legId: ref.legId, txHash, headNumber },
    });
    crashPoint('after-reverted-event');
    deps.work.markFinal(ref);
    await this.send(ref, [txHash]);
  }

  #blame(ref: LegRef, error: unknown): void {
    const { notes, deps } = this.#parts;
    notes.turns.backOff(ref.legId);
    deps.log.error({ err: error, refund: ref.refundId, leg: ref.legId }, 'a refund payout cannot go on');
    notes.wait(ref, 'unexpected_error', textOf(error));
  }
}

/** What was signed last takes the nonce and moves nothing. */
const isCancelled = ({ leg }: Found): boolean => isCancelling(leg.payouts.at(-1)!);
