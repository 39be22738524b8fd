import { isCancelling, type ReplacementReason, type TransactionDraft } from '../../../domain/events/transaction-draft.ts';
import type { MoveFailureReason, MoveKind, MoveRequested, MoveTerms } from '../../../domain/events/treasury-move-events.ts';
import { formatAmount } from '../../../domain/money.ts';
import { NATIVE_COIN } from '../../../domain/networks.ts';
import { treasuryStream } from '../../../domain/streams.ts';
import { toSec, type Clock } from '../../../ports/clock.ts';
import { StoreUnavailable } from '../../../ports/event-store.ts';
import type { Log } from '../../../ports/log.ts';
import {
  type Fate,
  mayStillLand,
  type OutgoingTransaction,
  type Reserved,
  TransferImpossible,
  validityOf,
  type WaitReason,
  waitsUnseen,
} from '../../../ports/outgoing.ts';
import type { OutgoingChain } from '../../../ports/outgoing-chain.ts';
import type { OutgoingSigner, SignerRefusal } from '../../../ports/outgoing-signer.ts';
import type { Random } from '../../../ports/random.ts';
import { crashPoint } from '../../../runtime/util/crash-point.ts';
import { newMoveId } from './ids.ts';
import type { TreasuryHandler } from '../../shared/handlers/treasury-handler.ts';
import type { DepositState } from '../../../../state-machines/checkout-session/session.state.ts';
import type { TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { initialTreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import type { TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import { isApproved, isBeingSigned, isFromTreasury, movesInFlight } from '../../../../state-machines/treasury/moves.ts';
import type { Move, MoveReservation } from '../../../../state-machines/treasury/moves.state.ts';
import { isTransient, RoundFaults, textOf } from '../faults.ts';
import { MoveRetryState, type WaitingMove } from './retry-state.ts';
import { SEQUENCE_BUSY, WAIT_REASONS } from '../refunds/retry-state.ts';
import { addedTo, reservedOf } from '../reserved.ts';
import { WAIT_LOOKS } from '../turns.ts';

export interface MoveExecutorDeps {
  readonly chain: OutgoingChain;
  readonly treasury: string;
  readonly signer: OutgoingSigner;
  readonly treasuries: TreasuryHandler;
  /** What refunds of this treasury still take, signed or not: they come first. */
  readonly owed: () => Promise<Reserved>;
  /** The transfer that a return pays back, as the session that it came to knows it; null where it is in no session's books. */
  readonly depositOf: (terms: MoveTerms) => Promise<DepositState | null>;
  /** How long a deposit that left the chain may take to come back. */
  readonly depositGraceMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly pollMs: number;
}

/** Transactions of the treasury's account that may be out at once; refunds need room, too. */
const MAX_IN_FLIGHT = 8;
/** Moves started in one round. */
const ROUND = 20;

/** Sweeps, top-ups and transfers out of one treasury, by the rules of refunds: reserve, sign, write down, send, watch. */
export class MoveExecutor {
  readonly #deps: MoveExecutorDeps;
  readonly #stream: string;
  readonly #retries: MoveRetryState;

  constructor(deps: MoveExecutorDeps) {
    this.#deps = deps;
    this.#stream = treasuryStream(deps.chain.mode, deps.chain.network);
    this.#retries = new MoveRetryState({ log: deps.log, treasury: this.#stream, pollMs: deps.pollMs });
  }

  get chain(): OutgoingChain {
    return this.#deps.chain;
  }

  get treasury(): string {
    return this.#deps.treasury;
  }

  get waiting(): readonly WaitingMove[] {
    return this.#retries.waiting;
  }

  get alarm(): string | null {
    return this.#retries.alarm;
  }

  async context(): Promise<TreasuryContext> {
    return (await this.#deps.treasuries.read(this.#stream))?.context ?? initialTreasuryContext;
  }

  /** Null when it is written; the treasury's own words otherwise. */
  async tell(command: TreasuryCommand, actor = 'move-money'): Promise<string | null> {
    const result = await this.#deps.treasuries.execute(this.#stream, command, { correlationId: this.#deps.random.uuid(), actor });
    return result.ok ? null : result.refusal.message;
  }

  /** One look at everything that moves. Throws when the store, the chain or the signer is gone; the next round goes on. */
  async round(): Promise<void> {
    const faults = new RoundFaults();
    await this.#round(faults);
    faults.settle();
  }

  async #round(faults: RoundFaults): Promise<void> {
    const { open } = await this.context();
    if (open !== null && 'moveId' in open && this.#retries.turns.isDue(open.moveId)) await this.#finishOpen(open);
    const context = await this.context();
    const moves = Object.values(context.moves);
    const isFollowed = ({ terms, signed }: Move): boolean => signed.length > 0 && !isBeingSigned(context, terms.moveId);
    for (const move of this.#retries.turns.due(moves.filter(isFollowed), idOf)) {
      this.#retries.turns.postpone(idOf(move), 1);
      await this.#each(move, faults, () => this.#follow(move, faults));
    }
    if (this.alarm !== null || Object.keys(context.unknownOutflows).length > 0) return;
    const fresh = moves.filter((move) => move.signed.length === 0 && isApproved(move));
    const owner = ({ kind, terms }: Move): string => terms.merchantId ?? kind;
    for (const move of this.#retries.turns.take(fresh, ROUND, { id: idOf, owner })) {
      await this.#each(move, faults, () => this.#start(move, faults));
      if (this.alarm !== null) return;
    }
  }

  /** One move that cannot go on must not hold up the others. */
  async #each(move: Move, faults: RoundFaults, task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (error instanceof TransferImpossible && move.signed.length === 0) {
        this.#deps.log.error({ move: idOf(move), reason: error.reason, detail: error.message }, 'a move of the treasury can never be made');
        return this.#fail(move, error.reason);
      }
      faults.judge(error, () => {
        this.#deps.log.error({ err: error, move: idOf(move) }, 'a move of the treasury cannot go on');
        this.#holdUp(idOf(move), 'unexpected_error', textOf(error));
      });
    }
  }

  /** What was reserved holds the account's sequence, so everything waits for it. */
  async #finishOpen(open: MoveReservation): Promise<void> {
    try {
      await this.#finish(open);
      this.#retries.setAlarm('reservation', null);
    } catch (error) {
      if (isTransient(error) || error instanceof StoreUnavailable) throw error;
      this.#retries.turns.backOff(open.moveId);
      this.#retries.setAlarm('reservation', `${open.moveId} is reserved and cannot be finished: ${textOf(error)}`);
    }
  }

  /* What is to be sent */

  async #start(move: Move, faults: RoundFaults): Promise<void> {
    const context = await this.context();
    const { moveId } = move.terms;
    const order = orderOf(move);
    const own = isFromTreasury(move.kind);
    if (own && movesInFlight(context).length >= MAX_IN_FLIGHT) return;
    const check = await this.chain.check(order, own ? await this.#reserved(context) : NOTHING);
    faults.answered('chain');
    if (check.kind === 'fail') return this.#fail(move, check.reason);
    if (check.kind === 'wait') return this.#holdUp(moveId, check.reason, check.detail);
    if (check.kind === 'needs_gas') return this.#topUp(move, check.amount, context);
    const verdict = await this.#deps.signer.check(order);
    faults.answered('signer');
    if (!verdict.ok) return this.#refused(move, verdict);
    const onChain = await this.chain.nextNonce(order.fromAddress);
    if (own && onChain !== null && onChain > (context.nextNonce ?? 0))
      return this.#holdUp(moveId, 'payouts_stopped', `${this.treasury} has sent ${onChain} transactions, the ledger knows ${context.nextNonce ?? 0}`);
    const draft = await this.chain.draft(order, own ? (context.nextNonce ?? onChain) : onChain, context.usedNonces);
    return draft === null ? this.#wait(moveId, 'sequence_busy', SEQUENCE_BUSY) : this.#reserve(move, draft, 1, null);
  }

  /** Gas for a sweep, from the treasury; the sweep goes on by itself once it is there. */
  async #topUp(sweep: Move, units: bigint, context: TreasuryContext): Promise<void> {
    const { moveId: forMoveId, mode, network, fromAddress, derivationIndex } = sweep.terms;
    this.#wait(forMoveId, 'insufficient_gas', `${fromAddress} is given gas for the sweep`);
    if (Object.values(context.moves).some(({ terms }) => terms.forMoveId === forMoveId)) return;
    const data: MoveRequested = {
      ...{ moveId: newMoveId('gas_top_up', this.#deps.random), mode, network, coin: NATIVE_COIN[network], amount: formatAmount(units) },
      ...{ fromAddress: this.treasury, toAddress: fromAddress, derivationIndex, merchantId: null, forMoveId },
      ...{ requestedBy: sweep.terms.requestedBy, reason: null, requestedAtSec: this.#nowSec() },
    };
    await this.tell({ type: 'RequestMove', kind: 'gas_top_up', data });
    crashPoint('after-top-up-requested');
  }

  async #reserve(move: Move, draft: TransactionDraft, attempt: number, replaces: MoveReservation['replaces']): Promise<void> {
    const { moveId, fromAddress } = move.terms;
    crashPoint('before-move-reserve');
    const data: MoveReservation = { moveId, attempt, fromAddress, draft, replaces, reservedAtSec: this.#nowSec() };
    // A refund may have taken the sequence in between; the next round draws up the move anew.
    if ((await this.tell({ type: 'ReserveMove', data })) !== null) return;
    crashPoint('after-move-reserve');
    await this.#finish(data);
  }

  /** Signs what is reserved, writes the bytes down, and only then lets them out. Safe to repeat after any crash. */
  async #finish(reservation: MoveReservation): Promise<void> {
    const { moveId, attempt, draft } = reservation;
    const { moves, journal } = await this.context();
    const move = moves[moveId];
    if (!move) throw new Error(`${moveId} is reserved but unknown`);
    const signature = await this.#deps.signer.sign({ order: orderOf(move), attempt, draft, ledger: journal });
    if (!signature.ok) {
      if (signature.kind !== 'stopped')
        await this.tell({ type: 'ReleaseMove', data: { moveId, attempt, reason: signature.code, releasedAtSec: this.#nowSec() } });
      return this.#refused(move, signature);
    }
    const { txHash, signedBytes } = signature;
    const validity = validityOf(draft);
    crashPoint('after-move-sign');
    const data = { moveId, attempt, txHash, signedBytes, validity, journal: signature.journal, signedAtSec: this.#nowSec() };
    const refused = await this.tell({ type: 'RecordMoveSigned', data });
    if (refused !== null) throw new Error(`${moveId} was signed and cannot be written down: ${refused}`);
    crashPoint('after-move-signed-event');
    this.#retries.setAlarm('signer', null);
    this.#retries.goesOn(moveId);
    this.#retries.turns.forget(moveId);
    this.#retries.turns.postpone(moveId, 1);
    this.#deps.log.info({ move: moveId, kind: move.kind, tx: txHash, network: this.chain.network }, 'a move of the treasury is sent');
    // Read anew: the deposit may have left while the signer was asked.
    if (isCancelling({ validity }) || (await this.#missingDeposit(move)) === null) await this.chain.broadcast({ txHash, signedBytes, validity });
  }

  async #refused(move: Move, refusal: SignerRefusal): Promise<void> {
    const { moveId } = move.terms;
    if (refusal.kind === 'stopped') {
      this.#retries.turns.postpone(moveId, WAIT_LOOKS);
      this.#retries.setAlarm('signer', `the signer refuses to sign: ${refusal.message}`);
      return this.#wait(moveId, 'payouts_stopped', refusal.message);
    }
    if (refusal.kind === 'denied' && move.signed.length === 0) {
      this.#deps.log.error({ move: moveId, code: refusal.code, reason: refusal.message }, 'the signer denied a move of the treasury');
      return this.#fail(move, 'rejected_by_policy');
    }
    this.#holdUp(moveId, WAIT_REASONS[refusal.code] ?? 'policy_limit', refusal.message);
  }

  /* What was sent */

  async #follow(move: Move, faults: RoundFaults): Promise<void> {
    const { moveId } = move.terms;
    const fate = await this.chain.fate(orderOf(move), move.signed);
    faults.answered('chain');
    this.#retries.turns.clear(moveId);
    this.#retries.setAlarm(moveId, fate.kind === 'alarm' ? fate.detail : null);
    switch (fate.kind) {
      case 'alarm':
        return;
      case 'landed':
        return fate.final ? this.#complete(move, fate) : undefined;
      case 'ineffective':
        return this.#ineffective(move, fate);
      default:
        return this.#goOn(move, fate);
    }
  }

  /** It is in no final block: what it takes for it to get there. */
  async #goOn(move: Move, fate: Extract<Fate, { kind: 'never' | 'absent' | 'pending' }>): Promise<void> {
    const { moveId } = move.terms;
    const isCancelled = isCancelling(move.signed.at(-1)!);
    const missing = isCancelled ? null : await this.#missingDeposit(move);
    if (missing !== null) return this.#withhold(move, missing, fate);
    switch (fate.kind) {
      case 'never':
        if (isCancelled) return this.#ineffective(move, null);
        return this.#replace(move, await this.chain.draft(orderOf(move), null, {}), 'can_never_land');
      case 'absent':
        // The newest alone may cost more than the address holds.
        for (const sent of mayStillLand(move.signed)) await this.chain.broadcast(sent);
        return waitsUnseen(move.signed) ? this.#bumpWhenDue(move) : this.#retries.goesOn(moveId);
      case 'pending':
        return fate.inBlock ? this.#retries.goesOn(moveId) : this.#bumpWhenDue(move);
    }
  }

  /** What a return pays back, while it is not final; null when it is, and for every other move. */
  async #missingDeposit({ terms }: Move): Promise<DepositState | null> {
    const deposit = terms.deposit === undefined ? null : await this.#deps.depositOf(terms);
    return deposit === null || deposit.status === 'final' ? null : deposit;
  }

  /**
   * Nothing is paid for a transfer that left the chain: what was signed waits for it to come back. Once it is gone for good, a transaction that
   * moves nothing takes the nonce, or what can never land ends.
   */
  async #withhold(move: Move, { status, revertedAtSec }: DepositState, fate: Extract<Fate, { kind: 'never' | 'absent' | 'pending' }>): Promise<void> {
    const { moveId, deposit } = move.terms;
    const last = move.signed.at(-1)!;
    this.#retries.setAlarm(moveId, `${last.txHash} of ${moveId} waits: the transfer ${deposit!.depositKey}, which it returns, is no longer final`);
    const goneForMs = this.#deps.clock.nowMs() - (revertedAtSec ?? 0) * 1000;
    if (status === 'detected' || goneForMs < this.#deps.depositGraceMs || (fate.kind === 'pending' && fate.inBlock)) return;
    if (fate.kind === 'never') return this.#ineffective(move, null);
    const cancel = this.chain.cancel && (await this.chain.cancel(last.draft));
    if (cancel) await this.#replace(move, cancel, 'cancel');
  }

  /** Offers more for the same once it is out for long. */
  async #bumpWhenDue(move: Move): Promise<void> {
    const { moveId } = move.terms;
    const last = move.signed.at(-1)!;
    if (this.#retries.sentSince.outMs(moveId, last, this.#deps.clock.nowMs()) < this.chain.bumpAfterMs) return;
    const bumped = await this.chain.bump(last.draft);
    if (bumped) return this.#replace(move, bumped, 'fee_bump');
    this.#wait(moveId, 'network_fee_too_high', 'the network wants more for a replacement than the limit allows');
  }

  async #replace(move: Move, draft: TransactionDraft | null, why: ReplacementReason): Promise<void> {
    const last = move.signed.at(-1)!;
    if (draft !== null) await this.#reserve(move, draft, last.attempt + 1, { txHash: last.txHash, why });
  }

  /** What a return took of its deposit is there again, once the signer saw so itself. Null: nothing that was signed is in a block. */
  async #ineffective(move: Move, fate: Extract<Fate, { kind: 'ineffective' }> | null): Promise<void> {
    const released =
      move.kind === 'return' || move.kind === 'native_return' ? await this.#deps.signer.release(orderOf(move)) : ({ ok: true } as const);
    if (!released.ok) return this.#wait(move.terms.moveId, WAIT_REASONS[released.code] ?? 'chain_unavailable', released.message);
    const isGone = fate === null || move.signed.some((sent) => sent.txHash === fate.txHash && isCancelling(sent));
    return this.#fail(move, isGone ? 'deposit_reverted' : 'execution_reverted', fate ?? undefined);
  }

  async #complete(move: Move, { landed }: Extract<Fate, { kind: 'landed' }>): Promise<void> {
    const { moveId, network } = move.terms;
    crashPoint('before-move-completed');
    const facts = { ...landed, feeAddress: this.#feeAddress(move), completedAtSec: this.#nowSec() };
    const refused = await this.tell({ type: 'CompleteMove', moveId, landed: facts });
    if (refused !== null) throw new Error(`${moveId} landed and cannot be written down: ${refused}`);
    crashPoint('after-move-completed');
    this.#retries.forget(moveId);
    this.#deps.log.info({ move: moveId, kind: move.kind, tx: landed.txHash, network }, 'a move of the treasury is complete');
  }

  async #fail(move: Move, reason: MoveFailureReason, ineffective?: { readonly txHash: string; readonly networkFee: string }): Promise<void> {
    const { moveId } = move.terms;
    const { txHash, networkFee } = ineffective ?? { txHash: null, networkFee: null };
    await this.tell({ type: 'FailMove', moveId, reason, txHash, networkFee, feeAddress: this.#feeAddress(move), nowSec: this.#nowSec() });
    this.#retries.forget(moveId);
    this.#deps.log.warn({ move: moveId, kind: move.kind, reason }, 'a move of the treasury failed');
  }

  /* Small parts */

  async #reserved(context: TreasuryContext): Promise<Reserved> {
    return addedTo(await this.#deps.owed(), reservedOf([], movesInFlight(context)));
  }

  /** On Solana the treasury pays for everything. */
  #feeAddress({ terms }: Move): string {
    return this.chain.network === 'solana' ? this.treasury : terms.fromAddress;
  }

  /** It waits for a reason of its own, and less often each time. */
  #holdUp(moveId: string, reason: WaitReason, detail: string): void {
    this.#retries.turns.backOff(moveId);
    this.#wait(moveId, reason, detail);
  }

  #wait(moveId: string, reason: WaitReason, detail: string): void {
    this.#retries.wait(moveId, reason, detail, this.#deps.clock.nowMs());
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }
}

const idOf = ({ terms }: Move): string => terms.moveId;

const NOTHING: Reserved = { coins: {}, payouts: 0 };

export const orderOf = ({ kind, terms }: { readonly kind: MoveKind; readonly terms: MoveTerms }): OutgoingTransaction => {
  const { moveId: id, mode, network, coin, amount, fromAddress, toAddress, derivationIndex, merchantId, deposit, transfer } = terms;
  const money = { mode, network, coin, amount, fromAddress, toAddress };
  const paidBack = { deposits: deposit ? [{ ...deposit, amount }] : [], ...(transfer && { transfer }) };
  return { kind, id, ...money, derivationIndex, merchantId, refund: null, ...paidBack };
};
