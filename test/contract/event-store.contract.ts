import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hashRecorded } from '../../src/runtime/commands/codec.ts';
import type { EventStore, RecordedEvent, Subscription } from '../../src/ports/event-log/event-store.ts';
import { afterAppend, appendOf, FIRST, grow, idsOf, readWholeLog, sampleEvent, until } from './event-store-samples.ts';
import { eventStoreModelTests } from './event-store-model.ts';

export interface OpenedStore {
  readonly store: EventStore;
  /** Closes the store and removes what it left behind. */
  dispose(): Promise<void>;
}

/** What every `EventStore` must do. `open` gives an empty store of its own to each test. */
export function eventStoreContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} as an event store`, () => {
    let opened: OpenedStore;
    let store: EventStore;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.dispose());

    appendTests(() => store);
    readTests(() => store);
    subscriptionTests(() => store);
    eventStoreModelTests(open);
  });
}

function appendTests(store: () => EventStore): void {
  test('an appended event is read back byte for byte', async () => {
    const event = sampleEvent('s-1', FIRST, 'é 漢字 \u{1f4b6} " \\ \u2028 \u0000 end');
    const result = await store().append({ stream: 's-1', expected: 'no-stream', events: [event] });
    const [read] = await store().readStream('s-1');
    expect(read).toEqual({ ...event, stream: 's-1', revision: 0, position: read!.position });
    expect(result).toEqual({ ok: true, revision: 0, position: read!.position });
    expect(hashRecorded(read!)).toBe(event.hash);
  });

  test('a stream that exists refuses an append that expects none, and says where it is', async () => {
    await grow(store(), 's-1', 3);
    expect(await store().append(appendOf('s-1', FIRST))).toEqual({ ok: false, actual: 2 });
    expect(await store().readStream('s-1')).toHaveLength(3);
  });

  test('an append at a revision that the stream has passed or not reached is refused', async () => {
    const [first] = await grow(store(), 's-1', 2);
    const behind = appendOf('s-1', afterAppend(first!));
    expect(await store().append(behind)).toEqual({ ok: false, actual: 1 });
    const ahead = appendOf('s-1', { revision: 7, prev: first!.events[0]!.hash });
    expect(await store().append(ahead)).toEqual({ ok: false, actual: 1 });
    expect(await store().append(appendOf('s-2', { revision: 1, prev: '' }))).toEqual({ ok: false, actual: -1 });
    expect(await readWholeLog(store())).toHaveLength(2);
  });

  test('several events of one append are stored together and in order', async () => {
    const request = appendOf('s-1', FIRST, 4);
    const result = await store().append(request);
    const events = await store().readStream('s-1');
    expect(idsOf(events)).toEqual(idsOf(request.events));
    expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2, 3]);
    expect(result).toEqual({ ok: true, revision: 3, position: events[3]!.position });
  });

  test('the same events at the same expected revision answer as the first time and are stored once', async () => {
    const request = appendOf('s-1', FIRST, 2);
    const first = await store().append(request);
    expect(await store().append(request)).toEqual(first);
    const second = appendOf('s-1', afterAppend(request));
    const answer = await store().append(second);
    expect(await store().append(request)).toEqual(first);
    expect(await store().append(second)).toEqual(answer);
    expect(await readWholeLog(store())).toHaveLength(3);
  });

  test('an append that only begins like a stored one is refused', async () => {
    const request = appendOf('s-1', FIRST, 1);
    await store().append(request);
    const longer = { ...request, events: [...request.events, sampleEvent('s-1', afterAppend(request))] };
    expect(await store().append(longer)).toEqual({ ok: false, actual: 0 });
    expect(await store().readStream('s-1')).toHaveLength(1);
  });

  test('of many concurrent appends at one revision exactly one is accepted', async () => {
    await grow(store(), 's-1', 1);
    const last = (await store().lastOfStream('s-1'))!;
    const results = await Promise.all(
      Array.from({ length: 20 }, () => store().append(appendOf('s-1', { revision: 1, prev: last.hash }))),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(results.filter(({ ok }) => !ok).every((result) => !result.ok && result.actual === 1)).toBe(true);
    expect(await store().readStream('s-1')).toHaveLength(2);
  });

  test('concurrent writers of many streams leave each stream gapless and the log complete', async () => {
    const streams = Array.from({ length: 16 }, (_, index) => `s-${index}`);
    await Promise.all(streams.map((stream) => grow(store(), stream, 12)));
    const log = await readWholeLog(store(), 37);
    expect(new Set(idsOf(log)).size).toBe(16 * 12);
    for (const stream of streams) {
      const events = log.filter((event) => event.stream === stream);
      expect(events.map(({ revision }) => revision)).toEqual(Array.from({ length: 12 }, (_, index) => index));
      expect(events).toEqual(await store().readStream(stream));
    }
  });
}

function readTests(store: () => EventStore): void {
  test('an empty log has no head, no streams and nothing to read', async () => {
    expect(await store().head()).toBeNull();
    expect(await store().readStream('s-1')).toEqual([]);
    expect(await store().lastOfStream('s-1')).toBeNull();
    expect(await store().readAll({ after: null, limit: 10 })).toEqual([]);
  });

  test('a stream is read from any revision up to any number of events', async () => {
    const requests = await grow(store(), 's-1', 6);
    const ids = requests.flatMap(({ events }) => idsOf(events));
    expect(idsOf(await store().readStream('s-1', { from: 2 }))).toEqual(ids.slice(2));
    expect(idsOf(await store().readStream('s-1', { limit: 2 }))).toEqual(ids.slice(0, 2));
    expect(idsOf(await store().readStream('s-1', { from: 3, limit: 2 }))).toEqual(ids.slice(3, 5));
    expect(await store().readStream('s-1', { from: 6 })).toEqual([]);
    expect((await store().lastOfStream('s-1'))!.id).toBe(ids[5]);
  });

  test('stream names are exact: no prefix, case or pattern matches another', async () => {
    await grow(store(), 'session-a', 1);
    for (const other of ['session-', 'session-A', 'session-ab', 'session-%', 'session-*', 'session-_']) {
      expect(await store().readStream(other)).toEqual([]);
      expect(await store().lastOfStream(other)).toBeNull();
    }
  });

  test('the log is read in the order of the appends, after any position, page by page', async () => {
    const ids: string[] = [];
    for (const stream of ['a-1', 'b-1', 'a-1', 'c-1', 'b-1', 'a-2'])
      ids.push(...(await grow(store(), stream, 1)).flatMap(({ events }) => idsOf(events)));
    const log = await readWholeLog(store(), 2);
    expect(idsOf(log)).toEqual(ids);
    expect(await store().head()).toBe(log.at(-1)!.position);
    expect(idsOf(await store().readAll({ after: log[1]!.position, limit: 3 }))).toEqual(ids.slice(2, 5));
    expect(await store().readAll({ after: log.at(-1)!.position, limit: 3 })).toEqual([]);
  });

  test('reading by prefixes gives the events of their streams only, and as many as asked for', async () => {
    for (const stream of ['a-1', 'b-1', 'ab-1', 'a-2', 'c-1', 'a-1']) await grow(store(), stream, 1);
    const streamsOf = (events: readonly RecordedEvent[]): string[] => events.map(({ stream }) => stream);
    expect(streamsOf(await store().readAll({ after: null, limit: 10, streamPrefixes: ['a-'] }))).toEqual([
      'a-1',
      'a-2',
      'a-1',
    ]);
    expect(streamsOf(await store().readAll({ after: null, limit: 2, streamPrefixes: ['a-', 'c-'] }))).toEqual([
      'a-1',
      'a-2',
    ]);
    expect(await store().readAll({ after: null, limit: 10, streamPrefixes: ['z-'] })).toEqual([]);
  });
}

function subscriptionTests(store: () => EventStore): void {
  const subscriptions: Subscription[] = [];
  afterEach(async () => void (await Promise.all(subscriptions.splice(0).map((subscription) => subscription.close()))));

  function collect(options: { after?: string | null; streamPrefixes?: readonly string[]; maxBatch?: number } = {}): {
    subscription: Subscription;
    seen: RecordedEvent[];
    caughtUp: () => number;
  } {
    const seen: RecordedEvent[] = [];
    let caughtUp = 0;
    const { after = null, ...rest } = options;
    const subscription = store().subscribe({
      name: 'test',
      after,
      ...rest,
      onEvents: (events) => void seen.push(...events),
      onCaughtUp: () => (caughtUp += 1),
    });
    subscriptions.push(subscription);
    return { subscription, seen, caughtUp: () => caughtUp };
  }

  test('a subscription delivers past events and then new ones, in order, nothing twice', async () => {
    await grow(store(), 's-1', 5);
    const { subscription, seen, caughtUp } = collect({ maxBatch: 2 });
    await until('the past was handed over', () => caughtUp() > 0);
    await Promise.all(['s-2', 's-3', 's-4'].map((stream) => grow(store(), stream, 5)));
    await subscription.reached((await store().head())!);
    expect(seen).toEqual(await readWholeLog(store()));
    expect(subscription.position).toBe(await store().head());
    expect(subscription.lag).toBe(0);
  });

  test('a subscription that begins while appends go on misses nothing and repeats nothing', async () => {
    const writers = Promise.all(['s-1', 's-2', 's-3'].map((stream) => grow(store(), stream, 40)));
    await grow(store(), 's-0', 5);
    const one = collect({ maxBatch: 3 });
    await writers;
    await one.subscription.reached((await store().head())!);
    expect(one.seen).toEqual(await readWholeLog(store()));
  });

  test('a subscription begins after the position it is given', async () => {
    await grow(store(), 's-1', 6);
    const log = await readWholeLog(store());
    const { subscription, seen } = collect({ after: log[3]!.position });
    expect(subscription.position).toBe(log[3]!.position);
    await subscription.reached(log[5]!.position);
    expect(seen).toEqual(log.slice(4));
  });

  test('a subscription by prefixes sees their streams only, and reaches positions of others', async () => {
    await grow(store(), 'a-1', 2);
    const { subscription, seen } = collect({ streamPrefixes: ['a-', 'c-'] });
    for (const stream of ['b-1', 'c-1', 'a-1', 'b-1']) await grow(store(), stream, 1);
    await subscription.reached((await store().head())!);
    expect(seen.map(({ stream }) => stream)).toEqual(['a-1', 'a-1', 'c-1', 'a-1']);
    expect(subscription.position).toBe(seen.at(-1)!.position);
  });

  test('a batch whose handler rejects is delivered again before anything else', async () => {
    await grow(store(), 's-1', 4);
    const batches: string[][] = [];
    let failures = 2;
    const subscription = store().subscribe({
      name: 'failing',
      after: null,
      maxBatch: 2,
      onEvents: async (events) => {
        batches.push(idsOf(events));
        if (failures-- > 0) throw new Error('not now');
      },
    });
    subscriptions.push(subscription);
    await subscription.reached((await store().head())!);
    const ids = idsOf(await readWholeLog(store()));
    expect(batches).toEqual([ids.slice(0, 2), ids.slice(0, 2), ids.slice(0, 2), ids.slice(2)]);
  });

  test('the next batch waits until the handler of the last has settled, and the lag shows', async () => {
    await grow(store(), 's-1', 3);
    const log = await readWholeLog(store());
    let running = 0;
    let most = 0;
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const subscription = store().subscribe({
      name: 'slow',
      after: null,
      maxBatch: 1,
      onEvents: async () => {
        running += 1;
        most = Math.max(most, running);
        await gate;
        running -= 1;
      },
    });
    subscriptions.push(subscription);
    await until('the first batch is being handled', () => running === 1);
    await grow(store(), 's-2', 2);
    expect(subscription.position).toBeNull();
    expect(subscription.lag).toBeGreaterThan(0);
    release();
    await subscription.reached((await store().head())!);
    expect(most).toBe(1);
    expect(subscription.position).not.toBe(log[2]!.position);
  });

  test('reached resolves only when the handler of that position is done', async () => {
    let handled = false;
    const subscription = store().subscribe({
      name: 'reach',
      after: null,
      onEvents: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        handled = true;
      },
    });
    subscriptions.push(subscription);
    const result = await store().append(appendOf('s-1', FIRST));
    if (!result.ok) throw new Error('refused');
    await subscription.reached(result.position);
    expect(handled).toBe(true);
  });

  test('being caught up is reported on an empty log, and again after each batch of new events', async () => {
    const { subscription, caughtUp } = collect();
    await until('the empty log was caught up with', () => caughtUp() === 1);
    await grow(store(), 's-1', 1);
    await subscription.reached((await store().head())!);
    await until('the new event was caught up with', () => caughtUp() === 2);
  });

  test('a closed subscription hands over nothing more', async () => {
    const { subscription, seen } = collect();
    await grow(store(), 's-1', 1);
    await subscription.reached((await store().head())!);
    await subscription.close();
    await grow(store(), 's-1', 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(seen).toHaveLength(1);
  });
}
