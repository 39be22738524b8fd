import { dayBefore } from '../../../domain/values/calendar.ts';
import type { MerchantId } from '../../../domain/values/ids.ts';
import { merchantAccounts } from '../../../domain/money/ledger.ts';
import type { CsvCell } from '../../../runtime/util/csv.ts';
import type { LedgerBalances } from '../balances.ts';
import type { JournalScope, LedgerJournal } from '../journal.ts';
import { owedOf, settlementLinesOf, totalOf, type Owed, type SettlementLine } from '../settlement.ts';
import { amountCell, chainTimeCell, rowOf, timeCell, type Table } from './table.ts';

const COLUMNS = [
  ...[
    'kind',
    'recorded_at',
    'recorded_day',
    'chain_time',
    'chain_day',
    'order_id',
    'session_id',
    'refund_id',
    'move_id',
  ],
  ...['network', 'coin', 'payable', 'unapplied', 'refunds_reserved', 'total'],
  ...['tx_hash', 'log_index', 'block_number', 'block_hash', 'event_id', 'reverses'],
  ...['fiat_currency', 'fiat_at_locked_rate', 'fiat_at_settlement_quote', 'fiat_difference'],
];

/**
 * The settlement report as one table. Opening balances are separate rows, so that each column adds up to what is owed
 * at the end.
 */
export function settlementTable(
  { balances, journal }: { readonly balances: LedgerBalances; readonly journal: LedgerJournal },
  merchantId: MerchantId,
  scope: JournalScope,
  through: number,
): Table {
  return {
    columns: COLUMNS,
    amounts: ['payable', 'unapplied', 'refunds_reserved', 'total'],
    rows: async function* () {
      if (scope.from !== null) {
        const asOf = { day: dayBefore(scope.from), clock: scope.clock };
        const opening = owedOf(await balances.balances(scope.mode, asOf, merchantAccounts(merchantId)), merchantId);
        yield opening.map(({ network, coin, owed }) =>
          rowOf(COLUMNS, { kind: 'opening_balance', recorded_day: asOf.day, network, coin, ...amounts(owed) }),
        );
      }
      for await (const chunk of journal.walk(scope))
        yield chunk.flatMap(({ entry }) =>
          entry.number > through ? [] : settlementLinesOf(entry, merchantId).map(cellsOf),
        );
    },
  };
}

const amounts = (owed: Owed) => ({
  payable: amountCell(owed.payable),
  unapplied: amountCell(owed.unapplied),
  refunds_reserved: amountCell(owed['refunds-reserved']),
  total: amountCell(totalOf(owed)),
});

const cellsOf = ({ entry, network, coin, changed, value }: SettlementLine): CsvCell[] =>
  rowOf(COLUMNS, {
    kind: entry.kind,
    recorded_at: timeCell(entry.recordedAtMs),
    recorded_day: entry.days.recorded,
    chain_day: entry.days.chain,
    ...{ chain_time: chainTimeCell(entry), order_id: entry.orderId ?? null },
    session_id: entry.sessionId ?? null,
    refund_id: entry.refundId ?? null,
    move_id: entry.moveId ?? null,
    network,
    coin,
    ...amounts(changed),
    ...{ tx_hash: entry.txHash ?? null, log_index: entry.logIndex ?? null, block_number: entry.blockNumber ?? null },
    ...{ block_hash: entry.blockHash ?? null, event_id: entry.id, reverses: entry.reverses ?? null },
    ...{ fiat_currency: value?.currency ?? null, fiat_at_locked_rate: value?.atLockedRate ?? null },
    ...{ fiat_at_settlement_quote: value?.atSettlementQuote ?? null, fiat_difference: value?.difference ?? null },
  });
