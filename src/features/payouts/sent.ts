import { isCancelling, type ReplacementReason, type TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { isOwed } from '../../domain/events/treasury-move-events.ts';
import {
  fundedBy,
  type Fate,
  isReplaceable,
  type LandedTransaction,
  mayStillLand,
  NOTHING_RESERVED,
  type OutgoingKind,
  type SentTransaction,
  treasuryOf,
} from '../../ports/outgoing/transaction.ts';
import type { BroadcastAnswer, OutgoingChain } from '../../ports/outgoing/chain.ts';
import type { OutgoingSigner } from '../../ports/outgoing/signer.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { withLogContext } from '../../runtime/util/log-context.ts';
import type { RoundFaults } from './faults.ts';
import type { Failure } from './failure.ts';
import type { Missing, Outgoing, OutgoingRecords } from './records.ts';
import { type RetryState, WAIT_REASONS } from './retry-state.ts';

/** Completed transactions checked per round while they can still leave the chain. */
const ROUND = 20;
const UNSEEN_AFTER_MS = 600_000;
/** Fees that rise for a shorter time than this are waited out. */
const MORE_GAS_AFTER_MS = 3_600_000;

interface Parts<Item extends Outgoing> {
  readonly chain: OutgoingChain;
  readonly signer: Pick<OutgoingSigner, 'release'>;
  readonly records: OutgoingRecords<Item>;
  readonly retries: RetryState<Item['ref']>;
  readonly nowMs: () => number;
  readonly replace: (item: Item, draft: TransactionDraft | null, why: ReplacementReason) => Promise<void>;
  readonly complete: (item: Item, landed: LandedTransaction) => Promise<void>;
  readonly fail: (item: Item, failure: Failure) => Promise<void>;
  readonly blame: (ref: Item['ref'], error: unknown) => void;
}

/** Follows signed bytes until the chain cannot revert them: send again, replace, cancel, give up. */
export class SentTransactions<Item extends Outgoing> {
  readonly #parts: Parts<Item>;

  constructor(parts: Parts<Item>) {
    this.#parts = parts;
  }

  async follow(sent: readonly Item[], faults: RoundFaults): Promise<void> {
    const { chain, retries, blame } = this.#parts;
    for (const item of retries.turns.due(sent, ({ ref }) => ref.id)) {
      retries.turns.postpone(item.ref.id, 1);
      try {
        const fate = await chain.fate(item.order, item.signed);
        faults.answered('chain');
        await withLogContext(item.ref.logged, () => this.#act(item, fate));
      } catch (error) {
        faults.judge(error, () => blame(item.ref, error));
      }
    }
  }

  /** Keeps checking completed orders until the chain cannot revert them. */
  async watchLanded(faults: RoundFaults): Promise<void> {
    const { records, retries, blame } = this.#parts;
    for (const ref of retries.turns.due(records.landed(), ({ id }) => id).slice(0, ROUND)) {
      retries.turns.postpone(ref.id, 1);
      try {
        const again = await records.watch(ref, faults);
        if (again) await this.send(again.item, [again.sent]);
      } catch (error) {
        faults.judge(error, () => blame(ref, error));
      }
    }
  }

  /** Sends bytes unless the money that they pay back is gone; then nobody receives them before it is back. */
  async send(item: Item, sent: readonly SentTransaction[]): Promise<boolean> {
    const missing = (await this.#missing(item)) ?? (await this.#unseen(item));
    if (missing) this.#withhold(item, missing, true);
    else {
      this.#parts.retries.goesOn(item.ref);
      await this.#broadcast(sent);
    }
    return missing === null;
  }

  async #broadcast(sent: readonly SentTransaction[]): Promise<void> {
    for (const transaction of sent) await this.#parts.chain.broadcast(transaction);
  }

  async #act(item: Item, fate: Fate): Promise<void> {
    const { retries, records } = this.#parts;
    if (fate.kind === 'alarm') return retries.setAlarm(item.ref.id, fate.detail);
    if (!retries.isWithheld(item.ref)) retries.setAlarm(item.ref.id, null);
    switch (fate.kind) {
      case 'landed':
        return records.doneOnce === 'landed' || fate.final ? this.#parts.complete(item, fate.landed) : undefined;
      case 'ineffective': {
        const isCancelled = item.signed.some((sent) => sent.txHash === fate.txHash && isCancelling(sent));
        return this.#giveUp(item, {
          reason: isCancelled ? 'deposit_reverted' : 'execution_reverted',
          ineffective: fate,
        });
      }
      default:
        return this.#goOn(item, fate);
    }
  }

  /** Acts on a transaction that is in no canonical block, so that it gets into one. */
  async #goOn(item: Item, fate: Extract<Fate, { kind: 'never' | 'absent' | 'pending' }>): Promise<void> {
    const { chain, retries, replace } = this.#parts;
    const missing = await this.#missing(item);
    if (missing) {
      this.#withhold(item, missing, fate.kind !== 'pending');
      return fate.kind === 'pending' && fate.inBlock ? undefined : this.#endWhenDue(item, missing, fate.kind);
    }
    switch (fate.kind) {
      case 'never':
        if (isCancelled(item)) return this.#giveUp(item, { reason: 'deposit_reverted', ineffective: null });
        if (await this.#lacksMoney(item)) return;
        return replace(item, await chain.draft(item.order, null, {}), 'can_never_land');
      case 'absent': {
        const unseen = await this.#unseen(item);
        if (unseen) return this.#withhold(item, unseen, true);
        retries.covered(item.ref);
        return this.#sendAgain(item);
      }
      case 'pending':
        retries.covered(item.ref);
        if (fate.unseen !== undefined) return this.#waitForSight(item, fate.unseen);
        return fate.inBlock ? retries.goesOn(item.ref) : this.#bumpWhenDue(item);
    }
  }

  /** Nodes show a transaction a moment after its effect. One that they have deleted is shown by no waiting. */
  #waitForSight(item: Item, unseen: string): void {
    const { retries, nowMs } = this.#parts;
    if (retries.sentSince.outMs(item.ref.id, newest(item), nowMs()) < UNSEEN_AFTER_MS) return retries.goesOn(item.ref);
    retries.wait(item.ref, 'not_shown', unseen);
  }

  /** What could not be paid once cannot be paid again: a replacement would only use up what may be signed in a day. */
  async #lacksMoney({ order, ref }: Item): Promise<boolean> {
    const { chain, retries } = this.#parts;
    const check = await chain.check(order, NOTHING_RESERVED);
    if (check.kind === 'wait') retries.wait(ref, check.reason, check.detail);
    return check.kind === 'wait';
  }

  /** Nodes also drop, and refuse again, transactions that offer less than the network requires. */
  async #sendAgain(item: Item): Promise<void> {
    const { chain, retries } = this.#parts;
    let said: readonly BroadcastAnswer[] = [];
    for (const sent of mayStillLand(item.signed)) said = await chain.broadcast(sent);
    const refused = refusalIn(said);
    return refused === null ? this.#bumpWhenDue(item) : retries.wait(item.ref, 'broadcast_refused', refused);
  }

  /** Raises the fee once a transaction has been in flight for long. */
  async #bumpWhenDue(item: Item): Promise<void> {
    const { chain, retries, records, replace, nowMs } = this.#parts;
    const last = newest(item);
    const outMs = retries.sentSince.outMs(item.ref.id, last, nowMs());
    const isDue = isReplaceable(last) && outMs >= chain.bumpAfterMs;
    // A higher fee does not help while an earlier place in the sequence is empty.
    const waitsForPlace = retries.isWithholding && treasuryOf(item.order) === item.order.fromAddress;
    const draft = isDue && !waitsForPlace ? await records.lastDraft(item) : undefined;
    if (!draft) return retries.goesOn(item.ref);
    const bumped = await chain.bump(draft, item.order);
    if (bumped) return replace(item, bumped, 'fee_bump');
    retries.wait(
      item.ref,
      'network_fee_too_high',
      'the network wants more for a replacement than the limit, or the gas of its address, allows',
    );
    if (outMs >= MORE_GAS_AFTER_MS) await this.#orderMoreGas(item);
  }

  /** A sweep whose gas was given at low fees would otherwise wait until fees are that low again. */
  async #orderMoreGas(item: Item): Promise<void> {
    const { chain, records } = this.#parts;
    const check = await chain.check(item.order, NOTHING_RESERVED);
    if (check.kind === 'needs_gas') await records.topUp?.(item, check.amount);
  }

  /** What the order pays back, if that is not final. A transaction that moves nothing pays nothing back. */
  async #missing(item: Item): Promise<Missing | null> {
    return isCancelled(item) ? null : this.#parts.records.missing(item);
  }

  /**
   * The same in the chain itself. A reorganisation that took the payout out may have taken its deposits too, and the
   * watcher records that only after it looked several times.
   */
  async #unseen(item: Item): Promise<Missing | null> {
    const cover = isCancelled(item) ? [] : fundedBy(item.order);
    if (cover.length === 0 || (await this.#parts.chain.holds(cover))) return null;
    return { isAwaited: true, goneSinceSec: null, detail: 'the chain does not show what it pays back as final' };
  }

  /** `isUnseen`: no node has it, so its place in the account's sequence is empty. */
  #withhold(item: Item, { detail }: Missing, isUnseen: boolean): void {
    const { txHash, validity } = newest(item);
    this.#parts.retries.withhold(
      item.ref,
      `${txHash} of ${item.ref.id} waits: ${detail}`,
      isUnseen && validity.kind === 'evm-nonce',
    );
  }

  /**
   * Once the money is gone for good, ends an order that can never land. If its missing transaction would block all
   * later ones, a transaction that moves nothing takes its place: one of the two lands and ends the order.
   */
  async #endWhenDue(item: Item, missing: Missing, fate: 'never' | 'absent' | 'pending'): Promise<void> {
    const { chain, retries, records, replace } = this.#parts;
    if (!retries.isGone(item.ref, missing)) return;
    if (fate === 'never') return this.#giveUp(item, { reason: 'deposit_reverted', ineffective: null });
    if (chain.cancel === undefined) return;
    const draft = await records.lastDraft(item);
    const cancel = draft && (await chain.cancel(draft));
    if (cancel) return replace(item, cancel, 'cancel');
    retries.wait(item.ref, 'network_fee_too_high', 'the network wants more for a cancellation than the limit allows');
  }

  /** Releases the reserved money at the signer, once it has seen for itself that nothing was paid. */
  async #giveUp(item: Item, failure: Failure): Promise<void> {
    const { signer, retries, fail } = this.#parts;
    const { kind } = item.order;
    // That a nonce account was not made lets the signer sign for another one; the move ends in any case.
    const asks = takesFromOthers(kind) || kind === 'nonce_account';
    const released = asks ? await signer.release(item.order, failure.ineffective?.blockNumber) : null;
    if (takesFromOthers(kind) && released?.ok === false)
      return retries.wait(item.ref, WAIT_REASONS[released.code] ?? 'chain_unavailable', released.message);
    crashPoint('after-release');
    return fail(item, failure);
  }
}

/** Null if a node took the transaction or asked for a higher fee, or if none said anything: then the fee may be raised. */
function refusalIn(said: readonly BroadcastAnswer[]): string | null {
  const refused = said.filter(({ kind }) => kind === 'refused');
  if (refused.length === 0 || said.some(({ kind }) => kind === 'taken' || kind === 'underpriced')) return null;
  return refused.map(({ provider, text }) => `${provider} refuses it: ${text}`).join('; ');
}

/** Paid from deposits, or from an account in the books: the signer counts it until it is released. */
const takesFromOthers = (kind: OutgoingKind): boolean => kind === 'refund' || isOwed(kind);

/** The newest signed transaction. */
function newest({ ref, signed }: Outgoing): Outgoing['signed'][number] {
  const last = signed.at(-1);
  if (!last) throw new Error(`nothing is signed for ${ref.id}`);
  return last;
}

/** The transaction signed last takes the nonce and moves nothing. */
const isCancelled = (item: Outgoing): boolean => isCancelling(newest(item));
