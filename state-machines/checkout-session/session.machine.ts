import { assign, setup } from 'xstate';
import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import {
  foldCredited,
  foldCreditReversed,
  foldPutBack,
  foldGivenUp,
  foldSetAside,
  isCreditable,
  isNewOperation,
  mayGiveUp,
  isSetAsideFor,
  mayReverseCredit,
  whyNotSetAside,
} from './transfers.ts';
import { foldCoinChosen, isChoosable } from './coin.ts';
import {
  depositsOfOrder,
  foldConfirmed,
  foldDetected,
  foldReverted,
  arrived,
  hasPending,
  held,
  initialContext,
  isSufficient,
  type SessionContext,
} from './session.state.ts';
import type { DepositState } from './deposits.ts';
import {
  allLegs,
  foldLanded,
  foldPayoutFailed,
  foldPayoutReverted,
  foldRefundEnd,
  foldRefundRequested,
  foldSigned,
  isLegalRefund,
  isReplacement,
  isSigned,
  legIn,
} from './refunds.ts';
import { dataOf, typesOf, type DataOf } from '../wired.ts';

export type SessionValue = 'absent' | 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';

/*
 * The life of a checkout session and its refunds. The alphabet is the session's domain events, so a stored stream that
 * replays without refusal was legal. Guards hold the invariants; the decider beside this file makes the choices.
 */

type Of<Type extends SessionEvent['type']> = EventOf<Type>;

/* Fold: one function per event. */

function foldCreated(_: SessionContext, data: Of<'SessionCreated'>['data']): Partial<SessionContext> {
  return {
    created: data,
    due: amountOf(data.dueAmount),
    tolerance: amountOf(data.policy.tolerance),
    expiresAtSec: data.expiresAtSec,
  };
}

/* Guards: total functions, one invariant each. */

/** The session that received an attached transfer keeps following it on the chain. */
const depositIn = (context: SessionContext, key: string, ...statuses: DepositState['status'][]): boolean => {
  const deposit = context.deposits.get(key);
  return deposit !== undefined && deposit.credit === undefined && statuses.includes(deposit.status);
};

/** A deposit is detected once; again only after it was reverted (a reorg brought it back). */
const isUnknownDeposit = (context: SessionContext, key: string): boolean =>
  context.created !== null &&
  (context.deposits.get(key) === undefined || depositIn(context, key, 'reverted', 'failed'));

const foldOf =
  <Type extends SessionEvent['type']>(
    type: Type,
    fold: (context: SessionContext, data: DataOf<SessionEvent, Type>) => Partial<SessionContext>,
  ) =>
  ({ context, event }: Seen): Partial<SessionContext> =>
    fold(context, dataOf(event, type));

type Seen = { context: SessionContext; event: SessionEvent };

