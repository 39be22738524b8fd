import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../src/adapters/esdb/personal-keys.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqlitePersonalKeys } from '../../src/adapters/sqlite/event-log/personal-keys.ts';
import { openEmbedded } from '../../src/composition/storage/embedded.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../src/ports/event-log/event-store.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { historyOf, steps } from '../support/random-history.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { MASTER_KEY_TEXT, SEALING_KEYS, SEAL_KEYS } from '../support/test-keys.ts';

const repository = resolve(import.meta.dirname, '../..');
const folder = temporaryFolder('migrate');
const temporary = join(folder, 'tmp');
const ERASED = 'session-erased';
const LEDGERS = 8;

/** Streams of many sessions, each session's events under its own ids, in one order. */
async function writeHistory(store: EventStore): Promise<void> {
  const drawn = fc.sample(steps, { numRuns: LEDGERS, seed: 7 });
  for (const [index, one] of drawn.entries()) {
    const heads = new Map<string, { revision: number; hash: string }>();
    for (const { session, event, atMs } of historyOf(one).entries) {
      const sessionId =
        `cs_${String.fromCharCode(97 + session).repeat(28)}${String(index).padStart(4, '0')}` as SessionId;
      const stream = sessionStream(sessionId);
      const head = heads.get(stream);
      const revision = (head?.revision ?? -1) + 1;
      const named =
        event.type === 'SessionCreated'
          ? { ...event, data: { ...event.data, sessionId, orderId: `order-${index}-${session}` } }
          : event;
      const metadata = { correlationId: 'test', actor: 'test', prev: head?.hash ?? '' };
      const encoded = encodeEvent({ id: randomUUID(), stream, revision, atMs, event: named, metadata });
      const result = await store.append({
        stream,
        expected: revision === 0 ? 'no-stream' : revision - 1,
        events: [encoded],
      });
      expect(result.ok).toBe(true);
      heads.set(stream, { revision, hash: encoded.hash });
    }
  }
}

/** A key of personal data for each session, and one that was erased. */
async function writeKeys(store: EventStore, dataDir: string, subjects: readonly string[]): Promise<void> {
  const keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
  for (const subject of [...subjects, ERASED]) {
    const { coCommit } = await keys.create(subject);
    const stream = `idempotency-test-${subject}`;
    const event = { type: 'RequestAccepted', data: { requestHash: 'hash', resultId: subject } } as never;
    const metadata = { correlationId: 'test', actor: 'test', prev: '' };
    const encoded = encodeEvent({ id: randomUUID(), stream, revision: 0, atMs: 1, event, metadata });
    expect((await store.append({ stream, expected: 'no-stream', events: [encoded], coCommits: [coCommit!] })).ok).toBe(
      true,
    );
  }
  await keys.erase(ERASED);
  await keys.close();
}

async function sourceLog(name: string): Promise<{ dataDir: string; events: RecordedEvent[]; sessions: string[] }> {
  const dataDir = join(folder, name);
  const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  await writeHistory(store);
  const sessions = new Set((await store.readAll({ after: null, limit: 1_000_000 })).map(({ stream }) => stream));
  await writeKeys(store, dataDir, [...sessions]);
  const events = await store.readAll({ after: null, limit: 1_000_000 });
  await store.close();
  return { dataDir, events, sessions: [...sessions] };
}

const withoutPosition = ({ position: _, ...event }: RecordedEvent) => event;

async function contentOf(double: EsdbDouble): Promise<RecordedEvent[]> {
  const store = await openEsdbEventStore({ connectionString: double.connectionString });
  try {
    return await store.readAll({ after: null, limit: 1_000_000 });
  } finally {
    await store.close();
  }
}

/** Of the event log: keys lie in streams that no reader of it is shown. */
const copiedTo = (double: EsdbDouble) => double.log.events.filter(({ stream }) => !stream.startsWith('erasable-'));

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const command = (args: readonly string[]) => [join(repository, 'bin/quittance.mjs'), 'migrate', ...args];

const env = { ...process.env, MASTER_KEY: MASTER_KEY_TEXT, TMPDIR: temporary };

async function migrate(...args: readonly string[]): Promise<Outcome> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command(args), {
      env,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Outcome;
    return { code, stdout, stderr };
  }
}

/** Every key arrived, the erased one did not. */
async function expectKeys(double: EsdbDouble): Promise<void> {
  const here = openSqlitePersonalKeys({ dataDir: source.dataDir, random: nodeRandom });
  const there = openEsdbPersonalKeys({ connectionString: double.connectionString, random: nodeRandom });
  for (const subject of source.sessions)
    expect(await there.get(subject)).toEqual(new Uint8Array((await here.get(subject))!));
  expect(await there.get(ERASED)).toBeNull();
  await there.close();
  await here.close();
}

const exitOf = (child: ChildProcess): Promise<void> => new Promise((done) => void child.once('exit', () => done()));

let source: Awaited<ReturnType<typeof sourceLog>>;
const doubles: EsdbDouble[] = [];
const startDouble = async (): Promise<EsdbDouble> => {
  const double = await EsdbDouble.start();
  doubles.push(double);
  return double;
};

beforeAll(async () => {
  mkdirSync(temporary);
  source = await sourceLog('source');
});

afterEach(async () => {
  await Promise.all(doubles.splice(0).map((double) => double.stop()));
  rmSync(join(source.dataDir, 'moved.json'), { force: true });
});

