import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inbox } from '../../projections/unmatched/unmatched.projection.ts';
import { ledger } from '../../projections/ledger/ledger.projection.ts';
import { sessionList } from '../../projections/sessions/session-list.ts';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import { openRedisReadModel } from '../../src/adapters/redis/read-model.ts';
import type { ReadModel } from '../../src/ports/read-model.ts';
import { MovingComparison, RowsReplaced, type MovingDrift } from '../../src/runtime/projections/moving-comparison.ts';
import { projectionId } from '../../src/runtime/projections/batch.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { appendLedger, ledgerOf, ownerOf, steps, type LedgerEntry } from '../support/random-ledger.ts';
import { RedisServer } from '../support/redis-server.ts';

const PROJECTIONS = [sessionView, ledger, inbox];
const HISTORIES = fc.sample(steps, { seed: 11, numRuns: 40 }).map((drawn) => ledgerOf(drawn).entries);
const LONGEST = HISTORIES.reduce((longest, history) => (history.length > longest.length ? history : longest));
const isAfter = (one: string, other: string): boolean => Number(one) > Number(other);

const compared = (store: MemoryEventStore, live: ReadModel): Promise<MovingDrift[]> =>
  new MovingComparison({ store, live, shadow: new MemoryReadModel(), isAfter }).compare(PROJECTIONS);

describe('comparing rows in Redis with a replay of the ledger', () => {
  let server: RedisServer;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
    await server.stop();
  });

  async function projected(entries: readonly LedgerEntry[]) {
    const store = new MemoryEventStore();
    const options = { url: server.url, prefix: randomUUID() };
    const [written, live] = [await openRedisReadModel(options), await openRedisReadModel(options)];
    const runner = new ProjectionRunner({ store, readModel: written, projections: PROJECTIONS, clock: { nowMs: () => 0 }, maxBatch: 7 });
    closing.push(
      () => store.close(),
      () => written.close(),
      () => live.close(),
      () => runner.stop(),
    );
    await runner.start();
    await appendLedger(store, entries);
    await runner.caughtUpTo(String(store.events.length), 20_000);
    return { store, runner, written, live };
  }

  it('finds no drift in rows that move all the time', async () => {
    const { store, live } = await projected(LONGEST.slice(0, 20));
    let isDone = false;
    const growing = (async () => {
      for (const [index, entry] of LONGEST.entries()) {
        if (index < 20 || isDone) continue;
        await appendLedger(store, [entry]);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const drifts = await compared(store, live);
    isDone = true;
    await growing;
    expect(drifts.map(({ projection, differing, examples }) => [projection, differing, examples])).toEqual(
      PROJECTIONS.map((projection) => [projectionId(projection), 0, []]),
    );
    expect(Number(drifts[0]!.through)).toBeGreaterThanOrEqual(20);
    expect(drifts.every(({ rows }) => rows > 0)).toBe(true);
  });

  it('names rows that changed, are missing or were never in the ledger, and a list that lost a member', async () => {
    const { store, runner, written, live } = await projected(LONGEST);
    await runner.stop();
    const id = projectionId(sessionView);
    const [first, second] = await live.scan(SESSIONS_TABLE, { limit: 2 });
    const { mode, merchantId } = ownerOf(LONGEST[0]!.session);
    const list = sessionList(mode, merchantId, {});
    const { members } = await live.page(list, { offset: 0, limit: 1 });
    await written.begin(id);
    await written.apply(
      id,
      [
        { op: 'put', table: SESSIONS_TABLE, key: first!.key, row: { ...first!.row, orderId: 'another' } },
        { op: 'delete', table: SESSIONS_TABLE, key: second!.key },
        { op: 'put', table: SESSIONS_TABLE, key: 'zzz', row: {} },
        { op: 'delist', lists: [list], ...members[0]! },
      ],
      (await live.checkpoint(id))!,
    );
    const [drift, ...others] = await compared(store, live);
    expect(drift!.examples).toEqual([
      `${SESSIONS_TABLE} ${first!.key} differs`,
      `${SESSIONS_TABLE} ${second!.key} is missing`,
      `${SESSIONS_TABLE} zzz is not in the ledger`,
      `${list} member ${members[0]!.order} is missing`,
    ]);
    expect([drift!.differing, ...others.map(({ differing }) => differing)]).toEqual([4, 0, 0]);
  });

  it('says so when the rows are replaced meanwhile', async () => {
    const { store, live } = await projected(LONGEST.slice(0, 10));
    let generations = 0;
    const replaced = new Proxy(live, {
      get: (target, name) => {
        if (name === 'generation') return async () => String((generations += 1));
        const method = (target as unknown as Record<string | symbol, (...words: unknown[]) => unknown>)[name]!;
        return method.bind(target);
      },
    });
    await expect(compared(store, replaced)).rejects.toThrow(RowsReplaced);
  });
});
