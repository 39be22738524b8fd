import type { MerchantId } from '../../../domain/values/ids.ts';
import { payableTo } from '../../../domain/money/ledger.ts';
import { most, least, signedAmountOf } from '../../../domain/money/money.ts';
import type { CsvCell } from '../../../runtime/util/csv.ts';
import type { EntryRow } from '../../../../projections/ledger/rows.ts';
import type { JournalScope, LedgerJournal } from '../journal.ts';
import { amountCell, chainTimeCell, type Table } from './table.ts';

const COLUMNS = [
  ...['settlement_id', 'recorded_day', 'chain_time', 'chain_day', 'tx_hash', 'event_id', 'network', 'coin'],
  ...['order_id', 'session_id', 'paid_day', 'amount'],
];

/** What is not settled yet of an order, or of an entry without an order. Negative: settled before it was taken back. */
interface Owing {
  readonly orderId: string | null;
  readonly sessionId: string | null;
  readonly paidDay: string;
  units: bigint;
}

/**
 * Which orders each settlement of a merchant paid, oldest first, after offsetting what was taken back from settled
 * orders. The rows of a settlement add up to it exactly; an amount beyond all orders is a row without an order.
 */
export function settledOrdersTable(
  journal: LedgerJournal,
  merchantId: MerchantId,
  scope: JournalScope,
  through: number,
): Table {
  return {
    columns: COLUMNS,
    amounts: ['amount'],
    rows: async function* () {
      const owing = new OwedOrders(merchantId);
      for await (const chunk of journal.walk({ ...scope, from: null }))
        yield chunk.flatMap(({ entry }) => {
          if (entry.number > through) return [];
          const rows = owing.take(entry);
          return scope.from === null || entry.days[scope.clock] >= scope.from ? rows : [];
        });
    },
  };
}

class OwedOrders {
  readonly #account: string;
  /** By network and coin, in the order in which they became owed. */
  readonly #owing = new Map<string, Map<string, Owing>>();

  constructor(merchantId: MerchantId) {
    this.#account = payableTo(merchantId);
  }

  take(entry: EntryRow): CsvCell[][] {
    const own = entry.lines.filter(({ account }) => account === this.#account);
    return own.flatMap(({ network, coin, amount }) => {
      const key = `${network}/${coin}`;
      const orders = this.#owing.get(key) ?? new Map<string, Owing>();
      this.#owing.set(key, orders);
      const units = -signedAmountOf(amount);
      if (entry.kind === 'settlement') return settled(orders, -units).map((part) => rowOf(entry, network, coin, part));
      const id = entry.sessionId ?? entry.id;
      const order = orders.get(id) ?? {
        orderId: entry.orderId ?? null,
        sessionId: entry.sessionId ?? null,
        paidDay: entry.days.recorded,
        units: 0n,
      };
      order.units += units;
      if (order.units === 0n) orders.delete(id);
      else orders.set(id, order);
      return [];
    });
  }
}

type Part = Pick<Owing, 'orderId' | 'sessionId' | 'units'> & { readonly paidDay: string | null };

/** Subtracts the amount from what is owed: first what is owed back, then the oldest orders. */
function settled(orders: Map<string, Owing>, amount: bigint): Part[] {
  const parts: Part[] = [];
  let left = amount;
  for (const [id, order] of orders)
    if (order.units < 0n) {
      parts.push({ ...order });
      left -= order.units;
      orders.delete(id);
    }
  for (const [id, order] of orders) {
    const units = least(order.units, most(left, 0n));
    if (units === 0n) break;
    parts.push({ ...order, units });
    left -= units;
    order.units -= units;
    if (order.units === 0n) orders.delete(id);
  }
  return left === 0n ? parts : [...parts, { orderId: null, sessionId: null, paidDay: null, units: left }];
}

const rowOf = (
  entry: EntryRow,
  network: string,
  coin: string,
  { orderId, sessionId, paidDay, units }: Part,
): CsvCell[] => [
  ...[entry.moveId ?? null, entry.days.recorded, chainTimeCell(entry)],
  ...[entry.days.chain, entry.txHash ?? null, entry.id, network, coin, orderId, sessionId, paidDay, amountCell(units)],
];
