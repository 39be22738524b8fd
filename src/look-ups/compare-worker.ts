import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { compareProjection, ReadModelSnapshot } from '../adapters/sqlite/read-model/compare.ts';
import { openSqliteReadModel } from '../adapters/sqlite/read-model/read-model.ts';
import type { Position, RecordedEvent } from '../ports/event-log/event-store.ts';
import type { Projection } from '../ports/read-model/projection.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import { projectBatch, projectionId, readEvent } from '../runtime/projections/batch.ts';
import { RowCache } from '../runtime/projections/row-cache.ts';
import { projectionsNamed } from './projections.ts';
import { isLater, readLog } from './followed-log.ts';
import type { ComparedProjection } from './compare.ts';
import type { Follows } from './messages.ts';
import { threadData } from '../runtime/util/thread-data.ts';
import { must } from '../domain/values/must.ts';
import { lowerPriority } from '../runtime/util/lower-priority.ts';

/*
 * Replays the event log into a separate read model up to the position of the running one, and compares the two. Does
 * not change the running one.
 */

const { dataDir, log, projections } = threadData<Follows>();
const SHADOW = 'shadow-';
const PAGE = 1_000;
const CACHED_ROWS = 20_000;

lowerPriority();

interface Replay {
  readonly projection: Projection;
  /** Position up to which the running projection has processed the event log; null if it has processed nothing. */
  readonly through: Position | null;
  readonly cache: RowCache;
}

async function compare(): Promise<ComparedProjection[]> {
  // Left behind by a comparison that was killed.
  for (const name of readdirSync(dataDir))
    if (name.startsWith(SHADOW)) rmSync(join(dataDir, name), { recursive: true, force: true });
  const shadowDir = mkdtempSync(join(dataDir, SHADOW));
  const live = new ReadModelSnapshot(dataDir);
  try {
    const replays = projectionsNamed(projections).map((projection) => ({
      projection,
      through: live.checkpoint(projectionId(projection)),
      cache: new RowCache(CACHED_ROWS),
    }));
    const shadow = await openSqliteReadModel({ dataDir: shadowDir });
    await replayInto(shadow, replays);
    await shadow.close();
    const again = new ReadModelSnapshot(shadowDir);
    try {
      return replays.map(({ projection, through }) => {
        const { tables, lists } = projection;
        const { rows, differing, digest, otherDigest, examples } = compareProjection(
          { projection: projectionId(projection), tables, lists },
          live,
          again,
        );
        return {
          projection: projectionId(projection),
          through,
          rows,
          differing,
          digest,
          replayed: otherDigest,
          examples,
        };
      });
    } finally {
      again.close();
    }
  } finally {
    live.close();
    rmSync(shadowDir, { recursive: true, force: true });
  }
}

async function replayInto(shadow: ReadModel, replays: readonly Replay[]): Promise<void> {
  const store = await readLog(log, dataDir);
  const isOpen = ({ through }: Replay, after: Position | null): boolean =>
    through !== null && (after === null || isLater(log, through, after));
  for (let after: Position | null = null; replays.some((replay) => isOpen(replay, after));) {
    const events: RecordedEvent[] = await store.readAll({ after, limit: PAGE });
    if (events.length === 0) break;
    const read = events.map(readEvent);
    after = must(events.at(-1)).position;
    for (const { projection, through, cache } of replays) {
      const own = read.filter(({ recorded }) => through !== null && !isLater(log, recorded.position, through));
      if (own.length === 0) continue;
      const { changes, rows } = await projectBatch(projection, own, { readModel: shadow, cache, nowMs: 0 });
      await shadow.apply(projectionId(projection), changes, must(own.at(-1)).recorded.position);
      rows.commit();
    }
  }
  await store.close();
}

must(parentPort).postMessage(await compare());
