import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { projectionsOf } from '../../src/look-ups/projections.ts';
import { makeSnapshot } from '../../src/look-ups/snapshots/make.ts';
import {
  dataFile,
  manifestFile,
  openManifest,
  sealManifest,
  snapshotsIn,
  type SnapshotManifest,
} from '../../src/look-ups/snapshots/manifest.ts';
import { prepareSnapshot } from '../../src/look-ups/snapshots/prepare.ts';
import { LookUpSnapshots } from '../../src/look-ups/snapshots/snapshots.ts';
import { takeSnapshot } from '../../src/look-ups/snapshots/take.ts';
import type { Follows } from '../../src/look-ups/messages.ts';
import { ProjectionComparison } from '../../src/look-ups/compare.ts';
import { openProjectionThread, type ProjectionThread } from '../../src/look-ups/thread.ts';
import { AUDIT_STREAM, coverageStream } from '../../src/domain/values/streams.ts';
import { readConfig } from '../../src/config.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
import { checkpointText, noteOf, verifierKeyOf } from '../../src/runtime/merkle/checkpoint-note.ts';
import { projectionId } from '../../src/runtime/projections/batch.ts';
import { parseKeys, type KeyList } from '../../src/runtime/cryptography/sealing.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { appendHistory, sessionIdOf } from '../support/random-history.ts';
import { createdFacts } from '../support/session-facts.ts';
import { grow } from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * A node begins with the look-ups of another one, where everything about them is what it should be; otherwise it makes
 * them of the event log.
 */

const PLENTY_MS = 30_000;
const API = { api: true, worker: false, signer: false };
const WORKER = { api: false, worker: true, signer: false };
const ids = (roles: typeof API): string[] => projectionsOf(roles).map(projectionId);
const keysOf = (digit: string): KeyList =>
  parseKeys('webhook-secrets', 'WEBHOOK_SECRETS_KEY', `${digit}123456789abcdef`.repeat(4));
const KEYS = keysOf('7');

let double: EsdbDouble;
let root: string;
let folder: string;
let namespace: string;
let store: EventStore;
let sessions: number;
let told: string[];

beforeAll(async () => void (double = await EsdbDouble.start()));
afterAll(() => double.stop());
beforeEach(async () => {
  root = temporaryFolder('snapshots');
  folder = join(root, 'shared');
  mkdirSync(folder);
  [sessions, told] = [0, []];
  store = await another();
});

async function another(): Promise<EventStore> {
  namespace = `${randomUUID()}.`;
  const opened = await openEsdbEventStore({ connectionString: double.connectionString, namespace });
  onTestFinished(() => opened.close());
  return opened;
}

const follows = (name: string, roles = API): Follows => ({
  dataDir: join(root, name),
  log: { kind: 'servers', connectionString: double.connectionString, namespace },
  projections: ids(roles),
});

interface Node {
  readonly follows: Follows;
  readonly thread: ProjectionThread;
  /** That were taken from the log. */
  readonly events: () => number;
  end(): Promise<void>;
}

async function node(name: string, roles = API): Promise<Node> {
  const followed = follows(name, roles);
  const thread = await openProjectionThread(followed.dataDir, followed);
  let events = 0;
  let ending: Promise<void> | null = null;
  await thread.start(store, { onBatch: (report) => void (events += report.events) });
  const end = (): Promise<void> => (ending ??= thread.stop().then(() => thread.readModel.close()));
  onTestFinished(end);
  expect(await thread.caughtUpTo((await store.head())!, PLENTY_MS)).toBe(true);
  await thread.ready();
  return { follows: followed, thread, events: () => events, end };
}

async function order(count: number): Promise<void> {
  for (const until = sessions + count; sessions < until; sessions += 1) {
    const data = createdFacts({ sessionId: sessionIdOf(sessions), orderId: `order-${sessions}` });
    await appendHistory(store, [
      { session: sessions, event: { type: 'SessionCreated', data }, atMs: 1_800_000_000_000 },
    ]);
  }
}

