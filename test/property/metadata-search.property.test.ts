import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import type { SessionRow } from '../../projections/sessions/session-row.ts';
import { openSqliteReadModel } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { readModelFile } from '../../src/adapters/sqlite/read-model/schema.ts';
import { SESSION_FORGET } from '../../src/domain/events/operations-events.ts';
import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import type { ReadModel } from '../../src/ports/read-model/read-model.ts';
import { Lists } from '../../src/features/sessions/lists/lists.ts';
import type { Listing, Paging } from '../../src/features/shared/list-page.ts';
import type { SessionFilters } from '../../src/features/sessions/lists/filters.ts';
import { MetadataIndex, type MetadataOwner } from '../../src/features/sessions/lists/metadata-index.ts';
import { recordAct } from '../../src/operator/server/acts.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { appendHistory } from '../support/random-history.ts';
import { runsOf } from '../support/runs.ts';
import { CREATED_AT, createdFacts } from '../support/session-facts.ts';

const KEY = new Uint8Array(32).fill(5);
const idOf = (index: number): SessionId => `cs_${String(index).padStart(32, 'a')}` as SessionId;
const indexOf = (id: string): number => Number(/\d+$/.exec(id)![0]);

interface Drawn {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly dueCoin: 'USDT' | 'USDC';
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly secondsLater: number;
  readonly forgotten: boolean;
}

const merchantId = fc.constantFrom('mer_one' as MerchantId, 'mer_two' as MerchantId);
const mode = fc.constantFrom<Mode>('test', 'live');
const word = fc.constantFrom('a', 'b', 'c/1');
const metadata = fc.dictionary(word, word, { maxKeys: 3, noNullPrototype: true });
const drawn: fc.Arbitrary<Drawn> = fc.record({
  ...{ merchantId, mode },
  dueCoin: fc.constantFrom('USDT', 'USDC'),
  metadata: fc.option(metadata),
  secondsLater: fc.integer({ min: -1, max: 3 }),
  forgotten: fc.boolean(),
});
const asked = fc.record({
  ...{ merchantId, mode },
  metadata: fc.dictionary(word, word, { minKeys: 1, maxKeys: 2, noNullPrototype: true }),
  coin: fc.option(fc.constantFrom('USDT' as const, 'USDC' as const), { nil: undefined }),
  from: fc.option(fc.nat({ max: 40 }), { nil: undefined }),
  to: fc.option(fc.nat({ max: 40 }), { nil: undefined }),
  pageSize: fc.integer({ min: 1, max: 4 }),
});

/**
 * An event log with its look-ups, followed by an index in parts: what it took in before a restart is not taken in again.
 */
class World {
  readonly store = new MemoryEventStore();
  readonly erased = new Set<SessionId>();
  readonly opened: SessionId[] = [];
  readonly model: ReadModel;
  index!: MetadataIndex;

  constructor(model: ReadModel = new MemoryReadModel()) {
    this.model = model;
  }

  async created(
    index: number,
    atSec: number,
    { metadata: given, ...change }: Omit<Drawn, 'secondsLater' | 'forgotten'>,
  ): Promise<void> {
    const data = createdFacts({
      ...change,
      sessionId: idOf(index),
      orderId: `order-${index}`,
      createdAtSec: atSec,
      personal: given && JSON.stringify({ metadata: given }),
    });
    await appendHistory(
      this.store,
      [{ session: -1, event: { type: 'SessionCreated', data }, atMs: atSec * 1000 }],
      idOf(index),
    );
  }

  async forget(id: SessionId): Promise<void> {
    await recordAct(
      { store: this.store, clock: { nowMs: () => 1 }, random: { uuid: () => crypto.randomUUID() } as never },
      SESSION_FORGET,
      id,
      {},
    );
    this.erased.add(id);
  }

  async restart(): Promise<void> {
    await this.index?.close();
    this.index = new MetadataIndex({
      ...{ store: this.store, readModel: this.model, key: KEY },
      personal: {
        open: async (id, sealed) => {
          this.opened.push(id);
          return sealed === null || this.erased.has(id) ? null : JSON.parse(sealed);
        },
      },
      onUnreadable: (_, error) => expect.unreachable(String(error)),
    });
    await this.index.start();
    await this.index.caughtUp();
    const runner = new ProjectionRunner({
      store: this.store,
      readModel: this.model,
      projections: [sessionView],
      clock: { nowMs: () => 0 },
    });
    await runner.start();
    await runner.ready();
    await runner.stop();
  }

  lists(): Lists {
    return new Lists({ readModel: this.model, cursorKey: KEY, metadataIndex: this.index });
  }

  async list(
    owner: { merchantId: MerchantId; mode: Mode },
    filters: SessionFilters,
    paging: Paging,
  ): Promise<Listing<SessionRow>> {
    const outcome = await this.lists().listSessions({ ...owner, filters, paging });
    if (!outcome.ok) throw new Error(outcome.refusal.message);
    return outcome.value;
  }

  async close(): Promise<void> {
    await this.index?.close();
    await this.store.close();
  }
}

