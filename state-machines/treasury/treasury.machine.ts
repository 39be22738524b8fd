import { assign, setup } from 'xstate';
import { MOVE_KINDS, MOVE_NAMES, type MoveKind } from '../../src/domain/events/treasury-move-events.ts';
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
import type { TreasuryEvent } from '../../src/domain/events/treasury-events.ts';
import {
  type Reservation,
  type SequenceTaken,
  type TreasuryContext,
  initialTreasuryContext,
} from './treasury.state.ts';
import { dataOf, typesOf } from '../wired.ts';
import { sameName } from '../../src/domain/values/names.ts';
import { must } from '../../src/domain/values/must.ts';

/*
 * The sequences of one treasury account on one network. At most one reservation is unsigned at a time; a nonce belongs
 * to one payout forever, unless the signer refused it.
 */

export type TreasuryValue = 'idle' | 'signing';

/** More than a mempool accepts from one sender, and more than a local chain loses when it is killed. */
const RECENT_KEPT = 256;

type Of<Type extends TreasuryEvent['type']> = Extract<TreasuryEvent, { type: Type }>['data'];
type Seen = { context: TreasuryContext; event: TreasuryEvent };

const nonceOf = ({ draft }: Reservation): number | null => nonceOfDraft(draft);

/** The open reservation if it belongs to a refund. */
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
  const open = must(openPayout(context));
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

const namedAfter = <const Step extends string>(step: Step) =>
  Object.values(MOVE_NAMES).map((name) => `${name}${step}` as const);
const APPROVED = ['WithdrawalApproved', 'SettlementApproved', 'ReturnApproved', 'NativeReturnApproved'] as const;
const REQUESTED = namedAfter('Requested');
const SIGNED = namedAfter('Signed');
const COMPLETED = namedAfter('Completed');
const FAILED = namedAfter('Failed');

const KINDS: ReadonlyMap<string, MoveKind> = new Map(MOVE_KINDS.map((kind) => [`${MOVE_NAMES[kind]}Requested`, kind]));
const kindOf = ({ type }: TreasuryEvent): MoveKind => must(KINDS.get(type));

/**
 * A skipped transaction belongs to a move that has ended. A journal that starts over has entries below those of the
 * lost one.
 */
export const isLegalPlace = (context: TreasuryContext, { from, to, passed }: Of<'JournalPlaceMoved'>): boolean =>
  from?.hash === context.journal?.hash &&
  (passed === null ||
    (context.open === null && !Object.hasOwn(context.moves, passed.moveId) && to.seq > (from?.seq ?? 0)));

function isNewApproval({ moves }: TreasuryContext, { moveId, approver }: Of<'WithdrawalApproved'>): boolean {
  const move = moves[moveId];
  return (
    move !== undefined &&
    mayBeApproved(move.kind) &&
    ![move.terms.requestedBy, ...move.approvers].some((other) => sameName(other, approver))
  );
}

/* Common to every kind of move. */
const requested = { guard: 'isLegalRequest', actions: 'foldMoveRequested' } as const;
const approved = { guard: 'isNewApproval', actions: 'foldMoveApproved' } as const;
const signed = { guard: 'isOpenMoveAndNext', target: 'idle', actions: 'foldMoveSigned' } as const;
const completed = { guard: 'wasSigned', actions: 'foldMoveDone' } as const;
const failed = { guard: 'isNotBeingSigned', actions: 'foldMoveDone' } as const;