/** As the signer says what it signed. */
async function sign(): Promise<void> {
  const last = await store.lastOfStream(AUDIT_STREAM);
  const [origin, size, rootHash] = ['log.example', 1 + (last?.revision ?? 0), Buffer.alloc(32, 7)];
  const checkpoint = noteOf(
    checkpointText({ origin, size, root: rootHash }),
    verifierKeyOf(origin, Buffer.alloc(32)),
    Buffer.alloc(64),
  );
  const data = {
    origin,
    size,
    rootHash: rootHash.toString('base64'),
    checkpoint,
    throughPosition: (await store.head())!,
  };
  const place = {
    id: randomUUID(),
    stream: AUDIT_STREAM,
    revision: (last?.revision ?? -1) + 1,
    atMs: 1_800_000_000_000,
  };
  const metadata = { correlationId: 'test', actor: 'test', prev: last?.hash ?? '' };
  const event = encodeEvent({ ...place, event: { type: 'CheckpointSigned', data }, metadata });
  await store.append({ stream: AUDIT_STREAM, expected: last?.revision ?? 'no-stream', events: [event] });
}

let nowMs = Date.UTC(2026, 10, 23);
const made = async ({ follows: followed }: Node): Promise<string> =>
  (
    await makeSnapshot({
      folder,
      keys: KEYS,
      follows: followed,
      store,
      node: 'maker:1',
      clock: { nowMs: () => (nowMs += 1_000) },
    })
  ).snapshot;

const line = (facts: object, message: string): void => void told.push(`${message}: ${JSON.stringify(facts)}`);
const take = (name: string, roles = API): Promise<string | null> =>
  takeSnapshot({
    folder,
    keys: KEYS,
    follows: follows(name, roles),
    store,
    log: { info: line, warn: line, error: line },
  });

const drifted = async ({ follows: followed }: Node): Promise<number> =>
  (await new ProjectionComparison(followed).compare()).reduce((sum, { differing }) => sum + differing, 0);
const listed = async ({ thread }: Node): Promise<number> =>
  (await thread.readModel.scan(SESSIONS_TABLE, { limit: 100 })).length;

test('a new node begins with a snapshot and takes from the log only what came after it', async () => {
  await order(9);
  await sign();
  const maker = await node('maker');
  await order(3);
  await maker.thread.caughtUpTo((await store.head())!, PLENTY_MS);
  await maker.thread.readModel.apply(
    'of-this-process',
    [{ op: 'put', table: 'tiles', key: 'a', row: { word: 'of-this-process-alone' } }],
    '1',
  );
  const name = await made(maker);
  expect(readFileSync(dataFile(folder, name)).includes('of-this-process')).toBe(false);
  await order(2);
  expect(await take('new')).toBe(name);
  const begun = await node('new');
  expect([begun.events(), await listed(begun), await drifted(begun)]).toEqual([2, 14, 0]);
  expect([
    await begun.thread.readModel.get('tiles', 'a'),
    await begun.thread.readModel.checkpoint('of-this-process'),
  ]).toEqual([null, null]);
  expect(readdirSync(begun.follows.dataDir).filter((file) => file.includes('ing'))).toEqual([]);
  await begun.end();
  // What is there already is gone on with.
  expect(await take('new')).toBeNull();
});

test('a node accepts a snapshot with more look-ups than its own, and one that lacks a look-up starts from a snapshot that has it', async () => {
  await order(5);
  await sign();
  // Of this build, made beside whatever runs.
  const env = {
    EVENTSTORE_URL: double.connectionString,
    REDIS_URL: 'redis://127.0.0.1:1',
    DATA_DIR: join(root, 'beside'),
    ROLES: 'worker',
  };
  const config = { ...env, LOOK_UP_SNAPSHOT_DIR: folder, WEBHOOK_SECRETS_KEY: '7123456789abcdef'.repeat(4) };
  const progress: number[] = [];
  const { snapshot: name } = await prepareSnapshot(readConfig(config), namespace, (done) => progress.push(done));
  expect([progress.at(-1), readdirSync(join(root, 'beside'))]).toEqual([5, []]);
  await expect(prepareSnapshot(readConfig(env), namespace, () => undefined)).rejects.toThrow('LOOK_UP_SNAPSHOT_DIR');
  expect(await take('api')).toBe(name);
  const api = await node('api');
  expect([
    api.events(),
    await drifted(api),
    await api.thread.readModel.checkpoint(ids(WORKER).find((id) => !ids(API).includes(id))!),
  ]).toEqual([0, 0, null]);
  await api.end();
  // As after an upgrade that brings a new version of one look-up.
  expect(await take('api', WORKER)).toBe(name);
  const upgraded = await node('api', WORKER);
  expect([upgraded.events(), await drifted(upgraded)]).toEqual([0, 0]);
});

