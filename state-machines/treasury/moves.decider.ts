import {
  MOVE_NAMES,
  type MoveCompleted,
  type MoveFailed,
  type MoveFailureReason,
  type MoveKind,
  type MoveRequested,
  type MoveSequenceReleased,
  type MoveSigned,
  type MoveTerms,
  type NativeCoinFound,
  type TreasuryFunded,
  type TreasuryMoveEvent,
  type TreasuryReconciled,
  type UnknownOutflowFound,
} from '../../src/domain/events/treasury-move-events.ts';
import { nativeTransferKey } from '../../src/domain/networks/deposit-proof.ts';
import { parseAmount } from '../../src/domain/money/money.ts';
import { NATIVE_COIN } from '../../src/domain/networks/networks.ts';
import { sameName } from '../../src/domain/values/names.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import {
  addressesOf,
  foldMoveRequested,
  isApproved,
  isBeingSigned,
  isLegalMoveReservation,
  isLegalRequest,
  isOpenMove,
  mayBeApproved,
} from './moves.ts';
import type { Move, MoveReservation } from './moves.state.ts';
import type { TreasuryContext } from './treasury.state.ts';

/* Commands: imperative, with every fact from outside as data. */

export type MoveCommand =
  | { readonly type: 'RequestMove'; readonly kind: MoveKind; readonly data: MoveRequested }
  | { readonly type: 'ApproveMove'; readonly moveId: string; readonly approver: string; readonly nowSec: number }
  | { readonly type: 'ReserveMove'; readonly data: MoveReservation }
  | { readonly type: 'ReleaseMove'; readonly data: MoveSequenceReleased['data'] }
  | { readonly type: 'RecordMoveSigned'; readonly data: MoveSigned }
  | {
      readonly type: 'CompleteMove';
      readonly moveId: string;
      readonly landed: Omit<MoveCompleted, keyof MoveTerms | 'feeCoin'>;
    }
  | {
      readonly type: 'FailMove';
      readonly moveId: string;
      readonly reason: MoveFailureReason;
      readonly txHash: string | null;
      readonly networkFee: string | null;
      readonly feeAddress: string;
      readonly nowSec: number;
    }
  /** Also for a return that was never requested, so that nothing can begin it. */
  | { readonly type: 'GiveUpReturn'; readonly data: MoveRequested; readonly nowSec: number }
  | {
      readonly type: 'RecordReconciliation';
      /** `differencesSettled` when the comparison began. */
      readonly settled: number;
      readonly fundings: readonly TreasuryFunded['data'][];
      readonly outflows: readonly UnknownOutflowFound['data'][];
      /** Null if the balances could not be established. */
      readonly result: TreasuryReconciled['data'] | null;
    }
  | {
      readonly type: 'RecordCollectionLook';
      /** `nativeCoinFinds` when the books were read. */
      readonly finds: number;
      readonly found: readonly NativeCoinFound['data'][];
      readonly missing: readonly UnknownOutflowFound['data'][];
    }
  | {
      readonly type: 'AcknowledgeOutflow';
      readonly outflowKey: string;
      readonly actor: string;
      readonly reason: string;
      readonly nowSec: number;
    };

/** A limit far above a round of sweeps. */
const MAX_OPEN_MOVES = 1_000;

/** Decides the commands of moves. Repeating a command adds no events. */
export function decideMove(command: MoveCommand, context: TreasuryContext): Decision<TreasuryMoveEvent> {
  switch (command.type) {
    case 'RequestMove':
      return request(command.kind, command.data, context);
    case 'ApproveMove':
      return approve(command, context);
    case 'ReserveMove':
      return reserve(command.data, context);
    case 'ReleaseMove':
      return isOpenMove(context, command.data)
        ? accept({ type: 'MoveSequenceReleased', data: command.data })
        : accept();
    case 'RecordMoveSigned':
      return recordSigned(command.data, context);
    case 'CompleteMove':
      return complete(command, context);
    case 'FailMove':
      return fail(command, context);
    case 'GiveUpReturn':
      return giveUp(command, context);
    case 'RecordReconciliation':
      return reconcile(command, context);
    case 'RecordCollectionLook':
      return recordLook(command, context);
    case 'AcknowledgeOutflow':
      return acknowledge(command, context);
  }
}

type Of<Type extends MoveCommand['type']> = Extract<MoveCommand, { type: Type }>;

