import { createHash, type Hash } from 'node:crypto';
import type { Projection } from '../../ports/read-model/projection.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { Change, ReadModel } from '../../ports/read-model/read-model.ts';
import { type LogReader, pagesOf } from '../event-log/log-copy.ts';
import { projectBatch, projectionId, readEvent } from './batch.ts';
import { RowCache } from './row-cache.ts';
import { must } from '../../domain/values/must.ts';

const PAGE = 500;
const CACHE_ROWS = 20_000;

export interface ProjectionDigest {
  /** `name@version`. */
  readonly projection: string;
  /** SHA-256 (hex) over its rows by table and key, then its lists by name with their members in order. */
  readonly digest: string;
  readonly rows: number;
  /** Number of events that it could not process. */
  readonly parked: number;
}

/**
 * Replays a log into an empty read model and returns the digests. Positions are left out, because other stores assign
 * other ones.
 */
export async function projectionDigests(
  store: LogReader,
  readModel: ReadModel,
  projections: readonly Projection[],
  onProgress: (done: number) => void = () => undefined,
): Promise<ProjectionDigest[]> {
  const replays = projections.map((projection) => ({
    projection,
    cache: new RowCache(CACHE_ROWS),
    lists: new Set<string>(),
    parked: 0,
  }));
  let done = 0;
  for await (const page of pagesOf(store)) {
    const events = page.map(readEvent);
    for (const replay of replays) {
      const { changes, parked, rows } = await projectBatch(replay.projection, events, {
        readModel,
        cache: replay.cache,
        nowMs: 0,
      });
      await readModel.apply(projectionId(replay.projection), changes, must(page.at(-1)).position);
      rows.commit();
      replay.parked += parked.length;
      for (const list of listsIn(changes)) replay.lists.add(list);
    }
    done += page.length;
    onProgress(done);
  }
  return Promise.all(
    replays.map(async ({ projection, lists, parked }) => ({
      projection: projectionId(projection),
      parked,
      ...(await digestOf(readModel, projection, lists)),
    })),
  );
}

async function digestOf(
  readModel: ReadModel,
  projection: Projection,
  lists: ReadonlySet<string>,
): Promise<{ digest: string; rows: number }> {
  const digest = createHash('sha256');
  let rows = 0;
  for (const table of projection.tables) rows += await addTable(digest, readModel, table);
  for (const list of [...lists].sort()) await addList(digest, readModel, list);
  return { digest: digest.digest('hex'), rows };
}

async function addTable(digest: Hash, readModel: ReadModel, table: string): Promise<number> {
  digest.update(`table ${table}\n`);
  let count = 0;
  for await (const page of rowPages(readModel, table)) {
    for (const { key, row } of page) digest.update(`${JSON.stringify([key, row])}\n`);
    count += page.length;
  }
  return count;
}

async function addList(digest: Hash, readModel: ReadModel, list: string): Promise<void> {
  digest.update(`list ${list}\n`);
  for (let before: number | null = null; ;) {
    const page = await readModel.before(list, { before, limit: PAGE });
    if (page.length === 0) return;
    for (const { member, order } of page) digest.update(`${order} ${member}\n`);
    before = must(page.at(-1)).order;
  }
}

/** Every list to which the changes add members, or from which they remove some. */
const listsIn = (changes: readonly Change[]): string[] =>
  changes.flatMap((change) => ('lists' in change ? change.lists : []));