/** Seals a manifest that says something else. */
const resealed = (name: string, change: (manifest: SnapshotManifest) => object): void =>
  writeFileSync(
    manifestFile(folder, name),
    sealManifest(change(openManifest(folder, name, KEYS)) as SnapshotManifest, name, KEYS),
  );

const REFUSALS: readonly [what: string, spoil: (name: string) => void, reason: RegExp][] = [
  ['truncated', (name) => truncateSync(dataFile(folder, name), 8_192), /its file has 8192 bytes instead of \d+/],
  [
    'altered in its file',
    (name) => {
      const bytes = readFileSync(dataFile(folder, name));
      bytes[bytes.length - 5]! ^= 1;
      writeFileSync(dataFile(folder, name), bytes);
    },
    /its content does not match its seal/,
  ],
  [
    'altered in its manifest',
    (name) => {
      const text = readFileSync(manifestFile(folder, name), 'utf8').trim();
      writeFileSync(manifestFile(folder, name), text.slice(0, -3) + (text.at(-3) === 'A' ? 'B' : 'A') + text.slice(-2));
    },
    /was altered since/,
  ],
  [
    'forged under another key',
    (name) =>
      writeFileSync(manifestFile(folder, name), sealManifest(openManifest(folder, name, KEYS), name, keysOf('8'))),
    /not made by a node of this installation/,
  ],
  [
    'no manifest at all',
    (name) => writeFileSync(manifestFile(folder, name), ''),
    /not made by a node of this installation/,
  ],
  [
    'put under a later name',
    (name) => {
      const later = name.replace(/\d{8}T/, '20270101T');
      for (const fileOf of [dataFile, manifestFile]) copyFileSync(fileOf(folder, name), fileOf(folder, later));
      rmSync(manifestFile(folder, name));
    },
    /under this name/,
  ],
  ['without its file', (name) => rmSync(dataFile(folder, name)), /ENOENT/],
  [
    'of another format',
    (name) => resealed(name, (manifest) => ({ ...manifest, format: 2 })),
    /of format 2, and this build reads format 1/,
  ],
  [
    'of other tables',
    (name) => resealed(name, (manifest) => ({ ...manifest, schema: 99 })),
    /its tables are of version 99/,
  ],
  [
    'of another version of a look-up',
    (name) =>
      resealed(name, ({ projections: { [ids(API)[0]!]: position, ...others }, ...rest }) => ({
        ...rest,
        projections: { ...others, 'session-view@0': position },
      })),
    /it lacks look-ups that this process keeps: session-view@/,
  ],
  [
    'of more of the log than there is',
    (name) =>
      resealed(name, ({ log, ...rest }) => ({
        ...rest,
        log: { ...log, since: { ...log.since, through: 'C:99999999/P:99999999' } },
      })),
    /it covers events up to C:99999999\/P:99999999/,
  ],
  [
    'of a log with other events behind the checkpoint',
    (name) =>
      resealed(name, ({ log, ...rest }) => ({
        ...rest,
        log: { ...log, since: { ...log.since, digest: '0'.repeat(64) } },
      })),
    /what follows the signed checkpoint 0 differs/,
  ],
  [
    'of a log with another checkpoint',
    (name) =>
      resealed(name, ({ log, ...rest }) => ({
        ...rest,
        log: { ...log, checkpoint: { ...log.checkpoint, id: randomUUID() } },
      })),
    /another event log: the signed checkpoint 0 is not the one/,
  ],
  [
    'whose look-ups are at another position',
    (name) =>
      resealed(name, (manifest) => ({
        ...manifest,
        projections: Object.fromEntries(ids(API).map((id) => [id, manifest.log.checkpoint.position])),
      })),
    /in its file session-view@.* has another position/,
  ],
];

