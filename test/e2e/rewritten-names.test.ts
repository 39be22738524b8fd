import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { keyOfName } from '../../src/adapters/sqlite/event-log/stream-names-file.ts';
import { grow } from '../contract/event-store-samples.ts';
import { startServiceInProcess } from '../support/service-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';

/* Streams are found by a file beside the log, which whoever writes the data directory can change as well. */

const folder = temporaryFolder('rewritten-names');
const [MINE, THEIRS] = ['idempotency-mine', 'idempotency-theirs'];
const SHARED = keyOfName(MINE);
let copies = 0;

beforeAll(async () => {
  const store = await openSqliteEventStore({ dataDir: join(folder, 'made'), sealKeys: SEAL_KEYS });
  await grow(store, MINE, 3);
  await grow(store, THEIRS, 2);
  await store.close();
});

function copyOf(): string {
  copies += 1;
  const dataDir = join(folder, `copy-${copies}`, 'data');
  cpSync(join(folder, 'made'), dataDir, { recursive: true });
  return dataDir;
}

function changed(change: (names: DatabaseSync) => void): string {
  const dataDir = copyOf();
  const names = new DatabaseSync(join(dataDir, 'stream-names.db'));
  change(names);
  names.close();
  return dataDir;
}

/** Position of the first event of the other stream. */
const OTHERS = 4;
const CHANGES: readonly (readonly [what: string, change: (names: DatabaseSync) => void])[] = [
  ['is left out', (names) => names.exec(`DELETE FROM numbers WHERE key = ${SHARED}`)],
  ['begins later', (names) => names.exec(`UPDATE numbers SET number = 2 WHERE key = ${SHARED}`)],
  ['is said to be another', (names) => names.exec(`UPDATE numbers SET number = ${OTHERS} WHERE key = ${SHARED}`)],
  [
    'is said to be another, as if two had one key',
    (names) => {
      names.exec(`UPDATE numbers SET number = ${OTHERS} WHERE key = ${SHARED}`);
      names.prepare('INSERT INTO clashes VALUES (?, ?)').run(MINE, OTHERS);
    },
  ],
];

describe('a stream that somebody makes unfindable', () => {
  it('is found when nobody touched the file', async () => {
    const service = await startServiceInProcess(copyOf());
    expect(service.readOnly()).toBeNull();
    expect(await service.store.readStream(MINE)).toHaveLength(3);
    await service.close();
  });

  it.each(CHANGES)('makes the service read-only, by name: one that %s', async (_, change) => {
    const service = await startServiceInProcess(changed(change));
    try {
      expect(service.readOnly()).toMatch(
        /damaged at event 1: event 0 of stream idempotency-mine: stream-names\.db does not find its stream/,
      );
    } finally {
      await service.close();
    }
  });

  it('is never read as another', async () => {
    for (const [, change] of CHANGES) {
      const store = await openSqliteEventStore({ dataDir: changed(change), sealKeys: SEAL_KEYS });
      const read = await store.readStream(MINE);
      expect(read.every(({ stream }) => stream === MINE)).toBe(true);
      await store.close();
    }
  });

  it('is not hidden later by a trigger: the file is made again', async () => {
    const hiding = `DELETE FROM numbers WHERE key = ${SHARED}`;
    const dataDir = changed((names) =>
      names.exec(`CREATE TRIGGER later AFTER UPDATE ON reached BEGIN ${hiding}; END; DELETE FROM clashes`),
    );
    for (const stream of ['idempotency-one', 'idempotency-two']) {
      const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
      expect(await store.readStream(MINE)).toHaveLength(3);
      await grow(store, stream, 1);
      await store.close();
    }
  });

  it('is found again once the file is removed, as the fault says', async () => {
    const dataDir = changed((names) => names.exec('DELETE FROM numbers; DELETE FROM reached'));
    const service = await startServiceInProcess(dataDir);
    expect(service.readOnly()).toBeNull();
    expect(await service.store.readStream(MINE)).toHaveLength(3);
    await service.close();
  });
});