describe('quittance migrate', () => {
  it('is killed twice in the middle, and the copy is equal event for event; the source then starts no second service', async () => {
    const double = await startDouble();
    const total = source.events.length;
    expect(total).toBeGreaterThan(120);
    for (const share of [0.25, 0.6]) {
      if (share < 0.5) double.faults.plan('append', { kind: 'silent-after-commit' });
      double.faults.plan('append', { kind: 'unavailable-after-commit' }, { kind: 'timeout-after-commit' });
      const child = spawn(process.execPath, command(['--from', source.dataDir, '--to', double.connectionString]), {
        stdio: 'ignore',
        env,
      });
      const stopListening = double.log.onAppend(() => {
        if (copiedTo(double).length >= total * share) child.kill('SIGKILL');
      });
      await exitOf(child);
      stopListening();
      expect(child.signalCode).toBe('SIGKILL');
      expect(copiedTo(double).length).toBeLessThan(total);
      expect(existsSync(join(source.dataDir, 'moved.json'))).toBe(false);
    }
    const before = copiedTo(double).length;
    const { code, stdout, stderr } = await migrate('--from', source.dataDir, '--to', double.connectionString, '--json');
    expect(stderr).toContain('100 % comparing the look-ups');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      events: total,
      streams: new Set(source.events.map(({ stream }) => stream)).size,
      already_there: before,
      copied_now: total - before,
      personal_keys: source.sessions.length,
      log_digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    const projections = (JSON.parse(stdout) as { projections: { name: string; rows: number; parked: number }[] })
      .projections;
    expect(projections.find(({ name }) => name.startsWith('session'))!.rows).toBeGreaterThan(LEDGERS);
    expect(projections.every(({ parked }) => parked === 0)).toBe(true);
    expect((await contentOf(double)).map(withoutPosition)).toEqual(source.events.map(withoutPosition));

    expect(JSON.parse(readFileSync(join(source.dataDir, 'moved.json'), 'utf8'))).toMatchObject({ events: total });
    const log = createLogger('silent');
    const opening = openEmbedded(source.dataDir, {
      clock: systemClock,
      random: nodeRandom,
      log,
      sealingKeys: SEALING_KEYS,
      onFatal: () => undefined,
    });
    await expect(opening).rejects.toThrow(/was moved to an EventStoreDB cluster.*remove .*moved\.json/s);

    const copied = double.log.events.length;
    const again = await migrate('--from', source.dataDir, '--to', double.connectionString, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ already_there: total, copied_now: 0 });
    expect(double.log.events).toHaveLength(copied);
    await expectKeys(double);
  });

  it('refuses to run while a service owns the source', async () => {
    const double = await startDouble();
    const running = await openSqliteEventStore({ dataDir: source.dataDir, sealKeys: SEAL_KEYS });
    const { code, stderr } = await migrate('--from', source.dataDir, '--to', double.connectionString);
    await running.close();
    expect(stderr).toContain(`the data directory ${source.dataDir} is in use by process ${process.pid}`);
    expect(code).toBe(1);
    expect(double.log.events).toHaveLength(0);
  });

  it.each([
    [
      'of another program',
      {
        id: randomUUID(),
        type: 'Other',
        contentType: 'application/json',
        data: Buffer.from('{}'),
        customMetadata: Buffer.from('{}'),
      },
    ],
    ['of another installation', null],
  ])('refuses a target with events %s and writes nothing to it', async (_, foreign) => {
    const double = await startDouble();
    if (foreign) double.log.append('others', -1, [foreign]);
    else {
      const store = await openEsdbEventStore({ connectionString: double.connectionString });
      const [first] = source.events;
      const { stream, revision, data, metadata: _old, ...rest } = first!;
      const metadata = { correlationId: 'theirs', actor: 'test', prev: '' };
      const encoded = encodeEvent({
        ...rest,
        stream,
        revision,
        event: { type: rest.type, data: JSON.parse(data) as never } as never,
        metadata,
      });
      await store.append({ stream, expected: 'no-stream', events: [encoded] });
      await store.close();
    }
    const { code, stderr } = await migrate('--from', source.dataDir, '--to', double.connectionString);
    expect(code).toBe(1);
    expect(stderr).toMatch(/the target (contains data of another event log|is not a copy of the source)/);
    expect(stderr).not.toContain('    at ');
    expect(double.log.events).toHaveLength(1);
  });

  it('says in one line what is wrong with its arguments, never showing the password', async () => {
    const nowhere = join(folder, 'nowhere');
    expect((await migrate('--from', nowhere, '--to', 'esdb://127.0.0.1:1?tls=false')).stderr).toContain(
      `there is no event log in ${nowhere}`,
    );
    expect(existsSync(nowhere)).toBe(false);
    expect((await migrate('--from', source.dataDir, '--to', 'http://127.0.0.1:1')).stderr).toContain(
      '--to is the connection string of the target',
    );
    expect((await migrate('--from', source.dataDir)).stderr).toContain(
      'name the target with --to esdb://... or in EVENTSTORE_URL',
    );
    const shown = await migrate('--from', source.dataDir, '--to', 'esdb://admin:changeit@127.0.0.1:1?tls=false');
    expect(shown.stderr).toContain('--to holds a password');
    expect(shown.stderr).not.toContain('changeit');
    const silent = await migrate('--from', source.dataDir, '--to', 'esdb://127.0.0.1:1?tls=false');
    expect(silent.stderr).toContain('the target esdb://127.0.0.1:1?tls=false does not respond');
  });

  it('leaves nothing behind in the temporary folder', () => {
    expect(readdirSync(temporary)).toEqual([]);
  });
});
