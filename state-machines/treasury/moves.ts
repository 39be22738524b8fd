import type { TreasuryEvent, UsedNonces } from '../../src/domain/events/treasury-events.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type {
  MoveCompleted,
  MoveFailed,
  MoveKind,
  MoveRequested,
  MoveSigned,
  OutflowFacts,
  TreasuryMoveEvent,
} from '../../src/domain/events/treasury-move-events.ts';
import { nativeTransferKey } from '../../src/domain/networks/deposit-proof.ts';
import type { TreasuryContext } from './treasury.state.ts';
import type { MoveReservation, Move, ReturnOutcome, MovesContext } from './moves.state.ts';
import { must } from '../../src/domain/values/must.ts';

/*
 * Money that moves between our own accounts or leaves to cold addresses and merchants. Holds each move until it is
 * finished; the events of finished ones remain.
 */

/** Leaves our own accounts, so two people must approve it. */
export const needsApproval = (kind: MoveKind): kind is 'withdrawal' | 'settlement' | 'native_return' =>
  kind === 'withdrawal' || kind === 'settlement' || kind === 'native_return';

/** Whether the treasury's own account sends it, in its own sequence. */
export const isFromTreasury = (kind: MoveKind): boolean => kind !== 'sweep';

export const foldUsedNonce = (used: UsedNonces, draft: TransactionDraft): UsedNonces =>
  draft.kind === 'solana' ? { ...used, [draft.nonceIndex]: draft.nonce } : used;

/** Whether the chain lets at most one of the two land. */
const excludeEachOther = (one: TransactionDraft, other: TransactionDraft): boolean => {
  if (one.kind === 'solana')
    return other.kind === 'solana' && one.nonceIndex === other.nonceIndex && one.nonce === other.nonce;
  return nonceOfDraft(one) === nonceOfDraft(other);
};

/** A new transaction needs an unused sequence; a replacement needs that of its predecessor. */
export function isRightSequence(
  context: TreasuryContext,
  draft: TransactionDraft,
  last: TransactionDraft | undefined,
  isOwn: boolean,
): boolean {
  if (last !== undefined) return excludeEachOther(last, draft);
  if (draft.kind === 'solana') return context.usedNonces[draft.nonceIndex] !== draft.nonce;
  return !isOwn || context.nextNonce === null || nonceOfDraft(draft) === context.nextNonce;
}

/** A return needs approvals only above the signer's threshold, which only the signer knows. */
export const mayBeApproved = (kind: MoveKind): kind is 'withdrawal' | 'settlement' | 'native_return' | 'return' =>
  needsApproval(kind) || kind === 'return';

const APPROVALS_NEEDED = 2;

export const isApproved = ({ kind, approvers }: Move): boolean =>
  !needsApproval(kind) || approvers.length >= APPROVALS_NEEDED;

export const nonceOfDraft = (draft: TransactionDraft): number | null =>
  draft.kind !== 'solana' && 'nonce' in draft ? draft.nonce : null;

/** A collection address has one sweep at a time, because its transactions are numbered. */
export function isLegalRequest(
  { moves, returns, nativeReturns }: MovesContext,
  kind: MoveKind,
  terms: MoveRequested,
): boolean {
  const known = Object.values(moves);
  if (Object.hasOwn(moves, terms.moveId)) return false;
  if (kind === 'return') return terms.deposit !== undefined && !Object.hasOwn(returns, terms.moveId);
  if (kind === 'native_return')
    return terms.transfer !== undefined && !Object.hasOwn(nativeReturns, nativeTransferKey(terms.transfer));
  if (kind === 'sweep')
    return known.every((move) => move.kind !== 'sweep' || move.terms.fromAddress !== terms.fromAddress);
  if (kind === 'nonce_account')
    return known.every((move) => move.kind !== kind || move.terms.toAddress !== terms.toAddress);
  if (kind === 'gas_top_up')
    return known.every(
      (move) => move.kind !== kind || terms.forMoveId === null || move.terms.forMoveId !== terms.forMoveId,
    );
  return true;
}

/** An open move that blocks the requested one. */
export const standsInTheWay = (context: MovesContext, kind: MoveKind, terms: MoveRequested): Move | undefined =>
  Object.values(context.moves).find(
    (move) => !isLegalRequest({ ...context, moves: { [move.terms.moveId]: move } }, kind, terms),
  );

/** The treasury's next nonce for a new transaction of its own, the same nonce for a replacement. */
export function isLegalMoveReservation(context: TreasuryContext, data: MoveReservation): boolean {
  const move = context.moves[data.moveId];
  if (!move || !isApproved(move) || move.terms.fromAddress !== data.fromAddress) return false;
  const last = move.signed.at(-1);
  const follows = last
    ? data.replaces?.txHash === last.txHash && data.attempt === last.attempt + 1
    : data.replaces === null && data.attempt === 1;
  return follows && isRightSequence(context, data.draft, last?.draft, isFromTreasury(move.kind));
}

export const isOpenMove = (
  context: TreasuryContext,
  { moveId, attempt }: { moveId: string; attempt: number },
): boolean =>
  context.open !== null &&
  'moveId' in context.open &&
  context.open.moveId === moveId &&
  context.open.attempt === attempt;

/**
 * Gas that was sent for a move and is not recorded yet. What the move burnt of it would look like coin from outside,
 * and be booked twice once the gas is recorded.
 */
export const hasGasUnderWay = ({ moves }: MovesContext, moveId: string): boolean =>
  Object.values(moves).some(({ terms, signed }) => terms.forMoveId === moveId && signed.length > 0);

