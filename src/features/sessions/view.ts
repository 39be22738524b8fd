import type { SessionPersonalData } from '../../domain/events/session-personal-data.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { COINS, formatAmount } from '../../domain/money/money.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import {
  createdOf,
  excess,
  held,
  isReversed,
  pending,
  refundable,
  refunded,
  type RefundState,
  type SessionContext,
} from '../../../state-machines/checkout-session/session.state.ts';
import { leftOf } from '../../../state-machines/checkout-session/deposits.ts';
import { depositTransactionId } from '../../../projections/sessions/transaction-id.ts';
import { openAlternative } from '../../../state-machines/checkout-session/coin.ts';
import type {
  AlternativeView,
  DepositView,
  PayoutView,
  RefundView,
  SessionStatus,
  SessionView,
} from '../shared/views.ts';

/** The session as readers see it. `personal` is the unsealed data of `SessionCreated`; null if there is none. */
export function sessionView(
  state: SessionState,
  personal: SessionPersonalData | null,
  reasons: ReadonlyMap<string, string> = new Map(),
  supersededBy: SessionId | null = null,
): SessionView {
  const { context } = state;
  const created = context.created;
  if (!created || state.value === 'absent') throw new Error('a session without SessionCreated has no view');
  return {
    sessionId: created.sessionId,
    mode: created.mode,
    merchantId: created.merchantId,
    orderId: created.orderId,
    status: state.value satisfies SessionStatus,
    amount: created.amount,
    currency: created.currency,
    dueCoin: created.dueCoin,
    dueAmount: created.dueAmount,
    tolerance: created.policy.tolerance,
    rateLock: created.rateLock,
    taxAmount: created.taxAmount,
    shippingAmount: created.shippingAmount,
    createdAtSec: created.createdAtSec,
    expiresAtSec: context.expiresAtSec,
    paymentOptions: created.paymentOptions.filter(({ coin }) => coin === created.dueCoin),
    alternative: alternativeOf(state),
    domainId: created.domainId,
    personal,
    supersedes: created.supersedes ?? null,
    supersededBy,
    received: formatAmount(held(context)),
    pending: formatAmount(pending(context)),
    excess: formatAmount(excess(context)),
    refunded: formatAmount(refunded(context, created.dueCoin)),
    refundable: formatAmount(refundable(context, created.dueCoin)),
    refundableByCoin: COINS.map((coin) => ({ coin, amount: formatAmount(refundable(context, coin)) })),
    reversed: isReversed(context),
    afterExpiry: context.paid?.afterExpiry ?? false,
    paidAtSec: context.paid?.paidAtSec ?? null,
    paidWith: context.paid?.received ?? null,
    deposits: depositViews(context),
    refunds: Object.values(context.refunds).map((refund) =>
      refundView(context, refund, reasons.get(refund.requested.refundId) ?? null),
    ),
  };
}

/** An ended session requests no money in either coin. */
function alternativeOf({ value, context }: SessionState): AlternativeView | null {
  const terms = value === 'open' ? openAlternative(context) : null;
  if (terms === null) return null;
  const { coin: dueCoin, dueAmount, tolerance, rateLock } = terms;
  return {
    dueCoin,
    dueAmount,
    tolerance,
    rateLock,
    paymentOptions: createdOf(context).paymentOptions.filter(({ coin }) => coin === dueCoin),
  };
}

function depositViews(context: SessionContext): DepositView[] {
  return [...context.deposits].map((deposit) => {
    const { facts, kind, status, sender, aside } = deposit;
    return {
      transactionId: depositTransactionId(createdOf(context).sessionId, facts.depositKey),
      // Money that an operator set aside does not belong to the session, whatever its chain status.
      ...{ ...facts, kind, status: aside === undefined ? status : ('reverted' as const) },
      sender: sender ?? null,
      refundable: formatAmount(facts.fromAddress === null ? 0n : leftOf(deposit)),
    };
  });
}

/** One refund of the session; `reason` is the merchant's unsealed reason. */
export function refundView(context: SessionContext, refund: RefundState, reason: string | null): RefundView {
  const { requested } = refund;
  const payouts = Object.values(refund.legs).map((leg): PayoutView => ({
    legId: leg.leg.legId,
    network: leg.leg.network,
    coin: leg.leg.coin,
    toAddress: leg.leg.toAddress,
    amount: leg.leg.amount,
    status: leg.status,
    txHash: leg.landedTxHash ?? leg.txHashes.at(-1) ?? null,
    networkFee: leg.networkFee,
    failureReason: leg.failureReason,
  }));
  return {
    refundId: requested.refundId,
    sessionId: createdOf(context).sessionId,
    orderId: createdOf(context).orderId,
    coin: requested.coin,
    amount: requested.amount,
    type: requested.refundType,
    status: refund.status,
    reason,
    payouts,
    createdSec: requested.requestedAtSec,
    updatedSec: refund.updatedAtSec,
    failureReason: refund.failureReason,
    amountReturned: formatAmount(refund.returned),
  };
}
