import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { appendOf, FIRST } from './event-store-samples.ts';

/* A server that others fill, too. */

const STREAM_EVENTS = 1_000;
const NO_STREAM = -1;

function othersWrite(double: EsdbDouble, name: string, events: number): void {
  for (let written = 0; written < events; written += STREAM_EVENTS) {
    const proposed = Array.from({ length: STREAM_EVENTS }, () => ({
      ...{ id: randomUUID(), type: 'Foreign', contentType: 'application/json' },
      ...{ data: Buffer.from('{}'), customMetadata: Buffer.alloc(0) },
    }));
    double.log.append(`${name}-${written}`, NO_STREAM, proposed);
  }
}

test('a new namespace beside 20,000 events of others reads them once, and later only newer ones', async () => {
  const double = await EsdbDouble.start();
  othersWrite(double, 'before', 20_000);
  const store = await openEsdbEventStore({ connectionString: double.connectionString, namespace: 'ours.' });
  try {
    const readBy = async (task: () => Promise<unknown>): Promise<number> => {
      const before = double.readCalls;
      await task();
      return double.readCalls - before;
    };
    expect(double.readCalls).toBeGreaterThan(20_000 / 1_024);
    expect(await readBy(async () => expect(await store.head()).toBeNull())).toBe(1);
    othersWrite(double, 'meanwhile', 2_000);
    expect(await readBy(async () => expect(await store.head()).toBeNull())).toBeLessThan(8);

    const appended = await store.append(appendOf('session-cs_1', FIRST, 1));
    const { position } = appended as { position: string };
    expect(await store.head()).toBe(position);
    othersWrite(double, 'after', 5_000);
    // What was written can be read only a moment later, as on the real server.
    await expect.poll(() => readBy(async () => expect(await store.head()).toBe(position))).toBe(1);

    const heard: string[] = [];
    const subscription = store.subscribe({
      name: 'ours',
      after: null,
      onEvents: async (events) => void heard.push(...events.map(({ stream }) => stream)),
    });
    await expect.poll(() => heard, { timeout: 15_000 }).toEqual(['session-cs_1']);
    await subscription.close();
  } finally {
    await store.close();
    await double.stop();
  }
}, 60_000);
