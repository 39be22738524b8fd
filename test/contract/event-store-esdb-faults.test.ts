import { createHash } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type EsdbEventStoreOptions, openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { type EventStore, type RecordedEvent, StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { afterAppend, appendOf, FIRST, grow, idsOf, readWholeLog, sampleEvent, until } from './event-store-samples.ts';

const QUICK = { attemptMs: 250, totalMs: 4_000, subscriptionTimes: { longestPauseMs: 50, silenceMs: 300 } };

let double: EsdbDouble;
const stores: EventStore[] = [];
const doubles: EsdbDouble[] = [];

async function open(options: Partial<EsdbEventStoreOptions> = {}): Promise<EventStore> {
  const store = await openEsdbEventStore({ connectionString: double.connectionString, ...QUICK, ...options });
  stores.push(store);
  return store;
}

async function startDouble(...options: Parameters<typeof EsdbDouble.start>): Promise<EsdbDouble> {
  const started = await EsdbDouble.start(...options);
  doubles.push(started);
  return started;
}

beforeEach(async () => void (double = await startDouble()));
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await Promise.all(doubles.splice(0).map((started) => started.stop()));
});

describe('an append to EventStoreDB with an unknown outcome (double)', () => {
  test.each([
    'silent',
    'silent-after-commit',
    'unavailable',
    'unavailable-after-commit',
    'timeout-after-commit',
  ] as const)('because of %s is asked again with the same ids and stored once', async (kind) => {
    const store = await open();
    const request = appendOf('s-1', FIRST, 3);
    double.faults.plan('append', { kind }, { kind });
    const result = await store.append(request);
    expect(double.appendCalls).toBe(3);
    const log = await readWholeLog(store);
    expect(idsOf(log)).toEqual(idsOf(request.events));
    expect(result).toEqual({ ok: true, revision: 2, position: log[2]!.position });
  });

  test('stays unknown when nobody responds in time, and the next caller gets the same error', async () => {
    const store = await open({ attemptMs: 100, totalMs: 400 });
    double.faults.plan('append', ...Array.from({ length: 20 }, () => ({ kind: 'silent-after-commit' }) as const));
    const request = appendOf('s-1', FIRST);
    await expect(store.append(request)).rejects.toThrow(StoreUnavailable);
    while (double.faults.take('append'));
    const stored = (await store.lastOfStream('s-1'))!;
    expect(await store.append(request)).toEqual({ ok: true, revision: 0, position: stored.position });
  });

  test('and that somebody else overtook is refused with the revision that won', async () => {
    const store = await open();
    double.faults.plan('append', { kind: 'unavailable' });
    const lost = store.append(appendOf('s-1', FIRST));
    const other = await open();
    const won = other.append(appendOf('s-1', FIRST, 2));
    const results = await Promise.all([lost, won]);
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(results.find(({ ok }) => !ok)).toMatchObject({ ok: false });
  });

  test('returns the position of the last of several events, also for a replay', async () => {
    const store = await open();
    const request = appendOf('s-1', FIRST, 4);
    const first = await store.append(request);
    expect(await store.append(request)).toEqual(first);
    expect(first).toMatchObject({ position: (await store.lastOfStream('s-1'))!.position });
  });
});

test('calls that begin while another one loses their node come through (double)', async () => {
  const store = await open();
  for (let round = 0; round < 3; round += 1) {
    double.faults.plan('append', { kind: 'unavailable' }, { kind: 'unavailable-after-commit' });
    const streams = Array.from({ length: 40 }, (_, index) => `s-${round}-${index}`);
    const results = await Promise.all(streams.map((stream) => store.append(appendOf(stream, FIRST))));
    expect(results.every(({ ok }) => ok)).toBe(true);
  }
  expect(await readWholeLog(store)).toHaveLength(120);
});

