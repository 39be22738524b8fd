import { closeSync, createWriteStream, openSync, readFileSync, readSync } from 'node:fs';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { z } from 'zod';
import type { EventStore } from '../ports/event-log/event-store.ts';
import {
  parseCheckpoint,
  parseCheckpoints,
  parseVerifierKey,
  type SignedCheckpoint,
  type VerifierKey,
} from '../runtime/merkle/checkpoint-note.ts';
import { auditLine } from '../features/audit/lines.ts';
import { writeBooksFile, type BooksFileParts } from '../features/audit/books-file.ts';
import { verifyDocument, verifyMonthStatement } from '../features/audit/verify-issued.ts';
import { verifyStatement } from '../features/audit/verify-statement.ts';
import { verifyProof } from '../features/audit/verify-proof.ts';
import type { MakeKeyedMemory } from '../ports/read-model/keyed-memory.ts';
import { verifyExport, type VerifyReport } from '../features/audit/verify.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { pagesOf } from '../runtime/event-log/log-copy.ts';
import { createProgress } from './progress.ts';
import { linesOf } from './text-lines.ts';
import { codeOf } from '../runtime/util/code-of.ts';

/**
 * Writes the event log as an audit export, to a file or to standard output. Memory use is bounded by a page. `total`: a
 * lower bound on the number of events, for the progress bar.
 */
export async function exportEventLog(
  store: Pick<EventStore, 'readAll'>,
  total: number,
  file: string | undefined,
): Promise<number> {
  const out: Writable = file === undefined ? process.stdout : createWriteStream(file, { mode: 0o600 });
  const progress = createProgress(process.stderr);
  let written = 0;
  for await (const events of pagesOf(store)) {
    const text = events.map((event, index) => `${auditLine(event, written + index + 1)}\n`).join('');
    if (!out.write(text)) await once(out, 'drain');
    written += events.length;
    progress.report('exporting events', written, Math.max(total, written));
  }
  progress.end();
  if (file !== undefined) {
    out.end();
    await once(out, 'finish');
  }
  return written;
}

/**
 * Writes journal, balances and payments as tables of one SQLite file, derived from the event log alone. Throws
 * `CommandRefused`.
 */
export async function exportBooks(
  store: Pick<EventStore, 'readAll'>,
  total: number,
  path: string,
  tools: Pick<BooksFileParts, 'createTableFile' | 'memory'>,
) {
  const progress = createProgress(process.stderr);
  const onProgress = (events: number): void => progress.report('booking events', events, Math.max(total, events));
  try {
    return await writeBooksFile({ path, pages: pagesOf(store), onProgress, ...tools });
  } catch (error) {
    throw new CommandRefused(`${path} was not written: ${messageOf(error)}`);
  } finally {
    progress.end();
  }
}

export interface VerifyOptions {
  readonly export?: string;
  readonly proof?: string;
  readonly statement?: string;
  /** A file issued from the books, and its evidence. */
  readonly file?: string;
  readonly evidence?: string;
  /** The lines of a statement, as CSV. */
  readonly lines?: string;
  readonly checkpoint?: readonly string[];
  readonly key: string;
}

/** The findings, by the names that are printed. */
export type VerifiedFiles = Record<string, string | number | boolean | null>;

const ofMonth = z.object({ type: z.literal('StatementIssued') });
const checkpointForm = z.object({ checkpoint: z.unknown().optional(), data: z.unknown().optional() });

/** `quittance audit verify`: offline, from files alone. Throws `CommandRefused` for input it cannot read. */
export async function verifyFiles(options: VerifyOptions, memory: MakeKeyedMemory): Promise<VerifiedFiles> {
  const key = keyOf(options.key);
  if (options.proof !== undefined) return { ...verifyProof(jsonIn(options.proof), key) };
  if (options.statement !== undefined) {
    const statement = jsonIn(options.statement);
    return ofMonth.safeParse(statement).success
      ? { ...verifyMonthStatement(statement, key, options.lines === undefined ? null : textOf(options.lines)) }
      : { ...verifyStatement(statement, key) };
  }
  if (options.file !== undefined) {
    const bytes = readable(options.file, (name) => readFileSync(name));
    return { ...verifyDocument(bytes, jsonIn(options.evidence ?? `${options.file}.evidence.json`), key) };
  }
  if (options.export === undefined) throw new CommandRefused('--export, --proof, --statement or --file is missing');
  if (!options.checkpoint?.length)
    throw new CommandRefused('--checkpoint is missing: a signed checkpoint kept outside the service');
  const file = options.export;
  readable(file, firstByteOf);
  const checkpoints = options.checkpoint.flatMap(checkpointsIn);
  const progress = createProgress(process.stderr);
  const total = Math.max(...checkpoints.map(({ size }) => size));
  const report: VerifyReport = await verifyExport({
    lines: () => linesOf(file),
    checkpoints,
    key,
    memory,
    onProgress: (lines) => progress.report('reading events', lines, Math.max(total, lines)),
  });
  progress.end();
  const { closedMonths, ...counts } = report;
  return { ...counts, closed_months: closedMonths };
}

/** The key itself, or a file that contains it. */
function keyOf(given: string): VerifierKey {
  const key = parseVerifierKey(given) ?? parseVerifierKey(textOf(given));
  if (!key)
    throw new CommandRefused('--key must be a verifier key such as name+1a2b3c4d+base64, or a file that holds one');
  return key;
}

/** Checkpoints one after another, or the output of `audit checkpoint --json`, or a page of `/v1/audit/checkpoints`. */
function checkpointsIn(file: string): SignedCheckpoint[] {
  const text = textOf(file);
  const notes = text.trimStart().startsWith('{') ? notesInJson(jsonIn(file)) : parseCheckpoints(text);
  if (!notes) throw new CommandRefused(`${file} does not hold signed checkpoints`);
  return notes;
}

function notesInJson(value: unknown): SignedCheckpoint[] | null {
  const { checkpoint, data } = checkpointForm.parse(value);
  const texts: unknown[] = Array.isArray(data)
    ? data.map((one: { checkpoint?: unknown } | null) => one?.checkpoint)
    : [checkpoint];
  const notes = texts.map((text) => (typeof text === 'string' ? parseCheckpoint(text) : null));
  return notes.length > 0 && notes.every((note) => note !== null) ? notes : null;
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(textOf(file));
  } catch (error) {
    if (error instanceof CommandRefused) throw error;
    throw new CommandRefused(`${file} is not JSON`);
  }
}

const textOf = (file: string): string => readable(file, (name) => readFileSync(name, 'utf8'));

/** Checks that a file too long to read at once is readable. */
function firstByteOf(file: string): void {
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, Buffer.alloc(1));
  } finally {
    closeSync(descriptor);
  }
}

/** Returns what `read` reads from the file. Throws `CommandRefused` when it cannot. */
function readable<Value>(file: string, read: (file: string) => Value): Value {
  try {
    return read(file);
  } catch (error) {
    throw new CommandRefused(`${file} cannot be read: ${codeOf(error) ?? String(error)}`);
  }
}