export const checkoutSessionMachine = setup({
  types: typesOf<SessionContext, SessionEvent>(),
  guards: {
    isPendingAndNew: ({ context, event }: Seen) =>
      isUnknownDeposit(context, dataOf(event, 'DepositDetected').depositKey) &&
      hasPending({ ...context, ...foldDetected(context, dataOf(event, 'DepositDetected')) }),
    isNewDeposit: ({ context, event }: Seen) => isUnknownDeposit(context, dataOf(event, 'DepositDetected').depositKey),
    leavesPending: ({ context, event }: Seen) =>
      depositIn(context, dataOf(event, 'DepositConfirmed').depositKey, 'detected') &&
      hasPending({ ...context, ...foldConfirmed(context, dataOf(event, 'DepositConfirmed')) }),
    isDetected: ({ context, event }: Seen) =>
      depositIn(context, dataOf(event, 'DepositConfirmed').depositKey, 'detected'),
    revertLeavesPending: ({ context, event }: Seen) =>
      depositIn(context, dataOf(event, 'DepositReverted').depositKey, 'detected', 'final') &&
      hasPending({ ...context, ...foldReverted(context, dataOf(event, 'DepositReverted')) }),
    isRevertible: ({ context, event }: Seen) =>
      depositIn(context, dataOf(event, 'DepositReverted').depositKey, 'detected', 'final'),
    maySetAside: ({ context, event }: Seen) => {
      const { depositKey, operation } = dataOf(event, 'DepositSetAside');
      return isNewOperation(context, depositKey, operation) && whyNotSetAside(context, depositKey) === null;
    },
    mayGiveUp: ({ context, event }: Seen) => mayGiveUp(context, dataOf(event, 'TransferGivenUp')),
    isSetAsideFor: ({ context, event }: Seen) => isSetAsideFor(context, dataOf(event, 'DepositPutBack')),
    isPendingAndPutBack: ({ context, event }: Seen) =>
      isSetAsideFor(context, dataOf(event, 'DepositPutBack')) &&
      hasPending({ ...context, ...foldPutBack(context, dataOf(event, 'DepositPutBack')) }),
    isCreditable: ({ context, event }: Seen) => isCreditable(context, dataOf(event, 'TransferCredited')),
    mayReverseCredit: ({ context, event }: Seen) => mayReverseCredit(context, dataOf(event, 'TransferCreditReversed')),
    isChoosable: ({ context, event }: Seen) => isChoosable(context, dataOf(event, 'CoinChosen')),
    isSufficient: ({ context, event }: Seen) =>
      isSufficient(context, held(context)) &&
      amountOf(dataOf(event, 'SessionPaid').received) === held(context) &&
      held(context) > 0n,
    endsTestSooner: ({ context, event }: Seen) =>
      context.created?.mode === 'test' && dataOf(event, 'SessionDeadlineMoved').expiresAtSec < context.expiresAtSec,
    isLegalRefund: ({ context, event }: Seen) => isLegalRefund(context, dataOf(event, 'RefundRequested')),
    isUnsignedLeg: ({ context, event }: Seen) => legIn(context, dataOf(event, 'RefundPayoutSigned'), 'PENDING'),
    isReplacement: ({ context, event }: Seen) =>
      legIn(context, dataOf(event, 'RefundPayoutReplaced'), 'PROCESSING') &&
      isReplacement(context, dataOf(event, 'RefundPayoutReplaced')),
    isInFlightPayout: ({ context, event }: Seen) =>
      legIn(context, dataOf(event, 'RefundPayoutLanded'), 'PROCESSING') &&
      isSigned(context, dataOf(event, 'RefundPayoutLanded')),
    isLandedLeg: ({ context, event }: Seen) => legIn(context, dataOf(event, 'RefundPayoutReverted'), 'COMPLETED'),
    isUnfinishedLeg: ({ context, event }: Seen) =>
      legIn(context, dataOf(event, 'RefundPayoutFailed'), 'PENDING', 'PROCESSING'),
    isAllLanded: ({ context, event }: Seen) =>
      context.refunds[dataOf(event, 'RefundCompleted').refundId]?.status !== 'COMPLETED' &&
      allLegs(context, dataOf(event, 'RefundCompleted').refundId, (leg) => leg.status === 'COMPLETED'),
    isAllEndedSomeFailed: ({ context, event }: Seen) =>
      allLegs(
        context,
        dataOf(event, 'RefundFailed').refundId,
        (leg) => leg.status === 'COMPLETED' || leg.status === 'FAILED',
      ) && !allLegs(context, dataOf(event, 'RefundFailed').refundId, (leg) => leg.status === 'COMPLETED'),
  },
  actions: {
    foldCreated: assign(foldOf('SessionCreated', foldCreated)),
    foldCoinChosen: assign(({ context }: Seen) => foldCoinChosen(context)),
    foldDetected: assign(foldOf('DepositDetected', foldDetected)),
    foldConfirmed: assign(foldOf('DepositConfirmed', foldConfirmed)),
    foldReverted: assign(foldOf('DepositReverted', foldReverted)),
    foldSetAside: assign(foldOf('DepositSetAside', foldSetAside)),
    foldGivenUp: assign(foldOf('TransferGivenUp', foldGivenUp)),
    foldPutBack: assign(foldOf('DepositPutBack', foldPutBack)),
    foldCredited: assign(foldOf('TransferCredited', foldCredited)),
    foldCreditReversed: assign(foldOf('TransferCreditReversed', foldCreditReversed)),
    foldPaid: assign(
      foldOf('SessionPaid', (context, paid) => ({
        paid,
        returnedUnpaid: arrived(context) - amountOf(paid.received),
        paidBy: new Set(depositsOfOrder(context).map(({ facts }) => facts.depositKey)),
      })),
    ),
    foldExpired: assign(foldOf('SessionExpired', (_, expired) => ({ expired }))),
    foldFailed: assign(foldOf('SessionFailed', (_, failed) => ({ failed }))),
    foldCancelled: assign(
      foldOf('SessionCancelled', (context, cancelled) => ({
        cancelled,
        expiresAtSec: Math.min(context.expiresAtSec, cancelled.cancelledAtSec),
      })),
    ),
    foldDeadlineMoved: assign(foldOf('SessionDeadlineMoved', (_, { expiresAtSec }) => ({ expiresAtSec }))),
    foldRefundRequested: assign(foldOf('RefundRequested', foldRefundRequested)),
    foldSigned: assign(foldOf('RefundPayoutSigned', foldSigned)),
    foldReplaced: assign(foldOf('RefundPayoutReplaced', foldSigned)),
    foldLanded: assign(foldOf('RefundPayoutLanded', foldLanded)),
    foldPayoutReverted: assign(foldOf('RefundPayoutReverted', foldPayoutReverted)),
    foldPayoutFailed: assign(foldOf('RefundPayoutFailed', foldPayoutFailed)),
    foldRefundCompleted: assign(
      foldOf('RefundCompleted', (context, data) =>
        foldRefundEnd(context, data.refundId, {
          status: 'COMPLETED',
          returned: amountOf(data.amount),
          updatedAtSec: data.completedAtSec,
        }),
      ),
    ),
    foldRefundFailed: assign(
      foldOf('RefundFailed', (context, data) =>
        foldRefundEnd(context, data.refundId, {
          status: 'FAILED',
          returned: amountOf(data.amountReturned),
          failureReason: data.reason,
          updatedAtSec: data.failedAtSec,
        }),
      ),
    ),
  },
}).createMachine({
  id: 'checkout-session',
  initial: 'absent',
  context: initialContext,
  states: {
    absent: { on: { SessionCreated: { target: 'open', actions: 'foldCreated' } } },
    open: {
      on: {
        DepositDetected: [
          { guard: 'isPendingAndNew', target: 'processing', actions: 'foldDetected' },
          { guard: 'isNewDeposit', actions: 'foldDetected' },
        ],
        DepositPutBack: [
          { guard: 'isPendingAndPutBack', target: 'processing', actions: 'foldPutBack' },
          { guard: 'isSetAsideFor', actions: 'foldPutBack' },
        ],
        SessionPaid: { guard: 'isSufficient', target: 'paid', actions: 'foldPaid' },
        SessionExpired: { target: 'expired', actions: 'foldExpired' },
        SessionFailed: { target: 'failed', actions: 'foldFailed' },
        SessionCancelled: { target: 'cancelled', actions: 'foldCancelled' },
        SessionDeadlineMoved: { guard: 'endsTestSooner', actions: 'foldDeadlineMoved' },
      },
    },
    processing: {
      on: {
        DepositDetected: { guard: 'isNewDeposit', actions: 'foldDetected' },
        DepositConfirmed: [
          { guard: 'leavesPending', actions: 'foldConfirmed' },
          { guard: 'isDetected', target: 'open', actions: 'foldConfirmed' },
        ],
        DepositReverted: [
          { guard: 'revertLeavesPending', actions: 'foldReverted' },
          { guard: 'isRevertible', target: 'open', actions: 'foldReverted' },
        ],
        SessionPaid: { guard: 'isSufficient', target: 'paid', actions: 'foldPaid' },
        SessionCancelled: { target: 'cancelled', actions: 'foldCancelled' },
        SessionDeadlineMoved: { guard: 'endsTestSooner', actions: 'foldDeadlineMoved' },
      },
    },
    paid: {},
    expired: { on: { SessionPaid: { guard: 'isSufficient', target: 'paid', actions: 'foldPaid' } } },
    failed: { on: { SessionPaid: { guard: 'isSufficient', target: 'paid', actions: 'foldPaid' } } },
    cancelled: {},
  },
  on: {
    CoinChosen: { guard: 'isChoosable', actions: 'foldCoinChosen' },
    DepositDetected: { guard: 'isNewDeposit', actions: 'foldDetected' },
    DepositConfirmed: { guard: 'isDetected', actions: 'foldConfirmed' },
    DepositReverted: { guard: 'isRevertible', actions: 'foldReverted' },
    DepositSetAside: { guard: 'maySetAside', actions: 'foldSetAside' },
    DepositPutBack: { guard: 'isSetAsideFor', actions: 'foldPutBack' },
    TransferGivenUp: { guard: 'mayGiveUp', actions: 'foldGivenUp' },
    TransferCredited: { guard: 'isCreditable', actions: 'foldCredited' },
    TransferCreditReversed: { guard: 'mayReverseCredit', actions: 'foldCreditReversed' },
    RefundRequested: { guard: 'isLegalRefund', actions: 'foldRefundRequested' },
    RefundPayoutSigned: { guard: 'isUnsignedLeg', actions: 'foldSigned' },
    RefundPayoutReplaced: { guard: 'isReplacement', actions: 'foldReplaced' },
    RefundPayoutLanded: { guard: 'isInFlightPayout', actions: 'foldLanded' },
    RefundPayoutReverted: { guard: 'isLandedLeg', actions: 'foldPayoutReverted' },
    RefundPayoutFailed: { guard: 'isUnfinishedLeg', actions: 'foldPayoutFailed' },
    RefundCompleted: { guard: 'isAllLanded', actions: 'foldRefundCompleted' },
    RefundFailed: { guard: 'isAllEndedSomeFailed', actions: 'foldRefundFailed' },
  },
});
