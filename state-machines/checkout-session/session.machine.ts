import { assign, setup } from 'xstate';
import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import { amountOf } from '../../src/domain/money.ts';
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
  arrived,
  hasPending,
  held,
  initialContext,
  isSufficient,
  suffices,
  withDeposit,
  type DepositState,
  type SessionContext,
} from './session.state.ts';
import { foldClaimFiled, foldClaimRejected, isNewClaim, isRejectableClaim } from './claims.ts';
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

export type SessionValue = 'absent' | 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';

/*
 * The life of a checkout session and its refunds. The alphabet is the session's domain events, so a stored stream that
 * replays without refusal was legal. Guards hold the invariants; the decider beside this file makes the choices.
 */

type Of<Type extends SessionEvent['type']> = EventOf<Type>;
const as = <Type extends SessionEvent['type']>(event: SessionEvent): Of<Type>['data'] => event.data as Of<Type>['data'];

/* Fold: one function an event. */

function foldCreated(_: SessionContext, data: Of<'SessionCreated'>['data']): Partial<SessionContext> {
  return {
    created: data,
    due: amountOf(data.dueAmount),
    tolerance: amountOf(data.policy.tolerance),
    expiresAtSec: data.expiresAtSec,
  };
}

function foldDetected(context: SessionContext, data: Of<'DepositDetected'>['data']): Partial<SessionContext> {
  const aside = context.deposits[data.depositKey]?.aside;
  const deposit: DepositState = {
    ...{ facts: data, kind: data.kind, units: amountOf(data.amount), status: 'detected' },
    // A transfer that comes back after a reorganisation is still wherever an operator put it.
    ...(aside !== undefined && { aside }),
  };
  const deposits = { ...context.deposits, [data.depositKey]: deposit };
  return { deposits, sufficientSeen: context.sufficientSeen || suffices({ ...context, deposits }) };
}

const foldReverted = (context: SessionContext, data: Of<'DepositReverted'>['data']): Partial<SessionContext> =>
  withDeposit(context, data.depositKey, (deposit) => ({
    ...deposit,
    status: data.reason === 'failed' ? 'failed' : 'reverted',
    revertedAtSec: data.revertedAtSec,
  }));

/* Guards: total functions, one invariant each. */

/** What was attached is followed on the chain by the session that it came to. */
const depositIn = (context: SessionContext, key: string, ...statuses: DepositState['status'][]): boolean => {
  const deposit = context.deposits[key];
  return deposit !== undefined && deposit.credit === undefined && statuses.includes(deposit.status);
};

/** A deposit is detected once; again only after it was reverted (a reorg brought it back). */
const isUnknownDeposit = (context: SessionContext, key: string): boolean =>
  context.created !== null && (context.deposits[key] === undefined || depositIn(context, key, 'reverted', 'failed'));

const foldOf =
  <Type extends SessionEvent['type']>(
    fold: (context: SessionContext, data: Of<Type>['data']) => Partial<SessionContext>,
  ) =>
  ({ context, event }: { context: SessionContext; event: SessionEvent }): Partial<SessionContext> =>
    fold(context, as<Type>(event));

type Seen = { context: SessionContext; event: SessionEvent };

