import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqlitePersonalKeys, type SqlitePersonalKeys } from '../../src/adapters/sqlite/event-log/personal-keys.ts';
import { appendOf, FIRST } from './event-store-samples.ts';
import { personalKeysContract } from './personal-keys.contract.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

personalKeysContract('the embedded store', async () => {
  const folder = temporaryFolder('keys');
  let log = await openSqliteEventStore({ dataDir: folder });
  let salts = openSqlitePersonalKeys({ dataDir: folder, random: nodeRandom });
  let streams = 0;
  return {
    keys: salts,
    commit: async (coCommit) => void (await log.append(appendOf(`s-${(streams += 1)}`, FIRST, 1, [coCommit]))),
    restart: async () => {
      await salts.close();
      await log.close();
      log = await openSqliteEventStore({ dataDir: folder });
      salts = openSqlitePersonalKeys({ dataDir: folder, random: nodeRandom });
      return salts;
    },
    dispose: async () => {
      await salts.close();
      await log.close();
    },
  };
});

let dataDir: string;
let store: SqliteEventStore;
let keys: SqlitePersonalKeys;

beforeEach(async () => {
  dataDir = temporaryFolder('keys');
  store = await openSqliteEventStore({ dataDir });
  keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
});
afterEach(async () => {
  await keys.close();
  await store.close();
});

/** Looks into copies made by another process: opening the files here would drop this process's locks on them. */
function filesWith(salt: Uint8Array): string[] {
  const copy = temporaryFolder('copy');
  expect(spawnSync('cp', ['-r', `${dataDir}/.`, copy]).status).toBe(0);
  return readdirSync(copy).filter((name) => readFileSync(join(copy, name)).includes(Buffer.from(salt)));
}

test('a salt is stored with the append that brings it, not before and not with a refused one', async () => {
  const { coCommit } = await keys.create('session-a');
  expect(await keys.get('session-a')).toBeNull();
  await store.append(appendOf('s-1', FIRST, 1, [coCommit!]));
  const stored = await keys.get('session-a');
  expect(stored).not.toBeNull();

  const other = await keys.create('session-a');
  expect(await store.append(appendOf('s-1', FIRST, 1, [other.coCommit!]))).toMatchObject({ ok: false });
  expect(await keys.get('session-a')).toEqual(stored);
});

test('a repeated append does not bring an erased salt back', async () => {
  const { coCommit } = await keys.create('session-a');
  const request = appendOf('s-1', FIRST, 1, [coCommit!]);
  await store.append(request);
  await keys.erase('session-a');
  expect(await store.append(request)).toMatchObject({ ok: true });
  expect(await keys.get('session-a')).toBeNull();
});

test("a subject's newer salt takes the place of the older one, and both are gone when it is erased", async () => {
  const [older, newer] = [await keys.create('session-a'), await keys.create('session-a')];
  await store.append(appendOf('s-1', FIRST, 1, [older.coCommit!]));
  await store.append(appendOf('s-2', FIRST, 1, [newer.coCommit!]));
  expect(await keys.get('session-a')).toEqual(new Uint8Array(newer.salt));
  expect(keys.count()).toBe(1);
  await keys.erase('session-a');
  expect(await keys.get('session-a')).toBeNull();
  for (const { salt } of [older, newer]) expect(filesWith(salt)).toEqual([]);
});

test('an erased salt is in no file of the data directory, among hundreds of others and during appends', async () => {
  const salts = await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const { salt, coCommit } = await keys.create(`session-${index}`);
      await store.append(appendOf(`s-${index}`, FIRST, 1, [coCommit!]));
      return salt;
    }),
  );
  expect(filesWith(salts[7]!)).not.toEqual([]);
  const appends = Array.from({ length: 100 }, async (_, index) => {
    const { coCommit } = await keys.create(`later-${index}`);
    await store.append(appendOf(`later-${index}`, FIRST, 1, [coCommit!]));
  });
  await Promise.all([...[7, 0, 399, 200, 201].map((index) => keys.erase(`session-${index}`)), ...appends]);
  for (const index of [7, 0, 399, 200, 201]) {
    expect(filesWith(salts[index]!)).toEqual([]);
    expect(await keys.get(`session-${index}`)).toBeNull();
  }
  for (const index of [8, 1, 398, 199, 202])
    expect(await keys.get(`session-${index}`)).toEqual(new Uint8Array(salts[index]!));
});