/** Event names and data follow the kind. */
const named = <Kind extends MoveKind, const Step extends string, Data>(kind: Kind, step: Step, data: Data) => {
  const name: (typeof MOVE_NAMES)[Kind] = MOVE_NAMES[kind];
  return { type: `${name}${step}` as const, data };
};

function request(kind: MoveKind, data: MoveRequested, context: TreasuryContext): Decision<TreasuryMoveEvent> {
  const known = context.moves[data.moveId];
  // A finished return is not begun again: it pays once.
  if (kind === 'return' && Object.hasOwn(context.returns, data.moveId)) return accept();
  if (known)
    return known.kind === kind && known.terms.amount === data.amount
      ? accept()
      : refuse('conflict', 'the id belongs to another move');
  if ((parseAmount(data.amount) ?? 0n) <= 0n) return refuse('invalid_request', 'amount must be above zero', 'amount');
  if (Object.keys(context.moves).length >= MAX_OPEN_MOVES)
    return refuse('conflict', `${MAX_OPEN_MOVES} moves are already open`);
  const paidBack = data.transfer && context.nativeReturns[nativeTransferKey(data.transfer)];
  if (paidBack) return refuse('conflict', `the transfer is returned by ${paidBack}`, 'tx');
  if (!isLegalRequest(context, kind, data))
    return refuse('conflict', `${data.fromAddress} has a move of this kind under way`);
  return accept(named(kind, 'Requested', data));
}

function approve(
  { moveId, approver, nowSec }: Of<'ApproveMove'>,
  context: TreasuryContext,
): Decision<TreasuryMoveEvent> {
  const move = context.moves[moveId];
  if (!move) return refuse('not_found', 'no such move, or it is done');
  if (!mayBeApproved(move.kind)) return refuse('conflict', 'this move needs no approval');
  if (sameName(approver, move.terms.requestedBy)) return refuse('conflict', 'the proposer cannot approve it');
  if (move.approvers.some((other) => sameName(other, approver))) return accept();
  return accept(named(move.kind, 'Approved', { moveId, approver, approvedAtSec: nowSec }));
}

function reserve(data: MoveReservation, context: TreasuryContext): Decision<TreasuryMoveEvent> {
  if (isOpenMove(context, data)) return accept();
  if (context.open !== null) return refuse('conflict', 'another sequence is not signed yet');
  const move = context.moves[data.moveId];
  if (!move) return refuse('not_found', 'no such move, or it is done');
  if (!isApproved(move)) return refuse('conflict', 'two approvers have not approved it yet');
  if (!isLegalMoveReservation(context, data))
    return refuse('conflict', `the sequence does not belong to ${data.moveId}`);
  return accept({ type: 'MoveSequenceReserved', data });
}

function recordSigned(data: MoveSigned, context: TreasuryContext): Decision<TreasuryMoveEvent> {
  const move = context.moves[data.moveId];
  if (move?.signed.some(({ attempt }) => attempt >= data.attempt)) return accept();
  if (!move || !isOpenMove(context, data)) return refuse('conflict', `nothing is reserved for ${data.moveId}`);
  return accept(named(move.kind, 'Signed', data));
}

function complete({ moveId, landed }: Of<'CompleteMove'>, context: TreasuryContext): Decision<TreasuryMoveEvent> {
  const move = context.moves[moveId];
  if (!move) return accept();
  // If forgotten now, it could not accept a signature that the journal may already have, and its reservation would
  // never end.
  if (isBeingSigned(context, moveId)) return refuse('conflict', `${moveId} is being signed`);
  if (!move.signed.some(({ txHash }) => txHash === landed.txHash))
    return refuse('conflict', `${landed.txHash} was not signed for ${moveId}`);
  const data: MoveCompleted = { ...termsOf(move), ...landed, feeCoin: NATIVE_COIN[move.terms.network] };
  return accept(named(move.kind, 'Completed', data));
}

function fail(
  { moveId, reason, txHash, networkFee, feeAddress, nowSec }: Of<'FailMove'>,
  context: TreasuryContext,
): Decision<TreasuryMoveEvent> {
  const move = context.moves[moveId];
  if (!move) return accept();
  if (isBeingSigned(context, moveId)) return refuse('conflict', `${moveId} is being signed`);
  const hasEnded = reason === 'execution_reverted' || (reason === 'deposit_reverted' && move.kind === 'return');
  if (!hasEnded && move.signed.length > 0) return refuse('conflict', `${moveId} was signed and may land`);
  const feeCoin = NATIVE_COIN[move.terms.network];
  const data: MoveFailed = { ...termsOf(move), reason, txHash, networkFee, feeCoin, feeAddress, failedAtSec: nowSec };
  return accept(named(move.kind, 'Failed', data));
}

