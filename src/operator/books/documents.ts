import type { Mode } from '../../domain/values/ids.ts';
import { presentEvidence } from '../../http/presenters/evidence.presenter.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { AuditRecords } from '../../features/audit/records.ts';
import { balancesTable } from '../../features/ledger/documents/balances.ts';
import { issued, issueOf, type DocumentFacts, type IssueDeps } from '../../features/ledger/documents/issue.ts';
import { journalTable, linesTable } from '../../features/ledger/documents/journal.ts';
import type { MonthStatements } from '../../features/ledger/documents/month-statements.ts';
import { paymentsTable } from '../../features/ledger/documents/payments.ts';
import { settledOrdersTable } from '../../features/ledger/documents/settled-orders.ts';
import { settlementTable } from '../../features/ledger/documents/settlement.ts';
import { TABLE_FORMATS, Tally, textOf, type Table, type TableFormat } from '../../features/ledger/documents/table.ts';
import type { JournalScope } from '../../features/ledger/journal.ts';
import { accountingFile, ACCOUNTING_FILES, costBasis, isForPeople, valued, type AccountingFile } from './accounting.ts';
import { actorOf } from '../server/acts.ts';
import {
  CommandRefused,
  json,
  optionalMerchant,
  optionalText,
  refused,
  requiredMode,
  merchantIn,
  requiredText,
  type AdminArguments,
  type AdminCommands,
  type AdminStreams,
} from '../server/commands.ts';
import { monthIn, scopeOf } from './arguments.ts';
import type { LedgerParts } from './ledger.ts';
import { must } from '../../domain/values/must.ts';

/** The month is open, its statement was not issued yet, or there is nothing to state. */
export class NoStatement extends CommandRefused {}

export interface DocumentParts extends LedgerParts {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly issue: IssueDeps;
}

const CONTENT_TYPES: Readonly<Record<TableFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
};

/** Makes a document of the books, up to an entry. */
type MakeTable = (
  parts: DocumentParts,
  scope: JournalScope,
  through: number,
  args: AdminArguments,
) => Promise<Table> | Table;

const TABLES: Readonly<Record<string, MakeTable>> = {
  journal: ({ journal }, scope, through) => journalTable(journal, scope, through),
  balances: async ({ balances }, { mode, clock, book, from, to }) => {
    if (book !== null || from !== null)
      return refused(`${book === null ? 'from' : 'merchant'} does not apply to balances: omit it`);
    const found = await balancesTable(balances, mode, { day: to, clock });
    return found?.table ?? refused('entries are still coming in: specify a past day with to');
  },
  lines: ({ journal }, scope, through, args) => linesTable(journal, scope, through, merchantIn(args, 'merchant')),
  payments: ({ journal, store }, scope, through) => paymentsTable(journal, store, scope, through),
  settlement: (parts, scope, through, args) => settlementTable(parts, merchantIn(args, 'merchant'), scope, through),
  valued: (parts, scope, through, args) => valued(parts, { scope, through, args }),
  'cost-basis': (parts, scope, through, args) => costBasis(parts, { scope, through, args }),
  'settled-orders': ({ journal }, scope, through, args) =>
    settledOrdersTable(journal, merchantIn(args, 'merchant'), scope, through),
};

/** Documents too long for one answer. */
export function documentStreams(parts: DocumentParts): AdminStreams {
  return {
    'ledger.export': async (args) => {
      await parts.servedRows();
      const document = optionalText(args, 'document') ?? 'journal';
      const merchantId = optionalMerchant(args, 'merchant');
      const scope = await scopeOf(parts, args, merchantId);
      const { entries } = await parts.balances.modeRow(scope.mode);
      const tally = new Tally();
      const { format, contentType, chunks } = await fileOf(parts, document, { scope, through: entries, args }, tally);
      const { mode, clock, from, to } = scope;
      const facts = { mode, document, format, merchantId, clock, from, to, actor: actorOf(args) };
      if (!isWanted(args)) return { contentType, entries, chunks };
      return {
        contentType,
        entries,
        chunks: issued(parts.issue, { ...facts, ...(await through(parts, mode, entries)) }, tally, chunks),
      };
    },
  };
}

