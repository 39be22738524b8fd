import { hash } from 'node:crypto';
import { z } from 'zod';
import type { DocumentIssued, StatementIssued } from '../../domain/events/document-events.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import { documentsStream, statementsStream } from '../../domain/values/streams.ts';
import type { VerifierKey } from '../../runtime/merkle/checkpoint-note.ts';
import { canonicalJson } from '../shared/canonical-json.ts';
import { shownEvent } from './issued.ts';
import { eventTextOf, notIncluded, provenFields, signedCheckpoint } from './verify-proof.ts';

const evidenceSchema = z.looseObject(provenFields);

/** Fields of the evidence that do not come from the event. */
const ENVELOPE: ReadonlySet<string> = new Set(['verifier_key', 'checkpoint', 'proof']);

export interface IssuedReport {
  readonly ok: boolean;
  readonly fault: string | null;
  /** For example `journal`, or the month of a statement. */
  readonly document: string | null;
  readonly rows: number;
  /** Number of events that the covering checkpoint contains. */
  readonly signed_events: number;
}

const failed = (fault: string): IssuedReport => ({ ok: false, fault, document: null, rows: 0, signed_events: 0 });

interface Proven {
  readonly type: string;
  readonly data: unknown;
  readonly signedEvents: number;
}

/**
 * The event of the evidence if its signature, its place in the tree and every stated field hold; otherwise the fault.
 */
function provenEvent(
  json: unknown,
  key: VerifierKey,
  streamOf: (type: string, data: never) => string | null,
): Proven | string {
  const parsed = evidenceSchema.safeParse(json);
  if (!parsed.success) return 'it is no evidence of something that was given out';
  const { checkpoint: note, proof, ...said } = parsed.data;
  const checkpoint = signedCheckpoint(note.checkpoint, key);
  if (typeof checkpoint === 'string') return checkpoint;
  const event = eventTextOf(proof.text);
  if (!event) return 'its event cannot be read';
  if (proof.hash !== hash('sha256', proof.text, 'hex')) return 'the hash is not that of its event';
  const outside = notIncluded(proof, checkpoint);
  if (outside !== null) return `its event ${outside}`;
  if (event.stream !== streamOf(event.type, event.data as never)) return 'its event is of another kind or stream';
  const shown: Record<string, unknown> = shownEvent({ ...event, data: JSON.stringify(event.data) });
  for (const name of new Set([...Object.keys(shown), ...Object.keys(said)])) {
    if (ENVELOPE.has(name)) continue;
    if (canonicalJson(shown[name] ?? null) !== canonicalJson(said[name] ?? null))
      return `${name} is not what its event says`;
  }
  return { type: event.type, data: event.data, signedEvents: checkpoint.size };
}

/** Verifies an issued document from the file, its evidence and the public key alone. */
export function verifyDocument(bytes: Buffer, evidence: unknown, key: VerifierKey): IssuedReport {
  const proven = provenEvent(evidence, key, (type, { mode }: DocumentIssued['data']) =>
    type === 'DocumentIssued' ? documentsStream(mode) : null,
  );
  if (typeof proven === 'string') return failed(proven);
  const data = proven.data as DocumentIssued['data'];
  if (bytes.length !== data.bytes || hash('sha256', bytes, 'hex') !== data.sha256)
    return failed('the file is not the one that was given out: its SHA-256 differs');
  const fault = totalsFault(bytes.toString('utf8'), data);
  if (fault !== null) return failed(fault);
  return { ok: true, fault: null, document: data.document, rows: data.rows, signed_events: proven.signedEvents };
}

/** Recounts the rows of the file. */
function totalsFault(text: string, { format, rows, totals }: DocumentIssued['data']): string | null {
  if (format !== 'csv' && format !== 'jsonl') return null;
  const found =
    format === 'csv'
      ? csvRows(text)
      : text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]));
  if (found.length !== rows) return `it has ${found.length} rows, its event says ${rows}`;
  for (const { column, network, coin, sum } of totals) {
    const own = found.filter((row) => (row['network'] || null) === network && (row['coin'] || null) === coin);
    const units = own.reduce((total, row) => (row[column] ? total + signedAmountOf(row[column]) : total), 0n);
    if (units !== signedAmountOf(sum))
      return `${column} of ${[coin, network].join(' on ')} adds up to ${formatAmount(units)}, its event says ${sum}`;
  }
  return null;
}

type Row = Readonly<Record<string, string | null>>;

/** RFC 4180, with column names from the first line. */
function csvRows(text: string): Row[] {
  const lines: string[][] = [];
  let cells: string[] = [];
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (end === '' && cells.length === 0) break;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    lines.push(cells);
    cells = [];
  }
  const [names = [], ...rows] = lines;
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])));
}

/**
 * Verifies the statement of a closed month from its evidence and the public key alone. `lines` is the CSV of the lines
 * that it sums up.
 */
export function verifyMonthStatement(evidence: unknown, key: VerifierKey, lines: string | null): IssuedReport {
  const proven = provenEvent(evidence, key, (type, { mode, period }: StatementIssued['data']) =>
    type === 'StatementIssued' ? statementsStream(mode, period) : null,
  );
  if (typeof proven === 'string') return failed(proven);
  const data = proven.data as StatementIssued['data'];
  const fault = figuresFault(data) ?? (lines === null ? null : linesFault(lines, data));
  return fault === null
    ? { ok: true, fault, document: data.period, rows: data.lines, signed_events: proven.signedEvents }
    : failed(fault);
}

/** Accepts any CSV with these columns. Rows without an account are memos. */
function linesFault(text: string, { lines, linesSha256 }: StatementIssued['data']): string | null {
  const own = csvRows(text).filter((row) => row['account'] !== '');
  if (own.length !== lines) return `the file has ${own.length} lines, the statement ${lines}`;
  const columns = ['event_id', 'account', 'network', 'coin', 'amount'];
  const digest = hash(
    'sha256',
    own.map((row) => `${columns.map((name) => row[name] ?? '').join(',')}\n`).join(''),
    'hex',
  );
  return digest === linesSha256 ? null : 'the lines are not those of the statement: their SHA-256 differs';
}

/**
 * Opening plus changes must equal closing, the kinds must add up to the changes, and the operator's accounts must
 * balance.
 */
function figuresFault({ accounts, kinds, lines, merchantId }: StatementIssued['data']): string | null {
  const sums = new Map<string, bigint>();
  const add = (key: string, units: bigint): unknown => sums.set(key, (sums.get(key) ?? 0n) + units);
  for (const { account, network, coin, opening, debits, credits, closing } of accounts) {
    const place = `${account} of ${coin} on ${network}`;
    if (signedAmountOf(opening) + signedAmountOf(debits) - signedAmountOf(credits) !== signedAmountOf(closing))
      return `${place} does not add up`;
    add(`the debits of ${place} and those of its kinds differ`, signedAmountOf(debits));
    add(`the credits of ${place} and those of its kinds differ`, signedAmountOf(credits));
    if (merchantId === null) add(`the accounts of ${coin} on ${network} do not balance`, signedAmountOf(closing));
  }
  for (const { account, network, coin, debits, credits } of kinds) {
    add(`the debits of ${account} of ${coin} on ${network} and those of its kinds differ`, -signedAmountOf(debits));
    add(`the credits of ${account} of ${coin} on ${network} and those of its kinds differ`, -signedAmountOf(credits));
  }
  const counted = kinds.reduce((sum, kind) => sum + kind.lines, 0);
  if (counted !== lines) return `its kinds have ${counted} lines, it says ${lines}`;
  return [...sums].find(([, units]) => units !== 0n)?.[0] ?? null;
}
