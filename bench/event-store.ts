import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { binaryEvent, EventStoreDBClient, NO_STREAM } from '@eventstore/db-client';
import { openEsdbEventStore } from '../src/adapters/esdb/event-store.ts';
import type { EncodedEvent, EventStore } from '../src/ports/event-log/event-store.ts';
import { encodeEvent } from '../src/runtime/commands/codec.ts';
import { serverName, serverVersion } from '../test/support/esdb-double/server-version.ts';
import { type BenchSection, median } from './section.ts';

/*
 * What a shared event store costs the process that uses it: CPU of reading, and appends of many callers, against the
 * server's own client. With EVENTSTORE_URL on that server, in a namespace of its own; else on the double in a process of
 * its own.
 */

const EVENTS = 20_000;
const STREAM_EVENTS = 100;
const CALLERS = 64;
const APPENDS = 3_200;
const ROUNDS = 5;
/** Patience of a machine that is busy. */
const TIMES = { attemptMs: 30_000, totalMs: 60_000 };

interface Target {
  readonly url: string;
  readonly name: string;
  readonly isReal: boolean;
}

async function targetOf(given: string | undefined): Promise<Target> {
  if (given !== undefined)
    return { url: given, name: `a real ${serverName(await serverVersion(given))}`, isReal: true };
  const double = fork(join(import.meta.dirname, '../test/support/esdb-double/main.ts'), {
    stdio: ['ignore', 'pipe', 2, 'ipc'],
  });
  const [printed] = (await once(double.stdout!, 'data')) as [Buffer];
  const url = String(printed).trim();
  return {
    url,
    name: `the double of ${serverName(await serverVersion(url))}. No real server took part`,
    isReal: false,
  };
}

/** About 1 KB with its metadata. */
function eventOf(stream: string, revision: number, prev: string): EncodedEvent {
  return encodeEvent({
    id: randomUUID(),
    stream,
    revision,
    atMs: 1_800_000_000_000,
    event: {
      type: 'RequestAccepted',
      data: { requestHash: 'f'.repeat(640), operation: 'test', givenId: stream, acceptedAtSec: 1_800_000_000 },
    },
    metadata: { correlationId: randomUUID(), actor: 'merchant:mer_abcdefghij2345672345', prev },
  });
}

async function fill(store: EventStore): Promise<void> {
  for (let written = 0; written < EVENTS; written += STREAM_EVENTS) {
    const stream = `filled-${randomUUID()}`;
    const events: EncodedEvent[] = [];
    for (let revision = 0; revision < STREAM_EVENTS; revision += 1)
      events.push(eventOf(stream, revision, events.at(-1)?.hash ?? ''));
    await store.append({ stream, expected: 'no-stream', events });
  }
}

interface Measured {
  readonly cpuMicros: number;
  readonly perSec: number;
}

/** The task tells how many it did. */
async function measured(task: () => Promise<number>): Promise<Measured> {
  globalThis.gc?.();
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  const count = await task();
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpuMicros: (user + system) / count, perSec: (count * 1_000) / (performance.now() - startedMs) };
}

async function readAll(store: EventStore): Promise<number> {
  let after: string | null = null;
  for (let count = 0; ;) {
    const page: readonly { readonly position: string }[] = await store.readAll({ after, limit: 5_000 });
    count += page.length;
    after = page.at(-1)?.position ?? after;
    if (page.length < 5_000) return count;
  }
}

function follow(store: EventStore): Promise<number> {
  return new Promise((resolve) => {
    let count = 0;
    const subscription = store.subscribe({
      name: 'bench',
      after: null,
      onEvents: (events) => void (count += events.length),
      onCaughtUp: () => void subscription.close().then(() => resolve(count)),
    });
  });
}

async function readWith(client: EventStoreDBClient): Promise<number> {
  let count = 0;
  for await (const _ of client.readAll({ maxCount: EVENTS })) count += 1;
  return count;
}

