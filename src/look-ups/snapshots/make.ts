import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isOfThisSchema } from '../../adapters/sqlite/read-model/shared-copy.ts';
import { CommandRefused } from '../../operator/server/commands.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KeyList } from '../../runtime/cryptography/sealing.ts';
import { syncPath } from '../../runtime/files/sync-path.ts';
import { writePrivate } from '../../runtime/files/private-file.ts';
import { isLater } from '../followed-log.ts';
import type { Follows } from '../messages.ts';
import { anchorOf, newestCheckpoint, type AnchorDeps } from './log-anchor.ts';
import { dataFile, isOfFuture, manifestFile, nameOf, sealManifest, setOf, snapshotsIn } from './manifest.ts';
import type { SnapshotCopy, SnapshotOrder } from './worker.ts';
import { threadEnvironment } from '../../runtime/util/thread-environment.ts';

export interface MakeDeps {
  readonly folder: string;
  readonly keys: KeyList;
  readonly follows: Follows;
  readonly store: AnchorDeps['store'];
  readonly node: string;
  readonly clock: Clock;
}

export type MadeSnapshot = {
  readonly snapshot: string;
  readonly bytes: number;
  readonly through: string;
};

/** Where the copy is made, because SQLite's locks are unreliable on a shared folder. */
const DEPARTING = 'read-model.departing';
/** Number of snapshots with the same look-ups. */
const KEPT = 2;
/** Snapshots of other builds, in case of a downgrade. */
const OTHERS_KEPT_MS = 7 * 86_400_000;
/** A large snapshot takes time to arrive. */
const UNFINISHED_KEPT_MS = 86_400_000;
const UNFINISHED = /^(.*look-ups-[^/]*?)[.]db([.]part)?$/;

/** Writes a snapshot of the current look-ups into the folder. Throws `CommandRefused` if they cannot be vouched for. */
export async function makeSnapshot(deps: MakeDeps): Promise<MadeSnapshot> {
  const { folder, keys, follows, clock, node } = deps;
  if (!existsSync(folder)) throw new CommandRefused(`LOOK_UP_SNAPSHOT_DIR: there is no folder ${folder}`);
  const checkpoint = await newestCheckpoint({ store: deps.store, log: follows.log });
  if (!checkpoint)
    throw new CommandRefused(
      'no checkpoint has been signed yet, so nothing would tie a snapshot to this event log: run a signer',
    );
  const copy = join(follows.dataDir, DEPARTING);
  try {
    const { schema, checkpoints, file } = await copyBy({
      dataDir: follows.dataDir,
      projections: follows.projections,
      to: copy,
    });
    const lacking = follows.projections.filter((id) => checkpoints[id] === undefined);
    if (lacking.length > 0) throw new CommandRefused(`look-ups are not complete yet: ${lacking.join(', ')}`);
    const through = Object.values(checkpoints).reduce((one, other) => (isLater(follows.log, one, other) ? one : other));
    const log = await anchorOf({ store: deps.store, log: follows.log }, checkpoint, through);
    const madeAtMs = clock.nowMs();
    const { name } = nameOf(setOf(follows.projections, schema), node, madeAtMs);
    const arriving = `${dataFile(folder, name)}.part`;
    await copyFile(copy, arriving);
    syncPath(arriving);
    renameSync(arriving, dataFile(folder, name));
    // Last: a snapshot without its manifest is not one.
    const manifest = { format: 1, node, madeAtMs, schema, projections: checkpoints, log, file } as const;
    writePrivate(manifestFile(folder, name), `${sealManifest(manifest, name, keys)}\n`);
    syncPath(folder);
    removeOld(folder, setOf(follows.projections, schema), madeAtMs);
    return { snapshot: name, bytes: file.bytes, through };
  } finally {
    rmSync(copy, { force: true });
  }
}

function copyBy(order: SnapshotOrder): Promise<SnapshotCopy> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    name: 'snapshot',
    workerData: order,
    execArgv: [],
    env: threadEnvironment(),
  });
  return new Promise((resolve, reject) => {
    worker.once('message', (copy: SnapshotCopy) =>
      isOfThisSchema(copy) ? resolve(copy) : reject(new Error('the copy is of another schema')),
    );
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the copying of look-ups was interrupted')));
  });
}

function removeOld(folder: string, set: string, nowMs: number): void {
  const found = snapshotsIn(folder);
  const own = found.filter((one) => one.set === set);
  // Those from a fast clock are removed first; they would displace every later one.
  const ofSet = [...own.filter((one) => !isOfFuture(one, nowMs)), ...own.filter((one) => isOfFuture(one, nowMs))].slice(
    KEPT,
  );
  const ofOthers = found.filter((one) => one.set !== set && nowMs - one.madeAtMs > OTHERS_KEPT_MS);
  for (const { name } of [...ofSet, ...ofOthers]) {
    rmSync(manifestFile(folder, name), { force: true });
    rmSync(dataFile(folder, name), { force: true });
  }
  // Left behind by nodes that were killed.
  for (const file of readdirSync(folder).filter((name) => UNFINISHED.test(name))) {
    const path = join(folder, file);
    if (existsSync(path.replace(UNFINISHED, '$1.manifest'))) continue;
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > UNFINISHED_KEPT_MS)
      rmSync(path, { force: true });
  }
}
