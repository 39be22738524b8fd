import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEsdbEventStore } from '../src/adapters/esdb/event-store.ts';
import { readModelFile } from '../src/adapters/sqlite/read-model/schema.ts';
import { projectionsOf } from '../src/look-ups/projections.ts';
import { makeSnapshot } from '../src/look-ups/snapshots/make.ts';
import { takeSnapshot } from '../src/look-ups/snapshots/take.ts';
import type { Follows } from '../src/look-ups/messages.ts';
import { openProjectionThread } from '../src/look-ups/thread.ts';
import { AUDIT_STREAM, sessionStream } from '../src/domain/values/streams.ts';
import type { EventStore } from '../src/ports/event-log/event-store.ts';
import { silentLog } from '../src/ports/log.ts';
import { encodeEvent } from '../src/runtime/commands/codec.ts';
import { checkpointText, noteOf, verifierKeyOf } from '../src/runtime/merkle/checkpoint-note.ts';
import { projectionId } from '../src/runtime/projections/batch.ts';
import { parseKeys } from '../src/runtime/cryptography/sealing.ts';
import { encoded, sessionOf } from './ledger.ts';
import type { BenchSection } from './section.ts';

/*
 * How a node that has no look-ups begins: with the event log on servers (the wire-level double in a process of its own,
 * unless `EVENTSTORE_URL` names a server), or with a snapshot of another node's.
 */

const SESSIONS = Number(process.env['BENCH_LOOK_UP_SESSIONS'] ?? 25_000);
const IN_FLIGHT = 16;
/** The machine may be busy. */
const PATIENT = { attemptMs: 30_000, totalMs: 120_000 };
const KEYS = parseKeys('webhook-secrets', 'WEBHOOK_SECRETS_KEY', '0123456789abcdef'.repeat(4));
const PROJECTIONS = projectionsOf({ api: false, worker: true, signer: false }).map(projectionId);

interface Timed {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function timed(work: () => Promise<unknown>): Promise<Timed> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - startedMs) / 1_000, cpuSeconds: (user + system) / 1e6 };
}

/** Answers the bytes of the events' texts. */
async function fill(store: EventStore): Promise<number> {
  let bytes = 0;
  for (let first = 0; first < SESSIONS; first += IN_FLIGHT) {
    const batch = Array.from({ length: Math.min(IN_FLIGHT, SESSIONS - first) }, (_, index) => sessionOf(first + index));
    await Promise.all(
      batch.map(({ id, atSec, events }) => {
        const stream = sessionStream(id);
        const texts = encoded(stream, atSec, events, () => randomUUID());
        bytes += texts.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
        return store.append({ stream, expected: 'no-stream', events: texts });
      }),
    );
  }
  return bytes;
}

/** What a snapshot needs to name; nobody checks the signature here. */
async function sign(store: EventStore): Promise<void> {
  const origin = 'log.example';
  const checkpoint = noteOf(
    checkpointText({ origin, size: 1, root: Buffer.alloc(32) }),
    verifierKeyOf(origin, Buffer.alloc(32)),
    Buffer.alloc(64),
  );
  const rootHash = Buffer.alloc(32).toString('base64');
  const event = {
    type: 'CheckpointSigned' as const,
    data: { origin, size: 1, rootHash, checkpoint, throughPosition: (await store.head())! },
  };
  const place = { id: randomUUID(), stream: AUDIT_STREAM, revision: 0, atMs: Date.now() };
  const signed = encodeEvent({ ...place, event, metadata: { correlationId: 'bench', actor: 'bench', prev: '' } });
  await store.append({ stream: AUDIT_STREAM, expected: 'no-stream', events: [signed] });
}

async function begin(follows: Follows, store: EventStore): Promise<void> {
  const thread = await openProjectionThread(follows.dataDir, follows);
  await thread.start(store);
  await thread.ready();
  await thread.stop();
  await thread.readModel.close();
}

export async function benchLookUps(): Promise<BenchSection> {
  const given = process.env['EVENTSTORE_URL'];
  const child =
    given === undefined
      ? fork(join(import.meta.dirname, '../test/support/esdb-double/main.ts'), { stdio: ['ignore', 'pipe', 2, 'ipc'] })
      : null;
  const connectionString = given ?? ((await once(child!.stdout!, 'data')) as [Buffer])[0].toString().trim();
  const log = { kind: 'servers', connectionString, namespace: `${randomUUID()}.` } as const;
  const root = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
  const store = await openEsdbEventStore({ ...log, ...PATIENT });
  try {
    const folder = join(root, 'shared');
    mkdirSync(folder);
    const follows = (name: string): Follows => ({ dataDir: join(root, name), log, projections: PROJECTIONS });
    const textBytes = await fill(store);
    await sign(store);
    const replayed = await timed(() => begin(follows('first'), store));
    const bytes = statSync(readModelFile(follows('first').dataDir)).size;
    const made = await timed(() =>
      makeSnapshot({
        folder,
        keys: KEYS,
        follows: follows('first'),
        store,
        node: 'bench',
        clock: { nowMs: () => Date.now() },
      }),
    );
    const begun = await timed(async () => {
      if ((await takeSnapshot({ folder, keys: KEYS, follows: follows('second'), store, log: silentLog })) === null)
        throw new Error('not taken');
      await begin(follows('second'), store);
    });
    const events = SESSIONS * 4;
    const row = (what: string, { seconds, cpuSeconds }: Timed): readonly string[] => [
      what,
      `${seconds.toFixed(1)} s`,
      `${cpuSeconds.toFixed(1)} s`,
      `${Math.round(events / seconds)}`,
    ];
    return {
      title: 'A node without look-ups',
      intro: `${SESSIONS} paid sessions of ${events} events on ${child ? 'the wire-level double in a process of its own' : 'a server'}; the look-ups of a worker (${PROJECTIONS.length} projections), processor time of the node's process with all its threads.`,
      columns: ['what', 'time', 'processor time', 'events a second'],
      rows: [
        row('makes its look-ups of the log', replayed),
        row('a snapshot is made of them', made),
        row('begins with the snapshot, checked', begun),
      ],
      notes: [
        `${Math.round(bytes / SESSIONS)} bytes of look-ups and ${Math.round(textBytes / SESSIONS)} bytes of event text a payment, without deliveries.`,
      ],
    };
  } finally {
    await store.close();
    child?.kill('SIGTERM');
    rmSync(root, { recursive: true, force: true });
  }
}