test('a faulty snapshot is refused with the reason, and the look-ups are built from the log', async () => {
  await order(6);
  await sign();
  const maker = await node('maker');
  await order(1);
  await maker.thread.caughtUpTo((await store.head())!, PLENTY_MS);
  const name = await made(maker);
  const sound = folder;
  for (const [index, [what, spoil, reason]] of REFUSALS.entries()) {
    folder = join(root, `spoilt-${index}`);
    cpSync(sound, folder, { recursive: true });
    spoil(name);
    told = [];
    expect([what, await take('new'), told[0]]).toEqual([what, null, expect.stringMatching(reason)]);
    expect([what, told.at(-1)]).toEqual([what, expect.stringContaining('look-ups are built from the event log')]);
    expect(readdirSync(join(root, 'new'))).toEqual(['read-model.log']);
  }
  const begun = await node('new');
  expect([await listed(begun), await drifted(begun)]).toEqual([7, 0]);
});

test('a snapshot of another event log is refused, and an older one that fits is taken instead of a newer one that does not', async () => {
  await order(3);
  await sign();
  const maker = await node('maker');
  const older = await made(maker);
  truncateSync(dataFile(folder, await made(maker)), 100);
  expect(await take('new')).toBe(older);
  const first = store;
  store = await another();
  sessions = 0;
  await grow(store, coverageStream('test', 'bsc'), 30);
  await order(3);
  await sign();
  expect([await take('other'), told.join('\n')]).toEqual([
    null,
    expect.stringContaining('it was made from another event log'),
  ]);
  store = first;
});

test('without a signed checkpoint no snapshot is made, and an unfinished one is not used', async () => {
  await order(2);
  const maker = await node('maker');
  await expect(made(maker)).rejects.toThrow('no checkpoint has been signed yet');
  await sign();
  const name = await made(maker);
  rmSync(manifestFile(folder, name));
  mkdirSync(join(root, 'new'));
  writeFileSync(join(root, 'new', 'read-model.arriving'), 'of a process that was killed');
  expect([await take('new'), existsSync(join(root, 'new', 'read-model.arriving'))]).toEqual([null, false]);
  folder = join(root, 'nowhere');
  await expect(made(maker)).rejects.toThrow(`LOOK_UP_SNAPSHOT_DIR: there is no folder ${folder}`);
  expect([await take('new'), told.join('\n')]).toEqual([
    null,
    expect.stringContaining('LOOK_UP_SNAPSHOT_DIR does not exist'),
  ]);
});

test('one of several nodes makes the next snapshot when due, none makes one while its look-ups are in doubt, and two of each kind are kept', async () => {
  await order(2);
  await sign();
  let doubt: string | null = 'they differ';
  const snapshotsOf = ({ follows: followed }: Node, name: string): LookUpSnapshots =>
    new LookUpSnapshots({
      ...{ folder, keys: KEYS, follows: followed, store, node: name, everyMs: 60_000 },
      clock: { nowMs: () => nowMs },
      doubt: () => doubt,
      log: { info: line, warn: line },
    });
  const [one, other] = [snapshotsOf(await node('one'), 'one'), snapshotsOf(await node('other'), 'other')];
  await one.round();
  expect(snapshotsIn(folder)).toEqual([]);
  await expect(one.make()).rejects.toThrow('no snapshot is made of these look-ups: they differ');
  doubt = null;
  for (let round = 0; round < 3; round += 1) {
    await one.round();
    await other.round();
    nowMs += 61_000;
  }
  expect(snapshotsIn(folder).map(({ name }) => name.split('-').at(-1))).toEqual(['one', 'one']);
  expect(readdirSync(folder).length).toBe(4);
  const count = (): number => told.filter((text) => text.startsWith('a snapshot of the look-ups was made')).length;
  expect(count()).toBe(3);
  // Two of a clock that is a day ahead.
  const realMs = nowMs;
  nowMs += 86_400_000;
  for (const _ of [1, 2]) {
    await one.make();
    nowMs += 1_000;
  }
  nowMs = realMs;
  for (const maker of [one, other, other, one]) {
    await maker.round();
    nowMs += 1_000;
  }
  expect(count()).toBe(6);
  expect(snapshotsIn(folder).map(({ madeAtMs }) => madeAtMs > nowMs)).toEqual([true, false]);
  nowMs += 61_000;
  await other.round();
  expect(snapshotsIn(folder).map(({ madeAtMs }) => madeAtMs > nowMs)).toEqual([false, false]);
  // Clocks that are a little apart are no reason to make another one.
  nowMs -= 120_000;
  await one.round();
  expect(count()).toBe(7);
});
