import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTableFile } from '../../../../src/adapters/sqlite/table-file.ts';
import { SpilledMap } from '../../../../src/adapters/sqlite/read-model/spilled-map.ts';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import { formatAmount, signedAmountOf } from '../../../../src/domain/money/money.ts';
import { adjustmentsStream, sessionStream } from '../../../../src/domain/values/streams.ts';
import { writeBooksFile } from '../../../../src/features/audit/books-file.ts';
import { BOOKS_TABLES } from '../../../../src/features/audit/books-tables.ts';
import type { RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { MemoryBooks } from '../../../support/books.ts';
import { historyOf, sessionIdOf, steps } from '../../../support/random-history.ts';
import { REPOSITORY } from '../../../support/repository.ts';
import { runsOf } from '../../../support/runs.ts';
import {
  paidOrder,
  recorded,
  settlementEvent,
  settlementTerms,
  type StreamEvent,
} from '../../../support/settlement-log.ts';
import { recordedEvents } from '../../../support/signed-export.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('books-file');
let files = 0;

async function written(events: readonly RecordedEvent[]): Promise<{ path: string; taken: number }> {
  const path = join(folder, `books-${(files += 1)}.sqlite`);
  async function* pages() {
    for (let from = 0; from < events.length; from += 7) yield events.slice(from, from + 7);
  }
  const taken = await writeBooksFile({
    path,
    pages: pages(),
    createTableFile,
    memory: () => new SpilledMap(),
    onProgress: () => undefined,
  });
  return { path, taken };
}

function ask<Row>(path: string, sql: string): Row[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare(sql).all() as Row[];
  } finally {
    database.close();
  }
}

const refundEvents = (): StreamEvent[] => {
  const stream = sessionStream(sessionIdOf(1));
  const leg = {
    legId: 'leg_1',
    network: 'ethereum',
    coin: 'USDT',
    toAddress: '0xPayer',
    amount: '4.00',
    takenFrom: [{ depositKey: 'ethereum:0x1:0', amount: '4.00' }],
  };
  const asked = {
    refundId: 're_1',
    coin: 'USDT',
    amount: '4.00',
    asked: null,
    namedDeposit: null,
    refundType: 'partial',
    legs: [leg],
    requestedAtSec: 1_800_000_200,
  };
  const landed = {
    refundId: 're_1',
    legId: 'leg_1',
    txHash: '0xr',
    blockNumber: 9,
    blockHash: '0xb',
    blockTimeSec: 1_800_000_300,
    networkFee: '0.001',
    landedAtSec: 1,
  };
  const signed = { refundId: 're_1', legId: 'leg_1', fromAddress: '0xTreasury' };
  return [
    [
      stream,
      { type: 'RefundRequested', data: { ...asked, reason: null, idempotencyStream: null, acknowledgedSender: false } },
    ],
    [stream, { type: 'RefundPayoutSigned', data: signed }],
    [stream, { type: 'RefundPayoutLanded', data: landed }],
  ].map(([of, event]) => [of as string, event as unknown as DomainEvent]);
};
const adjustment: StreamEvent = [
  adjustmentsStream('test'),
  {
    type: 'AdjustmentPosted',
    data: {
      adjustmentId: 'adj_1',
      mode: 'test',
      network: 'ethereum',
      coin: 'USDT',
      reason: 'goodwill',
      attachment: null,
      reverses: null,
      lines: [
        { account: 'expenses:other', amount: '1.00' },
        { account: 'income:other', amount: '-1.00' },
      ],
      ...{ proposedBy: 'ada', approvers: ['ben', 'cleo'], reversesEvent: null, postedAtSec: 1 },
    },
  },
];
const asked = settlementTerms('stl_1', '7');
const business = recorded([
  ...paidOrder(0),
  ...paidOrder(1),
  ...refundEvents(),
  settlementEvent('SettlementRequested', asked),
  settlementEvent('SettlementCompleted', asked),
  adjustment,
]);

