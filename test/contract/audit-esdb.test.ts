import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { isAfter, parsePosition } from '../../src/adapters/esdb/position.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { exportEventLog, verifyFiles } from '../../src/cli/audit.ts';
import { SpilledMap } from '../../src/adapters/sqlite/read-model/spilled-map.ts';
import { migrate } from '../../src/migration/migrate.ts';
import { KeptTiles } from '../../src/runtime/merkle/kept-tiles.ts';
import type { CheckpointSigned } from '../../src/domain/events/operations-events.ts';
import { AUDIT_STREAM } from '../../src/domain/values/streams.ts';
import type { AuditAnchor } from '../../src/ports/event-log/audit.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { silentLog } from '../../src/ports/log.ts';
import { SignAuditCheckpoints } from '../../src/features/audit/sign-checkpoints.process.ts';
import { parseCheckpoint, parseVerifierKey } from '../../src/runtime/merkle/checkpoint-note.ts';
import { MerkleFrontier } from '../../src/runtime/merkle/frontier.ts';
import { leafHash, verifyConsistency } from '../../src/runtime/merkle/tree.ts';
import { StoreAudit } from '../../src/runtime/merkle/store-audit.ts';
import { StoreAuditTree } from '../../src/runtime/merkle/store-audit-tree.ts';
import { AuditSigner } from '../../src/signer/audit/signer.ts';
import { AuditKey } from '../../src/signer/audit/key.ts';
import { AuditRecords } from '../../src/features/audit/records.ts';
import { verifyProof } from '../../src/features/audit/verify-proof.ts';
import { presentProof } from '../../src/http/presenters/audit.presenter.ts';
import { growAuditedLog } from '../support/audited-log.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { appendHistory, historyOf, sessionIdOf, steps, type HistoryEntry } from '../support/random-history.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';
import { appendOf, FIRST, until } from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The tree and its signatures over a log whose positions are not dense; the server is the wire-level double. */

const VERIFIER = resolve(import.meta.dirname, '../../docs/verify/verify.py');
const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;
const QUICK = { attemptMs: 1_500, totalMs: 8_000 };
const SEED = Buffer.alloc(64, 7);

let double: EsdbDouble;
let folder: string;
const closing: (() => Promise<unknown> | void)[] = [];

beforeEach(async () => {
  folder = temporaryFolder('audit-esdb');
  double = await EsdbDouble.start();
  ({ connectionString } = double);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await double.stop();
});

let connectionString: string;

async function open(): Promise<EventStore> {
  const store = await openEsdbEventStore({ connectionString, ...QUICK });
  closing.push(() => store.close());
  return store;
}

const histories: readonly HistoryEntry[] = fc
  .sample(steps, { seed: 11, numRuns: 40 })
  .map((drawn) => historyOf(drawn).entries)
  .reduce((longest, history) => (history.length > longest.length ? history : longest));

async function grow(store: EventStore, part: number, parts = 3): Promise<void> {
  const [from, to] = [part, part + 1].map((bound) => Math.floor((bound * histories.length) / parts));
  await appendHistory(store, histories.slice(from, to));
}

interface Node {
  readonly store: EventStore;
  readonly tree: StoreAuditTree;
  readonly faults: string[];
}

interface NodeOptions {
  readonly anchors?: readonly AuditAnchor[];
  readonly from?: KeptTiles | null;
  readonly rechecks?: boolean;
}

async function node({ anchors = [], from = null, rechecks = false }: NodeOptions = {}): Promise<Node> {
  const store = await open();
  const faults: string[] = [];
  const auditOf = (kept: readonly AuditAnchor[]): StoreAudit =>
    new StoreAudit({
      store,
      isAfter: (one, other) => isAfter(parsePosition(one), parsePosition(other)),
      verifierKey: KEY,
      anchors: kept,
    });
  const begin = async () => {
    const last = from && (await store.lastOfStream(AUDIT_STREAM));
    if (!last) return { audit: auditOf(anchors), isWhole: true };
    const newest = JSON.parse(last.data) as CheckpointSigned['data'];
    const audit = auditOf([newest]);
    audit.adopt((await from.all()).slice(0, Math.floor(newest.size / 256)));
    return { audit, isWhole: false };
  };
  const tree = new StoreAuditTree({
    begin,
    beginAnew: () => auditOf(anchors),
    rechecks,
    onDamaged: (fault) => faults.push(fault),
    log: silentLog,
    everyMs: 20,
  });
  closing.push(() => tree.stop());
  tree.start();
  return { store, tree, faults };
}

const KEY = AuditSigner.open(temporaryFolder('audit-key'), new AuditKey(SEED)).identity().verifierKey;

type SequencerTimes = Partial<
  Pick<ConstructorParameters<typeof SignAuditCheckpoints>[0], 'clock' | 'everyEvents' | 'everyMs'>
