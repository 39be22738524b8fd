import { beforeEach, describe, expect, it } from 'vitest';
import type { RefundRow } from '../../../../../projections/sessions/refund-row.ts';
import { sessionView } from '../../../../../projections/sessions/session-view.projection.ts';
import type { SessionRow } from '../../../../../projections/sessions/session-row.ts';
import { paymentOptionsOf, sessionRowOf } from '../../../../../projections/sessions/session-fold.ts';
import type { TransactionRow } from '../../../../../projections/sessions/transaction-row.ts';
import type { PaymentOption } from '../../../../../src/domain/events/session-events.ts';
import type { SessionId } from '../../../../../src/domain/values/ids.ts';
import { ProjectionRunner } from '../../../../../src/runtime/projections/runner.ts';
import { Lists } from '../../../../../src/features/sessions/lists/lists.ts';
import type { Listing, PagePagination, Paging } from '../../../../../src/features/shared/list-page.ts';
import type { SessionFilters, TransactionFilters } from '../../../../../src/features/sessions/lists/filters.ts';
import type { Outcome } from '../../../../../src/features/shared/merchant-api.ts';
import { MemoryEventStore } from '../../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../../support/memory-read-model.ts';
import { appendHistory, type HistoryEntry } from '../../../../support/random-history.ts';
import { CREATED_AT, createdFacts, depositFacts, MERCHANT_ID } from '../../../../support/session-facts.ts';

const cursorKey = new Uint8Array(32).fill(7);
const owner = { merchantId: MERCHANT_ID, mode: 'test' as const };
const idOf = (index: number): SessionId => `cs_${String(index).padStart(32, 'a')}` as SessionId;

