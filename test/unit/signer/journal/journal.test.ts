import type * as FileSystem from 'node:fs';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { lockJournals, Journal } from '../../../../src/signer/journal/journal.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

/** Bytes that the disk still takes, at most so many in one write, and syncs that it still does. */
const disk = vi.hoisted(() => ({ bytesLeft: Infinity, bytesAtOnce: Infinity, syncsLeft: Infinity }));
vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof FileSystem>();
  const full = (call: string): Error =>
    Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: 'ENOSPC' });
  return {
    ...fs,
    writeSync: (file: number, bytes: Buffer, offset = 0): number => {
      const fitting = Math.min(bytes.length - offset, disk.bytesLeft, disk.bytesAtOnce);
      if (fitting === 0) throw full('write');
      disk.bytesLeft -= fitting;
      return fs.writeSync(file, bytes, offset, fitting);
    },
    fsyncSync: (file: number): void => {
      if (disk.syncsLeft <= 0) throw full('fsync');
      disk.syncsLeft -= 1;
      fs.fsyncSync(file);
    },
  };
});

let directory: string;
let path: string;
beforeEach(() => {
  directory = temporaryFolder('payout-journal');
  path = join(directory, 'payouts.jsonl');
  [disk.bytesLeft, disk.bytesAtOnce, disk.syncsLeft] = [Infinity, Infinity, Infinity];
});

const stopped = (by: string) => ({ kind: 'stopped', by }) as const;
const writersIn = (journal: Journal): string[] =>
  journal.entries.flatMap((entry) => (entry.kind === 'stopped' ? [entry.by] : []));

describe('the journal of the signer', () => {
  it('never confirms an entry that reached the disk only in part', () => {
    const journal = Journal.open(path);
    journal.append(stopped('ada'), 1);
    disk.bytesLeft = 20;
    expect(() => journal.append(stopped('ben'), 2)).toThrow(/ENOSPC/);
    expect(writersIn(journal)).toEqual(['ada']);
    expect(writersIn(Journal.open(path))).toEqual(['ada']);
  });

  it('continues after an entry that was written in two parts', () => {
    const journal = Journal.open(path);
    disk.bytesAtOnce = 20;
    journal.append(stopped('ada'), 1);
    journal.append(stopped('ben'), 2);
    expect(writersIn(Journal.open(path))).toEqual(['ada', 'ben']);
  });

  it.each([
    ['a write that failed', () => (disk.bytesLeft = 20)],
    ['a sync that failed', () => (disk.syncsLeft = 0)],
  ])('continues after %s, as though the entry had never been tried', (_, fail) => {
    const journal = Journal.open(path);
    journal.append(stopped('ada'), 1);
    fail();
    expect(() => journal.append(stopped('ben'), 2)).toThrow(/ENOSPC/);
    [disk.bytesLeft, disk.syncsLeft] = [Infinity, Infinity];
    expect(journal.append(stopped('cyd'), 3)).toMatchObject({ seq: 2 });
    expect(writersIn(Journal.open(path))).toEqual(['ada', 'cyd']);
    expect(readFileSync(path, 'utf8')).not.toContain('ben');
  });
});

describe('a journal that lost a confirmed entry', () => {
  const LINE = /[^\n]*\n/g;
  const written = (): string => {
    const journal = Journal.open(path);
    for (const by of ['ada', 'ben', 'cyd']) journal.append(stopped(by), 1);
    journal.close();
    return readFileSync(path, 'utf8');
  };

  it.each([
    ['cut between two entries', (text: string) => text.match(LINE)!.slice(0, 2).join('')],
    ['cut within the last one', (text: string) => text.slice(0, -5)],
    ['without any', () => ''],
  ])('is refused: %s', (_, cut) => {
    const text = written();
    truncateSync(path, cut(text).length);
    expect(() => Journal.open(path)).toThrow(/lacks entry 3/);
    writeFileSync(path, text);
    expect(writersIn(Journal.open(path))).toEqual(['ada', 'ben', 'cyd']);
  });

  it('is refused when the file is gone, or another history took its place', () => {
    written();
    rmSync(path);
    expect(() => Journal.open(path)).toThrow(/lacks entry 3/);
    const other = Journal.open(join(directory, 'other.jsonl'));
    for (const by of ['eve', 'eve', 'eve', 'eve']) other.append(stopped(by), 1);
    writeFileSync(path, readFileSync(join(directory, 'other.jsonl')));
    expect(() => Journal.open(path)).toThrow(/lacks entry 3/);
  });

  it('is accepted if the head beside it is behind, as after a crash', () => {
    const journal = Journal.open(path);
    journal.append(stopped('ada'), 1);
    const head = readFileSync(`${path}.head`, 'utf8');
    journal.append(stopped('ben'), 2);
    writeFileSync(`${path}.head`, head);
    expect(writersIn(Journal.open(path))).toEqual(['ada', 'ben']);
  });
});

describe('the lock of the journals', () => {
  it('is held until it is released, even if its result is unreferenced and garbage is collected', async () => {
    const isHeld = (): boolean => {
      const database = new DatabaseSync(join(directory, 'lock.db'), { timeout: 0 });
      try {
        database.exec('BEGIN EXCLUSIVE');
        return false;
      } catch {
        return true;
      } finally {
        database.close();
      }
    };
    lockJournals(directory);
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    for (let round = 0; round < 5; round += 1) {
      await setImmediate();
      collectGarbage();
    }
    expect(isHeld()).toBe(true);
  });

  it('is free again once it was released', () => {
    lockJournals(directory).release();
    expect(() => lockJournals(directory).release()).not.toThrow();
  });
});