>;

/** A sequencer with a signer of its own. */
async function sequencer({ store, tree }: Node, name = 'signer', isLeader = () => true, times: SequencerTimes = {}) {
  const executor = AuditSigner.open(join(folder, name), new AuditKey(SEED));
  const refusals: string[] = [];
  const signing = new SignAuditCheckpoints({
    store,
    tree,
    signer: {
      auditIdentity: async () => executor.identity(),
      signCheckpoint: async (request) => executor.sign(request),
    },
    last: await store.lastOfStream(AUDIT_STREAM),
    isLeader,
    clock: systemClock,
    random: nodeRandom,
    log: silentLog,
    everyEvents: 1,
    everyMs: 1,
    ...times,
    witness: null,
    onRefused: (message) => refusals.push(message),
  });
  closing.push(() => signing.stop());
  return { signing, executor, refusals };
}

const sound = (tree: StoreAuditTree): Promise<void> =>
  until('the history was found sound', () => tree.state.integrity === 'sound');

/** Every checkpoint in the stream, each compared with the root over the log as it is read from its beginning. */
async function checkedCheckpoints(store: EventStore): Promise<number[]> {
  const events = await store.readAll({ after: null, limit: 100_000 });
  const roots = new Map<number, string>();
  const frontier = new MerkleFrontier();
  for (const event of events) {
    frontier.append(leafHash(Buffer.from(event.hash, 'hex')));
    roots.set(frontier.size, frontier.root().toString('base64'));
  }
  return (await store.readStream(AUDIT_STREAM)).map(({ data }) => {
    const { size, rootHash } = JSON.parse(data) as CheckpointSigned['data'];
    expect(rootHash).toBe(roots.get(size));
    return size;
  });
}