async function appendAll(append: (stream: string) => Promise<unknown>): Promise<number> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < APPENDS) {
      next += 1;
      await append(`appended-${randomUUID()}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return APPENDS;
}

const withClient =
  (client: EventStoreDBClient, namespace: string) =>
  (stream: string): Promise<unknown> => {
    const { id, type, data, metadata } = eventOf(stream, 0, '');
    const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
    const event = binaryEvent({ id, type, data: bytes(data), metadata: bytes(metadata) });
    return client.appendToStream(namespace + stream, [event], { expectedRevision: NO_STREAM, requiresLeader: true });
  };

const OURS = 'Quittance, one read after the other';
const FOLLOWED = 'Quittance, a subscription from the beginning';
const CLIENT = '`@eventstore/db-client` alone, one long read';
const OUR_APPENDS = `Quittance, appends of ${CALLERS} callers`;
const CLIENT_APPENDS = `\`@eventstore/db-client\` alone, batches of ${CALLERS} callers`;

/** The section of `npm run bench`. */
export async function benchEventStore(): Promise<BenchSection> {
  const target = await targetOf(process.env['EVENTSTORE_URL']);
  const namespace = `bench-${randomUUID()}:`;
  const store = await openEsdbEventStore({ connectionString: target.url, namespace, ...TIMES });
  const client = EventStoreDBClient.connectionString(target.url);
  try {
    await fill(store);
    const rounds = new Map<string, Measured[]>();
    const run = async (name: string, task: () => Promise<number>): Promise<void> =>
      void rounds.set(name, [...(rounds.get(name) ?? []), await measured(task)]);
    for (let round = 0; round < ROUNDS; round += 1) {
      await run(OURS, () => readAll(store));
      await run(FOLLOWED, () => follow(store));
      await run(CLIENT, () => readWith(client));
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      await run(OUR_APPENDS, () =>
        appendAll((stream) => store.append({ stream, expected: 'no-stream', events: [eventOf(stream, 0, '')] })),
      );
      await run(CLIENT_APPENDS, () => appendAll(withClient(client, namespace)));
    }
    return sectionOf(target, rounds);
  } finally {
    await store.close();
    await client.dispose();
  }
}

function sectionOf(target: Target, rounds: ReadonlyMap<string, readonly Measured[]>): BenchSection {
  const of = (name: string, part: keyof Measured): number => median((rounds.get(name) ?? []).map((each) => each[part]));
  const ratio = median(
    (rounds.get(OUR_APPENDS) ?? []).map(
      ({ perSec }, index) => perSec / (rounds.get(CLIENT_APPENDS)?.[index]?.perSec ?? Number.NaN),
    ),
  );
  const micros = Math.max(of(OURS, 'cpuMicros'), of(FOLLOWED, 'cpuMicros'));
  return {
    title: 'Reading and appending on an event store',
    intro:
      `CPU of the process that reads or appends, events of about 1 KB, medians of ${ROUNDS} rounds; measured on ${target.name}. ` +
      'Ours decodes each event, recomputes its hash, and waits for the position of each append; the client alone does not.',
    columns: ['what', 'µs of CPU an event', 'events/s'],
    rows: [...rounds.keys()].map((name) => [name, of(name, 'cpuMicros').toFixed(0), Math.round(of(name, 'perSec'))]),
    notes: target.isReal
      ? []
      : [
          'The double takes more CPU to send an event than its reader, so its events a second say nothing about a server.',
        ],
    goals: [
      {
        goal: 'A process reads 20,000 events a second of CPU from a shared event store (50 µs an event)',
        measured: `${micros.toFixed(0)} µs, where the client alone takes ${of(CLIENT, 'cpuMicros').toFixed(0)}`,
        holds: micros <= 50,
        needed: 'Fewer objects a message in `@grpc/grpc-js`, which takes most of it',
      },
      {
        goal: `${CALLERS} callers append at 0.9 of the rate of batches by the server's own client`,
        measured: ratio.toFixed(2),
        holds: ratio >= 0.9,
      },
    ],
  };
}