describe('lists', () => {
  let model: MemoryReadModel;
  let store: MemoryEventStore;
  let lists: Lists;

  beforeEach(() => {
    model = new MemoryReadModel();
    store = new MemoryEventStore();
    lists = new Lists({ readModel: model, cursorKey, metadataIndex: null });
  });

  /** Adds events to the event log and lets the projection take them. */
  async function happened(...entries: (Omit<HistoryEntry, 'session'> & { stream: SessionId })[]): Promise<void> {
    const runner = new ProjectionRunner({
      store,
      readModel: model,
      projections: [sessionView],
      clock: { nowMs: () => 0 },
    });
    for (const { stream, ...entry } of entries) await appendHistory(store, [{ ...entry, session: -1 }], stream);
    await runner.start();
    await runner.ready();
    await runner.stop();
  }
  const created = (index: number, change = {}) => ({
    stream: idOf(index),
    atMs: (CREATED_AT + index) * 1000,
    event: {
      type: 'SessionCreated' as const,
      data: createdFacts({
        sessionId: idOf(index),
        orderId: `order-${index}`,
        createdAtSec: CREATED_AT + index,
        ...change,
      }),
    },
  });
  const detected = (index: number, tx: string, change = {}) => ({
    stream: idOf(index),
    atMs: (CREATED_AT + 60 + index) * 1000,
    event: {
      type: 'DepositDetected' as const,
      data: { ...depositFacts({ txHash: tx, ...change }), kind: 'on_time' as const },
    },
  });
  const create = (count: number) => happened(...Array.from({ length: count }, (_, index) => created(index)));
  const value = <Row>(outcome: Outcome<Listing<Row>>): Listing<Row> => {
    if (!outcome.ok) throw new Error(outcome.refusal.message);
    return outcome.value;
  };
  const sessions = async (paging: Paging, filters: SessionFilters = {}) =>
    value(await lists.listSessions({ ...owner, filters, paging }));
  const transactions = async (filters: TransactionFilters, paging: Paging = { page: 1, pageSize: 20 }) =>
    value(await lists.listTransactions({ ...owner, filters, paging }));
  const numbers = (listing: Listing<SessionRow>): number[] =>
    listing.rows.map((row) => Number(row.orderId.slice('order-'.length)));
  const page = (listing: Listing<unknown>) => listing.pagination as PagePagination;
  const downFrom = (top: number, count: number): number[] => Array.from({ length: count }, (_, index) => top - index);

  it('show every session of an order, newest first, page by page', async () => {
    await happened(
      created(0),
      created(1),
      created(2, { orderId: 'order-0', supersedes: idOf(0) }),
      created(3, { orderId: 'order-0', supersedes: idOf(2) }),
    );
    const ids = (listing: Listing<SessionRow>) => listing.rows.map(({ sessionId }) => sessionId);
    const attempts = [idOf(3), idOf(2), idOf(0)];
    expect(ids(await sessions({ page: 1, pageSize: 20 }, { orderId: 'order-0' }))).toEqual(attempts);
    const second = await sessions({ page: 2, pageSize: 2 }, { orderId: 'order-0' });
    expect([ids(second), page(second).total]).toEqual([[idOf(0)], 3]);
    expect(ids(await sessions({ page: 1, pageSize: 20 }, { orderId: 'order-0', createdTo: CREATED_AT + 2 }))).toEqual(
      attempts.slice(1),
    );
    expect(ids(await sessions({ page: 1, pageSize: 20 }, { orderId: 'order-1' }))).toEqual([idOf(1)]);
  });

  describe('page mode', () => {
    it('shows the newest first with totals', async () => {
      await create(45);
      const first = await sessions({ page: 1, pageSize: 20 });
      expect(numbers(first)).toEqual(downFrom(44, 20));
      expect(first.pagination).toEqual({
        page: 1,
        page_size: 20,
        total: 45,
        total_pages: 3,
        has_more: true,
        next_cursor: expect.any(String),
      });
      const last = await sessions({ page: 3, pageSize: 20 });
      expect(numbers(last)).toEqual(downFrom(4, 5));
      expect(last.pagination).toEqual({
        page: 3,
        page_size: 20,
        total: 45,
        total_pages: 3,
        has_more: false,
        next_cursor: null,
      });
      const whole = await sessions({ page: 1, pageSize: 45 });
      expect([whole.rows.length, page(whole).has_more, page(whole).total_pages]).toEqual([45, false, 1]);
    });

    it('returns no records for a page past the end and for an empty list', async () => {
      expect((await sessions({ page: 1, pageSize: 20 })).pagination).toEqual({
        page: 1,
        page_size: 20,
        total: 0,
        total_pages: 0,
        has_more: false,
        next_cursor: null,
      });
      await create(3);
      const past = await sessions({ page: 9, pageSize: 2 });
      expect(past).toEqual({
        rows: [],
        pagination: { page: 9, page_size: 2, total: 3, total_pages: 2, has_more: false, next_cursor: null },
      });
      expect((await sessions({ page: 2 ** 40, pageSize: 100 })).rows).toEqual([]);
    });

    it('continues by cursor where a page ended', async () => {
      await create(10);
      const cursor = (await sessions({ page: 2, pageSize: 3 })).pagination.next_cursor!;
      expect(numbers(await sessions({ cursor, pageSize: 3 }))).toEqual([3, 2, 1]);
    });

    it.each([0, -1, 1.5, NaN, 2 ** 53])('refuses page %s', async (bad) => {
      expect(await lists.listSessions({ ...owner, filters: {}, paging: { page: bad, pageSize: 20 } })).toMatchObject({
        ok: false,
        refusal: { code: 'invalid_request', param: 'page' },
      });
    });

    it.each([0, -1, 101, 1.5, NaN])('refuses page_size %s', async (bad) => {
      for (const paging of [
        { page: 1, pageSize: bad },
        { cursor: '', pageSize: bad },
      ]) {
        expect(await lists.listSessions({ ...owner, filters: {}, paging })).toMatchObject({
          ok: false,
          refusal: { code: 'invalid_request', param: 'page_size' },
        });
      }
    });
  });

  describe('cursor mode', () => {
    it('shows each record once while new ones are added', async () => {
      await create(25);
      const seen: number[] = [];
      let cursor = '';
      for (let step = 0; step < 10; step += 1) {
        const listing = await sessions({ cursor, pageSize: 10 });
        seen.push(...numbers(listing));
        const { next_cursor: next, has_more: hasMore } = listing.pagination;
        expect(listing.pagination).toEqual({
          page_size: 10,
          has_more: hasMore,
          next_cursor: hasMore ? expect.any(String) : null,
        });
        if (next === null) break;
        cursor = next;
        await happened(created(100 + step));
      }
      expect(seen).toEqual(downFrom(24, 25));
    });

    it('knows the end when the last page is full', async () => {
      await create(20);
      const cursor = (await sessions({ cursor: '', pageSize: 10 })).pagination.next_cursor!;
      expect((await sessions({ cursor, pageSize: 10 })).pagination).toEqual({
        page_size: 10,
        has_more: false,
        next_cursor: null,
      });
    });

    it('refuses a cursor of another merchant, mode, list or filter, of another key, and one that was changed', async () => {
      await create(5);
      const filters = { status: 'open' as const, createdFrom: 1 };
      const cursor = (await sessions({ cursor: '', pageSize: 2 }, filters)).pagination.next_cursor!;
      const paging = { cursor, pageSize: 2 };
      const changed = [...cursor].map(
        (letter, index) => cursor.slice(0, index) + (letter === 'A' ? 'B' : 'A') + cursor.slice(index + 1),
      );
      const refused = { ok: false, refusal: { code: 'invalid_request', param: 'cursor' } };
      expect((await lists.listSessions({ ...owner, filters, paging })).ok).toBe(true);
      expect(await lists.listSessions({ ...owner, mode: 'live', filters, paging })).toMatchObject(refused);
      expect(
        await lists.listSessions({ ...owner, merchantId: 'mer_b' as typeof MERCHANT_ID, filters, paging }),
      ).toMatchObject(refused);
      expect(await lists.listTransactions({ ...owner, filters: { createdFrom: 1 }, paging })).toMatchObject(refused);
      for (const others of [
        {},
        { status: 'open' as const },
        { ...filters, createdFrom: 2 },
        { ...filters, coin: 'USDT' as const },
      ]) {
        expect(await lists.listSessions({ ...owner, filters: others, paging })).toMatchObject(refused);
      }
      const otherKey = new Lists({ readModel: model, cursorKey: new Uint8Array(32).fill(8), metadataIndex: null });
      expect(await otherKey.listSessions({ ...owner, filters, paging })).toMatchObject(refused);
      for (const forged of [
        ...changed,
        'forged',
        `${cursor}A`,
        cursor.slice(1),
        ' ',
        'A'.repeat(500),
        '=',
        `${cursor}=`,
      ]) {
        expect(await lists.listSessions({ ...owner, filters, paging: { cursor: forged, pageSize: 2 } })).toMatchObject(
          refused,
        );
      }
    });

    it('accepts a cursor with the same filters in another order', async () => {
      await create(5);
      const cursor = (await sessions({ cursor: '', pageSize: 2 }, { status: 'open', coin: 'USDT' })).pagination
        .next_cursor!;
      expect(numbers(await sessions({ cursor, pageSize: 2 }, { coin: 'USDT', status: 'open' }))).toEqual([2, 1]);
    });
  });

  describe('filters', () => {
    it('finds a session by its order_id, only when it meets the other filters as well', async () => {
      await create(3);
      const one = { page: 1, pageSize: 20 };
      const found = await sessions(one, { orderId: 'order-1' });
      expect([numbers(found), page(found).total]).toEqual([[1], 1]);
      expect(
        numbers(
          await sessions(
            { cursor: '', pageSize: 5 },
            {
              orderId: 'order-1',
              status: 'unpaid',
              coin: 'USDT',
              createdFrom: CREATED_AT + 1,
              createdTo: CREATED_AT + 1,
            },
          ),
        ),
      ).toEqual([1]);
      for (const none of [
        { status: 'paid' as const },
        { coin: 'USDC' as const },
        { network: 'ethereum' as const },
        { createdFrom: CREATED_AT + 2 },
        { createdTo: CREATED_AT },
      ]) {
        expect((await sessions(one, { orderId: 'order-1', ...none })).rows).toEqual([]);
      }
      expect((await sessions(one, { orderId: 'order-9' })).rows).toEqual([]);
      expect((await sessions(one, { orderId: '1/order-1' })).rows).toEqual([]);
    });

    it('accepts a created range, both ends included', async () => {
      await create(9);
      const found = await sessions(
        { page: 1, pageSize: 2 },
        { createdFrom: CREATED_AT + 2, createdTo: CREATED_AT + 5 },
      );
      expect([numbers(found), page(found).total, page(found).total_pages]).toEqual([[5, 4], 4, 2]);
    });

    it('finds sessions by the network that money arrived on', async () => {
      await create(4);
      await happened(detected(2, '0x1', { network: 'bsc' }));
      expect(numbers(await sessions({ page: 1, pageSize: 9 }, { network: 'bsc' }))).toEqual([2]);
      expect(
        numbers(await sessions({ page: 1, pageSize: 9 }, { network: 'bsc', status: 'processing', coin: 'USDT' })),
      ).toEqual([2]);
      expect(numbers(await sessions({ page: 1, pageSize: 9 }, { network: 'ethereum' }))).toEqual([]);
    });

    it('finds the transactions of one session or order, with totals under further filters', async () => {
      await create(2);
      await happened(
        detected(0, '0x1'),
        detected(0, '0x2', { network: 'bsc' }),
        detected(1, '0x3'),
        detected(0, '0x4'),
      );
      const hashes = (listing: Listing<TransactionRow>): string[] => listing.rows.map((row) => row.txHash);
      expect(hashes(await transactions({}))).toEqual(['0x4', '0x3', '0x2', '0x1']);
      expect(hashes(await transactions({ sessionId: idOf(0) }))).toEqual(['0x4', '0x2', '0x1']);
      const filtered = await transactions({ orderId: 'order-0', network: 'ethereum' }, { page: 1, pageSize: 1 });
      expect([hashes(filtered), page(filtered).total]).toEqual([['0x4'], 2]);
      expect(
        hashes(
          await transactions(
            { orderId: 'order-0', network: 'ethereum' },
            { cursor: filtered.pagination.next_cursor!, pageSize: 5 },
          ),
        ),
      ).toEqual(['0x1']);
      expect(hashes(await transactions({ sessionId: idOf(0), orderId: 'order-1' }))).toEqual([]);
      expect(hashes(await transactions({ network: 'bsc', coin: 'USDT', type: 'deposit', status: 'detected' }))).toEqual(
        ['0x2'],
      );
    });

    it('shows nothing of another merchant or mode, by session, order or list', async () => {
      await create(2);
      await happened(detected(0, '0x1'));
      for (const stranger of [
        { ...owner, mode: 'live' as const },
        { ...owner, merchantId: 'mer_b' as typeof MERCHANT_ID },
      ]) {
        const paging = { page: 1, pageSize: 20 };
        for (const filters of [{}, { orderId: 'order-0' }]) {
          expect(value(await lists.listSessions({ ...stranger, filters, paging })).rows).toEqual([]);
          expect(value(await lists.listTransactions({ ...stranger, filters, paging })).rows).toEqual([]);
        }
        expect(
          value(await lists.listTransactions({ ...stranger, filters: { sessionId: idOf(0) }, paging })).rows,
        ).toEqual([]);
        expect(
          value<RefundRow>(await lists.listRefunds({ ...stranger, filters: { sessionId: idOf(0) }, paging })).rows,
        ).toEqual([]);
      }
    });
  });

  it('gives back the payment options of a session as they were', () => {
    const options: PaymentOption[] = [
      {
        network: 'ethereum',
        coin: 'USDT',
        tokenAddress: '0xT',
        decimals: 6,
        chainId: '1',
        address: '0xA',
        derivationIndex: 0,
        finality: { kind: 'confirmations', confirmations: 12 },
      },
      {
        network: 'solana',
        coin: 'USDT',
        tokenAddress: 'Mint',
        decimals: 6,
        chainId: 'gen',
        address: 'So',
        derivationIndex: 5,
        finality: { kind: 'finalized' },
        tokenAccount: 'Ata',
        reference: 'Ref',
      },
    ];
    const place = { order: 0, listedSec: 0 };
    expect(paymentOptionsOf(sessionRowOf(createdFacts({ paymentOptions: options }), place))).toEqual(options);
    expect(paymentOptionsOf(sessionRowOf(createdFacts({ paymentOptions: [] }), place))).toEqual([]);
  });
});