const numbers = ({ rows }: Listing<SessionRow>): number[] => rows.map(({ sessionId }) => indexOf(sessionId));

describe('sessions searched for by their metadata', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());
  const owner = { merchantId: 'mer_one' as MerchantId, mode: 'live' as const };
  const plain = { ...owner, dueCoin: 'USDT' as const };

  it("are exactly the caller's sessions that have all of it and were not erased, by page and by cursor, across restarts", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawn, { maxLength: 30 }),
        fc.nat({ max: 30 }),
        fc.array(asked, { minLength: 5, maxLength: 5 }),
        async (all, cut, searches) => {
          const one = new World();
          try {
            let atSec = CREATED_AT;
            const times: number[] = [];
            for (const [index, { secondsLater, forgotten: _, ...session }] of all.entries()) {
              atSec += secondsLater;
              times.push(atSec);
              await one.created(index, atSec, session);
              if (index === cut) await one.restart();
            }
            for (const [index, { forgotten }] of all.entries()) if (forgotten) await one.forget(idOf(index));
            await one.restart();
            for (const { pageSize, from, to, coin, metadata: wanted, ...asker } of searches) {
              const listed = await one.list(asker, {}, { page: 1, pageSize: 100 });
              const listedSec = new Map(listed.rows.map((row) => [row.sessionId, row.listedSec - CREATED_AT]));
              const expected = all.flatMap((session, index) => {
                const at = listedSec.get(idOf(index));
                const isFound =
                  at !== undefined &&
                  !session.forgotten &&
                  Object.entries(wanted).every(([key, value]) => session.metadata?.[key] === value) &&
                  (coin === undefined || coin === session.dueCoin) &&
                  at >= (from ?? -Infinity) &&
                  at <= (to ?? Infinity);
                return isFound ? [index] : [];
              });
              expected.reverse();
              const filters = {
                metadata: wanted,
                ...(coin && { coin }),
                ...(from !== undefined && { createdFrom: CREATED_AT + from }),
                ...(to !== undefined && { createdTo: CREATED_AT + to }),
              };
              const first = await one.list(asker, filters, { page: 1, pageSize });
              expect(first.pagination).toMatchObject({ total: expected.length });
              expect(numbers(first)).toEqual(expected.slice(0, pageSize));
              expect(numbers(await one.list(asker, filters, { page: 2, pageSize }))).toEqual(
                expected.slice(pageSize, 2 * pageSize),
              );
              const walked: number[] = [];
              for (let cursor: string | null = ''; cursor !== null;) {
                const page: Listing<SessionRow> = await one.list(asker, filters, { cursor, pageSize });
                walked.push(...numbers(page));
                cursor = page.pagination.has_more ? page.pagination.next_cursor : null;
              }
              expect(walked).toEqual(expected);
            }
          } finally {
            await one.close();
          }
        },
      ),
      { numRuns: runsOf(60) },
    );
  });

  it('are not decrypted again after a restart, and are in the look-ups without any clear text', async () => {
    await world.created(0, CREATED_AT, { ...plain, metadata: { customer: 'Ada Lovelace' } });
    await world.restart();
    await world.created(1, CREATED_AT, { ...plain, metadata: { customer: 'Ada Lovelace' } });
    await world.restart();
    expect(world.opened).toEqual([idOf(0), idOf(1)]);
    expect(
      numbers(await world.list(owner, { metadata: { customer: 'Ada Lovelace' } }, { page: 1, pageSize: 10 })),
    ).toEqual([1, 0]);
    const kept = [...(world.model as MemoryReadModel).tables].filter(([name]) => name.startsWith('session-metadata'));
    expect(kept).toHaveLength(3);
    expect(JSON.stringify(kept.map(([, rows]) => [...rows]))).not.toMatch(/Ada|customer/);
  });

  it('leave nothing in the look-ups when they are erased', async () => {
    await world.created(0, CREATED_AT, { ...plain, metadata: { customer: 'Ada', plan: 'pro' } });
    await world.restart();
    const rows = (): number =>
      ['session-metadata@1', 'session-metadata-of@1']
        .map((table) => (world.model as MemoryReadModel).tables.get(table)?.size ?? 0)
        .reduce((a, b) => a + b);
    expect(rows()).toBe(3);
    await world.forget(idOf(0));
    await world.index.caughtUp();
    expect(rows()).toBe(0);
  });

  it('are never returned in part while the index lags behind the event log', async () => {
    await world.created(0, CREATED_AT, { ...plain, metadata: { customer: 'Ada' } });
    const opened = Promise.withResolvers<null>();
    const index = new MetadataIndex({
      ...{ store: world.store, readModel: world.model, key: KEY, timeoutMs: 20, onUnreadable: () => undefined },
      personal: { open: () => opened.promise },
    });
    await index.start();
    await expect(index.caughtUp()).rejects.toThrow(StoreUnavailable);
    opened.resolve(null);
    await index.caughtUp();
    await index.close();
  });

  it('cost a bounded look, whatever matches: more is named and refused by page, and walked by cursor', async () => {
    const many = 10_050;
    const matches = Array.from({ length: many }, (_, at) => ({
      sessionId: idOf(many - at),
      order: many - at,
      atSec: CREATED_AT,
    }));
    const before = async (
      _: unknown,
      __: unknown,
      { before: below, limit }: { before: number | null; limit: number },
    ) => {
      const found = matches.filter(({ order }) => below === null || order < below).slice(0, limit);
      return { matches: found, last: found.length === limit ? found.at(-1)! : null };
    };
    const lists = new Lists({
      readModel: world.model,
      cursorKey: KEY,
      metadataIndex: { before, caughtUp: async () => undefined },
    });
    const search = (paging: Paging, filters: SessionFilters = {}) =>
      lists.listSessions({ ...owner, filters: { metadata: { a: 'b' }, ...filters }, paging });
    expect(await search({ page: 1, pageSize: 10 })).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request', param: 'metadata', message: expect.stringContaining('use a cursor') },
    });
    expect(await search({ cursor: '', pageSize: 10 })).toMatchObject({ ok: true });
    expect(await search({ cursor: '', pageSize: 10 }, { status: 'paid' })).toMatchObject({
      ok: false,
      refusal: { param: 'metadata' },
    });
  });

  /** Answers each look with its whole number of sessions, all of the same time and none with all of the metadata. */
  const rarely =
    (atSec: (round: number) => number, onLook: (owner: MetadataOwner) => void): MetadataIndex['before'] =>
    async (asker, _, { before: below, limit }) => {
      onLook(asker);
      const order = (below ?? 1_000_000) - limit;
      return { matches: [], last: { sessionId: idOf(0), order, atSec: atSec((1_000_000 - order) / limit) } };
    };
  const listsOver = (before: MetadataIndex['before']): Lists =>
    new Lists({ readModel: world.model, cursorKey: KEY, metadataIndex: { before, caughtUp: async () => undefined } });
  const PAGE: Paging = { page: 1, pageSize: 10 };

  it('end where the examined sessions are too old, even if none has all of the metadata', async () => {
    let looks = 0;
    const lists = listsOver(
      rarely(
        (round) => CREATED_AT - round,
        () => (looks += 1),
      ),
    );
    const filters = { metadata: { shop: 'common', customer: 'rare' }, createdFrom: CREATED_AT - 2 };
    expect(await lists.listSessions({ ...owner, filters, paging: PAGE })).toMatchObject({
      ok: true,
      value: { rows: [] },
    });
    expect(looks).toBe(3);
  });

  it('are returned with the last one examined, whether it has all of the metadata or not', async () => {
    for (let index = 0; index < 3; index += 1)
      await world.created(index, CREATED_AT + index, { ...plain, metadata: { shop: 'common' } });
    await world.restart();
    const wanted = { shop: 'common', customer: 'rare' };
    expect(await world.index.before(owner, wanted, { before: null, limit: 2 })).toEqual({
      matches: [],
      last: { sessionId: idOf(1), order: 1, atSec: CREATED_AT + 1 },
    });
  });

  it('yield to other requests, and run one after another for one merchant and concurrently for several', async () => {
    const looked: string[] = [];
    const lists = listsOver(
      rarely(
        () => CREATED_AT,
        ({ merchantId: asker }) => looked.push(asker),
      ),
    );
    const search = (name: string) =>
      lists
        .listSessions({ ...owner, merchantId: name as MerchantId, filters: { metadata: { a: 'b' } }, paging: PAGE })
        .then(() => looked.push('end'));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    await Promise.all([search('mer_one'), search('mer_one'), search('mer_two')]);
    clearImmediate(immediate);
    expect(turns).toBeGreaterThanOrEqual(2 * 19);
    expect(looked.filter((name) => name === 'mer_one')).toHaveLength(40);
    expect(looked.slice(0, 4)).toEqual(['mer_one', 'mer_two', 'mer_one', 'mer_two']);
    // The next one may begin before the end of the first is told.
    expect(looked.slice(0, looked.indexOf('end')).filter((name) => name === 'mer_one').length).toBeLessThanOrEqual(21);
  });

  it('are found in the files of a process as well', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'quittance-metadata-'));
    const model = await openSqliteReadModel({ dataDir });
    const one = new World(model);
    try {
      for (let index = 0; index < 12; index += 1)
        await one.created(index, CREATED_AT + index, { ...plain, metadata: { even: String(index % 2 === 0) } });
      await one.restart();
      const [kept] = await model.getMany<{ keys: string[] }>('session-metadata-of@1', [idOf(4)]);
      await one.forget(idOf(4));
      await one.index.caughtUp();
      const found = await one.list(owner, { metadata: { even: 'true' } }, { page: 1, pageSize: 4 });
      expect(numbers(found)).toEqual([10, 8, 6, 2]);
      expect(
        numbers(
          await one.list(owner, { metadata: { even: 'true' } }, { cursor: found.pagination.next_cursor!, pageSize: 4 }),
        ),
      ).toEqual([0]);
      await one.close();
      await model.close();
      // Not even as what a removed row left behind.
      expect([kept!.keys.length, readFileSync(readModelFile(dataDir)).includes(kept!.keys[0]!)]).toEqual([1, false]);
    } finally {
      await one.close();
      await model.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
