import { csvRow, type CsvCell } from '../../runtime/util/csv.ts';
import { formatAmount, signedAmountOf } from '../../domain/money.ts';
import type { EntryLine, EntryRow } from '../../../projections/ledger/rows.ts';
import type { JournalScope, LedgerJournal } from './journal.ts';

export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Amounts show at least the decimals of a stablecoin, and every decimal they have. */
const DECIMALS = 6;
const amount = (units: bigint): string => formatAmount(units, DECIMALS);
const time = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

/**
 * The columns of the export, one row a line of an entry, a memo one row with line 0. Names and meanings never change; new
 * columns come last. `docs/ledger.md` describes each of them.
 */
const COLUMNS: readonly (readonly [name: string, of: (entry: EntryRow, line: EntryLine | null, index: number) => CsvCell])[] = [
  ['entry', ({ number }) => number],
  ['line', (_, line, index) => (line ? index + 1 : 0)],
  ['kind', ({ kind }) => kind],
  ['mode', ({ mode }) => mode],
  ['recorded_at', ({ recordedAtMs }) => time(recordedAtMs)],
  ['recorded_day', ({ days }) => days.recorded],
  ['chain_time', ({ chainTimeSec }) => time(chainTimeSec === undefined ? undefined : chainTimeSec * 1000)],
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

export const EXPORT_COLUMNS: readonly string[] = COLUMNS.map(([name]) => name);

/** On the first row of an entry only, so that the column can be summed. */
const valueOn = ({ value }: EntryRow, index: number) => (index === 0 ? value : undefined);

/** The journal as text, some entries at a time: whoever writes it out decides how fast it is read. */
export async function* exportJournal(journal: LedgerJournal, scope: JournalScope, format: ExportFormat): AsyncGenerator<string> {
  if (format === 'csv') yield csvRow(EXPORT_COLUMNS);
  const write = format === 'csv' ? csvRow : jsonRow;
  for await (const chunk of journal.walk(scope)) {
    const text = chunk.map(({ entry }) => rowsOf(entry).map(write).join('')).join('');
    if (text !== '') yield text;
  }
}

function rowsOf(entry: EntryRow): CsvCell[][] {
  const lines = entry.lines.length === 0 ? [null] : entry.lines;
  return lines.map((line, index) => COLUMNS.map(([, of]) => of(entry, line, index)));
}

const jsonRow = (cells: readonly CsvCell[]): string =>
  `${JSON.stringify(Object.fromEntries(cells.map((cell, index) => [EXPORT_COLUMNS[index]!, cell])))}\n`;
