import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LogDamaged } from '../../src/adapters/sqlite/event-log/log-check.ts';
import { openSqliteEventStoreReader } from '../../src/adapters/sqlite/event-log/event-store-reader.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { DataDirInUse } from '../../src/adapters/sqlite/writer-lock.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { CAN_MOUNT, onSmallDisk } from '../support/small-disk.ts';
import { appendOf, afterAppend, FIRST, grow, idsOf, readWholeLog, until } from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';

const CHILD = join(import.meta.dirname, 'event-store-sqlite.child.ts');
const WAL_HEADER_BYTES = 32;
const WAL_FRAME_BYTES = 24 + 8192;

let folder: string;
let dataDir: string;
const children: ChildProcess[] = [];
const stores: SqliteEventStore[] = [];

beforeEach(() => {
  folder = temporaryFolder('faults');
  dataDir = join(folder, 'data');
});

afterEach(async () => {
  await Promise.all(children.splice(0).map(kill));
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function open(directory = dataDir): Promise<SqliteEventStore> {
  const store = await openSqliteEventStore({ dataDir: directory, sealKeys: SEAL_KEYS });
  stores.push(store);
  return store;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Starts the task and collects what it says. */
function start(
  task: string,
  command = process.execPath,
  before: readonly string[] = [],
): { child: ChildProcess; said: string[] } {
  const child = spawn(command, [...before, CHILD, task, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  return { child, said };
}

const storedIds = (said: readonly string[]): string[] =>
  said.filter((line) => line.startsWith('stored ')).map((line) => line.slice(7));

describe('a killed process', () => {
  test('loses no event whose append was confirmed, however often it is killed', async () => {
    const answered: string[] = [];
    for (let crash = 0; crash < 3; crash += 1) {
      const { child, said } = start('append-for-ever');
      await until('the process has stored events', () => storedIds(said).length > 120);
      await kill(child);
      await until('its last words were read', () => child.stdout!.destroyed || child.stdout!.readableEnded);
      answered.push(...storedIds(said));

      const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
      const log = await readWholeLog(store);
      const ids = new Set(idsOf(log));
      expect(ids.size).toBe(log.length);
      expect(answered.filter((id) => !ids.has(id))).toEqual([]);
      expect(log.map(({ position }) => Number(position))).toEqual(log.map((_, index) => index + 1));
      expect(store.verifyTail(log.length)).toEqual({ ok: true, checked: log.length });
      for (const stream of new Set(log.map((event) => event.stream))) {
        expect((await store.readStream(stream)).map(({ revision }) => revision)).toEqual(
          log.filter((event) => event.stream === stream).map((_, index) => index),
        );
      }
      await store.close();
    }
  });

  test('frees the data directory, which refuses everyone else while it lives', async () => {
    const { child, said } = start('append-and-idle');
    await until('the process is ready', () => said.includes('ready'));
    const refusal = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DataDirInUse);
    expect((refusal as Error).message).toContain(dataDir);
    expect((refusal as Error).message).toContain(`process ${child.pid}`);
    await kill(child);
    expect(await (await open()).readStream('s-1')).toHaveLength(40);
  });
});

test('the data directory refuses a second opener of the same process too, and is free after close', async () => {
  const store = await open();
  await expect(openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS })).rejects.toThrow(DataDirInUse);
  await store.close();
  await open();
});

describe('a damaged log', () => {
  /** The files as a crash leaves them, with everything still in the WAL. */
  async function crashedFiles(): Promise<string> {
    const { child, said } = start('append-and-idle');
    await until('the process is ready', () => said.includes('ready'));
    await kill(child);
    return dataDir;
  }

  test('is refused when its WAL was cut anywhere, zeroed or lost', async () => {
    const crashed = await crashedFiles();
    const size = readFileSync(join(crashed, 'events.db-wal')).length;
    const frames = Math.floor((size - WAL_HEADER_BYTES) / WAL_FRAME_BYTES);
    expect(frames).toBeGreaterThan(40);
    const cuts = Array.from(
      { length: 12 },
      (_, index) => WAL_HEADER_BYTES + Math.floor((index * frames) / 12) * WAL_FRAME_BYTES + (index % 2) * 100,
    );
    const damages: ((wal: string) => void)[] = [
      ...cuts.map((cut) => (wal: string) => truncateSync(wal, cut)),
      (wal) => rmSync(wal),
      (wal) => writeFileSync(wal, Buffer.alloc(size)),
      (wal) => flip(wal, Math.floor(size / 2)),
    ];
    for (const [index, damage] of damages.entries()) {
      const copy = join(folder, `damaged-${index}`);
      cpSync(crashed, copy, { recursive: true });
      damage(join(copy, 'events.db-wal'));
      rmSync(join(copy, 'events.db-shm'), { force: true });
      await expect(openSqliteEventStore({ dataDir: copy, sealKeys: SEAL_KEYS }), `damage ${index}`).rejects.toThrow(
        /(damaged|lost|no such table)/,
      );
    }
    expect(await (await open(crashed)).readStream('s-1')).toHaveLength(40);
  });

  test('is refused if an old copy replaced it, until the operator confirms it', async () => {
    const store = await open();
    await grow(store, 's-1', 3);
    await store.close();
    cpSync(dataDir, join(folder, 'backup'), { recursive: true });
    const later = await open();
    await grow(later, 's-1', 2);
    await later.close();

    cpSync(join(folder, 'backup', 'events.db'), join(dataDir, 'events.db'));
    const refusal = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LogDamaged);
    expect((refusal as Error).message).toMatch(/ends at position 3, but it had reached position 5/);
    rmSync(join(dataDir, 'events.anchor.json'));
    const restored = await open();
    expect(await restored.readStream('s-1')).toHaveLength(3);
    await grow(restored, 's-2', 1);
    expect(await restored.readStream('s-2')).toHaveLength(1);
  });

  test('is named by the first event that changed, and can still be read', async () => {
    const store = await open();
    const [, , third] = await grow(store, 's-1', 5);
    await store.close();
    const path = join(dataDir, 'events.db');
    const bytes = readFileSync(path);
    const at = bytes.indexOf(third!.events[0]!.id) + 3;
    flip(path, at);

    await expect(openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS })).rejects.toThrow(/damaged at position 3/);
    const reader = await openSqliteEventStoreReader({ dataDir });
    expect(reader.verifyTail(5)).toEqual({ ok: false, position: 3, reason: 'its text does not have its hash' });
    expect(reader.verifyTail(2)).toEqual({ ok: true, checked: 2 });
    expect(await reader.readStream('s-1')).toHaveLength(5);
    await reader.close();
  });
});

