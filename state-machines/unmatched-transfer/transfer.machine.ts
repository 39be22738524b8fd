import { assign, setup } from 'xstate';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { UnmatchedTransfer, TransferEvent } from '../../src/domain/events/transfer-events.ts';
import { dataOf, typesOf } from '../wired.ts';

/*
 * The fate of one transfer that pays no order. It is in one place at a time: waiting, attached to a session, or on its
 * way back. A decision is recorded here first, then carried out in the sessions and the treasury.
 */

export type TransferValue =
  | 'absent'
  | 'open'
  | 'attaching'
  | 'attached'
  | 'detaching'
  | 'returning'
  | 'cancelling'
  | 'returned';

/** The current or most recent decision. */
export interface TransferDecision {
  readonly operation: number;
  readonly actor: string;
  readonly reason: string;
  readonly target:
    | { readonly kind: 'session'; readonly sessionId: SessionId }
    | { readonly kind: 'return'; readonly moveId: string };
}

export interface TransferContext {
  readonly transfer: UnmatchedTransfer | null;
  /** Number of the newest decision; 0 before the first. */
  readonly operation: number;
  /** Null while the money waits. */
  readonly decision: TransferDecision | null;
}

const initialTransferContext: TransferContext = { transfer: null, operation: 0, decision: null };

type Seen = { context: TransferContext; event: TransferEvent };

const isOfThis = ({ context, event }: Seen): boolean => event.data.depositKey === context.transfer?.depositKey;
const isCurrent = (seen: Seen): boolean =>
  isOfThis(seen) &&
  'operation' in seen.event.data &&
  seen.event.data.operation === seen.context.operation &&
  seen.context.decision !== null;

export const transferMachine = setup({
  types: typesOf<TransferContext, TransferEvent>(),
  guards: {
    isNext: (seen: Seen) =>
      isOfThis(seen) && dataOf(seen.event, 'TransferAttachRequested').operation === seen.context.operation + 1,
    isReturnToPayer: (seen: Seen) =>
      isOfThis(seen) &&
      dataOf(seen.event, 'TransferReturnRequested').operation === seen.context.operation + 1 &&
      dataOf(seen.event, 'TransferReturnRequested').toAddress === seen.context.transfer?.fromAddress,
    isCurrent,
    isOfItsMove: (seen: Seen) => {
      const target = seen.context.decision?.target;
      return (
        isCurrent(seen) && target?.kind === 'return' && target.moveId === dataOf(seen.event, 'TransferReturned').moveId
      );
    },
    isOfItsSession: (seen: Seen) => {
      const target = seen.context.decision?.target;
      return (
        isCurrent(seen) &&
        target?.kind === 'session' &&
        target.sessionId === dataOf(seen.event, 'TransferAttached').sessionId
      );
    },
  },
  actions: {
    foldRecorded: assign(({ event }) => {
      const { actor: _by, reason: _why, recordedAtSec: _at, ...transfer } = dataOf(event, 'TransferRecorded');
      return { transfer };
    }),
    foldAttachRequested: assign(({ event }) => {
      const { operation, actor, reason, sessionId } = dataOf(event, 'TransferAttachRequested');
      return { operation, decision: { operation, actor, reason, target: { kind: 'session' as const, sessionId } } };
    }),
    foldReturnRequested: assign(({ event }) => {
      const { operation, actor, reason, moveId } = dataOf(event, 'TransferReturnRequested');
      return { operation, decision: { operation, actor, reason, target: { kind: 'return' as const, moveId } } };
    }),
    foldNothing: assign(() => ({})),
    foldReopened: assign(() => ({ decision: null })),
  },
}).createMachine({
  id: 'transfer',
  initial: 'absent',
  context: initialTransferContext,
  states: {
    absent: { on: { TransferRecorded: { target: 'open', actions: 'foldRecorded' } } },
    open: {
      on: {
        TransferAttachRequested: { guard: 'isNext', target: 'attaching', actions: 'foldAttachRequested' },
        TransferReturnRequested: { guard: 'isReturnToPayer', target: 'returning', actions: 'foldReturnRequested' },
      },
    },
    attaching: {
      on: {
        TransferAttached: { guard: 'isOfItsSession', target: 'attached', actions: 'foldNothing' },
        TransferReopened: { guard: 'isCurrent', target: 'open', actions: 'foldReopened' },
      },
    },
    attached: { on: { TransferUndoRequested: { guard: 'isCurrent', target: 'detaching', actions: 'foldNothing' } } },
    detaching: {
      on: {
        TransferUndoRefused: { guard: 'isCurrent', target: 'attached', actions: 'foldNothing' },
        TransferReopened: { guard: 'isCurrent', target: 'open', actions: 'foldReopened' },
      },
    },
    returning: {
      on: {
        TransferReturned: { guard: 'isOfItsMove', target: 'returned', actions: 'foldNothing' },
        TransferReopened: { guard: 'isCurrent', target: 'open', actions: 'foldReopened' },
        TransferUndoRequested: { guard: 'isCurrent', target: 'cancelling', actions: 'foldNothing' },
      },
    },
    cancelling: {
      on: {
        TransferReturned: { guard: 'isOfItsMove', target: 'returned', actions: 'foldNothing' },
        TransferUndoRefused: { guard: 'isCurrent', target: 'returning', actions: 'foldNothing' },
        TransferReopened: { guard: 'isCurrent', target: 'open', actions: 'foldReopened' },
      },
    },
    returned: {},
  },
});
