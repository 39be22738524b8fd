import type { MoveRequested, MoveTerms } from '../../../domain/events/treasury-move-events.ts';
import type { TransactionDraft } from '../../../domain/events/transaction-draft.ts';
import { formatAmount } from '../../../domain/money/money.ts';
import { NATIVE_COIN } from '../../../domain/networks/networks.ts';
import { toSec, type Clock } from '../../../ports/clock.ts';
import {
  NOTHING_RESERVED,
  type LandedTransaction,
  type PreCheck,
  type Reserved,
} from '../../../ports/outgoing/transaction.ts';
import type { Random } from '../../../ports/random.ts';
import { crashPoint } from '../../../runtime/util/crash-point.ts';
import type { DepositState } from '../../../../state-machines/checkout-session/deposits.ts';
import {
  hasGasUnderWay,
  isApproved,
  isFromTreasury,
  movesInFlight,
} from '../../../../state-machines/treasury/moves.ts';
import type { Move, SignedMove } from '../../../../state-machines/treasury/moves.state.ts';
import type { TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import { OutgoingExecutor, type ExecutorDeps } from '../executor.ts';
import { TreasuryAccount, type AccountDeps } from '../account.ts';
import type { Failure } from '../failure.ts';
import type { Missing, NewlySigned, Outgoing, OutgoingRecords, Precondition, Sequence } from '../records.ts';
import { addedTo, reservedOf } from '../reserved.ts';
import { newMoveId } from './ids.ts';
import { orderOf } from './order.ts';

interface MoveRef {
  readonly id: string;
  readonly names: { readonly moveId: string };
  readonly logged: { readonly move: string };
}

interface OrderedMove extends Move, Outgoing {
  readonly ref: MoveRef;
  readonly signed: readonly SignedMove[];
}

export interface MoveRecordsDeps {
  /** What refunds of this treasury have reserved, signed or not. They have priority. */
  readonly owed: () => Promise<Reserved>;
  /** The transfer that a return pays back, as its session knows it; null if no session has it in its books. */
  readonly depositOf: (terms: MoveTerms) => Promise<DepositState | null>;
  readonly clock: Clock;
  readonly random: Random;
  /** How long money that left the chain may take to come back. */
  readonly depositGraceMs: number;
}

/** Maximum number of moves in flight from the treasury's account; refunds need room too. */
const MAX_IN_FLIGHT = 8;
/** After this time the gas never arrived, or was not what the move burnt. */
const GAS_WAIT_MS = 1_800_000;

/**
 * Sweeps, top-ups, withdrawals, settlements, returns and nonce accounts. They are recorded in the treasury's stream and
 * are done once final.
 */
class MoveRecords implements OutgoingRecords<OrderedMove> {
  readonly words = { one: 'a move of the treasury', all: 'moves' };
  readonly doneOnce = 'final';
  readonly graceAfterStart = 0;
  readonly #account: TreasuryAccount;
  readonly #deps: MoveRecordsDeps;
  /** Since when a landed move waits for its gas to be recorded (`performance.now()`). */
  readonly #gasAwaitedSince = new Map<string, number>();
  /** Since when an address holds less than its sweep should move (`performance.now()`). */
  readonly #shortSince = new Map<string, number>();

  constructor(account: TreasuryAccount, deps: MoveRecordsDeps) {
    this.#account = account;
    this.#deps = deps;
  }

  async open(): Promise<readonly OrderedMove[]> {
    const { moves } = await this.#account.context();
    return Object.values(moves).map(ordered);
  }

  async find({ id }: MoveRef): Promise<OrderedMove | null> {
    const move = (await this.#account.context()).moves[id];
    return move ? ordered(move) : null;
  }

  reservation({ open }: TreasuryContext): { readonly ref: MoveRef; readonly sequence: Sequence } | null {
    return open !== null && 'moveId' in open ? { ref: refOf(open.moveId), sequence: open } : null;
  }

  ownerOf({ kind, terms }: OrderedMove): string {
    return terms.merchantId ?? kind;
  }

  mayStart(move: OrderedMove, inFlight: readonly OrderedMove[]): boolean {
    return (
      isApproved(move) &&
      (!isFromTreasury(move.kind) || inFlight.filter(({ kind }) => isFromTreasury(kind)).length < MAX_IN_FLIGHT)
    );
  }

  /** A top-up is obsolete once its sweep has ended. */
  precondition({ terms: { forMoveId } }: OrderedMove, { moves }: TreasuryContext): Precondition {
    const isWanted = forMoveId === null || Object.hasOwn(moves, forMoveId);
    return isWanted ? { kind: 'ready' } : { kind: 'fail', reason: 'rejected_by_policy' };
  }

  async reserved(
    { kind }: OrderedMove,
    _inFlight: readonly OrderedMove[],
    context: TreasuryContext,
  ): Promise<Reserved> {
    return isFromTreasury(kind)
      ? addedTo(await this.#deps.owed(), reservedOf([], movesInFlight(context)))
      : NOTHING_RESERVED;
  }

  /** Orders native coin for a sweep from the treasury. */
  async topUp({ terms }: OrderedMove, units: bigint): Promise<void> {
    const { moveId: forMoveId, mode, network, fromAddress, derivationIndex, requestedBy } = terms;
    const { moves } = await this.#account.context();
    if (Object.values(moves).some((move) => move.terms.forMoveId === forMoveId)) return;
    const data: MoveRequested = {
      moveId: newMoveId('gas_top_up', this.#deps.random),
      mode,
      network,
      coin: NATIVE_COIN[network],
      amount: formatAmount(units),
      ...{ fromAddress: this.#account.address, toAddress: fromAddress, derivationIndex, merchantId: null, forMoveId },
      ...{ requestedBy, reason: null, requestedAtSec: this.#nowSec() },
    };
    await this.#account.tell({ type: 'RequestMove', kind: 'gas_top_up', data }, ACTOR);
    crashPoint('after-top-up-requested');
  }

  async missing({ terms }: OrderedMove): Promise<Missing | null> {
    const deposit = terms.deposit === undefined ? null : await this.#deps.depositOf(terms);
    if (!terms.deposit || deposit === null || deposit.status === 'final') return null;
    const detail = `the transfer ${terms.deposit.depositKey}, which it returns, is no longer final`;
    return { isAwaited: deposit.status === 'detected', goneSinceSec: deposit.revertedAtSec ?? null, detail };
  }

  async lastDraft({ signed }: OrderedMove): Promise<TransactionDraft | undefined> {
    return signed.at(-1)?.draft;
  }

  async reserve({ ref }: OrderedMove, sequence: Sequence): Promise<boolean> {
    crashPoint('before-move-reserve');
    const refused = await this.#account.tell({ type: 'ReserveMove', data: { moveId: ref.id, ...sequence } }, ACTOR);
    if (refused === null) crashPoint('after-move-reserve');
    return refused === null;
  }

  async release(
    { id: moveId }: MoveRef,
    released: { attempt: number; reason: string; releasedAtSec: number },
  ): Promise<void> {
    await this.#account.tell({ type: 'ReleaseMove', data: { moveId, ...released } }, ACTOR);
  }

  async recordSigned({ ref }: OrderedMove, signed: NewlySigned): Promise<boolean> {
    crashPoint('after-move-sign');
    const refused = await this.#account.tell({ type: 'RecordMoveSigned', data: { moveId: ref.id, ...signed } }, ACTOR);
    if (refused !== null) throw new Error(`${ref.id} was signed and cannot be recorded: ${refused}`);
    crashPoint('after-move-signed-event');
    return true;
  }

  /**
   * Otherwise the sweep would wait forever for money that a reorganisation removed, and block later sweeps of its
   * address.
   */
  isEmptied({ ref, kind }: OrderedMove, check: PreCheck): boolean {
    const isShort = kind === 'sweep' && check.kind === 'wait' && check.reason === 'insufficient_funds';
    const isGone = isShort && this.#hasLasted(this.#shortSince, ref.id, this.#deps.depositGraceMs);
    if (!isShort || isGone) this.#shortSince.delete(ref.id);
    return isGone;
  }

  endsLater({ ref }: OrderedMove, context: TreasuryContext): boolean {
    const isWaiting = hasGasUnderWay(context, ref.id) && !this.#hasLasted(this.#gasAwaitedSince, ref.id, GAS_WAIT_MS);
    if (!isWaiting) this.#gasAwaitedSince.delete(ref.id);
    return isWaiting;
  }

  async complete({ ref, terms }: OrderedMove, landed: LandedTransaction): Promise<void> {
    crashPoint('before-move-completed');
    const facts = { ...landed, feeAddress: this.#feeAddress(terms), completedAtSec: this.#nowSec() };
    const refused = await this.#account.tell({ type: 'CompleteMove', moveId: ref.id, landed: facts }, ACTOR);
    if (refused !== null) throw new Error(`${ref.id} landed and cannot be recorded: ${refused}`);
    crashPoint('after-move-completed');
  }

  async fail({ ref, terms }: OrderedMove, { reason, ineffective }: Failure): Promise<void> {
    const { txHash, networkFee } = ineffective ?? { txHash: null, networkFee: null };
    const facts = { reason, txHash, networkFee, feeAddress: this.#feeAddress(terms), nowSec: this.#nowSec() };
    await this.#account.tell({ type: 'FailMove', moveId: ref.id, ...facts }, ACTOR);
  }

  /** None: final moves stay. */
  landed(): readonly MoveRef[] {
    return [];
  }

  watch(): Promise<null> {
    return Promise.resolve(null);
  }

  #hasLasted(since: Map<string, number>, id: string, forMs: number): boolean {
    const nowMs = performance.now();
    const sinceMs = since.get(id) ?? nowMs;
    since.set(id, sinceMs);
    return nowMs - sinceMs >= forMs;
  }

  /** On Solana the treasury pays all fees. */
  #feeAddress({ fromAddress, network }: MoveTerms): string {
    return network === 'solana' ? this.#account.address : fromAddress;
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }
}

const ACTOR = 'move-money';

export const refOf = (moveId: string): MoveRef => ({ id: moveId, names: { moveId }, logged: { move: moveId } });

const ordered = (move: Move): OrderedMove => ({ ...move, ref: refOf(move.terms.moveId), order: orderOf(move) });

export type MoveExecutor = OutgoingExecutor<OrderedMove>;

export function moveExecutor(deps: AccountDeps & MoveRecordsDeps & ExecutorDeps): MoveExecutor {
  const account = new TreasuryAccount(deps);
  return new OutgoingExecutor(account, new MoveRecords(account, deps), deps);
}
