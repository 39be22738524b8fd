import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AppendRequest, AppendResult, EventStore, RecordedEvent } from '../../src/ports/event-log/event-store.ts';
import type { OpenedStore } from './event-store.contract.ts';
import { afterAppend, appendOf, FIRST, idsOf, type Place, readWholeLog } from './event-store-samples.ts';

/* Random histories against the simplest store there is: a list. */

const STREAMS = ['a-1', 'a-2', 'b-1'] as const;

interface Step {
  readonly kind: 'append' | 'append-stale' | 'append-ahead' | 'repeat' | 'read-stream' | 'read-all';
  readonly stream: (typeof STREAMS)[number];
  readonly count: number;
  readonly pick: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'append',
    'append',
    'append',
    'append-stale',
    'append-ahead',
    'repeat',
    'read-stream',
    'read-all',
  ),
  stream: fc.constantFrom(...STREAMS),
  count: fc.integer({ min: 1, max: 4 }),
  pick: fc.nat(1_000),
});

interface Accepted {
  readonly request: AppendRequest;
  readonly result: AppendResult;
}

class ModelStore {
  readonly log: { readonly stream: string; readonly id: string }[] = [];
  readonly accepted: Accepted[] = [];
  readonly #places = new Map<string, Place>();

  place(stream: string): Place {
    return this.#places.get(stream) ?? FIRST;
  }

  accept(request: AppendRequest, result: AppendResult): void {
    this.#places.set(request.stream, afterAppend(request));
    this.log.push(...request.events.map(({ id }) => ({ stream: request.stream, id })));
    this.accepted.push({ request, result });
  }

  idsOf(stream: string): string[] {
    return idsOf(this.log.filter((event) => event.stream === stream));
  }
}

async function take(store: EventStore, model: ModelStore, { kind, stream, count, pick }: Step): Promise<void> {
  const place = model.place(stream);
  switch (kind) {
    case 'append': {
      const request = appendOf(stream, place, count);
      const result = await store.append(request);
      expect(result).toMatchObject({ ok: true, revision: place.revision + count - 1 });
      return model.accept(request, result);
    }
    case 'append-stale': {
      if (place.revision === 0) return;
      const stale = { revision: pick % place.revision, prev: '0'.repeat(64) };
      expect(await store.append(appendOf(stream, stale.revision === 0 ? FIRST : stale, count))).toEqual({
        ok: false,
        actual: place.revision - 1,
      });
      return;
    }
    case 'append-ahead': {
      const ahead = { revision: place.revision + 1 + (pick % 3), prev: '0'.repeat(64) };
      expect(await store.append(appendOf(stream, ahead, count))).toEqual({ ok: false, actual: place.revision - 1 });
      return;
    }
    case 'repeat': {
      if (model.accepted.length === 0) return;
      const { request, result } = model.accepted[pick % model.accepted.length]!;
      expect(await store.append(request)).toEqual(result);
      return;
    }
    case 'read-stream': {
      const from = pick % (place.revision + 1);
      expect(idsOf(await store.readStream(stream, { from, limit: count }))).toEqual(
        model.idsOf(stream).slice(from, from + count),
      );
      return;
    }
    case 'read-all': {
      const prefix = stream.slice(0, 2);
      const found = await store.readAll({ after: null, limit: 10_000, streamPrefixes: [prefix] });
      expect(idsOf(found)).toEqual(idsOf(model.log.filter((event) => event.stream.startsWith(prefix))));
    }
  }
}

export function eventStoreModelTests(open: () => Promise<OpenedStore>): void {
  test('any history of appends, repeats and reads gives what a plain list gives, and a subscriber sees all of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const { store, dispose } = await open();
        try {
          const model = new ModelStore();
          const seen: RecordedEvent[] = [];
          store.subscribe({ name: 'model', after: null, maxBatch: 3, onEvents: (events) => void seen.push(...events) });
          const late = store.subscribe({ name: 'late', after: null, streamPrefixes: ['b-'], onEvents: () => {} });
          for (const next of steps) await take(store, model, next);
          expect(idsOf(await readWholeLog(store, 7))).toEqual(idsOf(model.log));
          const head = await store.head();
          if (head !== null) await late.reached(head);
          const subscription = store.subscribe({ name: 'again', after: null, onEvents: () => {} });
          if (head !== null) await subscription.reached(head);
          expect(idsOf(seen)).toEqual(idsOf(model.log).slice(0, seen.length));
        } finally {
          await dispose();
        }
      }),
      { numRuns: 25 },
    );
  }, 240_000);

  test('any interleaving of concurrent appends keeps every accepted event once and every stream gapless', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.tuple(fc.constantFrom(...STREAMS), fc.integer({ min: 1, max: 3 })), { maxLength: 8 }), {
          maxLength: 6,
        }),
        async (callers) => {
          const { store, dispose } = await open();
          try {
            const accepted: string[] = [];
            await Promise.all(
              callers.map(async (appends) => {
                for (const [stream, count] of appends) {
                  const last = await store.lastOfStream(stream);
                  const request = appendOf(
                    stream,
                    last ? { revision: last.revision + 1, prev: last.hash } : FIRST,
                    count,
                  );
                  const result = await store.append(request);
                  if (result.ok) accepted.push(...idsOf(request.events));
                }
              }),
            );
            const log = await readWholeLog(store, 5);
            expect(idsOf(log).sort()).toEqual(accepted.sort());
            for (const stream of STREAMS) {
              const revisions = log.filter((event) => event.stream === stream).map(({ revision }) => revision);
              expect(revisions).toEqual(revisions.map((_, index) => index));
            }
          } finally {
            await dispose();
          }
        },
      ),
      { numRuns: 25 },
    );
  }, 240_000);
}