describe('the books as a file for analysts', () => {
  it('holds journal, balances, totals and payments, and names the event that it goes through', async () => {
    const { path, taken } = await written(business);
    expect(taken).toBe(business.length);
    expect(statSync(path).mode & 0o777).toBe(0o400);
    const about = Object.fromEntries(
      ask<{ name: string; value: string }>(path, 'SELECT * FROM about').map(({ name, value }) => [name, value]),
    );
    const last = business.at(-1)!;
    expect(about).toEqual({
      schema: '1',
      events: String(taken),
      through_event: last.id,
      through_hash: last.hash,
      signed_events: '0',
      checkpoint: '',
    });
    expect(
      ask(path, 'SELECT order_id, status, coin, due, received, received_real FROM payments ORDER BY order_id'),
    ).toEqual(
      [0, 1].map((index) => ({
        order_id: `order-${index}`,
        status: 'paid',
        coin: 'USDT',
        due: '10.00',
        received: '10.00',
        received_real: 10,
      })),
    );
    expect(ask(path, 'SELECT status, amount, tx_hash FROM deposits ORDER BY tx_hash')).toEqual(
      ['0x0', '0x1'].map((hash) => ({ status: 'final', amount: '10.00', tx_hash: hash })),
    );
    expect(ask(path, 'SELECT refund_id, status, amount, tx_hash, network_fee FROM refunds')).toEqual([
      { refund_id: 're_1', status: 'paid', amount: '4.00', tx_hash: '0xr', network_fee: '0.001' },
    ]);
    expect(ask(path, "SELECT debits = credits AS equal, lines > 0 AS some FROM totals WHERE coin = 'USDT'")).toEqual([
      { equal: 1, some: 1 },
    ]);
    expect(ask(path, "SELECT balance FROM balances WHERE account = 'income:other'")).toEqual([{ balance: '-1.00' }]);
  });

  it('matches the books to the last digit', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (drawn) => {
        const books = new MemoryBooks();
        const { entries } = historyOf(drawn);
        for (const entry of entries) books.takeEntry(entry);
        const events = recordedEvents(
          entries.map(({ session, event }) => [sessionStream(sessionIdOf(session)), event] as const),
          entries[0]?.atMs ?? 0,
        );
        const { path } = await written(events);
        const key = (row: { mode: string; account: string; network: string; coin: string; balance: string }): string =>
          `${row.mode} ${row.account} ${row.network} ${row.coin} ${formatAmount(signedAmountOf(row.balance))}`;
        const expected = books.balances().filter(({ balance }) => signedAmountOf(balance) !== 0n);
        expect(ask<Parameters<typeof key>[0]>(path, 'SELECT * FROM balances').map(key).sort()).toEqual(
          expected.map(key).sort(),
        );
        const counted = ask<{ mode: string; entries: number }>(
          path,
          'SELECT mode, count(*) AS entries FROM entries GROUP BY mode',
        );
        for (const { mode, entries: count } of counted) expect(books.entries(mode as 'test').length).toBe(count);
        expect(ask(path, 'SELECT * FROM totals WHERE debits <> credits')).toEqual([]);
        rmSync(path, { force: true });
      }),
      { numRuns: runsOf(10) },
    );
  });

  it('is not there when the log cannot be booked, and leaves nothing behind', async () => {
    const torn = recorded(paidOrder(0).slice(1));
    await expect(written(torn)).rejects.toThrow('event 1 of the log');
    const path = join(folder, `books-${files}.sqlite`);
    expect([existsSync(path), existsSync(`${path}.partial`)]).toEqual([false, false]);
  });

  const docs = readFileSync(join(REPOSITORY, 'docs/ledger.md'), 'utf8');
  it('serves the queries of the documentation, which has every column', async () => {
    const { path } = await written(business);
    const queries = [...docs.matchAll(/```sql\n([^`]+)```/g)].flatMap(([, text]) =>
      text!.split(';').filter((query) => query.trim() !== ''),
    );
    expect(queries.length).toBeGreaterThan(4);
    for (const query of queries) expect(ask(path, query).length, query).toBeGreaterThan(0);
    for (const [table, { columns }] of Object.entries(BOOKS_TABLES))
      for (const column of [table, ...Object.keys(columns).filter((name) => !name.endsWith('_real'))])
        expect(docs).toContain(`\`${column}\``);
  });
});