describe('a cluster of EventStoreDB (double)', () => {
  test('is followed to its new leader, for appends and reads', async () => {
    const second = await startDouble({ log: double.log });
    double.gossipOf([double, second]);
    second.gossipOf([double, second]);
    second.follow(double);
    const store = await open({
      connectionString: `esdb://127.0.0.1:${double.port},127.0.0.1:${second.port}?tls=false`,
    });
    await grow(store, 's-1', 2);
    second.follow(null);
    double.follow(second);
    await grow(store, 's-1', 3);
    expect(second.appendCalls).toBeGreaterThan(0);
    expect(await store.readStream('s-1')).toHaveLength(5);
  });

  test('that lost its leader for good is unavailable, within the time allowed', async () => {
    const store = await open({ attemptMs: 200, totalMs: 600 });
    await double.stop();
    await expect(store.append(appendOf('s-1', FIRST))).rejects.toThrow(StoreUnavailable);
    await expect(store.readStream('s-1')).rejects.toThrow(StoreUnavailable);
  });

  test('that does not respond cannot be opened, and the error shows no credentials', async () => {
    const connectionString = `esdb://admin:very-secret@127.0.0.1:${double.port}?tls=false`;
    await double.stop();
    const error: unknown = await openEsdbEventStore({ connectionString, attemptMs: 100, totalMs: 300 }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('very-secret');
  });
});

test('a connection string that cannot be read is refused without being shown', async () => {
  const error: unknown = await openEsdbEventStore({ connectionString: 'esdb://admin:very-secret@' }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TypeError);
  expect(`${String(error)} ${(error as Error).stack}`).not.toContain('very-secret');
});

describe('a read from EventStoreDB (double)', () => {
  test.each([{ kind: 'silent' }, { kind: 'unavailable' }] as const)('that meets $kind is read again', async (fault) => {
    const store = await open();
    const [request] = await grow(store, 's-1', 1);
    double.faults.plan('read', fault, fault);
    expect(idsOf(await store.readStream('s-1'))).toEqual(idsOf(request!.events));
    double.faults.plan('read', fault);
    expect(await readWholeLog(store)).toHaveLength(1);
  });

  test('finds the next event of a few streams behind hundreds of others in a few calls', async () => {
    const store = await open({ attemptMs: 2_000 });
    await store.append(appendOf('x-1', FIRST, 600));
    const [first] = await grow(store, 's-1', 2);
    const calls = vi.spyOn(double.faults, 'take');
    expect(idsOf(await store.readAll({ after: null, limit: 1, streamPrefixes: ['s-'] }))).toEqual(idsOf(first!.events));
    expect(calls.mock.calls.length).toBeLessThan(5);
  });

  test('that is slow but progresses is waited for', async () => {
    const store = await open({ attemptMs: 200, totalMs: 3_000 });
    await grow(store, 's-1', 8);
    double.faults.plan('read', ...Array.from({ length: 20 }, () => ({ kind: 'slow', everyMs: 60 }) as const));
    expect(await store.readStream('s-1')).toHaveLength(8);
    expect(await readWholeLog(store)).toHaveLength(8);
  });

  test('may take longer than all attempts together as long as events arrive', async () => {
    const store = await open({ attemptMs: 400, totalMs: 500 });
    await grow(store, 's-1', 12);
    double.faults.plan('read', { kind: 'slow', everyMs: 120 });
    expect(await store.readAll({ after: null, limit: 100 })).toHaveLength(12);
    // It broke after more than that time, and is read again.
    double.faults.plan('read', { kind: 'slow', everyMs: 120, breaksAfter: 8 });
    expect(await store.readStream('s-1')).toHaveLength(12);
  });

  test('never hangs on a silent server', async () => {
    const store = await open({ attemptMs: 100, totalMs: 300 });
    double.faults.plan('read', ...Array.from({ length: 20 }, () => ({ kind: 'silent' }) as const));
    await expect(store.head()).rejects.toThrow(StoreUnavailable);
  });

  test('refuses events that differ from what was written', async () => {
    const store = await open();
    await grow(store, 's-1', 2);
    const at = double.log.events.indexOf(double.log.stream('s-1')[1]!);
    const event = double.log.events[at]!;
    event.data[event.data.length - 3]! ^= 1;
    await expect(store.readStream('s-1')).rejects.toThrow(/event 1 of stream s-1 does not have the hash/);
    expect(await store.readStream('s-1', { limit: 1 })).toHaveLength(1);
  });

  test('refuses a stream that somebody deleted on the server: an append at its beginning does not create a new one', async () => {
    const store = await open();
    await grow(store, 's-1', 2);
    double.log.delete('s-1', 'any');
    await expect(store.append(appendOf('s-1', FIRST))).rejects.toThrow(/stream s-1 was deleted/);
    await expect(store.readStream('s-1')).rejects.toThrow(/does not have the hash/);
  });

  test('keeps several installations on one server apart', async () => {
    const [one, other] = [await open({ namespace: 'one:' }), await open({ namespace: 'other:' })];
    await grow(one, 's-1', 2);
    expect(await other.head()).toBeNull();
    expect(await other.readStream('s-1')).toEqual([]);
    await grow(other, 's-1', 1);
    expect((await readWholeLog(one)).map(({ stream }) => stream)).toEqual(['s-1', 's-1']);
    expect(await one.head()).toBe((await one.lastOfStream('s-1'))!.position);
  });
});

describe('a subscription to EventStoreDB (double)', () => {
  function collect(
    store: EventStore,
    options: { after?: string | null; maxBatch?: number; streamPrefixes?: string[] } = {},
  ) {
    const seen: RecordedEvent[] = [];
    const subscription = store.subscribe({
      name: 'test',
      after: null,
      ...options,
      onEvents: (events) => void seen.push(...events),
    });
    return { seen, subscription };
  }

  test('resumes after the last handled event each time it is dropped, without losing or repeating one', async () => {
    const store = await open();
    const { seen, subscription } = collect(store, { maxBatch: 3 });
    for (let round = 0; round < 4; round += 1) {
      await grow(store, `s-${round}`, 7);
      double.dropSubscriptions();
      await grow(store, `t-${round}`, 3);
    }
    await subscription.reached((await store.head())!);
    expect(seen).toEqual(await readWholeLog(store));
    expect(double.subscribeCalls).toBeGreaterThan(1);
  });

  test('hands over once what the server delivers several times', async () => {
    const store = await open();
    const { seen, subscription } = collect(store);
    await until('it is subscribed', () => double.subscriptions.length === 1);
    await grow(store, 's-1', 2);
    double.subscriptions[0]!.repeatNext(3);
    await grow(store, 's-1', 2);
    await subscription.reached((await store.head())!);
    expect(seen).toEqual(await readWholeLog(store));
  });

  test('shows a lag after falling behind, until it has caught up', async () => {
    const store = await open({ subscriptionTimes: { silenceMs: 60_000 } });
    const { subscription, seen } = collect(store);
    await until('it has caught up', () => subscription.lag === 0);
    double.subscriptions[0]!.stall();
    await until('the lag shows', () => subscription.lag > 0);
    await grow(store, 's-1', 2);
    expect(seen).toEqual([]);
    double.subscriptions[0]!.resume();
    await until('it has caught up again', () => subscription.lag === 0);
    expect(seen).toHaveLength(2);
  });

  test('continues in order after falling behind and catching up without notice from the server', async () => {
    const store = await open({ subscriptionTimes: { silenceMs: 60_000 } });
    const { subscription, seen } = collect(store);
    await until('it has caught up', () => subscription.lag === 0);
    double.subscriptions[0]!.stall({ isTold: false });
    await grow(store, 's-1', 3);
    double.subscriptions[0]!.resume();
    await until('it was handed over', () => seen.length === 3);
    expect(seen).toEqual(await readWholeLog(store));
    expect(double.subscribeCalls).toBe(1);
  });

  test.each([true, false])(
    'that gets no events from a server although the log has some is started again (reported: %s)',
    async (isTold) => {
      const store = await open();
      const { seen, subscription } = collect(store);
      await until('it has caught up', () => subscription.lag === 0);
      double.subscriptions[0]!.stall({ isTold });
      await grow(store, 's-1', 2);
      await until('the events came over another connection', () => seen.length === 2);
      expect(double.subscribeCalls).toBeGreaterThan(1);
    },
  );

  test('that misses an event behind hundreds of others that it does not want is started again', async () => {
    const store = await open({ attemptMs: 2_000 });
    const { seen, subscription } = collect(store, { streamPrefixes: ['s-'] });
    await until('it has caught up', () => subscription.lag === 0);
    double.subscriptions[0]!.stall({ isTold: false });
    await store.append(appendOf('x-1', FIRST, 1_200));
    await grow(store, 's-1', 1);
    await until('the event came over another connection', () => seen.length === 1);
  });

  test('that was dropped often reads the log no more often than one that never was', async () => {
    const store = await open({ subscriptionTimes: { longestPauseMs: 20, silenceMs: 100 } });
    await grow(store, 's-1', 1);
    const { subscription } = collect(store);
    for (let drops = 1; drops <= 10; drops += 1) {
      await until('it is subscribed', () => double.subscribeCalls === drops && subscription.lag === 0);
      double.dropSubscriptions();
    }
    await until('it has caught up', () => double.subscribeCalls === 11 && subscription.lag === 0);
    const calls = vi.spyOn(double.faults, 'take');
    await new Promise((resolve) => setTimeout(resolve, 550));
    expect(calls.mock.calls.length).toBeGreaterThan(0);
    expect(calls.mock.calls.length).toBeLessThan(10);
  });

  test('that is never confirmed is requested again once the log has new events', async () => {
    double.faults.plan('subscribe', { kind: 'silent' }, { kind: 'unavailable' });
    const store = await open();
    const { seen } = collect(store);
    await grow(store, 's-1', 1);
    await until('the event was handed over', () => seen.length === 1);
  });

  test('hands nothing over when its position is beyond the end of the log, and says why', async () => {
    const errors: string[] = [];
    const store = await open({ onSubscriptionError: (name, error) => errors.push(`${name}: ${String(error)}`) });
    await grow(store, 's-1', 1);
    const { seen } = collect(store, { after: 'C:999999/P:999999' });
    await until('it was reported', () => errors.length > 0);
    expect(errors[0]).toMatch(/test: .*beyond the end of the log/);
    expect(seen).toEqual([]);
    expect(() => collect(store, { after: '17' })).toThrow(/not a position/);
  });

  test('stops at a damaged event and reports it', async () => {
    const errors: string[] = [];
    const store = await open({ onSubscriptionError: (_, error) => errors.push(String(error)) });
    await grow(store, 's-1', 6);
    double.log.events[1]!.data[20]! ^= 1;
    const { seen, subscription } = collect(store, { maxBatch: 1 });
    await until('it was reported', () => errors.length > 1);
    expect(errors[0]).toMatch(/does not have the hash/);
    await grow(store, 's-2', 2);
    await until('it was reported again', () => errors.length > 3);
    expect(seen.map(({ revision }) => revision)).toEqual([0]);
    expect(subscription.lag).toBeGreaterThan(0);
  });
});

test('a subscription to EventStoreDB (double) that was full when a damaged event came accepts nothing after it', async () => {
  const errors: string[] = [];
  const store = await open({
    onSubscriptionError: (_, error) => errors.push(String(error)),
    attemptMs: 20_000,
    totalMs: 40_000,
  });
  await store.append(appendOf('s-1', FIRST, 2_600));
  // The handler holds 500, 2,000 wait, and the next few are in the stream's own buffer, which empties at one go.
  double.log.events[2_505]!.data[20]! ^= 1;
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const seen: number[] = [];
  store.subscribe({
    name: 'full',
    after: null,
    maxBatch: 500,
    onEvents: async (events) => {
      await gate;
      seen.push(...events.map(({ revision }) => revision));
    },
  });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  release();
  await until('it was reported twice', () => errors.length > 1);
  expect(seen).toEqual(Array.from({ length: 2_505 }, (_, index) => index).slice(0, seen.length));
  expect(errors[0]).toMatch(/event 2505 of stream s-1 does not have the hash/);
});

describe('an append that is a mistake of its caller (double)', () => {
  test.each([
    ['no events', { events: [] }],
    ['a stream of the server itself', { stream: '$all' }],
    ['a hash of other content', { events: [{ ...sampleEvent('s-1', FIRST), data: '{}' }] }],
    ['more than 1 MiB', { events: [sampleEvent('s-1', FIRST, 'x'.repeat(1024 * 1024))] }],
    ['coCommits', { coCommits: [{ kind: 'nonce', values: ['x'] }] as const }],
  ])('with %s is rejected before anything is sent', async (_, change) => {
    const store = await open();
    await expect(store.append({ ...appendOf('s-1', FIRST), ...change })).rejects.toThrow(TypeError);
    expect(double.appendCalls).toBe(0);
  });

  test('or one too many at once is rejected, and the others are stored', async () => {
    const store = await open({ maxAppends: 4 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) => store.append(appendOf(`s-${index}`, FIRST))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    expect(await readWholeLog(store)).toHaveLength(4);
  });
});

describe('the double itself, driven by the unmodified client', () => {
  test('accepts batch appends, replays them and refuses conflicts as documented', async () => {
    const client = EventStoreDBClient.connectionString(double.connectionString);
    const event = jsonEvent({ id: '6f1b2a5e-0f6c-4b43-9a52-3f1f0a4f7d11', type: 'Sample', data: { n: 1 } });
    try {
      const first = await client.appendToStream('s-1', [event], { expectedRevision: NO_STREAM });
      expect(first).toMatchObject({ success: true, nextExpectedRevision: 0n });
      expect(await client.appendToStream('s-1', [event], { expectedRevision: NO_STREAM })).toEqual(first);
      const other = jsonEvent({ type: 'Sample', data: { n: 2 } });
      const refused: unknown = await client
        .appendToStream('s-1', [other], { expectedRevision: 4n })
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(WrongExpectedVersionError);
      expect(refused).toMatchObject({ expectedVersion: 4n, actualVersion: 0n });
      expect(createHash('sha256').update(double.log.events[0]!.data).digest('hex')).toBe(
        createHash('sha256').update('{"n":1}').digest('hex'),
      );
    } finally {
      await client.dispose();
    }
  });

  test('refuses an append whose revision is taken', async () => {
    const store = await open();
    const [request] = await grow(store, 's-1', 1);
    await grow(store, 's-1', 1);
    expect(await store.append(appendOf('s-1', afterAppend(request!)))).toEqual({ ok: false, actual: 1 });
  });
});