export const isBeingSigned = ({ open }: TreasuryContext, moveId: string): boolean =>
  open !== null && 'moveId' in open && open.moveId === moveId;

type Of<Suffix extends string> = Extract<TreasuryMoveEvent, { type: `${string}${Suffix}` }>['data'];
type Data<Type extends TreasuryEvent['type']> = Extract<TreasuryEvent, { type: Type }>['data'];

/* Fold: one function an event. */

export const foldMoveRequested = (
  { moves, returns, nativeReturns }: MovesContext,
  kind: MoveKind,
  terms: MoveRequested,
): Partial<MovesContext> => ({
  moves: { ...moves, [terms.moveId]: { kind, terms, approvers: [], signed: [] } },
  ...(kind === 'return' && { returns: { ...returns, [terms.moveId]: null } }),
  ...(terms.transfer && { nativeReturns: { ...nativeReturns, [nativeTransferKey(terms.transfer)]: terms.moveId } }),
});

export function foldMoveApproved({ moves }: MovesContext, { moveId, approver }: Of<'Approved'>): Partial<MovesContext> {
  const move = must(moves[moveId]);
  return { moves: { ...moves, [moveId]: { ...move, approvers: [...move.approvers, approver] } } };
}

export function foldMoveSigned(context: TreasuryContext, data: MoveSigned): Partial<TreasuryContext> {
  const { draft } = must(context.open);
  const move = must(context.moves[data.moveId]);
  const nonce = isFromTreasury(move.kind) ? nonceOfDraft(draft) : null;
  const signed = [...move.signed, { ...data, draft }];
  return {
    open: null,
    nextNonce: nonce === null ? context.nextNonce : Math.max(nonce + 1, context.nextNonce ?? 0),
    journal: data.journal,
    usedNonces: foldUsedNonce(context.usedNonces, draft),
    moves: { ...context.moves, [data.moveId]: { ...move, signed } },
  };
}

export function foldMoveDone(
  { moves, returns, nativeReturns }: MovesContext,
  data: MoveCompleted | MoveFailed,
): Partial<MovesContext> {
  const { moveId } = data;
  const rest = Object.fromEntries(Object.entries(moves).filter(([id]) => id !== moveId));
  // A failed return can be requested again.
  if (data.transfer && 'reason' in data)
    return {
      moves: rest,
      nativeReturns: Object.fromEntries(Object.entries(nativeReturns).filter(([, id]) => id !== moveId)),
    };
  if (!Object.hasOwn(returns, moveId)) return { moves: rest };
  const outcome: ReturnOutcome =
    'reason' in data ? { paid: false, reason: data.reason } : { paid: true, txHash: data.txHash };
  return { moves: rest, returns: { ...returns, [moveId]: outcome } };
}

export function foldOutflowFound(
  { unknownOutflows }: MovesContext,
  data: Data<'UnknownOutflowFound'>,
): Partial<MovesContext> {
  return { unknownOutflows: { ...unknownOutflows, [data.outflowKey]: data } };
}

export function foldOutflowAcknowledged(context: MovesContext, { outflowKey }: OutflowFacts): Partial<MovesContext> {
  const unknownOutflows = Object.fromEntries(
    Object.entries(context.unknownOutflows).filter(([key]) => key !== outflowKey),
  );
  return {
    unknownOutflows,
    knownOutflows: [...context.knownOutflows, outflowKey],
    differencesSettled: context.differencesSettled + 1,
  };
}

/**
 * What one transaction brought of a coin is booked together. Log indexes are not part of the key, because a
 * reorganisation can change them.
 */
export const inflowKey = ({ txHash, coin }: { readonly txHash: string; readonly coin: string }): string =>
  `${txHash}:${coin}`;

export function foldFunded(
  { bookedInflows, unknownInflowsThrough }: MovesContext,
  data: Data<'TreasuryFunded'>,
): Partial<MovesContext> {
  const { txHash, coin, blockNumber, window } = data;
  if (txHash !== null) return { bookedInflows: { ...bookedInflows, [inflowKey({ txHash, coin })]: blockNumber } };
  return { unknownInflowsThrough: Math.max(unknownInflowsThrough, window?.toBlock ?? 0) };
}

/** The next comparison begins with the following block. */
export function foldReconciled(
  { bookedInflows, differencesSettled, addressesTo: before }: MovesContext,
  { throughBlock, reconciledAtSec, addressesTo = before }: Data<'TreasuryReconciled'>,
): Partial<MovesContext> {
  const newer = Object.entries(bookedInflows).filter(([, blockNumber]) => blockNumber > throughBlock);
  return {
    reconciledThrough: throughBlock,
    ...{ reconciledAtSec, addressesTo },
    bookedInflows: Object.fromEntries(newer),
    differencesSettled: differencesSettled + 1,
  };
}

/** Collection addresses whose native coin a move may be changing. */
export function addressesOf({ kind, terms }: Move): string[] {
  if (kind === 'sweep') return [terms.fromAddress];
  return kind === 'gas_top_up' ? [terms.toAddress] : [];
}

/** Moves out of the treasury that may still take coin or a fee from it. */
export function movesInFlight({ moves }: MovesContext): readonly Move[] {
  return Object.values(moves).filter(({ kind, signed }) => isFromTreasury(kind) && signed.length > 0);
}

/** Moves that may bring money from our own addresses into the treasury. */
export function sweepsInFlight({ moves }: MovesContext): readonly Move[] {
  return Object.values(moves).filter(({ kind, signed }) => kind === 'sweep' && signed.length > 0);
}
