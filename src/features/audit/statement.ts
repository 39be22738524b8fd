import type { PeriodClosed } from '../../domain/events/operations-events.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';

/** A figure of a closed month, split into columns. */
export interface StatementFigure {
  readonly clock: string;
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly debit: string | null;
  readonly credit: string | null;
}

/** By clock, network and coin. Debits equal credits. */
export interface StatementTotal {
  readonly clock: string;
  readonly network: string;
  readonly coin: string;
  readonly figures: number;
  readonly debits: string;
  readonly credits: string;
}

/** Figures and control totals of a month, computed only from the event that closed it. */
export function figuresOf({ balances }: Pick<PeriodClosed['data'], 'balances'>): {
  readonly figures: StatementFigure[];
  readonly totals: StatementTotal[];
} {
  const totals = new Map<string, { figures: number; debits: bigint; credits: bigint }>();
  const figures = Object.entries(balances)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, amount]): StatementFigure => {
      const [clock = '', account = '', network = '', coin = ''] = key.split('/');
      const units = signedAmountOf(amount);
      const place = `${clock}/${network}/${coin}`;
      const total = totals.get(place) ?? { figures: 0, debits: 0n, credits: 0n };
      const [debit, credit] = units > 0n ? [units, 0n] : [0n, -units];
      totals.set(place, { figures: total.figures + 1, debits: total.debits + debit, credits: total.credits + credit });
      return {
        clock,
        account,
        network,
        coin,
        debit: units > 0n ? formatAmount(units) : null,
        credit: units < 0n ? formatAmount(-units) : null,
      };
    });
  const summed = [...totals]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([place, total]): StatementTotal => {
      const [clock = '', network = '', coin = ''] = place.split('/');
      return {
        clock,
        network,
        coin,
        figures: total.figures,
        debits: formatAmount(total.debits),
        credits: formatAmount(total.credits),
      };
    });
  return { figures, totals: summed };
}
