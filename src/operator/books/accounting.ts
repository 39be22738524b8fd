import { dayOf } from '../../domain/values/calendar.ts';
import { BOOKED_COINS } from '../../domain/money/ledger.ts';
import { absolute } from '../../domain/money/money.ts';
import { NETWORKS } from '../../domain/networks/networks.ts';
import { toSec } from '../../ports/clock.ts';
import { camt053 } from '../../features/ledger/accounting/camt053.ts';
import { Chart, ChartRefused } from '../../features/ledger/accounting/chart.ts';
import { quickbooksFile, xeroFile } from '../../features/ledger/accounting/daily-journals.ts';
import { datevFault, datevFile } from '../../features/ledger/accounting/datev.ts';
import type { IssueDeps } from '../../features/ledger/documents/issue.ts';
import type { Table, Tally } from '../../features/ledger/documents/table.ts';
import { valuedTable } from '../../features/ledger/documents/valued.ts';
import type { JournalScope, LedgerJournal } from '../../features/ledger/journal.ts';
import { BookRates, RateMissing } from '../../features/ledger/valuation/book-rates.ts';
import { COST_METHODS, costBasisTable } from '../../features/ledger/valuation/cost-basis.ts';
import { valuedJournal, type ValuedEntry } from '../../features/ledger/valuation/valued-journal.ts';
import { currencyIn } from './rates.ts';
import { optionalText, refused, requiredText, type AdminArguments } from '../server/commands.ts';

export interface AccountingParts {
  readonly journal: LedgerJournal;
  readonly issue: IssueDeps;
}

/** The request: the scope of the books, up to an entry. */
interface Asked {
  readonly scope: JournalScope;
  readonly through: number;
  readonly args: AdminArguments;
}

/**
 * The journal in a currency. A complete one must cover the whole mode by time of recording, which is how months are
 * closed.
 */
async function valuedOf({ journal, issue }: AccountingParts, { scope, through }: Asked, currency: string) {
  if (scope.book !== null) return refused('merchant does not apply to an export in the functional currency: omit it');
  if (scope.clock !== 'recorded') return refused('clock must be recorded: values are by the months of the books');
  const rates = await BookRates.read(issue.store, currency);
  const today = dayOf(toSec(issue.clock.nowMs()));
  return { rates, entries: () => valuedJournal(journal, scope, rates, { through, today }) };
}

export async function valued(parts: AccountingParts, asked: Asked): Promise<Table> {
  const { rates, entries } = await valuedOf(parts, asked, currencyIn(asked.args));
  return valuedTable(entries, rates, asked.scope.from);
}

export async function costBasis(parts: AccountingParts, asked: Asked): Promise<Table> {
  const given = optionalText(asked.args, 'method') ?? 'fifo';
  const method = COST_METHODS.find((name) => name === given) ?? refused('method must be fifo or average');
  const { rates, entries } = await valuedOf(parts, asked, currencyIn(asked.args));
  return costBasisTable(entries, rates, method, asked.scope.from);
}

/** A file for third-party software. */
export interface AccountingFile {
  readonly format: string;
  readonly contentType: string;
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

export const ACCOUNTING_FILES = ['datev', 'xero', 'quickbooks', 'camt053'] as const;

export async function accountingFile(
  parts: AccountingParts,
  document: (typeof ACCOUNTING_FILES)[number],
  asked: Asked,
  tally: Tally,
): Promise<AccountingFile> {
  const { args, scope } = asked;
  const days = { from: scope.from ?? refused('from is missing'), to: scope.to ?? refused('to is missing') };
  const createdAtMs = parts.issue.clock.nowMs();
  if (document === 'camt053') return wallet(parts, asked, days, createdAtMs, tally);
  const chart = chartIn(args);
  const { entries } = await valuedOf(parts, asked, chart.file.currency);
  const own = counted(entries(), days.from, tally);
  if (document === 'xero')
    return { format: 'csv', contentType: 'text/csv; charset=utf-8', chunks: xeroFile(own, chart) };
  if (document === 'quickbooks')
    return { format: 'csv', contentType: 'text/csv; charset=utf-8', chunks: quickbooksFile(own, chart) };
  const fault = datevFault(chart, days);
  if (fault !== null) return refused(fault);
  return {
    format: 'extf',
    contentType: 'text/csv; charset=windows-1252',
    chunks: datevFile(own, chart, { ...days, createdAtMs }),
  };
}

/** Totals from the first day on: lines, debits and credits are the control totals of a file with its own columns. */
async function* counted(entries: AsyncIterable<ValuedEntry>, from: string, tally: Tally): AsyncGenerator<ValuedEntry> {
  for await (const entry of entries) {
    if (entry.day < from) continue;
    for (const { value } of entry.lines) {
      if (value === 0n) continue;
      tally.rows += 1;
      tally.add(value > 0n ? 'debit' : 'credit', null, null, absolute(value));
    }
    yield entry;
  }
}

/** The ISO 4217 code for "no currency". */
const NO_CURRENCY = 'X'.repeat(3);

async function wallet(
  { journal }: AccountingParts,
  { scope, through, args }: Asked,
  days: { readonly from: string; readonly to: string },
  createdAtMs: number,
  tally: Tally,
): Promise<AccountingFile> {
  const network =
    NETWORKS.find((name) => name === requiredText(args, 'network')) ??
    refused(`network must be one of ${NETWORKS.join(', ')}`);
  const coin =
    BOOKED_COINS.find((name) => name === requiredText(args, 'coin').toUpperCase()) ??
    refused(`coin must be one of ${BOOKED_COINS.join(', ')}`);
  const currency = optionalText(args, 'currency') ?? NO_CURRENCY;
  if (!/^[A-Z]{3}$/.test(currency)) return refused('currency must be three letters that stand for the coin');
  const address = requiredText(args, 'address');
  const { text, entries } = await camt053(
    journal,
    { ...scope, ...days },
    through,
    { network, coin, address, currency },
    createdAtMs,
  );
  tally.rows = entries;
  const chunks = (async function* () {
    yield text;
  })();
  return { format: 'xml', contentType: 'application/xml; charset=utf-8', chunks };
}

function chartIn({ chart }: AdminArguments): Chart {
  const parsed = Chart.parse(chart ?? refused('chart is missing: it maps each account of the books to one of yours'));
  return typeof parsed === 'string' ? refused(parsed) : parsed;
}

/** Whether an error found on the way is an answer for people, although the text has begun. */
export const isForPeople = (error: unknown): error is Error =>
  error instanceof RateMissing || error instanceof ChartRefused;
