import { createHash } from 'node:crypto';
import { createWriteStream, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { CommandRefused, type AdminArguments, type AdminStream } from '../../operator/server/commands.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { parseJson } from '../../runtime/util/parse-json.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import type { CliHost } from '../host.ts';
import { createProgress, type Progress } from '../progress.ts';
import { cellsIn, textOf } from '../table.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

interface ExportFlags extends AdminArguments {
  readonly output?: string;
  readonly sqlite?: string;
  readonly evidence: boolean;
  readonly chart?: string;
}

/** `quittance ledger export`. */
export function addExport(ledger: Command, host: CliHost): void {
  ledger
    .command('export [document]')
    .description(
      'export journal (default), lines, balances, payments, settlement, settled-orders, valued, cost-basis, datev, xero, quickbooks or camt053 (docs/ledger.md)',
    )
    .option('--format <format>', 'csv (default) or jsonl')
    .option(
      '--output <file>',
      'a file, written completely or not at all, with <file>.evidence.json beside it (default: standard output, without)',
    )
    .option('--no-evidence', 'do not record the export in the event log, and write no evidence')
    .option(
      '--sqlite <file>',
      'everything, with balances and payments, as a SQLite file made from the event log; excludes all other options',
    )
    .option('--mode <mode>', 'test or live (default: the only one with entries)')
    .option('--merchant <merchant_id>', 'only this merchant; required for lines, settlement and settled-orders')
    .option('--from <day>', 'first day (UTC)')
    .option('--to <day>', 'last day, inclusive')
    .option(
      '--chart <file>',
      'JSON that maps each account of the books to one of yours: for datev, xero and quickbooks',
    )
    .option(
      '--currency <code>',
      'currency of the values, for valued and cost-basis; three letters that stand for the coin, for camt053',
    )
    .option('--method <method>', 'fifo (default) or average: for cost-basis')
    .option('--network <network>', 'of camt053')
    .option('--coin <coin>', 'of camt053')
    .option('--address <address>', 'of camt053')
    .option('--clock <clock>', 'recorded (default) or chain: the clock that determines days')
    .action(async (document: string | undefined, { output, sqlite, evidence, chart, ...given }: ExportFlags) => {
      const args: AdminArguments = { ...given, ...(chart !== undefined && { chart: chartIn(chart) }) };
      if (sqlite !== undefined)
        return writeSqlite(host, sqlite, { ...args, ...(document && { document }), ...(output && { output }) });
      // Without a terminal nobody watches the progress.
      const progress = process.stderr.isTTY ? createProgress(process.stderr) : null;
      const isProven = output !== undefined && evidence;
      const stream = await host.adminStream('ledger.export', {
        ...args,
        ...(document && { document }),
        evidence: isProven,
      });
      try {
        if (output === undefined) return await print(stream, progress);
        const sha256 = await writeFile(stream, output, progress);
        if (!isProven) return;
        const proven = await host.admin('ledger.evidence', { sha256, mode: await modeOf(host, args) });
        writeFileSync(`${output}.evidence.json`, `${JSON.stringify(proven, null, 2)}\n`, { mode: 0o600 });
      } finally {
        progress?.end();
      }
    });
}

function chartIn(file: string): JsonValue {
  try {
    return parseJson(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refused(error, `chart ${file} cannot be read`);
  }
}

async function writeSqlite(host: CliHost, file: string, others: AdminArguments): Promise<void> {
  const other = Object.keys(others)[0];
  if (other !== undefined) throw new CommandRefused(`--sqlite exports everything: omit --${other}`);
  process.stdout.write(`${file}: ${await host.exportBooks(file)} events\n`);
}

/** Finds the mode as the service itself does, when none is named. */
async function modeOf(host: CliHost, { mode, merchant }: AdminArguments): Promise<string> {
  if (typeof mode === 'string') return mode;
  const answer =
    merchant === undefined
      ? await host.admin('ledger.periods', {})
      : await host.admin('ledger.settlement', { merchant_id: merchant, limit: '1' });
  return textOf(cellsIn(answer).mode);
}

/** The first column of a line in either format is the number of its entry. */
const ENTRY_NUMBER = /^(?:\{"entry":)?(\d+),/;

async function* counted(
  { chunks, entries }: AdminStream,
  progress: Progress | null,
): AsyncGenerator<string | Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1');
    const lastLine = text.slice(text.lastIndexOf('\n', text.length - 2) + 1);
    const number = ENTRY_NUMBER.exec(lastLine)?.[1];
    if (number !== undefined) progress?.report('entries', Number(number), entries);
  }
  progress?.report('entries', entries, entries);
}

async function print(stream: AdminStream, progress: Progress | null): Promise<void> {
  try {
    await pipeline(counted(stream, progress), process.stdout, { end: false });
  } catch (error) {
    // The reader has closed the pipe, as `head` does.
    if (codeOf(error) !== 'EPIPE') throw refused(error, 'the export was cut off');
  }
}

/** Returns the SHA-256 of what was written, in hex. */
async function writeFile(stream: AdminStream, output: string, progress: Progress | null): Promise<string> {
  const partial = `${output}.partial`;
  const digest = createHash('sha256');
  async function* hashed() {
    for await (const chunk of counted(stream, progress)) {
      digest.update(chunk);
      yield chunk;
    }
  }
  try {
    await pipeline(hashed, createWriteStream(partial, { mode: 0o600 }));
    renameSync(partial, output);
    return digest.digest('hex');
  } catch (error) {
    rmSync(partial, { force: true });
    throw refused(error, `${output} was not written`);
  }
}

const refused = (error: unknown, what: string): CommandRefused => new CommandRefused(`${what}: ${messageOf(error)}`);