/** Faults in rates or chart only show while the file is made, so they are looked for before the first byte is sent. */
async function fileOf(
  parts: DocumentParts,
  document: string,
  asked: { readonly scope: JournalScope; readonly through: number; readonly args: AdminArguments },
  tally: Tally,
): Promise<AccountingFile> {
  const { scope, through, args } = asked;
  const own = ACCOUNTING_FILES.find((name) => name === document);
  if (own !== undefined) {
    if (optionalText(args, 'format') !== undefined) return refused(`format does not apply to ${own}: omit it`);
    // An address statement is complete before its first byte.
    if (own !== 'camt053') await tried((await accountingFile(parts, own, asked, new Tally())).chunks);
    return accountingFile(parts, own, asked, tally);
  }
  const names = [...Object.keys(TABLES), ...ACCOUNTING_FILES].join(', ');
  const make = Object.hasOwn(TABLES, document) ? must(TABLES[document]) : refused(`document must be one of ${names}`);
  const format =
    TABLE_FORMATS.find((name) => name === (optionalText(args, 'format') ?? 'csv')) ??
    refused('format must be csv or jsonl');
  const table = await make(parts, scope, through, args);
  if (IN_CURRENCY.has(document)) await tried(textOf(table, format));
  return { format, contentType: CONTENT_TYPES[format], chunks: textOf(table, format, tally) };
}

const IN_CURRENCY: ReadonlySet<string> = new Set(['valued', 'cost-basis']);

async function tried(chunks: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of chunks);
  } catch (error) {
    if (isForPeople(error)) refused(error.message);
    throw error;
  }
}

function isWanted(args: AdminArguments): boolean {
  const given = args['evidence'] ?? false;
  if (typeof given === 'boolean' || given === 'true' || given === 'false') return String(given) === 'true';
  return refused('evidence must be true or false');
}

async function through(
  { journal }: DocumentParts,
  mode: Mode,
  entries: number,
): Promise<Pick<DocumentFacts, 'throughEntry' | 'throughEvent'>> {
  if (entries === 0) return { throughEntry: 0, throughEvent: '' };
  const last = await journal.page({ mode, book: null, clock: 'recorded', from: null, to: null }, entries - 1, 1);
  return { throughEntry: entries, throughEvent: last.entries[0]?.entry.id ?? '' };
}

export interface EvidenceParts {
  readonly records: Pick<AuditRecords, 'proofOfEvent' | 'verifierKey'>;
  readonly statements: Pick<MonthStatements, 'issue' | 'find'>;
  readonly store: Pick<EventStore, 'lastOfStream' | 'readStream'>;
  /** Null where nobody signs. */
  readonly signNow: (() => Promise<unknown>) | null;
}

/** Proof that a file, or the statement of a month, comes from these books. */
export function evidenceCommands(parts: EvidenceParts): AdminCommands {
  return {
    'ledger.evidence': async (args) => {
      const sha256 = requiredText(args, 'sha256');
      if (!/^[0-9a-f]{64}$/.test(sha256)) return refused('sha256 must be the SHA-256 of a file, in lower-case hex');
      const event = await issueOf(parts.store, requiredMode(args), sha256);
      return json(
        await evidenceOf(parts, event ?? refused('sha256: no such file was exported in this mode with evidence')),
      );
    },
    'ledger.statements': async (args) => {
      const [mode, month] = [requiredMode(args), monthIn(args)];
      const made =
        (await parts.statements.issue(mode, month, actorOf(args))) ??
        refused(`month: ${month} is not closed in ${mode} mode`);
      return json({
        ...{ mode, period: month },
        statements: made.map(({ event, data }) => ({
          merchant_id: data.merchantId,
          lines: data.lines,
          event: event.id,
          issued_at: data.issuedAtSec,
        })),
      });
    },
    'ledger.month-statement': async (args) => {
      const [mode, period] = [requiredMode(args), monthIn(args)];
      const merchantId = optionalMerchant(args, 'merchant');
      const found = await parts.statements.find({ mode, period, merchantId });
      if (!found)
        throw new NoStatement(
          `month: there is no statement of ${period} for ${merchantId ?? 'the operator'}: either nothing was owed and nothing moved, the month is open, or \`quittance ledger statements ${period}\` must create it first`,
        );
      return json(await evidenceOf(parts, found.event));
    },
  };
}

/** Under the newest checkpoint, or under one that is signed now. */
async function evidenceOf({ records, signNow }: EvidenceParts, event: RecordedEvent) {
  let proven = await records.proofOfEvent(event);
  if (!proven && signNow) {
    await signNow();
    proven = await records.proofOfEvent(event);
  }
  if (!proven)
    return refused(
      'no checkpoint covers it yet: run `quittance audit checkpoint --now` where the signer is, then try again',
    );
  return presentEvidence(event, proven, records.verifierKey());
}
