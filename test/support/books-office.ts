import { ledger } from '../../projections/ledger/ledger.projection.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import { LedgerBalances } from '../../src/features/ledger/balances.ts';
import { MonthStatements } from '../../src/features/ledger/documents/month-statements.ts';
import { LedgerJournal } from '../../src/features/ledger/journal.ts';
import { LedgerPeriods } from '../../src/features/ledger/periods.ts';
import { documentStreams, type DocumentParts } from '../../src/operator/books/documents.ts';
import type { AdminArguments } from '../../src/operator/server/commands.ts';
import { appendNext } from '../../src/runtime/commands/append-next.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { createWholeRows } from '../../src/runtime/projections/whole-rows.ts';
import { MemoryEventStore } from './memory-event-store.ts';
import { MemoryReadModel } from './memory-read-model.ts';

/** Books that the real runner keeps from a log in memory, with all that is given out of them. */
export class BooksOffice {
  readonly store = new MemoryEventStore();
  readonly model = new MemoryReadModel();
  readonly balances = new LedgerBalances(this.model);
  readonly journal = new LedgerJournal(this.model);
  readonly runner = new ProjectionRunner({
    store: this.store,
    readModel: this.model,
    projections: [ledger],
    clock: { nowMs: () => 0 },
  });
  nowMs = 0;
  #uuids = 0;
  readonly #writes = {
    store: this.store,
    clock: { nowMs: () => this.nowMs },
    random: {
      uuid: () => `00000000-0000-4000-8000-${String((this.#uuids += 1)).padStart(12, '0')}`,
      bytes: (length: number) => new Uint8Array(length),
    },
  };
  readonly statements = new MonthStatements({ ...this.#writes, balances: this.balances, journal: this.journal });
  readonly periods = new LedgerPeriods({
    ...this.#writes,
    balances: this.balances,
    caughtUpTo: (position) => this.runner.caughtUpTo(position),
    wholeBooks: createWholeRows({ store: this.store, readModel: this.model, projections: this.runner }, ledger),
  });
  readonly parts: { -readonly [Name in keyof DocumentParts]: DocumentParts[Name] } = {
    balances: this.balances,
    journal: this.journal,
    periods: this.periods,
    statements: this.statements,
    store: this.store,
    issue: this.#writes,
    notFinal: async () => [],
    modeOfMerchant: () => 'test',
    servedRows: async () => undefined,
  };

  async take(stream: string, event: DomainEvent, atMs: number): Promise<void> {
    this.nowMs = atMs;
    await appendNext(this.#writes, { stream, last: await this.store.lastOfStream(stream), event, actor: 'test' });
  }

  async caughtUp(): Promise<void> {
    const head = await this.store.head();
    if (head !== null && !(await this.runner.caughtUpTo(head))) throw new Error('the books are behind');
  }

  /** What `quittance ledger export` writes. */
  async exported(args: AdminArguments): Promise<Buffer> {
    const { chunks } = await documentStreams(this.parts)['ledger.export']!(args);
    const parts: Buffer[] = [];
    for await (const chunk of chunks) parts.push(Buffer.from(chunk));
    return Buffer.concat(parts);
  }
}

export async function inOffice(work: (office: BooksOffice) => Promise<void>): Promise<void> {
  const office = new BooksOffice();
  await office.runner.start();
  try {
    await work(office);
  } finally {
    await office.runner.stop();
    await office.store.close();
  }
}