/** Requested and failed in one append: between two appends somebody would pay it. */
function giveUp({ data, nowSec }: Of<'GiveUpReturn'>, context: TreasuryContext): Decision<TreasuryMoveEvent> {
  const { moveId, fromAddress: feeAddress } = data;
  const rejected = {
    type: 'FailMove',
    moveId,
    reason: 'rejected_by_operator',
    txHash: null,
    networkFee: null,
    feeAddress,
    nowSec,
  } as const;
  if (Object.hasOwn(context.returns, moveId)) return fail(rejected, context);
  const requested = request('return', data, context);
  if (!requested.ok) return requested;
  const failed = fail(rejected, { ...context, ...foldMoveRequested(context, 'return', data) });
  return failed.ok ? accept(...requested.events, ...failed.events) : failed;
}

/**
 * Records the results of one comparison in one append, because they are not read again. Two concurrent comparisons
 * would each book the same money.
 */
function reconcile(
  { settled, fundings, outflows, result }: Of<'RecordReconciliation'>,
  context: TreasuryContext,
): Decision<TreasuryMoveEvent> {
  if (settled !== context.differencesSettled)
    return refuse('conflict', 'a difference was recorded or explained since the check began');
  if (result && context.reconciledThrough !== null && result.throughBlock < context.reconciledThrough)
    return refuse('conflict', 'another reconciliation got further');
  return accept<TreasuryMoveEvent>(
    ...fundings.map((data) => ({ type: 'TreasuryFunded', data }) as const),
    ...newOutflows(outflows, context),
    ...(result ? [{ type: 'TreasuryReconciled', data: result } as const] : []),
  );
}

/** Records native coin found at or missing from collection addresses. Two concurrent runs would find the same coin. */
function recordLook(
  { finds, found, missing }: Of<'RecordCollectionLook'>,
  context: TreasuryContext,
): Decision<TreasuryMoveEvent> {
  if (finds !== context.nativeCoinFinds)
    return refuse('conflict', 'another check of the collection addresses was recorded meanwhile');
  const known = new Set(Object.values(context.moves).flatMap(addressesOf));
  const moving = [...found, ...missing].find(({ address }) => known.has(address));
  if (moving) return refuse('conflict', `${moving.address} has a move under way`);
  if (found.some(({ amount }) => (parseAmount(amount) ?? 0n) <= 0n))
    return refuse('invalid_request', 'amount must be above zero', 'amount');
  return accept<TreasuryMoveEvent>(
    ...found.map((data) => ({ type: 'NativeCoinFound', data }) as const),
    ...newOutflows(missing, context),
  );
}

const newOutflows = (
  outflows: readonly UnknownOutflowFound['data'][],
  { unknownOutflows, knownOutflows }: TreasuryContext,
): TreasuryMoveEvent[] =>
  outflows
    .filter(({ outflowKey }) => !Object.hasOwn(unknownOutflows, outflowKey) && !knownOutflows.includes(outflowKey))
    .map((data) => ({ type: 'UnknownOutflowFound', data }));

function acknowledge(
  { outflowKey, actor, reason, nowSec }: Of<'AcknowledgeOutflow'>,
  context: TreasuryContext,
): Decision<TreasuryMoveEvent> {
  const found = context.unknownOutflows[outflowKey];
  if (context.knownOutflows.includes(outflowKey)) return accept();
  if (!found) return refuse('not_found', 'no such outflow is reported', 'outflow');
  const { mode, network, address, coin, amount, toAddress, txHash, blockNumber } = found;
  const facts = { mode, network, outflowKey, address, coin, amount, toAddress, txHash, blockNumber };
  return accept({ type: 'UnknownOutflowAcknowledged', data: { ...facts, actor, reason, acknowledgedAtSec: nowSec } });
}

function termsOf({ terms }: Move): MoveTerms {
  const {
    moveId,
    mode,
    network,
    coin,
    amount,
    fromAddress,
    toAddress,
    derivationIndex,
    merchantId,
    forMoveId,
    deposit,
    transfer,
  } = terms;
  const shared = {
    moveId,
    mode,
    network,
    coin,
    amount,
    fromAddress,
    toAddress,
    derivationIndex,
    merchantId,
    forMoveId,
  };
  return { ...shared, ...(deposit && { deposit }), ...(transfer && { transfer }) };
}
