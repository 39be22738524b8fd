import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  packCommit,
  packOrder,
  unpackCommit,
  unpackOrder,
} from '../../../../src/adapters/sqlite/event-log/append-parcel.ts';
import { Committer } from '../../../../src/adapters/sqlite/event-log/committer.ts';
import type { JobOutcome, AppendJob } from '../../../../src/adapters/sqlite/event-log/append-job.ts';
import { assertSynchronous, openDatabase, pragma } from '../../../../src/adapters/sqlite/database.ts';
import { CHAIN_GENESIS } from '../../../../src/adapters/sqlite/event-log/event-schema.ts';
import { GroupWriter, type GroupWriterOptions } from '../../../../src/adapters/sqlite/event-log/group-writer.ts';
import { NonceMemory } from '../../../../src/adapters/sqlite/nonces/nonce-memory.ts';
import { parsePosition, toPosition } from '../../../../src/adapters/sqlite/event-log/position.ts';
import { RecentEvents } from '../../../../src/adapters/sqlite/event-log/recent-events.ts';
import { faultOf } from '../../../../src/adapters/sqlite/fault.ts';
import { StreamHeads } from '../../../../src/adapters/sqlite/event-log/stream-heads.ts';
import { keyOfName, StreamNamesFile } from '../../../../src/adapters/sqlite/event-log/stream-names-file.ts';
import type { StreamNames } from '../../../../src/adapters/sqlite/event-log/stream-names.ts';
import type { AppendResult, RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { appendOf, FIRST } from '../../../contract/event-store-samples.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('sqlite');

const digestOf = (text: string): Uint8Array => createHash('sha256').update(text).digest().subarray(0, 16);

describe('a connection', () => {
  test('of the log syncs fully, in WAL mode, and never checkpoints by itself', () => {
    const committer = new Committer(folder);
    expect(pragma(committer.database, 'synchronous')).toBe(2);
    expect(pragma(committer.database, 'journal_mode')).toBe('wal');
    expect(pragma(committer.database, 'wal_autocheckpoint')).toBe(0);
    committer.close();
  });

  test('that syncs less than it should is noticed', () => {
    const database = openDatabase(join(folder, 'weak.db'), { synchronous: 'FULL' });
    database.exec('PRAGMA synchronous = NORMAL');
    expect(() => assertSynchronous(database, 'FULL')).toThrow(/synchronous=1 instead of FULL/);
    database.close();
  });

  test('is refused where WAL is not to be had', () => {
    const before = process.cwd();
    // The name is also that of a file, which is created in the working directory before SQLite takes it for memory.
    process.chdir(folder);
    try {
      expect(() => openDatabase(':memory:', { synchronous: 'FULL' })).toThrow(/journal_mode/);
    } finally {
      process.chdir(before);
    }
  });
});

describe('a failed statement', () => {
  function failureOf(code: number): unknown {
    return Object.assign(new Error('failed'), { errcode: code });
  }

  test.each([
    ['a full disk', 13, 'no-room'],
    ['a wal-index that cannot grow', 4874, 'no-room'],
    ['a lock held by another connection', 5, 'busy'],
    ['a snapshot that is too old', 517, 'busy'],
    ['a write error', 778, 'fatal'],
    ['a failed sync', 1034, 'fatal'],
    ['a corrupt page', 11, 'fatal'],
  ])('because of %s (%i) is %s', (_, code, kind) => {
    expect(faultOf(failureOf(code)).kind).toBe(kind);
  });

  test('that no driver explains counts as fatal', () => {
    expect(faultOf(new TypeError('a bug'))).toEqual({ kind: 'fatal', message: 'a bug' });
    expect(faultOf('odd').kind).toBe('fatal');
  });

  test('keeps the code that the driver reports', () => {
    const database = new DatabaseSync(':memory:');
    database.exec('PRAGMA max_page_count = 2; CREATE TABLE t (x)');
    const insert = (): unknown => {
      try {
        return database.prepare('INSERT INTO t VALUES (zeroblob(100000))').run();
      } catch (error) {
        return error;
      }
    };
    expect(faultOf(insert()).kind).toBe('no-room');
    database.close();
  });
});

describe('the memory of nonces', () => {
  test('agrees with a plain map of expiries, whatever is added when', () => {
    const step = fc.record({ name: fc.nat(40), wait: fc.nat(120), lifetime: fc.integer({ min: 0, max: 900 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const memory = new NonceMemory();
        const expiries = new Map<number, number>();
        let nowSec = 1_800_000_000;
        for (const { name, wait, lifetime } of steps) {
          nowSec += wait;
          const expected = (expiries.get(name) ?? 0) < nowSec;
          expect(memory.add(digestOf(String(name)), nowSec + lifetime, nowSec)).toBe(expected);
          if (expected) expiries.set(name, nowSec + lifetime);
        }
      }),
    );
  });

  test('grows with what is used and forgets it period by period', () => {
    const memory = new NonceMemory();
    for (let index = 0; index < 5_000; index += 1)
      expect(memory.add(digestOf(`${index}`), 1_000_600, 1_000_000)).toBe(true);
    for (let index = 0; index < 5_000; index += 1)
      expect(memory.add(digestOf(`${index}`), 1_000_700, 1_000_100)).toBe(false);
    expect(memory.size).toBe(5_000);
    expect(memory.add(digestOf('later'), 1_001_800, 1_001_200)).toBe(true);
    expect(memory.size).toBe(1);
  });

  test('distinguishes digests that share their first words', () => {
    const memory = new NonceMemory();
    const digests = Array.from({ length: 300 }, (_, index) =>
      new Uint8Array(16)
        .fill(7)
        .with(15, index % 256)
        .with(8, index >> 8),
    );
    for (const digest of digests) expect(memory.add(digest, 1_000_600, 1_000_000)).toBe(true);
    for (const digest of digests) expect(memory.add(digest, 1_000_600, 1_000_000)).toBe(false);
  });
});

describe('the recent events', () => {
  const event = (position: number, size = 10): RecordedEvent => ({
    stream: 's',
    revision: position - 1,
    position: String(position),
    id: String(position),
    type: 'T',
    version: 1,
    atMs: 0,
    data: 'x'.repeat(size),
    metadata: '{}',
    hash: '',
  });
  const positions = (events: RecordedEvent[] | null): number[] | null =>
    events?.map(({ position }) => Number(position)) ?? null;

  test('begin after what was there before, which is not in memory', () => {
    const recent = new RecentEvents(5);
    recent.push([event(6), event(7)]);
    expect(positions(recent.after(4, 10))).toBeNull();
    expect(positions(recent.after(5, 10))).toEqual([6, 7]);
    expect(positions(recent.after(5, 1))).toEqual([6]);
    expect(positions(recent.after(7, 10))).toEqual([]);
  });

  test('are dropped when nobody needs them', () => {
    const recent = new RecentEvents(0);
    recent.push([event(1), event(2), event(3), event(4)]);
    recent.forget(3);
    expect(recent.after(2, 1)).toBeNull();
    expect(positions(recent.after(3, 9))).toEqual([4]);
    recent.forget(4);
    recent.push([event(5)]);
    expect(positions(recent.after(4, 9))).toEqual([5]);
    expect(recent.after(3, 9)).toBeNull();
  });

  test('continue where somebody reads them again, after unread ones', () => {
    const recent = new RecentEvents(0);
    recent.push([event(1), event(2)]);
    expect(recent.reachesBackTo(0)).toBe(true);
    recent.skipTo(5);
    expect(recent.reachesBackTo(4)).toBe(false);
    expect(recent.reachesBackTo(5)).toBe(true);
    expect(recent.after(0, 9)).toBeNull();
    recent.push([event(6)]);
    expect(positions(recent.after(5, 9))).toEqual([6]);
  });

  test.each([
    ['in number', 10, 20_000, 8_192],
    ['in size', 1_000_000, 100, 17],
  ])('are bounded %s, and the newest stay', (_, size, count, most) => {
    const recent = new RecentEvents(0);
    for (let position = 1; position <= count; position += 1) recent.push([event(position, size)]);
    expect(recent.after(0, 1)).toBeNull();
    expect(recent.after(count - most - 1, 1)).toBeNull();
    expect(positions(recent.after(count - 1, 5))).toEqual([count]);
  });
});

describe('the file of stream names', () => {
  const tail = { position: 9, chain: 'c' };
  const names: Record<number, string> = { 1: 'one', 2: 'two', 5: 'five' };
  const dataDir = mkdtempSync(join(folder, 'names-'));
  const open = (): StreamNamesFile => StreamNamesFile.open(dataDir, (number) => names[number] ?? null);
  /** As if the hashes of both names began alike. */
  const claim = (name: string, number: number): void => {
    const database = new DatabaseSync(join(dataDir, 'stream-names.db'));
    database.prepare('INSERT INTO numbers VALUES (?, ?)').run(keyOfName(name), number);
    database.close();
  };

  test('finds every name whose key is taken by another, and no others', () => {
    const file = open();
    file.add([{ name: 'one', number: 1 }], tail);
    claim('two', 1);
    claim('three', 1);
    expect([file.numberOf('one'), file.numberOf('two'), file.numberOf('three')]).toEqual([1, null, null]);
    file.add([{ name: 'two', number: 2 }], tail);
    expect([file.numberOf('one'), file.numberOf('two'), file.numberOf('three')]).toEqual([1, 2, null]);
    file.clear();
    expect([file.numberOf('one'), file.numberOf('two')]).toEqual([null, null]);
    expect(file.progress().position).toBe(0);
    file.close();
  });

  test('accepts no name twice, with a key of its own or without, and then nothing of its batch', () => {
    const file = open();
    claim('two', 1);
    file.add([{ name: 'one', number: 1 }], tail);
    file.add([{ name: 'two', number: 2 }], tail);
    for (const name of ['one', 'two']) {
      const twice = [
        { name: 'five', number: 5 },
        { name, number: 7 },
      ];
      expect(() => file.add(twice, { position: 11, chain: 'd' })).toThrow(
        name === 'one' ? /one begins twice: at position 1 and at position 7/ : /UNIQUE/,
      );
    }
    expect([file.numberOf('one'), file.numberOf('two'), file.numberOf('five')]).toEqual([1, 2, null]);
    expect(file.progress()).toEqual(tail);
    file.close();
  });
});

test('the heads of the streams that were unwritten longest are dropped first, a generation at a time', () => {
  const heads = new StreamHeads(2);
  const head = { number: 1, revision: 0, hash: '' };
  heads.set('a', head);
  heads.set('b', head);
  heads.set('c', head);
  heads.set('a', { ...head, revision: 1 });
  expect(heads.get('a')).toEqual({ ...head, revision: 1 });
  expect(heads.get('b')).toBeUndefined();
  expect(heads.get('c')).toEqual(head);
});

test('a worker unpacks exactly what was packed, whatever the texts', () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => JSON.stringify(value));
  const name = fc.stringMatching(/^[!-~]{1,20}$/);
  const event = fc.record({
    id: name,
    type: name,
    version: fc.nat(),
    atMs: fc.nat(),
    data: text,
    metadata: text,
    hash: name,
  });
  const value = fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.string({ unit: 'binary', maxLength: 5 }), fc.integer());
  const coCommit = fc.record({
    kind: fc.constantFrom('nonce' as const, 'personal-key' as const),
    values: fc.array(value, { maxLength: 3 }),
  });
  const tail = fc.option(fc.record({ position: fc.nat(), chain: name }));
  const head = fc.record({ number: fc.nat(), revision: fc.nat(), hash: name });
  const job = fc
    .record({
      stream: name,
      expected: fc.integer({ min: -1 }),
      events: fc.array(event, { minLength: 1, maxLength: 3 }),
      coCommits: fc.option(fc.array(coCommit, { maxLength: 2 }), { nil: undefined }),
      head: fc.option(head, { nil: undefined }),
      number: fc.option(fc.nat(), { nil: undefined }),
    })
    .map((value) => ({ ...value, number: value.head ? value.head.number : value.number }));
  fc.assert(
    fc.property(fc.array(job, { minLength: 1, maxLength: 6 }), tail, (jobs, end) => {
      expect(unpackOrder(packOrder({ jobs, tail: end }))).toEqual({ jobs, tail: end });
    }),
  );
});

