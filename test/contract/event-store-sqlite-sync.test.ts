import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { readWholeLog } from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';

const CHILD = join(import.meta.dirname, 'event-store-sqlite.child.ts');
const LIBRARY_SOURCE = join(import.meta.dirname, 'event-store-sqlite-failing-sync.c');

let folder: string;
let dataDir: string;

beforeEach(() => {
  folder = temporaryFolder('sync');
  dataDir = join(folder, 'data');
});

const canCompile = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
const canTrace = spawnSync('strace', ['-V']).status === 0;

describe('a sync that fails', () => {
  function appendUntilFailure(task: string, failFrom: number): { said: string[]; syncs: string } {
    const library = join(folder, 'failing-sync.so');
    expect(spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, LIBRARY_SOURCE, '-ldl']).status).toBe(0);
    const log = join(folder, 'syncs');
    const env = {
      ...process.env,
      LD_PRELOAD: library,
      FAIL_SYNC_OF: 'events.db-wal',
      FAIL_SYNC_FROM: String(failFrom),
      FAIL_SYNC_LOG: log,
    };
    const child = spawnSync(process.execPath, [CHILD, task, dataDir], { env, encoding: 'utf8', timeout: 30_000 });
    return { said: child.stdout.trim().split('\n'), syncs: readFileSync(log, 'utf8') };
  }

  test.skipIf(!canCompile)('confirms no append, is never retried, and ends the store', async () => {
    const { said, syncs } = appendUntilFailure('append-until-failure', 12);
    expect(said.slice(0, 2)).toEqual(['fatal StoreUnavailable', 'failed StoreUnavailable']);
    expect(said).toContain('append StoreUnavailable');
    expect(said).toContain('read StoreUnavailable');
    expect(said.at(-1)).toBe('closed');
    expect(syncs).toBe(`${'+'.repeat(11)}-`);
    const stored = Number(said.find((line) => line.startsWith('stored '))!.slice(7));
    expect(stored).toBeGreaterThan(0);

    const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    const log = await readWholeLog(store);
    expect(log.length).toBeGreaterThanOrEqual(stored);
    expect(store.verifyTail(log.length)).toEqual({ ok: true, checked: log.length });
    await store.close();
  });

  test.skipIf(!canCompile)('of many appends ends the store in the same way', async () => {
    const { said, syncs } = appendUntilFailure('crowd-until-failure', 12);
    expect(said.filter((line) => line.startsWith('fatal'))).toEqual(['fatal StoreUnavailable']);
    expect(said.filter((line) => line === 'failed StoreUnavailable')).toHaveLength(6);
    expect(said.at(-1)).toBe('closed');
    expect(syncs).toBe(`${'+'.repeat(11)}-`);

    const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    const ids = new Set((await readWholeLog(store)).map(({ id }) => id));
    const stored = said.filter((line) => line.startsWith('stored ')).map((line) => line.slice(7));
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.filter((id) => !ids.has(id))).toEqual([]);
    await store.close();
  });
});

test.skipIf(!canTrace)('every confirmed append of a single caller was synced at least once', () => {
  const calls = join(folder, 'strace');
  spawnSync(
    'strace',
    ['-f', '-e', 'trace=fsync,fdatasync', '-o', calls, process.execPath, CHILD, 'append-counted', dataDir],
    { timeout: 30_000 },
  );
  const syncs = readFileSync(calls, 'utf8').match(/(fsync|fdatasync)\(/g) ?? [];
  expect(syncs.length).toBeGreaterThanOrEqual(30);
});
