import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROJECTIONS } from '../../../../src/look-ups/projections.ts';
import type { AppendRequest, EventStore, RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { encodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { CopyRefused, copyRest, standingOf } from '../../../../src/runtime/event-log/log-copy.ts';
import { differingStreams, digestOf } from '../../../../src/runtime/event-log/log-digest.ts';
import { projectionDigests } from '../../../../src/runtime/projections/digest.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { appendHistory, historyOf, steps } from '../../../support/random-history.ts';

/** Positions are each store's own. */
const withoutPositions = (events: readonly RecordedEvent[]) => events.map(({ position: _, ...event }) => event);

async function sourceOf(drawn: Parameters<typeof historyOf>[0]): Promise<MemoryEventStore> {
  const store = new MemoryEventStore();
  await appendHistory(store, historyOf(drawn).entries);
  return store;
}

/** Ends like a killed process: after so many appends nothing is written any more. */
function endingAfter(appends: number, store: EventStore): Pick<EventStore, 'append'> {
  let left = appends;
  return {
    append: (request: AppendRequest) => {
      if (left === 0) return Promise.reject(new Error('killed'));
      left -= 1;
      return store.append(request);
    },
  };
}

async function copyAll(source: EventStore, target: EventStore): Promise<number> {
  const standing = await standingOf(source, target);
  await copyRest(source, target, standing);
  return standing.copied;
}

async function appendNote(store: EventStore, stream: string, period: string): Promise<void> {
  const last = await store.lastOfStream(stream);
  const revision = (last?.revision ?? -1) + 1;
  const metadata = { correlationId: 'test', actor: 'test', prev: last?.hash ?? '' };
  const event = { type: 'SecretGenerated', data: { purpose: period, version: 1, sealed: 'sealed' } } as never;
  const encoded = encodeEvent({ id: randomUUID(), stream, revision, atMs: 1, event, metadata });
  await store.append({ stream, expected: revision === 0 ? 'no-stream' : revision - 1, events: [encoded] });
}

describe('copying a log', () => {
  it('ends with the same events in the same order wherever and however often it was broken off', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 4 }), async (drawn, ends) => {
        const source = await sourceOf(drawn);
        const target = new MemoryEventStore();
        for (const appends of ends) {
          const standing = await standingOf(source, target);
          await copyRest(source, endingAfter(appends, target), standing).catch(() => undefined);
        }
        await copyAll(source, target);
        expect(withoutPositions(target.events)).toEqual(withoutPositions(source.events));
        expect(await copyAll(source, target)).toBe(source.events.length);
      }),
      { numRuns: 25 },
    );
  });

  it('refuses a target that holds something else, and writes nothing to it', async () => {
    const source = new MemoryEventStore();
    await appendNote(source, 'secrets-a', 'one');
    const target = new MemoryEventStore();
    await appendNote(target, 'secrets-a', 'two');
    await expect(copyAll(source, target)).rejects.toThrow(CopyRefused);
    await expect(copyAll(source, target)).rejects.toThrow(
      'the target is not a copy of the source: its event 1 is event 0 of stream secrets-a',
    );
    expect(target.events).toHaveLength(1);
  });

  it('refuses a target that received further events after the copy', async () => {
    const source = new MemoryEventStore();
    await appendNote(source, 'secrets-a', 'one');
    const target = new MemoryEventStore();
    await copyAll(source, target);
    await appendNote(target, 'secrets-a', 'two');
    await expect(copyAll(source, target)).rejects.toThrow('the target holds more than the source');
  });

  it('stops if somebody else writes to the target meanwhile', async () => {
    const source = new MemoryEventStore();
    for (const stream of ['secrets-a', 'secrets-b']) await appendNote(source, stream, 'one');
    const target = new MemoryEventStore();
    await appendNote(target, 'secrets-b', 'theirs');
    await expect(copyRest(source, target, { copied: 0, after: null })).rejects.toThrow(
      'stream secrets-b of the target ends at revision 0 instead of no-stream: somebody else writes to it',
    );
  });

  it('copies what was committed together to one stream in one append', async () => {
    const source = new MemoryEventStore();
    for (const stream of ['secrets-a', 'secrets-a', 'secrets-b', 'secrets-a']) await appendNote(source, stream, 'one');
    const sizes: number[] = [];
    const target = new MemoryEventStore();
    await copyRest(
      source,
      {
        append: (request) => {
          sizes.push(request.events.length);
          return target.append(request);
        },
      },
      { copied: 0, after: null },
    );
    expect(sizes).toEqual([2, 1, 1]);
  });
});