test('the results of a batch of every kind arrive complete from the commit thread', () => {
  const head = { number: 7, revision: 4, hash: 'ab' };
  const job = (expected: number, hashes: readonly string[], number?: number): AppendJob => {
    const events = hashes.map((hash) => ({
      id: 'i',
      type: 'T',
      version: 1,
      atMs: 1,
      data: '{}',
      metadata: '{}',
      hash,
    }));
    return { stream: 's', expected, events, coCommits: undefined, head: undefined, number };
  };
  const jobs = [
    job(-1, ['a', 'b']),
    job(4, ['x']),
    job(2, ['y', 'z']),
    job(9, ['q']),
    job(4, ['c']),
    job(2, ['d', 'e'], 5),
    job(-1, ['f']),
  ];
  const outcomes: JobOutcome[] = [
    { kind: 'appended', head: { number: 21, revision: 1, hash: 'b' }, position: 22 },
    { kind: 'refused', head },
    { kind: 'repeated', head, revision: 4, position: 9 },
    { kind: 'faulty', message: 'no' },
    { kind: 'appended', head: { number: 3, revision: 5, hash: 'c' }, position: 23 },
    { kind: 'appended', head: { number: 5, revision: 4, hash: 'e' }, position: 25 },
    { kind: 'appended', head: { number: 26, revision: 0, hash: 'f' }, position: 26 },
  ];
  const commit = { outcomes, tail: { position: 26, chain: 'cd' } };
  expect(unpackCommit(structuredClone(packCommit(commit, jobs)), jobs, 20)).toEqual(commit);
});

