import type { CsvCell } from '../../../runtime/util/csv.ts';
import type { BookRates } from '../valuation/book-rates.ts';
import type { ValuedEntry, ValuedLine } from '../valuation/valued-journal.ts';
import { amountCell, chainTimeCell, rowOf, timeCell, type Table } from './table.ts';

const COLUMNS = [
  ...['entry', 'line', 'kind', 'recorded_day', 'chain_time', 'account', 'network', 'coin', 'amount'],
  ...['currency', 'rate', 'rate_at', 'rate_source', 'rate_event', 'value', 'debit_value', 'credit_value'],
  ...['merchant_id', 'order_id', 'session_id', 'refund_id', 'move_id', 'event_id', 'tx_hash'],
];

/**
 * The journal in the functional currency, with rounding and revaluation as separate lines. The values of an entry add
 * up to zero.
 */
export const valuedTable = (
  entries: () => AsyncIterable<ValuedEntry>,
  rates: BookRates,
  from: string | null,
): Table => ({
  columns: COLUMNS,
  amounts: ['amount', 'value', 'debit_value', 'credit_value'],
  rows: async function* () {
    for await (const entry of entries())
      if (from === null || entry.day >= from)
        yield entry.lines.map((line, index) => cellsOf(entry, line, index, rates));
  },
});

function cellsOf({ kind, day, entry }: ValuedEntry, line: ValuedLine, index: number, rates: BookRates): CsvCell[] {
  const { account, network, coin, units, value, rate } = line;
  const cells: Record<string, CsvCell> = {
    ...{ entry: entry?.number ?? null, line: index + 1, kind, recorded_day: day, account, network, coin },
    chain_time: chainTimeCell(entry),
    amount: units === null ? null : amountCell(units),
    ...{ currency: rates.currency, rate: rate?.rate ?? null, rate_at: rate ? timeCell(rate.atSec * 1000) : null },
    ...{ rate_source: rate?.source ?? null, rate_event: rate?.event ?? null, value: rates.text(value) },
    ...{ debit_value: value > 0n ? rates.text(value) : null, credit_value: value < 0n ? rates.text(-value) : null },
    merchant_id: entry?.merchantId ?? null,
    order_id: entry?.orderId ?? null,
    session_id: entry?.sessionId ?? null,
    refund_id: entry?.refundId ?? null,
    move_id: entry?.moveId ?? null,
    event_id: entry?.id ?? null,
    tx_hash: entry?.txHash ?? null,
  };
  return rowOf(COLUMNS, cells);
}
