import type { SessionEvent } from '../../../domain/events/session-events.ts';
import { formatAmount } from '../../../domain/money/money.ts';
import {
  createdOf,
  arrived,
  held,
  isReversed,
  pending,
  type SessionContext,
} from '../../../../state-machines/checkout-session/session.state.ts';
import { sessionTable } from '../../shared/handlers/session-handler.ts';
import type { CoveredRange } from './types.ts';

/** Explains the session's status in one paragraph, from its events and the evidence of what was read. */
export function conclusionOf(
  events: readonly SessionEvent[],
  coverage: readonly CoveredRange[],
  nowSec: number,
): string {
  const { value, context } = sessionTable.replay(events);
  const created = createdOf(context);
  const coin = created.dueCoin;
  const isOver = nowSec > context.expiresAtSec;
  const has = `${formatAmount(arrived(context))} of ${created.dueAmount} ${coin}`;
  switch (value) {
    case 'paid':
      return isReversed(context)
        ? `Paid, but reversed since: only ${has} is still final on the chain.`
        : `Paid: ${has} received.${wentBack(context, coin)}`;
    case 'cancelled':
      return `Not paid: the merchant cancelled it. Money that arrives can be refunded and never makes it paid.`;
    case 'processing':
      return `Not paid yet: ${formatAmount(pending(context))} ${coin} has arrived but is not final; ${has} is final.`;
    case 'failed':
      return `Not paid: a sufficient payment was seen, but the chain lost it for good. ${evidence('Nothing else', coverage)}`;
    default: {
      const when =
        value === 'expired' ? 'Not paid: it expired' : isOver ? 'Not paid: the deadline has passed' : 'Not paid yet';
      const what =
        context.deposits.size === 0
          ? `. ${nothing(coverage)}`
          : ` with ${has} received.${wentBack(context, coin)}${uncounted(context)}`;
      return `${when}${what}${value !== 'expired' && isOver ? ' The networks are still being read up to the deadline.' : ''}`;
    }
  }
}

function uncounted({ deposits }: SessionContext): string {
  const count = [...deposits].filter(
    ({ kind, status, aside }) => kind !== 'on_time' || (status !== 'detected' && status !== 'final') || aside,
  ).length;
  if (count === 0) return '';
  return ` ${count === 1 ? 'One transfer does' : `${count} transfers do`} not count; the entries say why.`;
}

function wentBack(context: SessionContext, coin: string): string {
  const back = arrived(context) - held(context);
  return back > 0n ? ` Of this, ${formatAmount(back)} ${coin} was refunded or will be.` : '';
}

function nothing(coverage: readonly CoveredRange[]): string {
  return coverage.length === 0
    ? 'Nothing has arrived so far; no blocks of this time are recorded as read yet.'
    : evidence('Nothing', coverage);
}

function evidence(nothing: string, coverage: readonly CoveredRange[]): string {
  return coverage
    .map(({ network, fromBlock, toBlock, providers, gaps }) => {
      const missing = gaps.map((gap) => `${gap.fromBlock} to ${gap.toBlock}`).join(', ');
      return `${nothing} arrived on ${network} in blocks ${fromBlock} to ${toBlock}, per ${providers.join(' and ')}${missing === '' ? '' : ` (not covered: ${missing})`}.`;
    })
    .join(' ');
}