describe('the Merkle log over EventStoreDB (double)', () => {
  test('is signed, proves a payment, and its export verifies offline with both verifiers', async () => {
    const one = await node();
    await sound(one.tree);
    const { signing, executor } = await sequencer(one);
    for (const part of [0, 1, 2]) {
      await grow(one.store, part);
      await signing.signNow();
    }
    expect(await checkedCheckpoints(one.store)).toHaveLength(3);
    const reader = await node();
    await sound(reader.tree);
    const records = new AuditRecords({ store: reader.store, tree: reader.tree, verifierKey: () => KEY });
    const proof = await records.proofOf(sessionIdOf(0));
    expect(proof.events.length).toBeGreaterThan(3);
    expect(proof.pendingEvents).toBe(0);
    const body = presentProof(sessionIdOf(0), proof, KEY);
    expect(verifyProof(JSON.parse(JSON.stringify(body)), parseVerifierKey(KEY)!)).toMatchObject({
      ok: true,
      events: proof.events.length,
    });
    const file = (name: string): string => join(folder, name);
    writeFileSync(file('proof.json'), JSON.stringify(body));
    writeFileSync(file('checkpoint.txt'), executor.identity().anchors.at(-1)!.checkpoint);
    await exportEventLog(one.store, 0, file('export.jsonl'));
    const verified = await verifyFiles(
      { export: file('export.jsonl'), checkpoint: [file('checkpoint.txt')], key: KEY },
      () => new SpilledMap(),
    );
    expect(verified).toMatchObject({ ok: true, fault: null, checkpoints: 4 });
    // One digit of one amount.
    writeFileSync(
      file('changed.jsonl'),
      readFileSync(file('export.jsonl'), 'utf8').replace(/amount\\":\\"\d/, 'amount\\":\\"9'),
    );
    expect(
      await verifyFiles(
        { export: file('changed.jsonl'), checkpoint: [file('checkpoint.txt')], key: KEY },
        () => new SpilledMap(),
      ),
    ).toMatchObject({ ok: false });
    if (!HAS_PYTHON) return;
    const python = (...args: string[]) => spawnSync('python3', [VERIFIER, ...args, '--key', KEY]);
    expect(python('--export', file('export.jsonl'), '--checkpoint', file('checkpoint.txt')).stdout.toString()).toMatch(
      /^ok: \d+ events/,
    );
    expect(python('--proof', file('proof.json')).stdout.toString()).toMatch(/^ok: \d+ events/);
    expect(python('--export', file('changed.jsonl'), '--checkpoint', file('checkpoint.txt')).status).toBe(1);
  });

  test('is signed on although the clock was far ahead when it was signed last', async () => {
    const one = await node();
    await sound(one.tree);
    let nowMs = systemClock.nowMs() + 86_400_000;
    const times = { clock: { ...systemClock, nowMs: () => nowMs }, everyEvents: 1_000, everyMs: 60_000 };
    const { signing } = await sequencer(one, 'signer', () => true, times);
    await grow(one.store, 0);
    await signing.signNow();
    nowMs -= 86_400_000;
    await grow(one.store, 1);
    await signing.look();
    expect(await checkedCheckpoints(one.store)).toHaveLength(2);
    await grow(one.store, 2);
    await signing.look();
    expect(await checkedCheckpoints(one.store)).toHaveLength(2);
  });

  test('is the same in every process, also in one that begins with tiles of another', async () => {
    const one = await node();
    await sound(one.tree);
    const { signing } = await sequencer(one);
    for (let round = 0; round < 6; round += 1) await one.store.append(appendOf(`s-${round}`, FIRST, 100));
    await signing.signNow();
    const kept = new KeptTiles(new MemoryReadModel());
    await kept.keep(one.tree.sound!);
    expect(await kept.all()).toHaveLength(2);
    const quick = await node({ from: kept });
    await sound(quick.tree);
    const whole = await node();
    await sound(whole.tree);
    const { size, rootHash } = await whole.tree.head(0);
    expect(await quick.tree.head(0)).toMatchObject({ size, rootHash });
    for (const leaf of [0, 255, 256, 511, 512, size - 1])
      expect(await quick.tree.inclusionProof(leaf, size)).toEqual(await whole.tree.inclusionProof(leaf, size));
    expect(await quick.tree.consistencyProof(300, size)).toEqual(await whole.tree.consistencyProof(300, size));
    const events = await whole.store.readAll({ after: null, limit: 1_000 });
    for (const place of [0, 255, 256, 512, 600]) expect(await quick.tree.leafOf(events[place]!.position)).toBe(place);
  });

  test('is read from the beginning where tiles do not match the event log', async () => {
    const one = await node();
    await sound(one.tree);
    const { signing } = await sequencer(one);
    for (let round = 0; round < 6; round += 1) await one.store.append(appendOf(`s-${round}`, FIRST, 100));
    await signing.signNow();
    const rows = new MemoryReadModel();
    await new KeptTiles(rows).keep(one.tree.sound!);
    const [tile] = await new KeptTiles(rows).all();
    await rows.apply(
      'x',
      [
        {
          op: 'put',
          table: 'audit-tiles',
          key: '0000000000',
          row: { ...tile!, node: Buffer.alloc(32).toString('base64') },
        },
      ],
      'x',
    );
    const quick = await node({ from: new KeptTiles(rows) });
    await sound(quick.tree);
    expect(quick.faults).toEqual([]);
    expect(await quick.tree.head(0)).toEqual(await one.tree.head(0));
  });

  test('has no gap and no double although reads break, the leader changes and subscriptions are dropped', async () => {
    const second = await EsdbDouble.start({ log: double.log });
    closing.push(() => second.stop());
    double.gossipOf([double, second]);
    second.gossipOf([double, second]);
    second.follow(double);
    connectionString = `esdb://127.0.0.1:${double.port},127.0.0.1:${second.port}?tls=false`;
    const one = await node();
    await sound(one.tree);
    const { signing } = await sequencer(one);
    for (const part of [0, 1, 2]) {
      double.faults.plan('read', { kind: 'silent' }, { kind: 'unavailable' });
      double.faults.plan('append', { kind: 'unavailable-after-commit' }, { kind: 'timeout-after-commit' });
      await grow(one.store, part);
      double.dropSubscriptions();
      await signing.look();
      second.follow(part === 0 ? null : double);
      double.follow(part === 0 ? second : null);
      await until(
        'all is signed',
        async () => (
          await signing.look(),
          signing.last !== null && (await one.tree.head(signing.last.size)).othersSince === 0
        ),
      );
    }
    const sizes = await checkedCheckpoints(one.store);
    expect(new Set(sizes).size).toBe(sizes.length);
    expect(one.faults).toEqual([]);
  }, 30_000);

  test('is never signed as two trees of one size by two that both believe to have the lease', async () => {
    const [one, other] = [await node(), await node()];
    await Promise.all([sound(one.tree), sound(other.tree)]);
    const [left, right] = [await sequencer(one, 'left'), await sequencer(other, 'right')];
    for (const part of [0, 1, 2, 3, 4, 5]) {
      await Promise.all([grow(one.store, part, 6), left.signing.look(), right.signing.look()]);
      await Promise.all([left.signing.look(), right.signing.look(), left.signing.look()]);
    }
    const sizes = await checkedCheckpoints(one.store);
    expect(new Set(sizes).size).toBe(sizes.length);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    const signed = [...left.executor.identity().anchors, ...right.executor.identity().anchors].map(({ checkpoint }) =>
      parseCheckpoint(checkpoint)!,
    );
    for (const { size, root } of signed) expect(root).toEqual(await one.tree.sound!.rootAt(size));
    expect([...left.refusals, ...right.refusals, ...one.faults, ...other.faults]).toEqual([]);
    // Any two of them prove consistent.
    const [first, last] = [signed[0]!, signed.reduce((largest, it) => (it.size > largest.size ? it : largest))];
    const proof = (await one.tree.consistencyProof(first.size, last.size)).map((text) => Buffer.from(text, 'base64'));
    expect(verifyConsistency(first.size, last.size, proof, first.root, last.root)).toBe(true);
  }, 30_000);
});

