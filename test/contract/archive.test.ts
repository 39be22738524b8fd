import { fork } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { removeDatabase } from '../../src/adapters/sqlite/database.ts';
import { copyDatabase } from '../../src/adapters/sqlite/database-copy.ts';
import { openWithWriter } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { readModelFile } from '../../src/adapters/sqlite/read-model/schema.ts';
import { takeIn } from '../../src/adapters/sqlite/read-model/shared-copy.ts';
import { putRow } from '../../src/ports/read-model/read-model.ts';
import { archivedIn, archiveFiles, keysOfArchived, pointersIn, rowOf, TABLE, timeOf } from './archived-rows.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CHILD = join(import.meta.dirname, 'archive-killed.child.ts');
const KILLS = 6;
const LONGEST_MS = 120;
const KEYS = keysOfArchived();
const ROWS = KEYS.map(rowOf);

let dataDir: string;
beforeEach(() => void (dataDir = temporaryFolder('archive')));

async function opened(work: (open: ReturnType<typeof openWithWriter>) => Promise<void> | void): Promise<void> {
  const open = openWithWriter(dataDir);
  try {
    await work(open);
  } finally {
    await open.model.close();
  }
}

const fill = ({ model }: ReturnType<typeof openWithWriter>): Promise<void> =>
  model.apply(
    'killed@1',
    KEYS.map((key) => putRow(TABLE, key, rowOf(key))),
    '0',
  );

/** Filled, with every row archived. */
const archiveAll = (): Promise<void> =>
  opened(async (open) => {
    await fill(open);
    open.writer.archive(TABLE, timeOf, Infinity, 0);
  });

it('a process that is killed while it archives loses no row and leaves none behind', { timeout: 240_000 }, async () => {
  await opened(fill);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = fork(CHILD, [dataDir], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const ended = once(child, 'exit');
    await once(child, 'message');
    await sleep((LONGEST_MS * kill) / KILLS);
    child.kill('SIGKILL');
    await ended;
    await opened(async ({ model, writer }) => {
      expect(await model.getMany(TABLE, KEYS)).toEqual(ROWS);
      while (writer.sweep());
    });
    expect(archivedIn(dataDir)).toBe(pointersIn(dataDir));
  }
});

it('keeps one file per month and removes what an interrupted move left behind', async () => {
  await archiveAll();
  expect(archiveFiles(dataDir)).toHaveLength(3);
  expect([archivedIn(dataDir), pointersIn(dataDir)]).toEqual([KEYS.length, KEYS.length]);
  const file = new DatabaseSync(archiveFiles(dataDir)[0]!);
  file.exec("INSERT INTO rows (row) VALUES ('{}')");
  file.close();
  await opened(async ({ model }) => expect(await model.getMany(TABLE, KEYS)).toEqual(ROWS));
  expect(archivedIn(dataDir)).toBe(KEYS.length);
});

it('look-ups that miss an archive are rebuilt, and archives without look-ups are removed', async () => {
  await archiveAll();
  rmSync(archiveFiles(dataDir)[1]!);
  await opened(async ({ model }) => {
    expect(await model.checkpoint('killed@1')).toBeNull();
    expect(await model.getMany(TABLE, KEYS)).toEqual(KEYS.map(() => null));
  });
  expect(archiveFiles(dataDir)).toEqual([]);
});

it('look-ups are rebuilt when an archive is an older copy of itself', async () => {
  await archiveAll();
  const [file] = archiveFiles(dataDir);
  const db = new DatabaseSync(file!);
  db.exec('DELETE FROM rows WHERE id = (SELECT max(id) FROM rows); UPDATE sqlite_sequence SET seq = seq - 1');
  db.close();
  await opened(async ({ model }) => expect(await model.checkpoint('killed@1')).toBeNull());
});

it('look-ups begin anew when they are an older copy of themselves that names removed rows', async () => {
  await archiveAll();
  const older = join(dataDir, 'older');
  await copyDatabase(readModelFile(dataDir), older);
  await opened(async ({ model, writer }) => {
    await model.apply('killed@1', [putRow(TABLE, KEYS[0]!, rowOf(KEYS[0]!))], '1');
    while (writer.sweep());
  });
  await opened(async ({ model }) => expect(await model.getMany(TABLE, KEYS)).toEqual(ROWS));
  removeDatabase(readModelFile(dataDir));
  renameSync(older, readModelFile(dataDir));
  await opened(async ({ model }) => expect(await model.checkpoint('killed@1')).toBeNull());
});

it('a copy for another node holds the archived rows themselves', async () => {
  await archiveAll();
  const copy = join(dataDir, 'copy');
  await copyDatabase(readModelFile(dataDir), copy);
  takeIn(copy, readModelFile(dataDir));
  const db = new DatabaseSync(copy);
  const rows = db.prepare('SELECT row FROM rows_1 ORDER BY id').all() as { row: string }[];
  expect(db.prepare('SELECT file FROM archives').all()).toEqual([]);
  db.close();
  expect(rows.map(({ row }) => JSON.parse(row) as unknown)).toEqual(ROWS);
});
