import { assign, setup } from 'xstate';
import {
  MOVE_NAMES,
  type MoveKind,
  type MoveRequested,
  type MoveSigned,
} from '../../src/domain/events/treasury-move-events.ts';
import {
  foldFunded,
  foldMoveApproved,
  foldMoveDone,
  foldMoveRequested,
  foldMoveSigned,
  foldOutflowAcknowledged,
  foldOutflowFound,
  foldReconciled,
  foldUsedNonce,
  isBeingSigned,
  isLegalMoveReservation,
  isLegalRequest,
  isOpenMove,
  isRightSequence,
  mayBeApproved,
  nonceOfDraft,
} from './moves.ts';
import type { MoveReservation } from './moves.state.ts';
import type { TreasuryEvent } from '../../src/domain/events/treasury-events.ts';
import {
  type Reservation,
  type SequenceTaken,
  type TreasuryContext,
  initialTreasuryContext,
} from './treasury.state.ts';

/*
 * The sequences of one treasury account on one network. At most one reservation is unsigned at a time; a nonce belongs
 * to one payout for ever, unless the signer refused it.
 */

export type TreasuryValue = 'idle' | 'signing';

/** More than a mempool takes of one sender, and more than a local chain loses when it is killed. */
const RECENT_KEPT = 256;

type Of<Type extends TreasuryEvent['type']> = Extract<TreasuryEvent, { type: Type }>['data'];
type Seen = { context: TreasuryContext; event: TreasuryEvent };

const nonceOf = ({ draft }: Reservation): number | null => nonceOfDraft(draft);

/** The open reservation when it is a refund's. */
export const openPayout = ({ open }: TreasuryContext): Reservation | null =>
  open !== null && 'legId' in open ? open : null;

export const lastOfLeg = (context: TreasuryContext, legId: string): SequenceTaken | undefined =>
  context.recent.findLast((taken) => taken.legId === legId);

/** The next free nonce for a new payout, the payout's own nonce for a replacement. */
export function isLegalReservation(context: TreasuryContext, data: Reservation): boolean {
  const last = lastOfLeg(context, data.legId);
  const follows = last
    ? data.replaces?.txHash === last.txHash && data.attempt === last.attempt + 1
    : data.replaces === null && data.attempt === 1;
  return follows && isRightSequence(context, data.draft, last?.draft, true);
}

const isOpen = (context: TreasuryContext, data: { legId: string; attempt: number }): boolean => {
  const open = openPayout(context);
  return open !== null && open.legId === data.legId && open.attempt === data.attempt;
};

function foldSigned(context: TreasuryContext, data: Of<'PayoutSequenceSigned'>): Partial<TreasuryContext> {
  const open = openPayout(context)!;
  const { sessionId, refundId, legId, attempt, draft } = open;
  const nonce = nonceOf(open);
  const taken: SequenceTaken = { sessionId, refundId, legId, attempt, nonce, txHash: data.txHash, draft };
  const nextNonce = nonce === null ? null : Math.max(nonce + 1, context.nextNonce ?? 0);
  const usedNonces = foldUsedNonce(context.usedNonces, draft);
  return {
    open: null,
    nextNonce,
    usedNonces,
    journal: data.journal,
    recent: [...context.recent, taken].slice(-RECENT_KEPT),
  };
}

const KINDS = Object.fromEntries(
  Object.entries(MOVE_NAMES).map(([kind, name]) => [`${name}Requested`, kind]),
) as Readonly<Record<string, MoveKind>>;
const kindOf = ({ type }: TreasuryEvent): MoveKind => KINDS[type]!;

function isNewApproval({ moves }: TreasuryContext, { moveId, approver }: Of<'WithdrawalApproved'>): boolean {
  const move = moves[moveId];
  return (
    move !== undefined &&
    mayBeApproved(move.kind) &&
    move.terms.requestedBy !== approver &&
    !move.approvers.includes(approver)
  );
}

/* What is the same for every kind of move. */
const requested = { guard: 'isLegalRequest', actions: 'foldMoveRequested' } as const;
const approved = { guard: 'isNewApproval', actions: 'foldMoveApproved' } as const;
const signed = { guard: 'isOpenMoveAndNext', target: 'idle', actions: 'foldMoveSigned' } as const;
const completed = { guard: 'wasSigned', actions: 'foldMoveDone' } as const;
const failed = { guard: 'isNotBeingSigned', actions: 'foldMoveDone' } as const;

