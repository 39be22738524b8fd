import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openEsdbEventStore } from '../../adapters/esdb/event-store.ts';
import { isAfter, parsePosition } from '../../adapters/esdb/position.ts';
import { openRedisReadModel } from '../../adapters/redis/read-model.ts';
import { openSqliteReadModel } from '../../adapters/sqlite/read-model/read-model.ts';
import { MovingComparison } from '../../runtime/projections/moving-comparison.ts';
import { comparedProjections, type ComparedProjection, type ComparisonThread } from './projection-compare.ts';

/* Replays the ledger of the servers into a file of this process, and compares what Redis serves with it, while both go on. */

const { dataDir, eventStoreUrl, namespace, redis, names } = workerData as Extract<ComparisonThread, { kind: 'servers' }> & {
  readonly names: readonly string[] | null;
};
const SHADOW = 'shadow-';
const NICE = 10;

// On Linux this is the priority of the calling thread alone; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(0, NICE);

async function compare(): Promise<ComparedProjection[]> {
  // What a comparison left behind that was killed.
  for (const name of readdirSync(dataDir)) if (name.startsWith(SHADOW)) rmSync(join(dataDir, name), { recursive: true, force: true });
  const shadowDir = mkdtempSync(join(dataDir, SHADOW));
  const opened: { close(): Promise<void> }[] = [];
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    opened.unshift(part);
    return part;
  };
  try {
    const comparison = new MovingComparison({
      store: keep(await openEsdbEventStore({ connectionString: eventStoreUrl, namespace })),
      live: keep(await openRedisReadModel({ ...redis, onError: () => {} })),
      shadow: keep(await openSqliteReadModel({ dataDir: shadowDir })),
      isAfter: (one, other) => isAfter(parsePosition(one), parsePosition(other)),
    });
    const drifts = await comparison.compare(comparedProjections(names));
    return drifts.map((drift) => ({ ...drift, digest: null, replayed: null }));
  } finally {
    for (const part of opened) await part.close();
    rmSync(shadowDir, { recursive: true, force: true });
  }
}

parentPort!.postMessage(await compare());
