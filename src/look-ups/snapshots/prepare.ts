import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openEsdbEventStore } from '../../adapters/esdb/event-store.ts';
import { createDataDir } from '../../adapters/sqlite/database.ts';
import { InvalidConfig, type Config } from '../../config.ts';
import { systemClock } from '../../ports/clock.ts';
import { silentLog } from '../../ports/log.ts';
import { projectionId } from '../../runtime/projections/batch.ts';
import { nodeName } from '../../runtime/util/node-name.ts';
import { projectionsOf } from '../projections.ts';
import type { LogSource } from '../followed-log.ts';
import { openProjectionThread } from '../thread.ts';
import { makeSnapshot, type MadeSnapshot } from './make.ts';
import { snapshotSettings } from './snapshots.ts';
import { takeSnapshot } from './take.ts';

const FOLDER = 'prepare-';

/**
 * Builds this build's look-ups beside running nodes, which may be of another build, and puts a snapshot of them into
 * the folder, from which nodes of this build then start. `onProgress`: number of events processed, of those known to
 * exist.
 */
export async function prepareSnapshot(
  config: Config,
  namespace: string,
  onProgress: (done: number, total: number) => void,
): Promise<MadeSnapshot> {
  const settings = snapshotSettings(config);
  const connectionString = config.EVENTSTORE_URL;
  if (!settings || connectionString === undefined)
    throw new InvalidConfig(
      'preparing look-ups needs EVENTSTORE_URL, LOOK_UP_SNAPSHOT_DIR, and WEBHOOK_SECRETS_KEY or MASTER_KEY',
    );
  const log: LogSource = { kind: 'servers', connectionString, namespace };
  createDataDir(config.DATA_DIR);
  const dataDir = mkdtempSync(join(config.DATA_DIR, FOLDER));
  const store = await openEsdbEventStore({ connectionString, namespace });
  try {
    // A worker's look-ups include those of an API node.
    const projections = projectionsOf({ api: true, worker: true, signer: false }).map(projectionId);
    const follows = { dataDir, log, projections };
    await takeSnapshot({ ...settings, follows, store, log: silentLog });
    const thread = await openProjectionThread(dataDir, follows);
    try {
      let taken = 0;
      await thread.start(store, {
        onBatch: ({ events, lagEvents }) => onProgress((taken += events), taken + lagEvents),
      });
      await thread.ready();
      return await makeSnapshot({
        ...settings,
        follows,
        store,
        node: `${nodeName(config.DATA_DIR)}-prepared`,
        clock: systemClock,
      });
    } finally {
      await thread.stop();
      await thread.readModel.close();
    }
  } finally {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