describe('the file of stream names', () => {
  async function grown(): Promise<void> {
    const store = await open();
    for (let index = 0; index < 30; index += 1) await grow(store, `s-${index}`, 1 + (index % 3));
    await store.close();
  }

  async function expectAllFound(): Promise<void> {
    const store = await open();
    for (let index = 0; index < 30; index += 1)
      expect(await store.readStream(`s-${index}`)).toHaveLength(1 + (index % 3));
    expect(await store.append(appendOf('s-7', FIRST))).toEqual({ ok: false, actual: 1 });
    await store.close();
  }

  test('is rebuilt from the log if it is lost', async () => {
    await grown();
    rmSync(join(dataDir, 'stream-names.db'));
    await expectAllFound();
  });

  test('is brought up to date when it is older than the log', async () => {
    const store = await open();
    await grow(store, 's-0', 1);
    await store.close();
    cpSync(join(dataDir, 'stream-names.db'), join(folder, 'names'));
    rmSync(dataDir, { recursive: true });
    mkdirSync(dataDir);
    await grown();
    cpSync(join(folder, 'names'), join(dataDir, 'stream-names.db'));
    await expectAllFound();
  });

  test('is rebuilt if it belongs to another log', async () => {
    const other = await open(join(folder, 'other'));
    for (const stream of ['s-3', 'x-1', 'x-2']) await grow(other, stream, 2);
    await other.close();
    await grown();
    cpSync(join(folder, 'other', 'stream-names.db'), join(dataDir, 'stream-names.db'));
    await expectAllFound();
  });

  test('of an older build, which kept whole names, is rebuilt, and readers do without it until then', async () => {
    await grown();
    const file = join(dataDir, 'stream-names.db');
    rmSync(file);
    const older = new DatabaseSync(file);
    older.exec(`CREATE TABLE names (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE progress (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, chain TEXT NOT NULL) STRICT;
      INSERT INTO names VALUES ('s-0', 1);`);
    const log = new DatabaseSync(join(dataDir, 'events.db'));
    const { position, chain } = log.prepare('SELECT position, chain FROM events ORDER BY position DESC').get() as {
      position: number;
      chain: string;
    };
    log.close();
    older.prepare('INSERT INTO progress VALUES (1, ?, ?)').run(position, chain);
    older.close();

    const reader = await openSqliteEventStoreReader({ dataDir });
    expect(await reader.readStream('s-7')).toHaveLength(2);
    await reader.close();
    await expectAllFound();
    const tables = new DatabaseSync(file);
    expect(
      tables
        .prepare('SELECT name FROM sqlite_schema WHERE type = ? ORDER BY name')
        .all('table')
        .map((row) => row['name']),
    ).toEqual(['clashes', 'numbers', 'reached']);
    tables.close();
  });

  test('finds the streams of a crash that it did not know about', async () => {
    const { child, said } = start('append-for-ever');
    await until('the process has stored events', () => storedIds(said).length > 20);
    await kill(child);
    const store = await open();
    for (let index = 0; index < 6; index += 1) {
      expect(await store.append(appendOf(`crash-${index}`, FIRST))).toMatchObject({ ok: false });
    }
  });
});

