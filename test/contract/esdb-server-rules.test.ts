import { randomUUID } from 'node:crypto';
import {
  ANY,
  type AppendExpectedRevision,
  type AppendResult,
  BACKWARDS,
  binaryEvent,
  END,
  EventStoreDBClient,
  FORWARDS,
  NO_STREAM,
  type Position,
  START,
  STREAM_EXISTS,
  streamNameFilter,
} from '@eventstore/db-client';
import { afterAll, describe, expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { positionText } from '../../src/adapters/esdb/position.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import type { ServerRules } from '../support/esdb-double/double-log.ts';
import { TARGET } from '../support/esdb-double/esdb-target.ts';
import { serverName, serverVersion } from '../support/esdb-double/server-version.ts';

/*
 * What the server does, told by the unmodified client: the rules that the adapter relies on and the double must keep.
 * Run against a real server (EVENTSTORE_URL) it says where the double is wrong.
 */

interface Target {
  /** Its name and version, or those that the double stands for. */
  readonly server: string;
  readonly rules: ServerRules;
  readonly connectionString: string;
  readonly batching: EventStoreDBClient;
  readonly single: EventStoreDBClient;
}

const doubles: EsdbDouble[] = [];

async function targetOn(connectionString: string, given?: ServerRules): Promise<Target> {
  const batching = EventStoreDBClient.connectionString(connectionString);
  const single = EventStoreDBClient.connectionString(connectionString);
  Object.defineProperty(single, 'supports', { value: () => Promise.resolve(false) });
  const version = await serverVersion(connectionString);
  return { connectionString, server: serverName(version), rules: given ?? rulesOf(version), batching, single };
}

/**
 * What changed since: a subscription from an invalid position has an answer of its own (24.10), and an append may be as long as a chunk
 * (25.1).
 */
function rulesOf(version: string): ServerRules {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const release = major * 100 + minor;
  return release >= 2501 ? '25.1' : release >= 2410 ? '24.10' : '23.10';
}

async function doubleOf(rules: ServerRules): Promise<Target> {
  const double = await EsdbDouble.start({ rules });
  doubles.push(double);
  return targetOn(double.connectionString, rules);
}

const url = process.env['EVENTSTORE_URL'];
const targets = url ? [await targetOn(url)] : [await doubleOf('23.10'), await doubleOf('25.1')];
afterAll(async () => {
  await Promise.all(targets.flatMap(({ batching, single }) => [batching.dispose(), single.dispose()]));
  await Promise.all(doubles.map((double) => double.stop()));
});

const newStream = (): string => `rules-${randomUUID()}`;
const newEvent = (bytes = 4) =>
  binaryEvent({ id: randomUUID(), type: 'Sample', data: new Uint8Array(bytes), metadata: new Uint8Array(0) });
type NewEvent = ReturnType<typeof newEvent>;

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe.each(targets)('the rules of $server', ({ rules, connectionString, batching, single }) => {
  /** The stream's events as they lie in the log, with their positions. */
  async function logged(
    stream: string,
  ): Promise<{ readonly id: string; readonly revision: bigint; readonly position: Position }[]> {
    const events = await collect(single.readStream(stream, { direction: FORWARDS, fromRevision: START }));
    return events.map(({ event }) => ({ id: event!.id, revision: event!.revision, position: event!.position! }));
  }

  describe.each([
    ['a call each', single],
    ['batch append', batching],
  ])(`EventStoreDB (${TARGET}) with %s`, (_, client) => {
    const append = (
      stream: string,
      expectedRevision: AppendExpectedRevision,
      ...events: NewEvent[]
    ): Promise<AppendResult> => client.appendToStream(stream, events, { expectedRevision, requiresLeader: true });
    /** How it was refused, in one word and the stream's revision. */
    const refused = async (
      stream: string,
      expectedRevision: AppendExpectedRevision,
      ...events: NewEvent[]
    ): Promise<unknown> => {
      const error = (await append(stream, expectedRevision, ...events).catch((reason: unknown) => reason)) as {
        type?: string;
        actualVersion?: unknown;
      };
      return [error.type, error.actualVersion];
    };

    test('returns the position of the last event of an append', async () => {
      const stream = newStream();
      const result = await append(stream, NO_STREAM, newEvent(), newEvent(), newEvent());
      expect(result).toMatchObject({
        success: true,
        nextExpectedRevision: 2n,
        position: (await logged(stream))[2]!.position,
      });
    });

    test('confirms a replay of all events or of a contiguous part, with the position of its last event', async () => {
      const stream = newStream();
      const [a, b, c] = [newEvent(), newEvent(), newEvent()];
      await append(stream, NO_STREAM, a);
      await append(stream, 0n, b, c);
      await append(stream, 2n, newEvent());
      const places = await logged(stream);
      const at = (revision: number) => ({
        nextExpectedRevision: BigInt(revision),
        position: places[revision]!.position,
      });
      expect(await append(stream, NO_STREAM, a)).toMatchObject(at(0));
      expect(await append(stream, NO_STREAM, a, b, c)).toMatchObject(at(2));
      expect(await append(stream, 0n, b)).toMatchObject(at(1));
      expect(await append(stream, 1n, c)).toMatchObject(at(2));
      expect(await append(stream, ANY, b, c)).toMatchObject(at(2));
      expect(await logged(stream)).toEqual(places);
    });

    test('refuses an append that only begins like a replay, and stores nothing of it', async () => {
      const stream = newStream();
      const [a, b, c] = [newEvent(), newEvent(), newEvent()];
      await append(stream, NO_STREAM, a, b, c);
      for (const other of [
        [a, newEvent()],
        [a, b, newEvent()],
        [a, b, c, newEvent()],
        [b, a, c],
      ])
        expect(await refused(stream, NO_STREAM, ...other)).toEqual(['wrong-expected-version', 2n]);
      expect(await refused(stream, ANY, c, newEvent())).toEqual(['wrong-expected-version', 2n]);
      expect(await logged(stream)).toHaveLength(3);
    });

    test('refuses an append at another revision and returns the current one', async () => {
      const stream = newStream();
      await append(stream, NO_STREAM, newEvent(), newEvent());
      expect(await refused(stream, NO_STREAM, newEvent())).toEqual(['wrong-expected-version', 1n]);
      expect(await refused(stream, 0n, newEvent())).toEqual(['wrong-expected-version', 1n]);
      expect(await refused(stream, 7n, newEvent())).toEqual(['wrong-expected-version', 1n]);
      for (const expected of [0n, STREAM_EXISTS] as const)
        expect(await refused(newStream(), expected, newEvent())).toEqual(['wrong-expected-version', 'no_stream']);
    });

    test('stores an event id again at another place: only the same place is a replay', async () => {
      const stream = newStream();
      const event = newEvent();
      await append(stream, NO_STREAM, event);
      expect(await append(stream, 0n, event)).toMatchObject({ success: true, nextExpectedRevision: 1n });
      expect((await logged(stream)).map(({ id }) => id)).toEqual([event.id, event.id]);
    });

    test('accepts an append of more than 1 MiB only since 25.1, and stores nothing of one that it refuses', async () => {
      const stream = newStream();
      if (rules === '25.1') {
        expect(await append(stream, NO_STREAM, newEvent(600 * 1024), newEvent(600 * 1024))).toMatchObject({
          success: true,
          nextExpectedRevision: 1n,
        });
        return;
      }
      const [error] = (await refused(stream, NO_STREAM, newEvent(600 * 1024), newEvent(600 * 1024))) as [string];
      expect(error).toBe('maximum-append-size-exceeded');
      expect(await refused(stream, 0n, newEvent())).toEqual(['wrong-expected-version', 'no_stream']);
      expect(await append(stream, NO_STREAM, newEvent(1024 * 1024 - 64))).toMatchObject({ success: true });
    });

    test('lets a deleted stream continue after its old revisions, and does not recognise a replay of that by "no stream"', async () => {
      const stream = newStream();
      const old = newEvent();
      await append(stream, NO_STREAM, old, newEvent());
      expect((await client.deleteStream(stream)).position).toBeDefined();
      await expect(logged(stream)).rejects.toMatchObject({ type: 'stream-not-found' });
      const late = await append(stream, NO_STREAM, old);
      expect([late.nextExpectedRevision, late.position]).toEqual([0n, undefined]);
      const event = newEvent();
      expect(await append(stream, NO_STREAM, event)).toMatchObject({ success: true, nextExpectedRevision: 2n });
      expect((await logged(stream)).map(({ id, revision }) => [id, revision])).toEqual([[event.id, 2n]]);
      expect(await refused(stream, NO_STREAM, event)).toEqual(['wrong-expected-version', 2n]);
      expect(await append(stream, 1n, event)).toMatchObject({ success: true, nextExpectedRevision: 2n });
    });

    test('deletes a deleted stream again, and refuses for one that never was or is elsewhere', async () => {
      const stream = newStream();
      await append(stream, NO_STREAM, newEvent());
      await expect(client.deleteStream(stream, { expectedRevision: 5n })).rejects.toMatchObject({
        type: 'wrong-expected-version',
      });
      await client.deleteStream(stream);
      expect((await client.deleteStream(stream)).position).toBeDefined();
      await expect(client.deleteStream(newStream())).rejects.toMatchObject({ type: 'wrong-expected-version' });
    });

    test('never accepts or shows anything of a tombstoned stream again', async () => {
      const stream = newStream();
      const event = newEvent();
      await append(stream, NO_STREAM, event);
      await client.tombstoneStream(stream);
      expect(await refused(stream, NO_STREAM, event)).toEqual(['stream-deleted', undefined]);
      await expect(logged(stream)).rejects.toMatchObject({ type: 'stream-deleted' });
      await expect(client.deleteStream(stream)).rejects.toMatchObject({ type: 'stream-deleted' });
    });
  });

  describe(`The log of EventStoreDB (${TARGET})`, () => {
    test('is read forwards from a position on, backwards from before it, and from no place between two records', async () => {
      const stream = newStream();
      await single.appendToStream(stream, [newEvent(), newEvent(), newEvent()], { expectedRevision: NO_STREAM });
      const places = await logged(stream);
      const read = async (direction: typeof FORWARDS | typeof BACKWARDS, { commit, prepare }: Position) =>
        (await collect(single.readAll({ direction, fromPosition: { commit, prepare }, maxCount: 1 }))).map(
          ({ event }) => event!.id,
        );
      const [first, middle] = [places[0]!, places[1]!];
      expect(await read(FORWARDS, middle.position)).toEqual([middle.id]);
      expect(await read(BACKWARDS, middle.position)).toEqual([first.id]);
      const between = { commit: middle.position.commit + 1n, prepare: middle.position.prepare + 1n };
      await expect(read(FORWARDS, between)).rejects.toMatchObject({
        type: 'unknown',
        message: expect.stringContaining('UNKNOWN'),
      });
      const beyond = { commit: middle.position.commit + 10n ** 9n, prepare: middle.position.prepare + 10n ** 9n };
      expect(await read(FORWARDS, beyond)).toEqual([]);
    });

    test('shows the mark of a deleted stream among the server’s own streams', async () => {
      const stream = newStream();
      await single.appendToStream(stream, newEvent(), { expectedRevision: NO_STREAM });
      await single.deleteStream(stream);
      const newest = await collect(single.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 200 }));
      expect(newest.map(({ event }) => event!.streamId)).toContain(`$$${stream}`);
    });

    /** What a filtered subscription says until it has caught up or failed. */
    const heard = (fromPosition: Position, prefix: string): Promise<string[]> =>
      new Promise((resolve) => {
        const said: string[] = [];
        const subscription = single.subscribeToAll({ fromPosition, filter: streamNameFilter({ prefixes: [prefix] }) });
        const end = (word: string): void => {
          resolve([...said, word]);
          void subscription.unsubscribe().catch(() => {});
        };
        subscription.on('data', ({ event }) => void said.push(event!.id));
        subscription.on('caughtUp', () => end('caught up'));
        subscription.on('error', ({ message }) => end(message));
      });

    test('is handed over behind a position, and says when that was all', async () => {
      const stream = newStream();
      await single.appendToStream(stream, [newEvent(), newEvent()], { expectedRevision: NO_STREAM });
      await single.appendToStream(newStream(), newEvent(), { expectedRevision: NO_STREAM });
      const places = await logged(stream);
      const [first, last] = [places[0]!, places[1]!];
      expect(await heard(first.position, stream)).toEqual([last.id, 'caught up']);
      expect(await heard(last.position, stream)).toEqual(['caught up']);
      expect(await heard(first.position, 'nothing-of-this-name-')).toEqual(['caught up']);
      const { commit, prepare } = last.position;
      expect(await heard({ commit: commit + 10n ** 9n, prepare: prepare + 10n ** 9n }, stream)).toEqual(['caught up']);
      const [broken] = await heard({ commit: commit + 1n, prepare: prepare + 1n }, stream);
      expect(broken).toContain(
        rules !== '23.10' ? 'Trying to read from an invalid position' : 'Exception was thrown by handler',
      );
    });

    test('is checkpointed for a subscription that wants nothing of it', async () => {
      const checkpoints: Position[] = [];
      const filter = streamNameFilter({
        prefixes: ['nothing-of-this-name-'],
        checkpointInterval: 1,
        checkpointReached: async (_, position) => void checkpoints.push(position),
      });
      const subscription = single.subscribeToAll({ fromPosition: END, filter });
      await new Promise((resolve) => subscription.once('caughtUp', resolve));
      const streams = Array.from({ length: 70 }, newStream);
      await Promise.all(
        streams.map((stream) => single.appendToStream(stream, newEvent(), { expectedRevision: NO_STREAM })),
      );
      const firsts = await Promise.all(streams.map(async (stream) => (await logged(stream))[0]!.position.commit));
      await expect.poll(() => checkpoints.some(({ commit }) => firsts.includes(commit)), { timeout: 5_000 }).toBe(true);
      await subscription.unsubscribe();
    });
  });

  test('make the adapter report an unavailable store for a position that does not exist', async () => {
    const store = await openEsdbEventStore({
      connectionString,
      namespace: `t${randomUUID()}:`,
      attemptMs: 2_000,
      totalMs: 1_000,
    });
    try {
      const stream = newStream();
      await single.appendToStream(stream, [newEvent(), newEvent()], { expectedRevision: NO_STREAM });
      const [first] = await logged(stream);
      const { commit, prepare } = first!.position;
      const between = positionText({ commit: commit + 1n, prepare: prepare + 1n });
      await expect(store.readAll({ after: between, limit: 1 })).rejects.toThrow(StoreUnavailable);
    } finally {
      await store.close();
    }
  });
});
