import type { CoinChosen } from '../../../domain/events/coin-events.ts';
import type { SessionCreated, SessionPaid } from '../../../domain/events/session-events.ts';
import { payableTo } from '../../../domain/money/ledger.ts';
import { absolute, amountOf, SCALE, signedAmountOf } from '../../../domain/money/money.ts';
import { sessionStream } from '../../../domain/values/streams.ts';
import type { EventStore } from '../../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../../runtime/commands/codec.ts';
import type { CsvCell } from '../../../runtime/util/csv.ts';
import type { EntryRow } from '../../../../projections/ledger/rows.ts';
import type { JournalScope, LedgerJournal } from '../journal.ts';
import { amountCell, chainTimeCell, rowOf, timeCell, type Table } from './table.ts';
import { must } from '../../../domain/values/must.ts';

const COLUMNS = [
  ...[
    'event_id',
    'recorded_day',
    'chain_time',
    'chain_day',
    'merchant_id',
    'order_id',
    'session_id',
    'currency',
    'order_amount',
  ],
  ...[
    'tax_amount',
    'shipping_amount',
    'rate',
    'rate_locked_at',
    'rate_rule',
    'coin',
    'converted',
    'rounding',
    'due',
    'received',
    'excess',
  ],
  ...['network', 'applied', 'fiat_at_locked_rate', 'fiat_at_settlement_quote', 'fiat_difference'],
];

/**
 * Orders as they were paid, to match the books to invoices: one row per network whose money paid the order. Figures of
 * the whole order are on its first row: `converted` is the exact order amount at the rate, and `rounding` the
 * difference to `due`.
 */
export function paymentsTable(
  journal: LedgerJournal,
  store: Pick<EventStore, 'readStream'>,
  scope: JournalScope,
  through: number,
): Table {
  return {
    columns: COLUMNS,
    amounts: ['applied', 'due', 'received', 'excess'],
    rows: async function* () {
      for await (const chunk of journal.walk(scope)) {
        const paid = chunk.filter(({ entry }) => entry.kind === 'payment' && entry.number <= through);
        for (const { entry } of paid) yield rowsOf(entry, await orderOf(store, entry));
      }
    },
  };
}

interface Order {
  readonly created: SessionCreated['data'];
  readonly chosen: CoinChosen['data'] | null;
  readonly paid: SessionPaid['data'];
}

async function orderOf(store: Pick<EventStore, 'readStream'>, { sessionId, revision }: EntryRow): Promise<Order> {
  const recorded = await store.readStream(sessionStream(must(sessionId)), { from: 0, limit: revision + 1 });
  const events = recorded.map((each) => decodeEvent(each).event);
  const created = events.findLast((event) => event.type === 'SessionCreated')?.data;
  const chosen = events.findLast((event) => event.type === 'CoinChosen')?.data ?? null;
  const paid = events.findLast((event) => event.type === 'SessionPaid')?.data;
  if (!created || !paid) throw new Error(`${sessionId} has no paid order`);
  return { created, chosen, paid };
}

function rowsOf(entry: EntryRow, { created, chosen, paid }: Order): CsvCell[][] {
  const rate = chosen?.rate ?? created.rateLock?.rate ?? null;
  const lock = chosen ? created.alternative?.rateLock : created.rateLock;
  const ofOrder: Record<string, CsvCell> = {
    ...{ order_amount: created.amount, tax_amount: created.taxAmount, shipping_amount: created.shippingAmount, rate },
    ...{ rate_locked_at: lock ? timeCell(lock.lockedAtSec * 1000) : null, rate_rule: lock?.rule ?? null },
    ...conversion(created.amount, rate, paid.due),
    ...{ received: amountCell(amountOf(paid.received)), excess: amountCell(amountOf(paid.excess)) },
    fiat_at_locked_rate: entry.value?.atLockedRate ?? null,
    fiat_at_settlement_quote: entry.value?.atSettlementQuote ?? null,
    fiat_difference: entry.value?.difference ?? null,
  };
  const account = payableTo(must(entry.merchantId));
  const parts = entry.lines.filter((line) => line.account === account);
  return parts.map(({ network, amount }, index) => {
    const cells: Record<string, CsvCell> = {
      event_id: entry.id,
      recorded_day: entry.days.recorded,
      chain_day: entry.days.chain,
      currency: created.currency,
      ...{ chain_time: chainTimeCell(entry), merchant_id: entry.merchantId ?? null },
      ...{ order_id: entry.orderId ?? null, session_id: entry.sessionId ?? null, coin: paid.coin },
      ...(index === 0 && ofOrder),
      ...{ network, applied: amountCell(-signedAmountOf(amount)) },
    };
    return rowOf(COLUMNS, cells);
  });
}

/** Writes every decimal of the product; rounding is a separate figure. */
function conversion(amount: string, rate: string | null, due: string): Record<string, string> {
  const exact = amountOf(amount) * (rate === null ? 10n ** BigInt(SCALE) : amountOf(rate));
  const owed = amountOf(due) * 10n ** BigInt(SCALE);
  return { converted: exactText(exact), rounding: exactText(owed - exact), due: amountCell(amountOf(due)) };
}

/** Text of an amount in 10^-36 units. */
function exactText(units: bigint): string {
  const digits = absolute(units)
    .toString()
    .padStart(2 * SCALE + 1, '0');
  const fraction = digits
    .slice(-2 * SCALE)
    .replace(/0+$/, '')
    .padEnd(6, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -2 * SCALE)}.${fraction}`;
}