export const treasuryMachine = setup({
  types: { context: {} as TreasuryContext, events: {} as TreasuryEvent },
  guards: {
    isLegalReservation: ({ context, event }: Seen) => isLegalReservation(context, event.data as Reservation),
    isOpen: ({ context, event }: Seen) => isOpen(context, event.data as Of<'PayoutSequenceReleased'>),
    isOpenAndNext: ({ context, event }: Seen) =>
      isOpen(context, event.data as Of<'PayoutSequenceSigned'>) &&
      (event.data as Of<'PayoutSequenceSigned'>).journal.seq > (context.journal?.seq ?? 0),
    isLegalRequest: ({ context, event }: Seen) => isLegalRequest(context, kindOf(event), event.data as MoveRequested),
    isNewApproval: ({ context, event }: Seen) => isNewApproval(context, event.data as Of<'WithdrawalApproved'>),
    isLegalMoveReservation: ({ context, event }: Seen) =>
      isLegalMoveReservation(context, event.data as MoveReservation),
    isOpenMove: ({ context, event }: Seen) => isOpenMove(context, event.data as MoveSigned),
    isOpenMoveAndNext: ({ context, event }: Seen) =>
      isOpenMove(context, event.data as MoveSigned) &&
      (event.data as MoveSigned).journal.seq > (context.journal?.seq ?? 0),
    wasSigned: ({ context, event }: Seen) => {
      const { moveId, txHash } = event.data as Of<'SweepCompleted'>;
      return context.moves[moveId]?.signed.some((signed) => signed.txHash === txHash) === true;
    },
    isNotBeingSigned: ({ context, event }: Seen) => {
      const { moveId } = event.data as Of<'SweepFailed'>;
      return Object.hasOwn(context.moves, moveId) && !isBeingSigned(context, moveId);
    },
    isUnknownOutflow: ({ context, event }: Seen) =>
      Object.hasOwn(context.unknownOutflows, (event.data as Of<'UnknownOutflowFound'>).outflowKey),
    isNewOutflow: ({ context, event }: Seen) =>
      !Object.hasOwn(context.unknownOutflows, (event.data as Of<'UnknownOutflowFound'>).outflowKey),
    isNotBehind: ({ context, event }: Seen) =>
      (event.data as Of<'TreasuryReconciled'>).throughBlock >= (context.reconciledThrough ?? 0),
  },
  actions: {
    foldReserved: assign(({ event }) => ({ open: event.data as Reservation })),
    foldReleased: assign(() => ({ open: null })),
    foldSigned: assign(({ context, event }) => foldSigned(context, event.data as Of<'PayoutSequenceSigned'>)),
    foldMoveRequested: assign(({ context, event }) =>
      foldMoveRequested(context, kindOf(event), event.data as MoveRequested),
    ),
    foldMoveApproved: assign(({ context, event }) => foldMoveApproved(context, event.data as Of<'WithdrawalApproved'>)),
    foldMoveReserved: assign(({ event }) => ({ open: event.data as MoveReservation })),
    foldMoveSigned: assign(({ context, event }) => foldMoveSigned(context, event.data as MoveSigned)),
    foldMoveDone: assign(({ context, event }) => foldMoveDone(context, event.data as Of<'SweepCompleted'>)),
    foldOutflowFound: assign(({ context, event }) =>
      foldOutflowFound(context, event.data as Of<'UnknownOutflowFound'>),
    ),
    foldOutflowAcknowledged: assign(({ context, event }) =>
      foldOutflowAcknowledged(context, event.data as Of<'UnknownOutflowAcknowledged'>),
    ),
    foldNativeCoinFound: assign(({ context }) => ({ nativeCoinFinds: context.nativeCoinFinds + 1 })),
    foldFunded: assign(({ context, event }) => foldFunded(context, event.data as Of<'TreasuryFunded'>)),
    foldReconciled: assign(({ context, event }) => foldReconciled(context, event.data as Of<'TreasuryReconciled'>)),
  },
}).createMachine({
  id: 'treasury',
  initial: 'idle',
  context: initialTreasuryContext,
  states: {
    idle: {
      on: {
        PayoutSequenceReserved: { guard: 'isLegalReservation', target: 'signing', actions: 'foldReserved' },
        MoveSequenceReserved: { guard: 'isLegalMoveReservation', target: 'signing', actions: 'foldMoveReserved' },
      },
    },
    signing: {
      on: {
        PayoutSequenceReleased: { guard: 'isOpen', target: 'idle', actions: 'foldReleased' },
        PayoutSequenceSigned: { guard: 'isOpenAndNext', target: 'idle', actions: 'foldSigned' },
        MoveSequenceReleased: { guard: 'isOpenMove', target: 'idle', actions: 'foldReleased' },
        SweepSigned: signed,
        GasTopUpSigned: signed,
        WithdrawalSigned: signed,
        SettlementSigned: signed,
        ReturnSigned: signed,
        NativeReturnSigned: signed,
        NonceAccountSigned: signed,
      },
    },
  },
  on: {
    SweepRequested: requested,
    GasTopUpRequested: requested,
    WithdrawalRequested: requested,
    SettlementRequested: requested,
    ReturnRequested: requested,
    NativeReturnRequested: requested,
    NonceAccountRequested: requested,
    WithdrawalApproved: approved,
    SettlementApproved: approved,
    ReturnApproved: approved,
    NativeReturnApproved: approved,
    SweepCompleted: completed,
    GasTopUpCompleted: completed,
    WithdrawalCompleted: completed,
    SettlementCompleted: completed,
    ReturnCompleted: completed,
    NativeReturnCompleted: completed,
    NonceAccountCompleted: completed,
    SweepFailed: failed,
    GasTopUpFailed: failed,
    WithdrawalFailed: failed,
    SettlementFailed: failed,
    ReturnFailed: failed,
    NativeReturnFailed: failed,
    NonceAccountFailed: failed,
    TreasuryFunded: { actions: 'foldFunded' },
    NativeCoinFound: { actions: 'foldNativeCoinFound' },
    UnknownOutflowFound: { guard: 'isNewOutflow', actions: 'foldOutflowFound' },
    UnknownOutflowAcknowledged: { guard: 'isUnknownOutflow', actions: 'foldOutflowAcknowledged' },
    TreasuryReconciled: { guard: 'isNotBehind', actions: 'foldReconciled' },
  },
});
