import { formatAmount } from '../../../domain/money/money.ts';
import { csvRow } from '../../../runtime/util/csv.ts';
import type { ValuedEntry } from '../valuation/valued-journal.ts';
import { ChartRefused, type Chart } from './chart.ts';

/* Files for programs that import manual journals: one journal per day, one line per account that changed. */

interface DailyJournal {
  readonly day: string;
  /** By account of the chart; they add up to zero. */
  readonly sums: ReadonlyMap<string, bigint>;
}

async function* dailyJournals(entries: AsyncIterable<ValuedEntry>, chart: Chart): AsyncGenerator<DailyJournal> {
  let day = '';
  let sums = new Map<string, bigint>();
  for await (const entry of entries) {
    if (entry.day !== day) {
      if (sums.size > 0) yield { day, sums };
      day = entry.day;
      sums = new Map();
    }
    for (const { account, network, coin, value } of entry.lines) {
      if (value === 0n) continue;
      const own = chart.accountOf(account, network, coin);
      sums.set(own, (sums.get(own) ?? 0n) + value);
    }
  }
  if (sums.size > 0) yield { day, sums };
}

const turned = (day: string, order: readonly [number, number, number]): string =>
  order.map((part) => day.split('-')[part]).join('/');
const DAY_MONTH_YEAR = [2, 1, 0] as const;
const MONTH_DAY_YEAR = [1, 2, 0] as const;

interface Form {
  readonly columns: readonly string[];
  readonly mostRows: number;
  readonly row: (day: string, account: string, value: bigint) => readonly string[];
}

async function* fileOf(
  entries: AsyncIterable<ValuedEntry>,
  chart: Chart,
  { columns, mostRows, row }: Form,
): AsyncGenerator<string> {
  yield csvRow(columns);
  let rows = 0;
  for await (const { day, sums } of dailyJournals(entries, chart)) {
    const lines = [...sums].filter(([, value]) => value !== 0n).sort(([one], [other]) => (one < other ? -1 : 1));
    rows += lines.length;
    if (rows > mostRows) throw new ChartRefused(`to: a file has at most ${mostRows} lines; choose fewer days`);
    if (lines.length > 0) yield lines.map(([account, value]) => csvRow(row(day, account, value))).join('');
  }
}

/** Xero, "Import manual journals": debits are positive, dates are dd/mm/yyyy, 300 lines per file. */
export function xeroFile(entries: AsyncIterable<ValuedEntry>, chart: Chart): AsyncGenerator<string> {
  const taxRate = chart.file.xero?.tax_rate ?? 'Tax Exempt';
  return fileOf(entries, chart, {
    columns: [
      '*Narration',
      '*Date',
      'Description',
      '*AccountCode',
      '*TaxRate',
      '*Amount',
      'TrackingName1',
      'TrackingOption1',
      'TrackingName2',
      'TrackingOption2',
    ],
    mostRows: 300,
    row: (day, account, value) => [
      `Quittance ${day}`,
      turned(day, DAY_MONTH_YEAR),
      '',
      account,
      taxRate,
      formatAmount(value),
      '',
      '',
      '',
      '',
    ],
  });
}

/**
 * QuickBooks Online, "Import journal entries": separate columns for debits and credits, dates are mm/dd/yyyy, 1,000
 * lines per file.
 */
export function quickbooksFile(entries: AsyncIterable<ValuedEntry>, chart: Chart): AsyncGenerator<string> {
  return fileOf(entries, chart, {
    columns: ['*JournalNo', '*JournalDate', '*AccountName', '*Debits', '*Credits', 'Description'],
    mostRows: 1_000,
    row: (day, account, value) => [
      ...[`Q${day.replaceAll('-', '')}`, turned(day, MONTH_DAY_YEAR), account],
      ...[value > 0n ? formatAmount(value) : '', value < 0n ? formatAmount(-value) : '', `Quittance ${day}`],
    ],
  });
}
