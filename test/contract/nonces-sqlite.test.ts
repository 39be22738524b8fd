import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqliteNonces } from '../../src/adapters/sqlite/nonces/nonces.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import type { Nonces } from '../../src/ports/event-log/nonces.ts';
import { FAKE_DESKS } from '../support/fake-executors.ts';
import { startTestServer } from '../support/http-api.ts';
import { CAN_MOUNT, onSmallDisk } from '../support/small-disk.ts';
import { appendOf, FIRST, until } from './event-store-samples.ts';
import { noncesContract } from './nonces.contract.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

noncesContract('the embedded store', async (startSec) => {
  const dataDir = temporaryFolder('nonces');
  let store = await openSqliteEventStore({ dataDir });
  let nonces = openSqliteNonces({ dataDir, store, clock: { nowMs: () => startSec * 1000 } });
  let streams = 0;
  return {
    nonces,
    restart: async (nowSec) => {
      await nonces.close();
      await store.close();
      store = await openSqliteEventStore({ dataDir });
      nonces = openSqliteNonces({ dataDir, store, clock: { nowMs: () => nowSec * 1000 } });
      return nonces;
    },
    commit: async (coCommit) => void (await store.append(appendOf(`s-${(streams += 1)}`, FIRST, 1, [coCommit]))),
    dispose: async () => {
      await nonces.close();
      await store.close();
    },
  };
});

const NOW = 1_800_000_000;
let dataDir: string;
let store: SqliteEventStore;
let nonces: Nonces;

beforeEach(async () => {
  dataDir = temporaryFolder('nonces');
  store = await openSqliteEventStore({ dataDir });
  nonces = openSqliteNonces({ dataDir, store, clock: { nowMs: () => NOW * 1000 } });
});
afterEach(async () => {
  await nonces.close();
  await store.close();
});

function rowsOf(file: string, table: string): number {
  const database = new DatabaseSync(join(dataDir, file), { readOnly: true });
  const { count } = database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number };
  database.close();
  return count;
}

test('a nonce rides with its events: stored with an accepted append, not with a refused one', async () => {
  const ridden = (await nonces.burn('key_a', 'accepted', NOW, 'with-command')).coCommit!;
  const request = appendOf('s-1', FIRST, 1, [ridden]);
  await store.append(request);
  const left = (await nonces.burn('key_a', 'refused', NOW, 'with-command')).coCommit!;
  expect(await store.append(appendOf('s-1', FIRST, 1, [left]))).toMatchObject({ ok: false });
  expect([...store.commandNonces(NOW)].map(({ expiresAtSec }) => expiresAtSec)).toEqual([NOW + 600]);
  const again = (await nonces.burn('key_a', 'repeated', NOW, 'with-command')).coCommit!;
  await store.append({ ...request, coCommits: [again] });
  expect([...store.commandNonces(NOW)]).toHaveLength(2);
});

test('the tables of used nonces do not outgrow their window', async () => {
  for (let round = 0; round < 6; round += 1) {
    const nowSec = NOW + round * 700;
    await Promise.all(
      Array.from({ length: 400 }, (_, index) => nonces.burn('key_a', `n-${round}-${index}`, nowSec, 'now')),
    );
    const appends = Array.from({ length: 300 }, async (_, index) => {
      const { coCommit } = await nonces.burn('key_a', `c-${round}-${index}`, nowSec, 'with-command');
      return store.append(appendOf(`s-${round}-${index}`, FIRST, 1, [coCommit!]));
    });
    await Promise.all(appends);
  }
  expect(rowsOf('nonces.db', 'nonces')).toBeLessThan(1_600);
  expect([...store.commandNonces(0)].length).toBeLessThan(1_400);
  await nonces.close();
  nonces = openSqliteNonces({ dataDir, store, clock: { nowMs: () => (NOW + 10_000) * 1000 } });
  expect(rowsOf('nonces.db', 'nonces')).toBe(0);
});

test('closed nonces store nothing any more', async () => {
  await nonces.close();
  await expect(nonces.burn('key_a', 'late', NOW, 'now')).rejects.toThrow(StoreUnavailable);
});

test('confirmed nonces survive kill -9', async () => {
  await nonces.close();
  await store.close();
  const child = spawn(process.execPath, [join(import.meta.dirname, 'nonces-sqlite.child.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  try {
    await until('the process has burnt nonces', () => said.length > 150);
  } finally {
    await killed(child);
  }
  store = await openSqliteEventStore({ dataDir });
  nonces = openSqliteNonces({ dataDir, store, clock: { nowMs: () => NOW * 1000 } });
  const answers = await Promise.all(said.map((nonce) => nonces.burn('key_a', nonce, NOW, 'now')));
  expect(answers.filter(({ accepted }) => accepted)).toEqual([]);
});

test.skipIf(!CAN_MOUNT)('a full disk refuses a request at its nonce: 503, and nothing is done', async () => {
  const disk = join(dataDir, 'disk');
  const filler = join(disk, 'filler');
  mkdirSync(disk);
  await onSmallDisk(disk, async () => {
    const storeOnDisk = await openSqliteEventStore({ dataDir: disk });
    const noncesOnDisk = openSqliteNonces({ dataDir: disk, store: storeOnDisk });
    let changes = 0;
    const setPolicy: typeof FAKE_DESKS.settings.setPolicy = (...args) => {
      changes += 1;
      return FAKE_DESKS.settings.setPolicy(...args);
    };
    const settings = { ...FAKE_DESKS.settings, setPolicy };
    const service = await startTestServer({ ...FAKE_DESKS, settings, nonces: noncesOnDisk });
    const change = () => service.call('PATCH', '/v1/merchant', { tolerance: '1.00' });
    try {
      expect(() => writeFileSync(filler, Buffer.alloc(4_000_000))).toThrow(/ENOSPC/);
      const refused = await change();
      expect([refused.status, refused.json.error.code]).toEqual([503, 'service_unavailable']);
      expect(changes).toBe(0);
      rmSync(filler);
      expect((await change()).status).toBe(200);
      expect(changes).toBe(1);
    } finally {
      await service.close();
      await noncesOnDisk.close();
      await storeOnDisk.close();
    }
  });
});

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
  await until('its last words were read', () => child.stdout!.destroyed || child.stdout!.readableEnded);
}