describe('the digests of a log', () => {
  it('are equal for equal logs, and differ for another order or a missing event', async () => {
    const logs = await Promise.all(
      [['a', 'b'], ['a', 'b'], ['b', 'a'], ['a']].map(async (names) => {
        const store = new MemoryEventStore();
        for (const name of names) {
          const stream = `secrets-${name}`;
          const event = { type: 'SecretGenerated', data: { purpose: name, version: 1, sealed: 'sealed' } } as never;
          const metadata = { correlationId: 'test', actor: 'test', prev: '' };
          const encoded = encodeEvent({
            id: `00000000-0000-4000-8000-00000000000${name}`,
            stream,
            revision: 0,
            atMs: 1,
            event,
            metadata,
          });
          await store.append({ stream, expected: 'no-stream', events: [encoded] });
        }
        return digestOf(store);
      }),
    );
    const [one, same, reversed, shorter] = logs as [
      (typeof logs)[0],
      (typeof logs)[0],
      (typeof logs)[0],
      (typeof logs)[0],
    ];
    expect(one).toEqual(same);
    expect(reversed.log).not.toBe(one.log);
    expect(reversed.heads).toBe(one.heads);
    expect(shorter.heads).not.toBe(one.heads);
    expect(differingStreams(one, shorter, 5)).toEqual(['secrets-b']);
  });

  it('cannot be had of a log with a changed text or a missing event', async () => {
    const store = new MemoryEventStore();
    for (const text of ['one', 'two', 'three']) await appendNote(store, 'secrets-a', text);
    const [first, second, third] = store.events as [RecordedEvent, RecordedEvent, RecordedEvent];
    const reading = (events: readonly RecordedEvent[]) => ({
      readAll: ({ after }: { after: string | null }) => Promise.resolve(after === null ? [...events] : []),
    });
    await expect(digestOf(reading([first, { ...second, data: '{}' }, third]))).rejects.toThrow(
      'event 1 of stream secrets-a does not have the hash',
    );
    await expect(digestOf(reading([first, third]))).rejects.toThrow(
      'event 2 of stream secrets-a comes where event 1 belongs',
    );
  });
});

describe('the digest of the look-ups', () => {
  it('is the same for a copy, whatever positions its store gives, and another one when an event is missing', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (drawn) => {
        const source = await sourceOf(drawn);
        fc.pre(source.events.length > 3);
        const elsewhere = {
          readAll: async (options: Parameters<EventStore['readAll']>[0]) =>
            (await source.readAll(shifted(options))).map(moved),
        };
        const wanted = await projectionDigests(source, new MemoryReadModel(), PROJECTIONS);
        expect(await projectionDigests(elsewhere, new MemoryReadModel(), PROJECTIONS)).toEqual(wanted);
        const lacking = new MemoryEventStore();
        for (const event of source.events.filter(({ stream }) => stream !== source.events[0]!.stream))
          await lacking.append({
            stream: event.stream,
            expected: event.revision === 0 ? 'no-stream' : event.revision - 1,
            events: [event],
          });
        const less = await projectionDigests(lacking, new MemoryReadModel(), PROJECTIONS);
        expect(less[0]!.digest).not.toBe(wanted[0]!.digest);
      }),
      { numRuns: 10 },
    );
  });
});

const moved = (event: RecordedEvent): RecordedEvent => ({ ...event, position: String(Number(event.position) + 1_000) });
const shifted = (options: Parameters<EventStore['readAll']>[0]) => ({
  ...options,
  after: options.after === null ? null : String(Number(options.after) - 1_000),
});
