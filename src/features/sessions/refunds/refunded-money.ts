import { refuse } from '../../../domain/values/result.ts';
import { COIN_MAX_DECIMALS } from '../../../domain/money/currencies.ts';
import { amountOf, convertRoundingDown, formatAmount, isCoin, least, type Coin } from '../../../domain/money/money.ts';
import { depositTransactionId } from '../../../../projections/sessions/transaction-id.ts';
import type { SessionState } from '../../../../state-machines/checkout-session/session.decider.ts';
import {
  createdOf,
  depositsOfOrder,
  finalOf,
  type SessionContext,
} from '../../../../state-machines/checkout-session/session.state.ts';
import type { Outcome, RefundInput } from '../../shared/merchant-api.ts';
import { must } from '../../../domain/values/must.ts';

interface RefundedMoney {
  readonly coin: Coin;
  /** 10^-18 units; null requests all that is left. */
  readonly units: bigint | null;
  /** The deposit that the request names. */
  readonly namedDeposit: string | null;
}

/**
 * Translates the request into units of a coin. The order's currency is converted at the session's locked rate, even if
 * it is a coin: that coin can only be here as a stranger's money, which is refunded by naming its deposit.
 */
export function refundedMoney(input: RefundInput, { context }: SessionState): Outcome<RefundedMoney> {
  const { amount, transactionId } = input;
  const created = createdOf(context);
  const namedDeposit = transactionId === undefined ? null : depositNamed(context, transactionId);
  if (namedDeposit === undefined) return invalid('transaction_id', 'transaction_id is not a deposit of this session');
  const coin = namedDeposit === null ? created.dueCoin : must(context.deposits.get(namedDeposit)).facts.coin;
  if (!amount) return { ok: true, value: { coin, units: null, namedDeposit } };
  const { value, currency } = amount;
  if (currency === created.currency && created.rateLock && coin === created.dueCoin) {
    const units = converted(context, amountOf(value));
    if (units > 0n) return { ok: true, value: { coin, units, namedDeposit } };
    return invalid('amount.value', `${value} ${currency} is less than ${formatAmount(1n)} ${coin}`);
  }
  if (currency === coin) return { ok: true, value: { coin, units: amountOf(value), namedDeposit } };
  if (namedDeposit === null && isCoin(currency) && finalOf(context, currency) > 0n)
    return { ok: true, value: { coin: currency, units: amountOf(value), namedDeposit } };
  const orders = coin === created.dueCoin ? ` or the order's currency (${created.currency})` : '';
  return invalid('amount.currency', `amount.currency must be the coin paid (${coin})${orders}`);
}

const invalid = (param: string, message: string): Outcome<never> => refuse('invalid_request', message, param);

/** Undefined if the session has no such deposit. */
const depositNamed = ({ created, deposits }: SessionContext, transactionId: string): string | undefined =>
  [...deposits].find(({ facts }) => depositTransactionId(must(created).sessionId, facts.depositKey) === transactionId)
    ?.facts.depositKey;

/**
 * Converts at the locked rate, rounded down. The refund that completes the order's total leaves no rounding remainder:
 * it takes the rest of what was due, or of what paid the order if a tolerance made that less.
 */
function converted(context: SessionContext, value: bigint): bigint {
  const { amount, currency, dueCoin, rateLock } = createdOf(context);
  const before = Object.values(context.refunds).filter(
    ({ requested, status }) =>
      requested.asked?.currency === currency && requested.coin === dueCoin && status !== 'FAILED',
  );
  const asked = before.reduce((total, { requested }) => total + amountOf(must(requested.asked).value), 0n);
  if (context.paid !== null && asked + value === amountOf(amount)) {
    const paid = depositsOfOrder(context).reduce((total, { units }) => total + units, 0n);
    const rest = before.reduce((total, { units }) => total - units, least(context.due, paid));
    if (rest > 0n) return rest;
  }
  return convertRoundingDown(value, must(rateLock).rate, COIN_MAX_DECIMALS);
}
