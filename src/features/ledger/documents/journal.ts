import { signedAmountOf } from '../../../domain/money/money.ts';
import type { CsvCell } from '../../../runtime/util/csv.ts';
import type { EntryLine, EntryRow } from '../../../../projections/ledger/rows.ts';
import type { MerchantId } from '../../../domain/values/ids.ts';
import type { JournalScope, LedgerJournal, PlacedEntry } from '../journal.ts';
import { ownLines } from './month-statement.ts';
import { amountCell as amount, chainTimeCell, timeCell as time, type Table } from './table.ts';

/**
 * The columns of the export. Each line of an entry is one row; a memo is one row with line 0. Names and meanings never
 * change; new columns are added at the end. `docs/ledger.md` describes each of them.
 */
const COLUMNS: readonly (readonly [
  name: string,
  of: (entry: EntryRow, line: EntryLine | null, index: number) => CsvCell,
])[] = [
  ['entry', ({ number }) => number],
  ['line', (_, line, index) => (line ? index + 1 : 0)],
  ['kind', ({ kind }) => kind],
  ['mode', ({ mode }) => mode],
  ['recorded_at', ({ recordedAtMs }) => time(recordedAtMs)],
  ['recorded_day', ({ days }) => days.recorded],
  ['chain_time', chainTimeCell],
  ['chain_day', ({ days }) => days.chain],
  ['account', (_, line) => line?.account ?? null],
  ['network', (entry, line) => line?.network ?? entry.network ?? null],
  ['coin', (entry, line) => line?.coin ?? entry.memo?.coin ?? null],
  ['amount', (_, line) => line && amount(signedAmountOf(line.amount))],
  ['debit', (_, line) => (line && !line.amount.startsWith('-') ? amount(signedAmountOf(line.amount)) : null)],
  ['credit', (_, line) => (line?.amount.startsWith('-') ? amount(-signedAmountOf(line.amount)) : null)],
  ['balance', (_, line) => line && amount(signedAmountOf(line.balance))],
  ['memo_amount', ({ memo }) => (memo ? amount(signedAmountOf(memo.amount)) : null)],
  ['merchant_id', ({ merchantId }) => merchantId ?? null],
  ['order_id', ({ orderId }) => orderId ?? null],
  ['session_id', ({ sessionId }) => sessionId ?? null],
  ['refund_id', ({ refundId }) => refundId ?? null],
  ['move_id', ({ moveId }) => moveId ?? null],
  ['event_id', ({ id }) => id],
  ['stream', ({ stream }) => stream],
  ['revision', ({ revision }) => revision],
  ['reverses', ({ reverses }) => reverses ?? null],
  ['address', (_, line) => line?.address ?? null],
  ['tx_hash', ({ txHash }) => txHash ?? null],
  ['log_index', ({ logIndex }) => logIndex ?? null],
  ['block_number', ({ blockNumber }) => blockNumber ?? null],
  ['block_hash', ({ blockHash }) => blockHash ?? null],
  ['fiat_currency', (entry, _, index) => valueOn(entry, index)?.currency ?? null],
  ['fiat_at_locked_rate', (entry, _, index) => valueOn(entry, index)?.atLockedRate ?? null],
  ['fiat_at_settlement_quote', (entry, _, index) => valueOn(entry, index)?.atSettlementQuote ?? null],
  ['fiat_difference', (entry, _, index) => valueOn(entry, index)?.difference ?? null],
];

export const JOURNAL_COLUMNS: readonly string[] = COLUMNS.map(([name]) => name);

/** Only on the first row of an entry, so that the column can be summed. */
const valueOn = ({ value }: EntryRow, index: number) => (index === 0 ? value : undefined);

/** One row per line of an entry. `through`: number of the last entry to include. */
export const journalTable = (journal: LedgerJournal, scope: JournalScope, through = Infinity): Table =>
  tableOf(journal, scope, through, ({ entry }) => entry);

/** The same for one merchant's accounts, numbered within its own book. */
export const linesTable = (
  journal: LedgerJournal,
  scope: JournalScope,
  through: number,
  merchantId: MerchantId,
): Table =>
  tableOf(journal, scope, through, ({ place, entry }) => {
    const lines = ownLines(entry, merchantId);
    return lines.length === 0 && entry.lines.length > 0 ? null : { ...entry, number: place, lines };
  });

function tableOf(
  journal: LedgerJournal,
  scope: JournalScope,
  through: number,
  shown: (placed: PlacedEntry) => EntryRow | null,
): Table {
  return {
    columns: JOURNAL_COLUMNS,
    amounts: ['amount', 'debit', 'credit'],
    rows: async function* () {
      for await (const chunk of journal.walk(scope)) {
        const entries = chunk.filter(({ entry }) => entry.number <= through);
        yield entries.flatMap((placed) => {
          const entry = shown(placed);
          return entry === null ? [] : rowsOf(entry);
        });
        if (entries.length < chunk.length) return;
      }
    },
  };
}

function rowsOf(entry: EntryRow): CsvCell[][] {
  const lines = entry.lines.length === 0 ? [null] : entry.lines;
  return lines.map((line, index) => COLUMNS.map(([, of]) => of(entry, line, index)));
}
