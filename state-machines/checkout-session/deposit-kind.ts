import type { DepositDetected, DepositKind } from '../../src/domain/events/session-events.ts';
import { amountOf, least } from '../../src/domain/money.ts';
import { foldCoinChosen, openAlternative } from './coin.ts';
import { held, isPastDeadline, pending, type SessionContext } from './session.state.ts';

/**
 * Below this a transfer is dust. What completes an open session never is, however little it takes: the payer was asked
 * for it.
 */
function dustLimit(context: SessionContext, limit: bigint): bigint {
  const missing = context.due - context.tolerance - held(context) - pending(context);
  return context.paid === null && missing > 0n ? least(limit, missing) : limit;
}

/** What completed the payment once does so again when it is back in the chain. */
function hasCounted(
  { deposits }: SessionContext,
  { depositKey, amount }: { depositKey: string; amount: string },
): boolean {
  const known = deposits[depositKey];
  return known?.kind === 'on_time' && known.units === amountOf(amount);
}

/** How a transfer counts, judged by the block time the chain gives it. */
export function kindOf(
  context: SessionContext,
  deposit: Pick<DepositDetected['data'], 'depositKey' | 'coin' | 'network' | 'amount' | 'blockTimeSec'>,
): DepositKind {
  const created = context.created;
  if (created && deposit.coin === openAlternative(context)?.coin)
    return kindOf({ ...context, ...foldCoinChosen(context) }, deposit);
  if (!created || deposit.coin !== created.dueCoin) return 'wrong_coin';
  if (!created.paymentOptions.some(({ network, coin }) => network === deposit.network && coin === deposit.coin))
    return 'wrong_network';
  const limit = dustLimit(context, amountOf(created.policy.dustLimit));
  if (amountOf(deposit.amount) < limit && !hasCounted(context, deposit)) return 'dust';
  return context.cancelled !== null || isPastDeadline(context, deposit) ? 'late' : 'on_time';
}
