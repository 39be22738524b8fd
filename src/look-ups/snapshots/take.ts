import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeDatabase } from '../../adapters/sqlite/database.ts';
import { readModelFile, SCHEMA_VERSION } from '../../adapters/sqlite/read-model/schema.ts';
import { contentsOf, isOfThisSchema, keepOnly } from '../../adapters/sqlite/read-model/shared-copy.ts';
import type { Log } from '../../ports/log.ts';
import { ownedRows } from '../../runtime/projections/batch.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import type { KeyList } from '../../runtime/cryptography/sealing.ts';
import { syncPath } from '../../runtime/files/sync-path.ts';
import { projectionsNamed } from '../projections.ts';
import { forgetOtherLog } from '../other-log.ts';
import type { Follows } from '../messages.ts';
import { checkAnchor, type AnchorDeps } from './log-anchor.ts';
import {
  dataFile,
  fileDigest,
  openManifest,
  setOf,
  snapshotsIn,
  SnapshotRefused,
  type SnapshotManifest,
} from './manifest.ts';

export interface TakeDeps {
  readonly folder: string;
  readonly keys: KeyList;
  readonly follows: Follows;
  readonly store: AnchorDeps['store'];
  readonly log: Log;
}

/** The incoming file; left behind by a process that was killed. */
const ARRIVING = 'read-model.arriving';

/**
 * Starts from the newest usable snapshot in the folder, unless this process already has look-ups. Returns the
 * snapshot's name; null if none is used, in which case look-ups are built from the event log. Nobody may have the
 * look-ups open.
 */
export async function takeSnapshot(deps: TakeDeps): Promise<string | null> {
  const { folder, keys, follows, log } = deps;
  removeDatabase(join(follows.dataDir, ARRIVING));
  const { forgotten } = await forgetOtherLog({ ...follows, store: deps.store });
  if (forgotten !== null) log.error({ reason: forgotten }, 'look-ups of another event log were removed');
  if (isWhole(follows) || (await deps.store.head()) === null) return null;
  if (!existsSync(folder)) log.warn({ folder }, 'LOOK_UP_SNAPSHOT_DIR does not exist');
  const own = setOf(follows.projections, SCHEMA_VERSION);
  const found = snapshotsIn(folder);
  for (const { name } of [...found.filter(({ set }) => set === own), ...found.filter(({ set }) => set !== own)]) {
    try {
      const manifest = openManifest(folder, name, keys);
      await install(deps, name, manifest);
      log.info(
        { snapshot: name, madeBy: manifest.node, through: manifest.log.since.through },
        'look-ups start from a snapshot',
      );
      return name;
    } catch (error) {
      log.warn({ snapshot: name, reason: messageOf(error) }, 'a snapshot of look-ups is not used');
    }
  }
  log.info(
    { folder, snapshots: found.length },
    'there is no snapshot to start from: look-ups are built from the event log',
  );
  return null;
}

/** Whether every look-up of this process was begun in a file that this build can read. */
function isWhole({ dataDir, projections }: Follows): boolean {
  const file = readModelFile(dataDir);
  const contents = existsSync(file) ? contentsOf(file) : null;
  return (
    contents !== null && isOfThisSchema(contents) && projections.every((id) => contents.checkpoints[id] !== undefined)
  );
}

async function install({ folder, follows, store }: TakeDeps, name: string, manifest: SnapshotManifest): Promise<void> {
  const { dataDir, projections } = follows;
  if (manifest.schema !== SCHEMA_VERSION)
    throw new SnapshotRefused(
      `its tables are of version ${manifest.schema}, and this build reads version ${SCHEMA_VERSION}`,
    );
  const lacking = projections.filter((id) => manifest.projections[id] === undefined);
  if (lacking.length > 0) throw new SnapshotRefused(`it lacks look-ups that this process keeps: ${lacking.join(', ')}`);
  const { size: bytes } = statSync(dataFile(folder, name));
  if (bytes !== manifest.file.bytes)
    throw new SnapshotRefused(`its file has ${bytes} bytes instead of ${manifest.file.bytes}`);
  await checkAnchor({ store, log: follows.log }, manifest.log);
  const arriving = join(dataDir, ARRIVING);
  try {
    await copyFile(dataFile(folder, name), arriving);
    if ((await fileDigest(arriving)).sha256 !== manifest.file.sha256)
      throw new SnapshotRefused('its content does not match its seal');
    keepOnly(arriving, projectionsNamed(projections).map(ownedRows));
    const contents = contentsOf(arriving);
    const differing = projections.filter((id) => contents?.checkpoints[id] !== manifest.projections[id]);
    if (differing.length > 0)
      throw new SnapshotRefused(`in its file ${differing.join(', ')} has another position than in its manifest`);
    syncPath(arriving);
    removeDatabase(readModelFile(dataDir));
    renameSync(arriving, readModelFile(dataDir));
    syncPath(dataDir);
  } finally {
    rmSync(arriving, { force: true });
  }
}
