import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundLeg, RefundPayoutSigned } from '../../src/domain/events/refund-events.ts';
import { isCancelling } from '../../src/domain/events/transaction-draft.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import { must } from '../../src/domain/values/must.ts';
import type { Deposits } from './deposits.ts';
import { isCovered } from './refund-allocation.ts';
import type { LegState, RefundState, SessionContext } from './session.state.ts';

/* How refunds and the payouts of their legs change a session, and which changes are legal. */

type Of<Type extends SessionEvent['type']> = EventOf<Type>;

export function foldRefundRequested(
  context: SessionContext,
  data: Of<'RefundRequested'>['data'],
): Partial<SessionContext> {
  const legs = Object.fromEntries(
    data.legs.map((leg): [string, LegState] => [
      leg.legId,
      {
        leg,
        units: amountOf(leg.amount),
        status: 'PENDING',
        txHashes: [],
        payouts: [],
        landedTxHash: null,
        landedIn: null,
        networkFee: null,
        failureReason: null,
      },
    ]),
  );
  const refund: RefundState = {
    requested: data,
    units: amountOf(data.amount),
    status: 'PENDING',
    legs,
    updatedAtSec: data.requestedAtSec,
    failureReason: null,
    returned: 0n,
  };
  const deposits = data.legs.reduce((each, leg) => withTaken(each, leg, 1n), context.deposits);
  return { refunds: { ...context.refunds, [data.refundId]: refund }, deposits };
}

/** Takes a leg's money from its deposits (`sign` 1) or releases it (-1). */
const withTaken = (deposits: Deposits, { takenFrom }: RefundLeg, sign: 1n | -1n): Deposits =>
  takenFrom.reduce((each, { depositKey, amount }) => {
    const deposit = must(each.get(depositKey));
    return each.with({ ...deposit, taken: deposit.taken + sign * amountOf(amount) });
  }, deposits);

function withLeg(
  context: SessionContext,
  data: { refundId: string; legId: string },
  change: (leg: LegState) => LegState,
  refundChange: Partial<RefundState> = {},
): Partial<SessionContext> {
  const refund = context.refunds[data.refundId];
  const leg = refund?.legs[data.legId];
  if (!refund || !leg) return {};
  const changed: RefundState = { ...refund, ...refundChange, legs: { ...refund.legs, [data.legId]: change(leg) } };
  return { refunds: { ...context.refunds, [data.refundId]: changed } };
}

export function foldSigned(context: SessionContext, data: RefundPayoutSigned['data']): Partial<SessionContext> {
  // A refund that has ended stays so, even if its payout was reorganised away and competes again at a higher fee.
  const status = context.refunds[data.refundId]?.status;
  const ended = status === 'COMPLETED' || status === 'FAILED';
  return withLeg(
    context,
    data,
    (leg) => ({
      ...leg,
      status: 'PROCESSING',
      txHashes: [...leg.txHashes, data.txHash],
      payouts: [...leg.payouts, data],
    }),
    ended ? {} : { status: 'PROCESSING', updatedAtSec: data.signedAtSec },
  );
}

export const foldLanded = (context: SessionContext, data: Of<'RefundPayoutLanded'>['data']): Partial<SessionContext> =>
  withLeg(
    context,
    data,
    (leg) => ({
      ...leg,
      status: 'COMPLETED',
      landedTxHash: data.txHash,
      landedIn: { blockNumber: data.blockNumber, blockHash: data.blockHash },
      networkFee: data.networkFee,
    }),
    {
      updatedAtSec: data.landedAtSec,
    },
  );

export const foldPayoutReverted = (
  context: SessionContext,
  data: Of<'RefundPayoutReverted'>['data'],
): Partial<SessionContext> =>
  withLeg(context, data, (leg) => ({ ...leg, status: 'PROCESSING', landedTxHash: null, landedIn: null }));

export function foldPayoutFailed(
  context: SessionContext,
  data: Of<'RefundPayoutFailed'>['data'],
): Partial<SessionContext> {
  const known = context.refunds[data.refundId]?.legs[data.legId];
  if (!known) return {};
  return {
    deposits: withTaken(context.deposits, known.leg, -1n),
    ...withLeg(
      context,
      data,
      (leg) => ({ ...leg, status: 'FAILED', failureReason: data.reason, networkFee: data.networkFee }),
      { updatedAtSec: data.failedAtSec },
    ),
  };
}

export function foldRefundEnd(
  context: SessionContext,
  refundId: string,
  change: Partial<RefundState>,
): Partial<SessionContext> {
  const refund = context.refunds[refundId];
  return refund ? { refunds: { ...context.refunds, [refundId]: { ...refund, ...change } } } : {};
}

export const legIn = (
  context: SessionContext,
  data: { refundId: string; legId: string },
  ...statuses: LegState['status'][]
): boolean => {
  const leg = context.refunds[data.refundId]?.legs[data.legId];
  return leg !== undefined && statuses.includes(leg.status);
};

/** Only a transaction signed for the leg can have landed. */
export const isSigned = (context: SessionContext, data: { refundId: string; legId: string; txHash: string }): boolean =>
  context.refunds[data.refundId]?.legs[data.legId]?.txHashes.includes(data.txHash) === true;

/** A replacement names what it replaces. Where there are nonces it must use the same one, so that only one can land. */
export function isReplacement(context: SessionContext, data: Of<'RefundPayoutReplaced'>['data']): boolean {
  const last = context.refunds[data.refundId]?.legs[data.legId]?.payouts.at(-1);
  if (!last || last.txHash !== data.replaces || last.validity.kind !== data.validity.kind) return false;
  if (last.validity.kind === 'evm-nonce' && data.validity.kind === 'evm-nonce') {
    // A cancelled leg stays cancelled: nothing that pays is signed at its nonce again.
    if (last.validity.nonce !== data.validity.nonce) return false;
    return isCancelling(last)
      ? isCancelling(data) && data.why === 'fee_bump'
      : data.why === (isCancelling(data) ? 'cancel' : 'fee_bump');
  }
  // A transaction taken over from the signer's journal may also be declared dead.
  if (last.validity.kind === 'solana-nonce' && data.validity.kind === 'solana-nonce')
    return (
      last.validity.nonceIndex === data.validity.nonceIndex &&
      last.validity.nonce === data.validity.nonce &&
      data.why !== 'cancel'
    );
  return data.why === 'can_never_land';
}

export function isLegalRefund(context: SessionContext, data: Of<'RefundRequested'>['data']): boolean {
  const { refundId, coin, amount, legs } = data;
  const units = legs.reduce((total, leg) => total + amountOf(leg.amount), 0n);
  const isNew = context.refunds[refundId] === undefined;
  return (
    isNew &&
    units > 0n &&
    units === amountOf(amount) &&
    legs.every((leg) => leg.coin === coin) &&
    isCovered(context, legs)
  );
}

export const allLegs = (context: SessionContext, refundId: string, test: (leg: LegState) => boolean): boolean => {
  const refund = context.refunds[refundId];
  return refund !== undefined && refund.status !== 'FAILED' && Object.values(refund.legs).every(test);
};
