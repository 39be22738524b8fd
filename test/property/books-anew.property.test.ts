import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayOf, monthOf } from '../../src/domain/values/calendar.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { MODES, type Mode } from '../../src/domain/values/ids.ts';
import { adjustmentsStream, ledgerPeriodsStream, treasuryStream } from '../../src/domain/values/streams.ts';
import { LedgerBalances } from '../../src/features/ledger/balances.ts';
import { journalTable } from '../../src/features/ledger/documents/journal.ts';
import { textOf } from '../../src/features/ledger/documents/table.ts';
import { LedgerJournal } from '../../src/features/ledger/journal.ts';
import { presentTrialBalance } from '../../src/http/presenters/ledger-books.presenter.ts';
import { EMPTY_MODE, sealOf } from '../../projections/ledger/rows.ts';
import { SAMPLES } from '../fixtures/events/samples.ts';
import { MemoryBooks } from '../support/books.ts';
import { historyOf, steps } from '../support/random-history.ts';
import { REPOSITORY } from '../support/repository.ts';
import { runsOf } from '../support/runs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The books made anew by a program in another language, from events alone, to the last digit. */

const PROGRAM = join(REPOSITORY, 'docs/verify/rebuild_books.py');
const DAY_MS = 86_400_000;
const hasPython = spawnSync('python3', ['--version']).status === 0;
const folder = temporaryFolder('books-anew');

/** One of every kind that moves money, each with the treasury as it is in the golden events. */
const TREASURY_EVENTS = Object.entries(SAMPLES).flatMap(([type, data]): DomainEvent[] =>
  /^(Sweep|GasTopUp|Withdrawal|Settlement|Return|NativeReturn|NonceAccount)(Completed|Failed)$|^(TreasuryFunded|NativeCoinFound|UnknownOutflowAcknowledged|AdjustmentPosted)$/.test(
    type,
  )
    ? [{ type, data } as DomainEvent]
    : [],
);

const streamOf = (type: string, { mode, network }: { mode: Mode; network: Network }): string =>
  type === 'AdjustmentPosted' ? adjustmentsStream(mode) : treasuryStream(mode, network);

class Month {
  readonly books = new MemoryBooks();
  readonly folder = mkdtempSync(join(folder, 'month-'));
  readonly #lines: string[] = [];

  take({ stream, id, atMs, event }: StoredEvent<DomainEvent>): void {
    this.#lines.push(
      JSON.stringify({ stream, id, type: event.type, at_ms: atMs, data: JSON.stringify(event.data), metadata: '{}' }),
    );
  }

  /** Closes the month before, as an operator does on its first day. */
  async close(mode: Mode, period: string, atMs: number): Promise<void> {
    const balances = await new LedgerBalances(this.books.readModel()).figures(mode, period);
    const throughPosition = sealOf(this.books.mode(mode) ?? EMPTY_MODE, period);
    const data = { mode, period, throughPosition, balances, actor: 'ada' };
    this.take(this.books.take(ledgerPeriodsStream(mode), { type: 'PeriodClosed', data }, atMs));
  }

  async verdict(): Promise<{ status: number | null; printed: string }> {
    const file = (name: string): string => join(this.folder, name);
    writeFileSync(file('ledger.jsonl'), this.#lines.join('\n'));
    const [journals, balances]: [string[], string[]] = [[], []];
    for (const mode of MODES) {
      const readModel = this.books.readModel();
      const scope = { mode, book: null, clock: 'recorded', from: null, to: null } as const;
      let text = '';
      for await (const chunk of textOf(journalTable(new LedgerJournal(readModel), scope), 'jsonl')) text += chunk;
      writeFileSync(file(`journal-${mode}.jsonl`), text);
      const balance = await new LedgerBalances(readModel).trialBalance(mode, { day: null, clock: 'recorded' });
      writeFileSync(file(`balance-${mode}.json`), JSON.stringify(presentTrialBalance(balance, null)));
      journals.push(file(`journal-${mode}.jsonl`));
      balances.push(file(`balance-${mode}.json`));
    }
    const args = [PROGRAM, '--export', file('ledger.jsonl'), '--journal', ...journals, '--trial-balance', ...balances];
    const { status, stdout, stderr } = spawnSync('python3', args, { encoding: 'utf8' });
    return { status, printed: stdout + stderr };
  }
}

async function monthOfBusiness(
  drawn: Parameters<typeof historyOf>[0],
  gaps: readonly number[],
  closes: boolean,
): Promise<Month> {
  const month = new Month();
  const { entries } = historyOf(drawn);
  let [days, ofTreasury, last] = [0, 0, ''];
  for (const [index, entry] of entries.entries()) {
    days += gaps[index % gaps.length]!;
    const atMs = entry.atMs + days * DAY_MS;
    const current = monthOf(dayOf(atMs / 1000));
    if (closes && last !== '' && current > last) for (const mode of MODES) await month.close(mode, last, atMs);
    last = current > last ? current : last;
    month.take(month.books.takeEntry({ ...entry, atMs }));
    const event = index % 3 === 0 ? TREASURY_EVENTS[ofTreasury++ % TREASURY_EVENTS.length]! : null;
    if (event && 'mode' in event.data && 'network' in event.data)
      month.take(month.books.take(streamOf(event.type, event.data), event, atMs));
  }
  return month;
}

describe.skipIf(!hasPython)('books rebuilt from events alone', () => {
  it('are those of the service: every entry, line, day, balance and closed month', async () => {
    const printed: string[] = [];
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(fc.nat({ max: 4 }), { minLength: 20, maxLength: 20 }),
        fc.boolean(),
        async (drawn, gaps, closes) => {
          const month = await monthOfBusiness(drawn, gaps, closes);
          const verdict = await month.verdict();
          printed.push(verdict.printed);
          expect(verdict).toMatchObject({ status: 0 });
        },
      ),
      { numRuns: runsOf(6) },
    );
    // The comparison compared something.
    expect(printed.some((line) => / [1-9]\d* closed months/.test(line))).toBe(true);
  });

  it('detect a single changed digit in the journal, in a closed month or in the trial balance', async () => {
    const drawn = fc.sample(steps, { numRuns: 1, seed: 7 })[0]!;
    const month = await monthOfBusiness(drawn, [2], true);
    expect(await month.verdict()).toMatchObject({ status: 0 });
    const args = [
      '--journal',
      join(month.folder, 'journal-test.jsonl'),
      '--trial-balance',
      join(month.folder, 'balance-test.json'),
    ];
    const after = (name: string, from: RegExp, to: string): string => {
      const path = join(month.folder, name);
      const before = readFileSync(path, 'utf8');
      expect(before).toMatch(from);
      writeFileSync(path, before.replace(from, to));
      const { status, stdout } = spawnSync(
        'python3',
        [PROGRAM, '--export', join(month.folder, 'ledger.jsonl'), ...args],
        { encoding: 'utf8' },
      );
      writeFileSync(path, before);
      expect(status).toBe(1);
      return stdout;
    };
    expect(after('journal-test.jsonl', /"amount":"(-?)(\d)/, '"amount":"$19$2')).toMatch(/entry \d+ of test/);
    expect(after('balance-test.json', /"debit":"(\d)/, '"debit":"9$1')).toMatch(/the trial balance says/);
    expect(after('ledger.jsonl', /(recorded\/assets:[^"]*\\":\\"-?)(\d)/, '$19$2')).toMatch(/in the closing and/);
  });
});
