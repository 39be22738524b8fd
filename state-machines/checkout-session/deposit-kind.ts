import type { DepositDetected, DepositKind } from '../../src/domain/events/session-events.ts';
import { amountOf, least } from '../../src/domain/money/money.ts';
import { foldCoinChosen, openAlternative } from './coin.ts';
import type { DepositState } from './deposits.ts';
import { held, isPastDeadline, pending, type SessionContext } from './session.state.ts';

/**
 * A smaller transfer is dust, unless it completes an open session: the payer was asked for it, however little it is.
 */
function dustLimit(context: SessionContext, limit: bigint): bigint {
  const missing = context.due - context.tolerance - held(context) - pending(context);
  return context.paid === null && missing > 0n ? least(limit, missing) : limit;
}

/** A deposit that completed the payment counts again when it returns to the chain. */
function hasCounted(
  { deposits }: SessionContext,
  { depositKey, amount }: { depositKey: string; amount: string },
): boolean {
  const known = deposits.get(depositKey);
  return known?.kind === 'on_time' && known.units === amountOf(amount);
}

/** How a transfer counts, according to its block time. */
export function kindOf(
  context: SessionContext,
  deposit: Pick<DepositDetected['data'], 'depositKey' | 'coin' | 'network' | 'amount' | 'blockTimeSec'>,
): DepositKind {
  const created = context.created;
  if (created && deposit.coin === openAlternative(context)?.coin)
    return kindOf({ ...context, ...foldCoinChosen(context) }, deposit);
  if (!created) return 'wrong_coin';
  const isOffered = created.paymentOptions.some(
    ({ network, coin }) => network === deposit.network && coin === deposit.coin,
  );
  const limit = amountOf(created.policy.dustLimit);
  const canPay = isOffered && deposit.coin === created.dueCoin;
  if (amountOf(deposit.amount) < (canPay ? dustLimit(context, limit) : limit) && !hasCounted(context, deposit))
    return 'dust';
  if (deposit.coin !== created.dueCoin) return 'wrong_coin';
  if (!isOffered) return 'wrong_network';
  return context.cancelled !== null || isPastDeadline(context, deposit) ? 'late' : 'on_time';
}

/**
 * How a transfer counts in its current block: a reorganisation may have moved it past or before the deadline. A deposit
 * to a cancelled order, or in a coin that the order does not accept, stays what it was.
 */
export function kindInBlock(
  context: SessionContext,
  { kind, facts }: DepositState,
  block: { readonly blockTimeSec: number },
): DepositKind {
  const mayChange = kind === 'on_time' || (kind === 'late' && facts.coin === context.created?.dueCoin);
  if (!mayChange || context.cancelled !== null) return kind;
  return isPastDeadline(context, block) ? 'late' : 'on_time';
}