describe('a disk that fails', () => {
  const limited = 'ulimit -f 600 && exec "$0" "$@"';

  test('ends all appends and reads until the store is reopened, and loses nothing confirmed', async () => {
    const { child, said } = start('append-until-failure', 'bash', ['-c', limited, process.execPath]);
    await once(child, 'exit');
    await until('its last words were read', () => said.includes('closed'));
    const stored = Number(storedIds(said)[0]);
    expect(said).toEqual([
      'fatal StoreUnavailable',
      'failed StoreUnavailable',
      'append StoreUnavailable',
      'read StoreUnavailable',
      `stored ${stored}`,
      'closed',
    ]);
    expect(stored).toBeGreaterThan(0);
    const store = await open();
    expect((await store.readStream('s-1')).length).toBeGreaterThanOrEqual(stored);
    expect(await store.append(appendOf('s-2', FIRST))).toMatchObject({ ok: true });
  });

  test('that lets no thread open its files ends the store: many appends at once are rejected, not forgotten', async () => {
    const failures: string[] = [];
    const before = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    await grow(before, 's-1', 2);
    await before.close();
    // A slow commit would start the thread while its files are still there, so nothing is appended in between.
    const store = await openSqliteEventStore({
      dataDir,
      sealKeys: SEAL_KEYS,
      onFatal: (error) => failures.push(error.name),
    });
    renameSync(join(dataDir, 'stream-names.db'), join(dataDir, 'moved'));
    mkdirSync(join(dataDir, 'stream-names.db'));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => store.append(appendOf(`c-${index}`, FIRST))),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreUnavailable' } });
    expect(failures).toEqual(['StoreUnavailable']);
    await expect(store.append(appendOf('s-9', FIRST))).rejects.toThrow(StoreUnavailable);
    await store.close();

    rmSync(join(dataDir, 'stream-names.db'), { recursive: true });
    expect(await readWholeLog(await open())).toHaveLength(2);
  });

  test.skipIf(!CAN_MOUNT)(
    'that is full refuses appends, keeps its content, and continues when there is space',
    async () => {
      mkdirSync(dataDir);
      await onSmallDisk(dataDir, async () => {
        writeFileSync(join(dataDir, 'filler'), Buffer.alloc(1_500_000));
        const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
        let place = FIRST;
        let failure: unknown = null;
        let stored = 0;
        let refused = appendOf('s-1', place, 20);
        while (failure === null && stored < 100_000) {
          refused = appendOf('s-1', place, 20);
          const result = await store.append(refused).catch((error: unknown) => error);
          if (result instanceof Error) {
            failure = result;
          } else {
            stored += 20;
            place = afterAppend(refused);
          }
        }
        expect(failure).toBeInstanceOf(StoreUnavailable);
        expect(await store.readStream('s-1')).toHaveLength(stored);
        await expect(Promise.all([store.append(refused), store.append(appendOf('s-2', FIRST, 50))])).rejects.toThrow(
          StoreUnavailable,
        );
        rmSync(join(dataDir, 'filler'));
        expect(await store.append(refused)).toMatchObject({ ok: true, revision: stored + 19 });
        expect(store.verifyTail(stored + 20)).toMatchObject({ ok: true });
        await store.close();
      });
    },
  );
});

function flip(path: string, at: number): void {
  expect(existsSync(path)).toBe(true);
  const bytes = readFileSync(path);
  bytes[at] = bytes[at]! ^ 0x01;
  writeFileSync(path, bytes);
}