test('a successful batch needs only the chain as its result', () => {
  const event = { id: 'i', type: 'T', version: 1, atMs: 1, data: '{}', metadata: '{}', hash: 'a' };
  const rest = { stream: 's', coCommits: undefined, head: undefined };
  const jobs: AppendJob[] = [
    { ...rest, expected: -1, events: [event], number: undefined },
    { ...rest, expected: 0, events: [event], number: 3 },
  ];
  const outcomes: JobOutcome[] = [
    { kind: 'appended', head: { number: 8, revision: 0, hash: 'a' }, position: 8 },
    { kind: 'appended', head: { number: 3, revision: 1, hash: 'a' }, position: 9 },
  ];
  const commit = { outcomes, tail: { position: 9, chain: 'cd' } };
  expect(packCommit(commit, jobs)).toBe('cd');
  expect(unpackCommit('cd', jobs, 7)).toEqual(commit);
});

/** A writer over a file of its own; what it commits is told, and no name is remembered. */
function groupWriter(
  name: string,
  onCommitted: GroupWriterOptions['onCommitted'],
): { writer: GroupWriter; committer: Committer } {
  const dataDir = mkdtempSync(join(folder, name));
  const committer = new Committer(dataDir);
  const names = { isFull: false, recent: () => undefined, add: () => undefined } as Partial<StreamNames> as StreamNames;
  const tail = { position: 0, chain: CHAIN_GENESIS };
  return {
    committer,
    writer: new GroupWriter({ dataDir, committer, sealKeys: null, tail, names, onCommitted, onFatal: () => undefined }),
  };
}

