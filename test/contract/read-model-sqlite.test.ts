import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sweepOn } from '../../src/adapters/sqlite/read-model/server.ts';
import { openTemporaryReadModel } from '../support/sqlite-read-model.ts';
import { readModelContract } from './read-model.contract.ts';

readModelContract('SQLite', openTemporaryReadModel);

describe('the file of the SQLite read model', () => {
  it('is replaced by an empty one when it is not a database or of another version', async () => {
    const opened = await openTemporaryReadModel();
    try {
      await opened.model.apply('records', [{ op: 'put', table: 'rows@1', key: 'a', row: { n: 1 } }], '1');
      await opened.model.close();
      const file = join(opened.dataDir, 'read-model.db');
      const db = new DatabaseSync(file);
      db.exec('PRAGMA user_version = 999');
      db.close();
      const empty = await opened.reopen();
      expect(await empty.checkpoint('records')).toBeNull();
      await empty.close();
      writeFileSync(file, 'not a database '.repeat(1000));
      const again = await opened.reopen();
      expect(await again.get('rows@1', 'a')).toBeNull();
    } finally {
      await opened.dispose();
    }
  });

  it('leaves nothing of cleared lists behind', async () => {
    const opened = await openTemporaryReadModel();
    try {
      const members = Array.from(
        { length: 12_000 },
        (_, order) => ({ op: 'enlist', lists: ['one@1/x'], member: `m${order}`, order, atSec: order }) as const,
      );
      await opened.model.apply('one', members, '1');
      const db = new DatabaseSync(join(opened.dataDir, 'read-model.db'), { readOnly: true });
      const left = (): number =>
        (
          db
            .prepare(
              "SELECT count(*) AS n FROM sqlite_schema WHERE name GLOB 'list_[lc]*' OR name GLOB 'lists_*' OR name GLOB 'dropped_*'",
            )
            .get() as { n: number }
        ).n;
      expect(left()).toBeGreaterThan(0);
      await opened.model.clear({ projection: 'one', tables: [], lists: ['one@1/'] });
      await expect.poll(left, { timeout: 10_000 }).toBe(0);
      db.close();
    } finally {
      await opened.dispose();
    }
  });

  it('keeps working while something cannot be removed yet, and removes it later', async () => {
    const turns = ['more', 'disk full', 'more', 'nothing left'];
    const sweep = (): boolean => {
      const turn = turns.shift();
      if (turn === 'disk full') throw new Error('database or disk is full');
      return turn === 'more';
    };
    sweepOn({ sweep });
    await expect.poll(() => turns, { timeout: 5_000 }).toEqual([]);
  });
});
