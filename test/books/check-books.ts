import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface BooksVerdict {
  /** What does not hold; empty when everything does. */
  readonly faults: readonly string[];
  /** For people. */
  readonly lines: readonly string[];
}

interface Trial {
  readonly entries: number;
  readonly totals: readonly {
    readonly network: string;
    readonly coin: string;
    readonly debit: string;
    readonly credit: string;
    readonly difference: string;
  }[];
}

interface Reconciled {
  readonly network: string;
  readonly throughBlock: number;
  readonly accounts: readonly {
    readonly account: string;
    readonly coin: string;
    readonly booked: string;
    readonly onChain: string;
    readonly difference: string;
  }[];
  readonly unknown: readonly unknown[];
  readonly unbooked: { readonly found: readonly unknown[]; readonly native_coin: readonly unknown[] };
}

const isZero = (amount: string): boolean => /^-?0(\.0+)?$/.test(amount);

/**
 * Whether the books of a running sandbox are zero to the last unit and equal its chains, and whether the export of its
 * ledger verifies with both verifiers and nothing but the public key. `cli`: runs a command of `quittance` and answers
 * what it printed.
 */
export async function checkBooks(cli: (...args: string[]) => Promise<string>): Promise<BooksVerdict> {
  const faults: string[] = [];
  const lines: string[] = [];
  // What the sandbox gave its treasury at the start is money from outside: the first look writes it down.
  await cli('treasury', 'reconcile', '--json');
  await checkChains(cli, faults, lines);
  await checkSums(cli, faults, lines);
  await checkExport(cli, faults, lines);
  return { faults, lines };
}

async function checkSums(
  cli: (...args: string[]) => Promise<string>,
  faults: string[],
  lines: string[],
): Promise<void> {
  const { entries, totals } = JSON.parse(await cli('ledger', 'trial-balance', '--json')) as Trial;
  lines.push(`trial balance of ${entries} entries:`);
  for (const { network, coin, debit, credit, difference } of totals) {
    lines.push(`  ${network} ${coin}: debits ${debit}, credits ${credit}, difference ${difference}`);
    if (!isZero(difference)) faults.push(`the books of ${coin} on ${network} are off by ${difference}`);
  }
}

async function checkChains(
  cli: (...args: string[]) => Promise<string>,
  faults: string[],
  lines: string[],
): Promise<void> {
  const { treasuries } = JSON.parse(await cli('treasury', 'reconcile', '--json')) as {
    readonly treasuries: readonly Reconciled[];
  };
  lines.push('books against chains:');
  for (const { network, throughBlock, accounts, unknown, unbooked } of treasuries) {
    for (const { account, coin, booked, onChain, difference } of accounts) {
      lines.push(`  ${network} to block ${throughBlock}, ${account} ${coin}: books ${booked}, chain ${onChain}`);
      if (!isZero(difference))
        faults.push(`${account} ${coin} on ${network}: the books say ${booked}, the chain ${onChain}`);
    }
    const differing = [...unbooked.found, ...unbooked.native_coin];
    if (differing.length > 0)
      faults.push(`addresses on ${network} differ from the books: ${JSON.stringify(differing)}`);
    if (unknown.length > 0)
      faults.push(`${unknown.length} outflows on ${network} that nobody ordered: ${JSON.stringify(unknown)}`);
  }
}

async function checkExport(
  cli: (...args: string[]) => Promise<string>,
  faults: string[],
  lines: string[],
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-books-'));
  try {
    const file = (name: string): string => join(folder, name);
    writeFileSync(file('checkpoint.txt'), await cli('audit', 'checkpoint', '--now'));
    writeFileSync(file('key.txt'), await cli('audit', 'key'));
    await cli('audit', 'export', '--output', file('ledger.jsonl'));
    const given = ['--export', file('ledger.jsonl'), '--checkpoint', file('checkpoint.txt'), '--key', file('key.txt')];
    await checkWithBoth(cli, 'audit verify', 'events', given, faults, lines);
    await checkAnew(cli, file, faults, lines);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * The books of a program in another language that knows nothing but the events. Nothing may happen meanwhile: the
 * export is older than the journal.
 */
async function checkAnew(
  cli: (...args: string[]) => Promise<string>,
  file: (name: string) => string,
  faults: string[],
  lines: string[],
): Promise<void> {
  await cli('ledger', 'export', '--format', 'jsonl', '--output', file('journal.jsonl'));
  const evident = ['--file', file('journal.jsonl'), '--key', file('key.txt')];
  await checkWithBoth(cli, 'evidence of the journal', 'rows', evident, faults, lines);
  writeFileSync(file('balance.json'), await cli('ledger', 'trial-balance', '--json'));
  const given = [
    '--export',
    file('ledger.jsonl'),
    '--journal',
    file('journal.jsonl'),
    '--trial-balance',
    file('balance.json'),
  ];
  checkInPython('rebuild_books.py', given, faults, lines);
}

async function checkWithBoth(
  cli: (...args: string[]) => Promise<string>,
  what: string,
  counted: 'events' | 'rows',
  given: readonly string[],
  faults: string[],
  lines: string[],
): Promise<void> {
  const verified = JSON.parse(await cli('audit', 'verify', ...given, '--json')) as {
    ok: boolean;
    fault: string | null;
    events: number;
    rows: number;
  };
  lines.push(`${what}: ${verified.ok ? `${verified[counted]} ${counted} hold` : verified.fault}`);
  if (!verified.ok) faults.push(`${what}: ${verified.fault}`);
  checkInPython('verify.py', given, faults, lines);
}

function checkInPython(program: string, given: readonly string[], faults: string[], lines: string[]): void {
  const ended = spawnSync('python3', [join(ROOT, 'docs/verify', program), ...given], { encoding: 'utf8' });
  lines.push(`${program}: ${ended.error ? 'not run, there is no python3' : ended.stdout.trim()}`);
  if (!ended.error && ended.status !== 0) faults.push(`${program}: ${ended.stdout.trim()}${ended.stderr}`);
}

/** The operator's commands over a data directory. A verdict of "no" is an answer, too. */
export function commandLine(dataDir: string): (...args: string[]) => Promise<string> {
  return async (...args) => {
    const env = { ...process.env, DATA_DIR: dataDir };
    try {
      return (
        await run(process.execPath, [join(ROOT, 'bin/quittance.mjs'), ...args], {
          cwd: ROOT,
          env,
          maxBuffer: MAX_OUTPUT_BYTES,
        })
      ).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string };
      if (stdout) return stdout;
      throw new Error(`quittance ${args.join(' ')}: ${stderr ?? String(error)}`, { cause: error });
    }
  };
}
