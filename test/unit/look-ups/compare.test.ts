import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SESSIONS_TABLE } from '../../../projections/sessions/session-row.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { ProjectionComparison, type ComparedProjection } from '../../../src/look-ups/compare.ts';
import { startLookUpCheck } from '../../../src/look-ups/check.ts';
import { PROJECTIONS } from '../../../src/look-ups/projections.ts';
import { silentLog } from '../../../src/ports/log.ts';
import { openProjectionThread, type ProjectionThread } from '../../../src/look-ups/thread.ts';
import type { ReadModel } from '../../../src/ports/read-model/read-model.ts';
import { BatchRows } from '../../../src/runtime/projections/batch-rows.ts';
import { RowCache } from '../../../src/runtime/projections/row-cache.ts';
import { appendRandomHistory } from '../../support/audited-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('comparing projections with a replay of the event log', () => {
  let dataDir: string;
  let store: SqliteEventStore;
  let projections: ProjectionThread;

  beforeEach(async () => {
    dataDir = temporaryFolder('compare');
    store = await openSqliteEventStore({ dataDir });
    projections = await openProjectionThread(dataDir);
    await projections.start(store);
    await appendRandomHistory(store);
    await projections.caughtUpTo((await store.head())!, 30_000);
  });

  afterEach(async () => {
    await projections.stop();
    await projections.readModel.close();
    await store.close();
  });

  it('finds no drift in what the running projections made, and the same digests', async () => {
    const comparison = new ProjectionComparison(projections.follows);
    const compared = await comparison.compare();
    expect(compared.length).toBeGreaterThan(5);
    expect(compared.filter(({ differing, digest, replayed }) => differing > 0 || digest !== replayed)).toEqual([]);
    expect(rowsOf(compared, 'session-view')).toBeGreaterThan(4);
    expect(comparison.drift().every(({ rows }) => rows === 0)).toBe(true);
    expect(readdirSync(dataDir).filter((name) => name.startsWith('shadow-'))).toEqual([]);
    await expect(comparison.compare('nonsense')).rejects.toThrow(/name must be one of session-view/);
  });

  it('names rows that changed, are missing, or were never in the event log, and a list that lost a member', async () => {
    const db = new DatabaseSync(join(dataDir, 'read-model.db'));
    const table = (name: string): string =>
      `rows_${(db.prepare('SELECT id FROM row_tables WHERE name = ?').get(name) as { id: number }).id}`;
    const rows = table(SESSIONS_TABLE);
    const [first, second] = db.prepare(`SELECT key FROM ${rows} ORDER BY key`).all() as { key: string }[];
    db.prepare(`UPDATE ${rows} SET row = json_set(row, '$.orderId', 'another') WHERE key = ?`).run(first!.key);
    db.prepare(`DELETE FROM ${rows} WHERE key = ?`).run(second!.key);
    db.prepare(`INSERT INTO ${rows} (key, row) VALUES ('zzz', '{}')`).run();
    // Of the first list of sessions with members, the one that came first.
    const { id: set } = db.prepare('SELECT id FROM list_sets WHERE prefix = ?').get(sessionView.lists[0]!) as {
      id: number;
    };
    const list = db.prepare(`SELECT id, bits FROM lists_${set} WHERE length(bits) > 0 ORDER BY name LIMIT 1`).get() as {
      id: number;
      bits: Uint8Array;
    };
    const first8 = list.bits[0]!;
    db.prepare(`UPDATE lists_${set} SET bits = ? WHERE id = ?`).run(
      Uint8Array.of(first8 & (first8 - 1), ...list.bits.slice(1)),
      list.id,
    );
    db.close();
    const comparison = new ProjectionComparison(projections.follows);
    const [compared] = await comparison.compare('session-view');
    expect(compared!.digest).not.toBe(compared!.replayed);
    expect(compared!.differing).toBe(4);
    expect(compared!.examples).toEqual(
      expect.arrayContaining([
        `${SESSIONS_TABLE} ${first!.key} differs`,
        `${SESSIONS_TABLE} ${second!.key} is missing`,
        `${SESSIONS_TABLE} zzz is not in the event log`,
      ]),
    );
    expect(comparison.drift()).toEqual([{ projection: compared!.projection, rows: 4 }]);
  });

  it('blocks payouts while a row of any table differs from the event log', async () => {
    const db = new DatabaseSync(join(dataDir, 'read-model.db'));
    const tables = db.prepare('SELECT id, name FROM row_tables ORDER BY name').all() as { id: number; name: string }[];
    const sampled = tables.flatMap(({ id, name }) => {
      const row = db.prepare(`SELECT key, row FROM rows_${id} ORDER BY length(row) DESC LIMIT 1`).get() as
        | { key: string; row: string }
        | undefined;
      return row ? [{ table: `rows_${id}`, name, ...row }] : [];
    });
    expect(sampled.length).toBeGreaterThan(15);
    const { length } = sampled;
    const owned = (projection: { tables: readonly string[] }) =>
      sampled.filter(({ name }) => projection.tables.includes(name)).length;
    expect(PROJECTIONS.reduce((sum, projection) => sum + owned(projection), 0)).toBe(length);
    const comparison = new ProjectionComparison(projections.follows);
    const check = startLookUpCheck(comparison, true, silentLog as never);
    expect(check.mayPay()).toBe(false);
    await comparison.compare();
    expect(check.mayPay()).toBe(true);
    for (const { table, key, row } of sampled)
      db.prepare(`UPDATE ${table} SET row = ? WHERE key = ?`).run(edited(row), key);
    const compared = await comparison.compare();
    for (const projection of PROJECTIONS) {
      const differing = compared.find((one) => one.projection.startsWith(`${projection.name}@`))!.differing;
      expect([projection.name, differing]).toEqual([projection.name, owned(projection)]);
    }
    expect(check.mayPay()).toBe(false);
    expect(check.health()).toMatchObject({ state: 'degraded' });
    // One table at a time stops payments as well as all of them.
    for (const { table, key, row } of sampled.slice(1))
      db.prepare(`UPDATE ${table} SET row = ? WHERE key = ?`).run(row, key);
    await comparison.compare();
    expect(check.mayPay()).toBe(false);
    db.prepare(`UPDATE ${sampled[0]!.table} SET row = ? WHERE key = ?`).run(sampled[0]!.row, sampled[0]!.key);
    await comparison.compare();
    expect(check.mayPay()).toBe(true);
    db.close();
  });
});

/** Another number where there is one, else another text. */
const edited = (row: string): string => {
  const changed = row.replace(/(\d)(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10));
  return changed === row ? row.replace('{', '{"x":1,').replace(',}', '}') : changed;
};

const rowsOf = (compared: readonly ComparedProjection[], name: string): number =>
  compared.find(({ projection }) => projection.startsWith(`${name}@`))!.rows;

describe('the cache of rows', () => {
  it('does not keep an old reading of a row that a later batch wrote without reading it', async () => {
    const stored = new Map<string, { n: number } | null>([['a', { n: 1 }]]);
    const readModel = {
      getMany: async (_: string, keys: readonly string[]) => keys.map((key) => stored.get(key) ?? null),
    } as unknown as ReadModel;
    const cache = new RowCache(10);
    const first = new BatchRows(readModel, cache);
    first.want([{ table: 't', key: 'a' }]);
    await first.load();
    first.commit();
    const second = new BatchRows(readModel, cache);
    second.write([{ op: 'put', table: 't', key: 'a', row: { n: 2 } }]);
    second.commit();
    const third = new BatchRows(readModel, cache);
    third.want([{ table: 't', key: 'a' }]);
    await third.load();
    expect(third.read('t', 'a')).toEqual({ n: 2 });
  });
});