export const checkoutSessionMachine = setup({
  types: { context: {} as SessionContext, events: {} as SessionEvent },
  guards: {
    isPendingAndNew: ({ context, event }: Seen) =>
      isUnknownDeposit(context, as<'DepositDetected'>(event).depositKey) &&
      hasPending({ ...context, ...foldDetected(context, as<'DepositDetected'>(event)) }),
    isNewDeposit: ({ context, event }: Seen) => isUnknownDeposit(context, as<'DepositDetected'>(event).depositKey),
    leavesPending: ({ context, event }: Seen) =>
      depositIn(context, as<'DepositConfirmed'>(event).depositKey, 'detected') &&
      hasPending({ ...context, ...foldConfirmed(context, as<'DepositConfirmed'>(event)) }),
    isDetected: ({ context, event }: Seen) => depositIn(context, as<'DepositConfirmed'>(event).depositKey, 'detected'),
    revertLeavesPending: ({ context, event }: Seen) =>
      depositIn(context, as<'DepositReverted'>(event).depositKey, 'detected', 'final') &&
      hasPending({ ...context, ...foldReverted(context, as<'DepositReverted'>(event)) }),
    isRevertible: ({ context, event }: Seen) =>
      depositIn(context, as<'DepositReverted'>(event).depositKey, 'detected', 'final'),
    maySetAside: ({ context, event }: Seen) => {
      const { depositKey, operation } = as<'DepositSetAside'>(event);
      return isNewOperation(context, depositKey, operation) && whyNotSetAside(context, depositKey) === null;
    },
    mayGiveUp: ({ context, event }: Seen) => mayGiveUp(context, as<'TransferGivenUp'>(event)),
    isSetAsideFor: ({ context, event }: Seen) => isSetAsideFor(context, as<'DepositPutBack'>(event)),
    isPendingAndPutBack: ({ context, event }: Seen) =>
      isSetAsideFor(context, as<'DepositPutBack'>(event)) &&
      hasPending({ ...context, ...foldPutBack(context, as<'DepositPutBack'>(event)) }),
    isCreditable: ({ context, event }: Seen) => isCreditable(context, as<'TransferCredited'>(event)),
    mayReverseCredit: ({ context, event }: Seen) => mayReverseCredit(context, as<'TransferCreditReversed'>(event)),
    isChoosable: ({ context, event }: Seen) => isChoosable(context, as<'CoinChosen'>(event)),
    isSufficient: ({ context, event }: Seen) =>
      isSufficient(context, held(context)) &&
      amountOf(as<'SessionPaid'>(event).received) === held(context) &&
      held(context) > 0n,
    endsTestSooner: ({ context, event }: Seen) =>
      context.created?.mode === 'test' && as<'SessionDeadlineMoved'>(event).expiresAtSec < context.expiresAtSec,
    isNewClaim: ({ context, event }: Seen) => isNewClaim(context, as<'ClaimFiled'>(event)),
    isRejectableClaim: ({ context, event }: Seen) => isRejectableClaim(context, as<'ClaimRejected'>(event)),
    isLegalRefund: ({ context, event }: Seen) => isLegalRefund(context, as<'RefundRequested'>(event)),
    isUnsignedLeg: ({ context, event }: Seen) => legIn(context, as<'RefundPayoutSigned'>(event), 'PENDING'),
    isReplacement: ({ context, event }: Seen) =>
      legIn(context, as<'RefundPayoutReplaced'>(event), 'PROCESSING') &&
      isReplacement(context, as<'RefundPayoutReplaced'>(event)),
    isInFlightPayout: ({ context, event }: Seen) =>
      legIn(context, as<'RefundPayoutLanded'>(event), 'PROCESSING') &&
      isSigned(context, as<'RefundPayoutLanded'>(event)),
    isLandedLeg: ({ context, event }: Seen) => legIn(context, as<'RefundPayoutReverted'>(event), 'COMPLETED'),
    isUnfinishedLeg: ({ context, event }: Seen) =>
      legIn(context, as<'RefundPayoutFailed'>(event), 'PENDING', 'PROCESSING'),
    isAllLanded: ({ context, event }: Seen) =>
      context.refunds[as<'RefundCompleted'>(event).refundId]?.status !== 'COMPLETED' &&
      allLegs(context, as<'RefundCompleted'>(event).refundId, (leg) => leg.status === 'COMPLETED'),
    isAllEndedSomeFailed: ({ context, event }: Seen) =>
      allLegs(
        context,
        as<'RefundFailed'>(event).refundId,
        (leg) => leg.status === 'COMPLETED' || leg.status === 'FAILED',
      ) && !allLegs(context, as<'RefundFailed'>(event).refundId, (leg) => leg.status === 'COMPLETED'),
  },
  actions: {
    foldCreated: assign(foldOf<'SessionCreated'>(foldCreated)),
    foldCoinChosen: assign(({ context }: Seen) => foldCoinChosen(context)),
    foldDetected: assign(foldOf<'DepositDetected'>(foldDetected)),
    foldConfirmed: assign(foldOf<'DepositConfirmed'>(foldConfirmed)),
    foldReverted: assign(foldOf<'DepositReverted'>(foldReverted)),
    foldSetAside: assign(foldOf<'DepositSetAside'>(foldSetAside)),
    foldGivenUp: assign(foldOf<'TransferGivenUp'>(foldGivenUp)),
    foldPutBack: assign(foldOf<'DepositPutBack'>(foldPutBack)),
    foldCredited: assign(foldOf<'TransferCredited'>(foldCredited)),
    foldCreditReversed: assign(foldOf<'TransferCreditReversed'>(foldCreditReversed)),
    foldPaid: assign(
      foldOf<'SessionPaid'>((context, paid) => ({
        paid,
        returnedUnpaid: arrived(context) - amountOf(paid.received),
        paidBy: depositsOfOrder(context).map(({ facts }) => facts.depositKey),
      })),
    ),
    foldExpired: assign(foldOf<'SessionExpired'>((_, expired) => ({ expired }))),
    foldFailed: assign(foldOf<'SessionFailed'>((_, failed) => ({ failed }))),
    foldCancelled: assign(
      foldOf<'SessionCancelled'>((context, cancelled) => ({
        cancelled,
        expiresAtSec: Math.min(context.expiresAtSec, cancelled.cancelledAtSec),
      })),
    ),
    foldDeadlineMoved: assign(foldOf<'SessionDeadlineMoved'>((_, { expiresAtSec }) => ({ expiresAtSec }))),
    foldClaimFiled: assign(foldOf<'ClaimFiled'>(foldClaimFiled)),
    foldClaimRejected: assign(foldOf<'ClaimRejected'>(foldClaimRejected)),
    foldRefundRequested: assign(foldOf<'RefundRequested'>(foldRefundRequested)),
    foldSigned: assign(foldOf<'RefundPayoutSigned'>(foldSigned)),
    foldReplaced: assign(foldOf<'RefundPayoutReplaced'>(foldSigned)),
    foldLanded: assign(foldOf<'RefundPayoutLanded'>(foldLanded)),
    foldPayoutReverted: assign(foldOf<'RefundPayoutReverted'>(foldPayoutReverted)),
    foldPayoutFailed: assign(foldOf<'RefundPayoutFailed'>(foldPayoutFailed)),
    foldRefundCompleted: assign(
      foldOf<'RefundCompleted'>((context, data) =>
        foldRefundEnd(context, data.refundId, {
          status: 'COMPLETED',
          returned: amountOf(data.amount),
          updatedAtSec: data.completedAtSec,
        }),
      ),
    ),
    foldRefundFailed: assign(
      foldOf<'RefundFailed'>((context, data) =>
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
    ClaimFiled: { guard: 'isNewClaim', actions: 'foldClaimFiled' },
    ClaimRejected: { guard: 'isRejectableClaim', actions: 'foldClaimRejected' },
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