export const treasuryMachine = setup({
  types: typesOf<TreasuryContext, TreasuryEvent>(),
  guards: {
    isLegalReservation: ({ context, event }: Seen) =>
      isLegalReservation(context, dataOf(event, 'PayoutSequenceReserved')),
    isOpen: ({ context, event }: Seen) => isOpen(context, dataOf(event, 'PayoutSequenceReleased')),
    isOpenAndNext: ({ context, event }: Seen) =>
      isOpen(context, dataOf(event, 'PayoutSequenceSigned')) &&
      dataOf(event, 'PayoutSequenceSigned').journal.seq > (context.journal?.seq ?? 0),
    isLegalRequest: ({ context, event }: Seen) => isLegalRequest(context, kindOf(event), dataOf(event, ...REQUESTED)),
    isNewApproval: ({ context, event }: Seen) => isNewApproval(context, dataOf(event, ...APPROVED)),
    isLegalMoveReservation: ({ context, event }: Seen) =>
      isLegalMoveReservation(context, dataOf(event, 'MoveSequenceReserved')),
    isOpenMove: ({ context, event }: Seen) => isOpenMove(context, dataOf(event, 'MoveSequenceReleased')),
    isOpenMoveAndNext: ({ context, event }: Seen) =>
      isOpenMove(context, dataOf(event, ...SIGNED)) &&
      dataOf(event, ...SIGNED).journal.seq > (context.journal?.seq ?? 0),
    wasSigned: ({ context, event }: Seen) => {
      const { moveId, txHash } = dataOf(event, ...COMPLETED);
      return context.moves[moveId]?.signed.some((signed) => signed.txHash === txHash) === true;
    },
    isNotBeingSigned: ({ context, event }: Seen) => {
      const { moveId } = dataOf(event, ...FAILED);
      return Object.hasOwn(context.moves, moveId) && !isBeingSigned(context, moveId);
    },
    isUnknownOutflow: ({ context, event }: Seen) =>
      Object.hasOwn(context.unknownOutflows, dataOf(event, 'UnknownOutflowAcknowledged').outflowKey),
    isNewOutflow: ({ context, event }: Seen) =>
      !Object.hasOwn(context.unknownOutflows, dataOf(event, 'UnknownOutflowFound').outflowKey),
    isLegalPlace: ({ context, event }: Seen) => isLegalPlace(context, dataOf(event, 'JournalPlaceMoved')),
    isNotBehind: ({ context, event }: Seen) =>
      dataOf(event, 'TreasuryReconciled').throughBlock >= (context.reconciledThrough ?? 0),
  },
  actions: {
    foldReserved: assign(({ event }) => ({ open: dataOf(event, 'PayoutSequenceReserved') })),
    foldReleased: assign(() => ({ open: null })),
    foldSigned: assign(({ context, event }) => foldSigned(context, dataOf(event, 'PayoutSequenceSigned'))),
    foldPlace: assign(({ event }) => ({ journal: dataOf(event, 'JournalPlaceMoved').to })),
    foldMoveRequested: assign(({ context, event }) =>
      foldMoveRequested(context, kindOf(event), dataOf(event, ...REQUESTED)),
    ),
    foldMoveApproved: assign(({ context, event }) => foldMoveApproved(context, dataOf(event, ...APPROVED))),
    foldMoveReserved: assign(({ event }) => ({ open: dataOf(event, 'MoveSequenceReserved') })),
    foldMoveSigned: assign(({ context, event }) => foldMoveSigned(context, dataOf(event, ...SIGNED))),
    foldMoveDone: assign(({ context, event }) => foldMoveDone(context, dataOf(event, ...COMPLETED, ...FAILED))),
    foldOutflowFound: assign(({ context, event }) => foldOutflowFound(context, dataOf(event, 'UnknownOutflowFound'))),
    foldOutflowAcknowledged: assign(({ context, event }) =>
      foldOutflowAcknowledged(context, dataOf(event, 'UnknownOutflowAcknowledged')),
    ),
    foldNativeCoinFound: assign(({ context }) => ({ nativeCoinFinds: context.nativeCoinFinds + 1 })),
    foldFunded: assign(({ context, event }) => foldFunded(context, dataOf(event, 'TreasuryFunded'))),
    foldReconciled: assign(({ context, event }) => foldReconciled(context, dataOf(event, 'TreasuryReconciled'))),
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
    JournalPlaceMoved: { guard: 'isLegalPlace', actions: 'foldPlace' },
    TreasuryFunded: { actions: 'foldFunded' },
    NativeCoinFound: { actions: 'foldNativeCoinFound' },
    UnknownOutflowFound: { guard: 'isNewOutflow', actions: 'foldOutflowFound' },
    UnknownOutflowAcknowledged: { guard: 'isUnknownOutflow', actions: 'foldOutflowAcknowledged' },
    TreasuryReconciled: { guard: 'isNotBehind', actions: 'foldReconciled' },
  },
});
