import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SESSIONS_TABLE } from '../../../projections/sessions/session-row.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { ProjectionComparison, type ComparedProjection } from '../../../src/composition/workers/projection-compare.ts';
import { openProjectionThread, type ProjectionThread } from '../../../src/composition/workers/projection-thread.ts';
import type { ReadModel } from '../../../src/ports/read-model.ts';
import { BatchRows } from '../../../src/runtime/projections/batch-rows.ts';
import { RowCache } from '../../../src/runtime/projections/row-cache.ts';
import { appendRandomLedger } from '../../support/audited-log.ts';

describe('comparing projections with a replay of the ledger', () => {
  let dataDir: string;
  let store: SqliteEventStore;
  let projections: ProjectionThread;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'quittance-compare-'));
    store = await openSqliteEventStore({ dataDir });
    projections = await openProjectionThread(dataDir);
    await projections.start(store);
    await appendRandomLedger(store);
    await projections.caughtUpTo((await store.head())!, 30_000);
  });

  afterEach(async () => {
    await projections.stop();
    await projections.readModel.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('finds no drift in what the running projections made, and the same digests', async () => {
    const comparison = new ProjectionComparison({ kind: 'files', dataDir });
    const compared = await comparison.compare();
    expect(compared.length).toBeGreaterThan(5);
    expect(compared.filter(({ differing, digest, replayed }) => differing > 0 || digest !== replayed)).toEqual([]);
    expect(rowsOf(compared, 'session-view')).toBeGreaterThan(4);
    expect(comparison.drift().every(({ rows }) => rows === 0)).toBe(true);
    expect(readdirSync(dataDir).filter((name) => name.startsWith('shadow-'))).toEqual([]);
    await expect(comparison.compare('nonsense')).rejects.toThrow(/name must be one of session-view/);
  });

  it('names rows that changed, are missing, or were never in the ledger, and a list that lost a member', async () => {
    const db = new DatabaseSync(join(dataDir, 'read-model.db'));
    const table = (name: string): string => `rows_${(db.prepare('SELECT id FROM row_tables WHERE name = ?').get(name) as { id: number }).id}`;
    const rows = table(SESSIONS_TABLE);
    const [first, second] = db.prepare(`SELECT key FROM ${rows} ORDER BY key`).all() as { key: string }[];
    db.prepare(`UPDATE ${rows} SET row = json_set(row, '$.orderId', 'another') WHERE key = ?`).run(first!.key);
    db.prepare(`DELETE FROM ${rows} WHERE key = ?`).run(second!.key);
    db.prepare(`INSERT INTO ${rows} (key, row) VALUES ('zzz', '{}')`).run();
    // Of the first list of sessions with members, the one that came first.
    const { id: set } = db.prepare('SELECT id FROM list_sets WHERE prefix = ?').get(sessionView.lists[0]!) as { id: number };
    const list = db.prepare(`SELECT id, bits FROM lists_${set} WHERE length(bits) > 0 ORDER BY name LIMIT 1`).get() as {
      id: number;
      bits: Uint8Array;
    };
    const first8 = list.bits[0]!;
    db.prepare(`UPDATE lists_${set} SET bits = ? WHERE id = ?`).run(Uint8Array.of(first8 & (first8 - 1), ...list.bits.slice(1)), list.id);
    db.close();
    const comparison = new ProjectionComparison({ kind: 'files', dataDir });
    const [compared] = await comparison.compare('session-view');
    expect(compared!.digest).not.toBe(compared!.replayed);
    expect(compared!.differing).toBe(4);
    expect(compared!.examples).toEqual(
      expect.arrayContaining([
        `${SESSIONS_TABLE} ${first!.key} differs`,
        `${SESSIONS_TABLE} ${second!.key} is missing`,
        `${SESSIONS_TABLE} zzz is not in the ledger`,
      ]),
    );
    expect(comparison.drift()).toEqual([{ projection: compared!.projection, rows: 4 }]);
  });
});

const rowsOf = (compared: readonly ComparedProjection[], name: string): number =>
  compared.find(({ projection }) => projection.startsWith(`${name}@`))!.rows;

describe('the cache of rows', () => {
  it('does not keep an old reading of a row that a later batch wrote without reading it', async () => {
    const stored = new Map<string, { n: number } | null>([['a', { n: 1 }]]);
    const readModel = { getMany: async (_: string, keys: readonly string[]) => keys.map((key) => stored.get(key) ?? null) } as unknown as ReadModel;
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
