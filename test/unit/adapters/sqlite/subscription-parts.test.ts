import { describe, expect, it } from 'vitest';
import {
  CatchUpSubscription,
  type LogSource,
} from '../../../../src/adapters/sqlite/event-log/catch-up-subscription.ts';
import type { RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';

const event = (position: number): RecordedEvent => ({
  stream: position % 5 === 0 ? 'b' : 'a',
  revision: position,
  position: String(position),
  id: `e${position}`,
  type: 'T',
  version: 1,
  ...{ atMs: position, data: '{}', metadata: '{}', hash: '' },
});

/** A log of so many events, each read counted. */
function logOf(end: number): LogSource & { readonly reads: number[] } {
  const reads: number[] = [];
  return {
    end,
    reads,
    pageAfter: (after, window, prefixes) => {
      reads.push(window);
      const through = Math.min(after + window, end);
      const events = Array.from({ length: through - after }, (_, index) => event(after + 1 + index));
      return { events: events.filter(({ stream }) => prefixes?.includes(stream) ?? true), through, fromFile: true };
    },
  };
}

const hooks = { onError: () => undefined, onAdvanced: () => undefined, onClosed: () => undefined };

function follow(
  source: LogSource,
  onParts: (parts: Iterable<readonly RecordedEvent[]>) => Promise<void>,
  streamPrefixes?: readonly string[],
) {
  const options = {
    name: 'parts',
    after: null,
    maxBatch: 10,
    inParts: { size: 4, onParts },
    onEvents: () => Promise.reject(new Error('whole')),
  };
  return new CatchUpSubscription({ ...options, ...(streamPrefixes && { streamPrefixes }) }, source, hooks);
}

describe('a subscription that takes its batches in parts', () => {
  it('reads a part on demand, and its position is that of the last batch', async () => {
    const source = logOf(23);
    const batches: number[][] = [];
    const subscription = follow(source, async (parts) => {
      const sizes: number[] = [];
      batches.push(sizes);
      for (const part of parts) {
        expect(source.reads).toHaveLength(batches.flat().length + 1);
        sizes.push(part.length);
      }
    });
    await subscription.reached('23');
    expect(batches).toEqual([[4, 4, 2], [4, 4, 2], [3]]);
    expect(subscription.position).toBe('23');
    await subscription.close();
  });

  it('begins a batch again when a part of it was refused', async () => {
    const seen: string[] = [];
    let failures = 1;
    const subscription = follow(logOf(6), async (parts) => {
      for (const part of parts) {
        seen.push(part.map(({ position }) => position).join(' '));
        if (seen.length === 2 && failures-- > 0) throw new Error('refused');
      }
    });
    await subscription.reached('6');
    expect(seen).toEqual(['1 2 3 4', '5 6', '1 2 3 4', '5 6']);
    await subscription.close();
  });

  it('leaves out parts without events of its streams', async () => {
    const seen: string[] = [];
    const subscription = follow(
      logOf(12),
      async (parts) => void [...parts].forEach((part) => seen.push(...part.map(({ position }) => position))),
      ['b'],
    );
    await subscription.reached('12');
    expect([seen, subscription.position]).toEqual([['5', '10'], '10']);
    await subscription.close();
  });
});
