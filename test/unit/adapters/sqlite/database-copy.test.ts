import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, test } from 'vitest';
import { copyDatabase } from '../../../../src/adapters/sqlite/database-copy.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

let folder: string;
beforeEach(() => void (folder = temporaryFolder('copy')));

test('a copy holds one moment, and ends however often the database is written to meanwhile', async () => {
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  const writer = new DatabaseSync(from);
  writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  const insert = writer.prepare('INSERT INTO rows (text) VALUES (?)');
  writer.exec('BEGIN');
  // Several steps of the copy.
  for (let row = 0; row < 12_000; row += 1) insert.run('x'.repeat(1_000));
  writer.exec('COMMIT');
  let written = 0;
  const writing = setInterval(() => {
    insert.run('later');
    written += 1;
  }, 1);
  try {
    await copyDatabase(from, to);
  } finally {
    clearInterval(writing);
    writer.close();
  }
  expect(written).toBeGreaterThan(0);
  const copy = new DatabaseSync(to, { readOnly: true });
  expect(copy.prepare("SELECT count(*) AS rows FROM rows WHERE text <> 'later'").get()).toEqual({ rows: 12_000 });
  copy.close();
}, 20_000);