test('a crowd is committed in halves, and again when it was smaller for a while', { retry: 2 }, async () => {
  const lengths: number[] = [];
  const { writer, committer } = groupWriter('crowd-', ({ jobs }) => lengths.push(jobs.length));
  const pause = Promise.withResolvers<void>();
  const call = async (caller: number): Promise<void> => {
    for (let round = 0; round < 40; round += 1) {
      if (caller === 0 && round === 7) pause.resolve();
      // Without half of it the crowd sends smaller batches for a while, which must not stay so.
      if (caller > 15 && round === 5) await pause.promise;
      await writer.append(appendOf(`s-${caller}-${round}`, FIRST));
    }
  };
  await Promise.all(Array.from({ length: 32 }, (_, caller) => call(caller)));
  await writer.close();
  committer.close();
  const inHalves = lengths.filter((length) => length === 16).length * 16;
  expect(inHalves).toBeGreaterThan(0.9 * 32 * 40);
});

test('commits are published in the order of positions, also where the pen goes from one thread to the other', async () => {
  const published: number[] = [];
  const { writer, committer } = groupWriter('handover-', ({ tail }) => published.push(tail.position));
  // As if commits took no time: the pen goes to this thread as soon as callers come one at a time.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  const append = (number: number): Promise<AppendResult> => writer.append(appendOf(`s-${number}`, FIRST));
  await Promise.all([append(1), append(2)]);
  for (let number = 3; number <= 16; number += 1) await append(number);
  await new Promise((resolve) => setTimeout(resolve, 1));
  // The last one for the other thread is answered while the next one waits already.
  const last = append(17);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await Promise.all([last, append(18)]);
  clock.mockRestore();
  await writer.close();
  committer.close();
  expect(published).toEqual([2, ...Array.from({ length: 16 }, (_, index) => index + 3)]);
});

test('positions are whole numbers as text, and the beginning has none', () => {
  expect([toPosition(0), toPosition(12)]).toEqual([null, '12']);
  expect([parsePosition(null), parsePosition('12')]).toEqual([0, 12]);
  for (const text of ['0', '-1', '012', '1.5', '1e3', '', ' 1', '99999999999999999'])
    expect(() => parsePosition(text)).toThrow(RangeError);
});
