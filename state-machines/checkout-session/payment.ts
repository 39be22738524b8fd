import type { SessionPaid } from '../../src/domain/events/session-events.ts';
import type { Valuation } from '../../src/domain/events/coin-events.ts';
import { formatAmount, most } from '../../src/domain/money/money.ts';
import { held, isSufficient, type SessionContext } from './session.state.ts';

export interface PaymentFacts {
  readonly paidAtSec: number;
  readonly valuation: Valuation | null;
}

/**
 * The payment made by the final money of an unpaid session; none if the merchant does not hold enough, or the session
 * was cancelled.
 */
export function paymentOf(context: SessionContext, { paidAtSec, valuation }: PaymentFacts): SessionPaid[] {
  const { created, paid, cancelled, expired, failed, due } = context;
  const total = held(context);
  if (!created || paid !== null || cancelled !== null || total === 0n || !isSufficient(context, total)) return [];
  return [
    {
      type: 'SessionPaid',
      data: {
        coin: created.dueCoin,
        due: formatAmount(due),
        received: formatAmount(total),
        excess: formatAmount(most(total - due, 0n)),
        paidAtSec,
        afterExpiry: expired !== null || failed !== null,
        valuation,
      },
    },
  ];
}
