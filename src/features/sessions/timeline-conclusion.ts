import type { SessionEvent } from '../../domain/events/session-events.ts';
import { formatAmount } from '../../domain/money.ts';
import {
  createdOf,
  arrived,
  held,
  isReversed,
  pending,
  type SessionContext,
} from '../../../state-machines/checkout-session/session.state.ts';
import { sessionTable } from '../shared/handlers/session-handler.ts';
import type { CoveredRange } from './timeline-types.ts';

/** Explains the session's status in one paragraph, from its events and the evidence of what was read. */
export function conclusionOf(
  events: readonly SessionEvent[],
  coverage: readonly CoveredRange[],
  nowSec: number,
): string {
  const { value, context } = sessionTable.replay(events);
  const created = createdOf(context);
  const coin = created.dueCoin;
  const has = `${formatAmount(arrived(context))} of ${created.dueAmount} ${coin}`;
  switch (value) {
    case 'paid':
      return isReversed(context)
        ? `Paid, but reversed since: only ${has} is still final on the chain.`
        : `Paid: ${has} is final.${wentBack(context, coin)}`;
    case 'cancelled':
      return `Not paid: the merchant cancelled it. Money that arrives can be refunded and never makes it paid.`;
    case 'processing':
      return `Not paid yet: ${formatAmount(pending(context))} ${coin} was seen and waits to become final; ${has} is final.`;
    case 'failed':
      return `Not paid: a payment that would have sufficed was seen and permanently lost. ${evidence(coverage)}`;
    default: {
      const deposits = Object.values(context.deposits);
      const what =
        deposits.length === 0
          ? nothing(coverage)
          : `${has} is final.${wentBack(context, coin)} ${deposits.length === 1 ? 'One transfer was' : `${deposits.length} transfers were`} seen; the entries say how each was judged.`;
      const when =
        value === 'expired'
          ? 'Not paid: it expired.'
          : nowSec > context.expiresAtSec
            ? 'Not paid: the deadline has passed; the networks are being read up to it.'
            : 'Not paid yet.';
      return `${when} ${what}`;
    }
  }
}

function wentBack(context: SessionContext, coin: string): string {
  const back = arrived(context) - held(context);
  return back > 0n ? ` Of this, ${formatAmount(back)} ${coin} was refunded or will be.` : '';
}

function nothing(coverage: readonly CoveredRange[]): string {
  return coverage.length === 0
    ? 'Nothing has arrived so far; no blocks of this time are recorded as read yet.'
    : evidence(coverage);
}

function evidence(coverage: readonly CoveredRange[]): string {
  return coverage
    .map(({ network, fromBlock, toBlock, providers, gaps }) => {
      const missing = gaps.map((gap) => `${gap.fromBlock} to ${gap.toBlock}`).join(', ');
      return `Nothing else arrived on ${network} in blocks ${fromBlock} to ${toBlock}, per ${providers.join(' and ')}${missing === '' ? '' : ` (not covered: ${missing})`}.`;
    })
    .join(' ');
}