test('an event log migrated from the embedded store to EventStoreDB (double) keeps its proofs, and signing continues', async () => {
  const dataDir = join(folder, 'data');
  const { checkpoints } = await growAuditedLog(dataDir, 3);
  await migrate({ from: dataDir, sealKeys: SEAL_KEYS, to: double.connectionString, onProgress: () => undefined });
  const moved = await node({ anchors: checkpoints });
  await sound(moved.tree);
  expect(moved.faults).toEqual([]);
  const { signing, refusals } = await sequencer(moved, 'data-signer');
  await moved.store.append(appendOf('after-the-move', FIRST, 5));
  const after = parseCheckpoint((await signing.signNow()).checkpoint)!;
  expect(refusals).toEqual([]);
  for (const { checkpoint } of checkpoints) {
    const before = parseCheckpoint(checkpoint)!;
    const proof = (await moved.tree.consistencyProof(before.size, after.size)).map((text) =>
      Buffer.from(text, 'base64'),
    );
    expect(verifyConsistency(before.size, after.size, proof, before.root, after.root)).toBe(true);
  }
  await exportEventLog(moved.store, 0, join(folder, 'moved.jsonl'));
  const kept = [...checkpoints.map(({ checkpoint }) => checkpoint), noteIn(signing)].map((note, index) => {
    writeFileSync(join(folder, `${index}.txt`), note);
    return join(folder, `${index}.txt`);
  });
  expect(
    await verifyFiles({ export: join(folder, 'moved.jsonl'), checkpoint: kept, key: KEY }, () => new SpilledMap()),
  ).toMatchObject({
    ok: true,
    fault: null,
  });
});

const noteIn = (signing: SignAuditCheckpoints): string => signing.last!.checkpoint;

describe('a changed log on EventStoreDB (double)', () => {
  async function signedLog(): Promise<{ anchors: readonly AuditAnchor[] }> {
    const one = await node();
    await sound(one.tree);
    const { signing, executor } = await sequencer(one);
    for (const part of [0, 1, 2]) {
      await grow(one.store, part);
      await signing.signNow();
    }
    await one.tree.stop();
    return { anchors: executor.identity().anchors };
  }
  const found = async (anchors: readonly AuditAnchor[]): Promise<string> => {
    const { tree, faults } = await node({ anchors });
    await until('the history was read', () => tree.state.integrity !== 'checking');
    return faults[0] ?? tree.state.integrity;
  };

  test('is found at the start: a changed byte, an event that is gone, a lost end, two swapped events', async () => {
    const { anchors } = await signedLog();
    expect(await found(anchors)).toBe('sound');
    const { events } = double.log;
    const original = [...events];
    const restore = (): void => void events.splice(0, events.length, ...original);
    const at = 20;
    const changed = Uint8Array.from(original[at]!.data);
    changed[changed.length - 3]! ^= 1;
    events[at] = { ...original[at]!, data: changed };
    expect(await found(anchors)).toMatch(/event \d+ of stream session-.* does not have the hash it was written with/);
    restore();
    events.splice(at, 1);
    expect(await found(anchors)).toMatch(
      /event \d+ of the event log .*(goes on at revision|name the hash|more than there were)|history differs/,
    );
    restore();
    events.splice(-4);
    expect(await found(anchors)).toMatch(/ends after \d+ events, but \d+ were signed/);
    restore();
    const swap = original.findIndex(({ stream }, index) => index > 5 && stream !== original[index + 1]!.stream);
    const [one, other] = [original[swap]!, original[swap + 1]!];
    events[swap] = { ...other, position: one.position };
    events[swap + 1] = { ...one, position: other.position };
    expect(await found(anchors)).toMatch(/history differs between/);
  });

  test('is found while the service runs, by reading again', async () => {
    const store = await open();
    for (let round = 0; round < 4; round += 1) await store.append(appendOf(`s-${round}`, FIRST, 100));
    const { tree, faults } = await node({ rechecks: true });
    await sound(tree);
    const changed = Uint8Array.from(double.log.events[100]!.data);
    changed[2]! ^= 1;
    double.log.events[100] = { ...double.log.events[100]!, data: changed };
    await until('it is found', () => faults.length > 0);
    expect(faults[0]).toMatch(/does not have the hash/);
    expect(tree.state.integrity).toBe('damaged');
  });
});
