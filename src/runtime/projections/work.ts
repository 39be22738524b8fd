import type { Projection } from '../../ports/read-model/projection.ts';
import type { NextRows, ReadModel } from '../../ports/read-model/read-model.ts';
import { ownedRows, projectionId } from './batch.ts';
import { RowCache } from './row-cache.ts';

/** A projection with the rows that it writes: the served ones, or those being built beside them. */
export interface ProjectionWork {
  readonly projection: Projection;
  readonly rows: Pick<NextRows, 'begin' | 'apply' | 'getMany'>;
  readonly cache: RowCache;
  /** Set while the rows are not served yet. */
  readonly next: NextRows | null;
}

export function servedWork(readModel: ReadModel, projection: Projection, cacheRows: number): ProjectionWork {
  const id = projectionId(projection);
  return {
    projection,
    rows: {
      begin: () => readModel.checkpoint(id),
      apply: (changes, checkpoint) => readModel.apply(id, changes, checkpoint),
      getMany: (table, keys) => readModel.getMany(table, keys),
    },
    cache: new RowCache(cacheRows),
    next: null,
  };
}

export function nextWork(
  readModel: ReadModel,
  projection: Projection,
  cacheRows: number,
): ProjectionWork & { readonly next: NextRows } {
  const next = readModel.next(ownedRows(projection));
  return { projection, rows: next, cache: new RowCache(cacheRows), next };
}
