import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Projection } from '../../ports/read-model/projection.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { caughtUpWithLog, isBeingFilled, type FollowingOf } from './caught-up.ts';
import { projectionId } from './batch.ts';

/** Await this before returning rows of some projections to a caller. */
export type ServedRows = () => Promise<void>;

export interface ServedRowsDeps extends FollowingOf {
  readonly readModel: Pick<ReadModel, 'checkpoint'>;
  /** Resolves once the rows contain what this process wrote, or after a bounded wait. */
  readonly caughtUp: () => Promise<unknown>;
  /** Timeout for rows that are being filled. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 2_000;
const LOOK_MS = 20;

/**
 * Waits for a bounded time until the rows of all the projections contain what was written before. Rejects with
 * `StoreUnavailable` while those of one are incomplete because they are built for the first time or after a loss: an
 * empty or partial answer would be wrong.
 */
export function createServedRows(deps: ServedRowsDeps, ...shown: readonly Projection[]): ServedRows {
  const ids = shown.map(projectionId);
  return async () => {
    for (const id of ids)
      if (!(await isWhole(deps, id))) throw new StoreUnavailable(`the rows of ${id} are being built`);
  };
}

async function isWhole(
  { store, projections, readModel, caughtUp, timeoutMs = TIMEOUT_MS }: ServedRowsDeps,
  id: string,
): Promise<boolean> {
  if ((await readModel.checkpoint(id)) !== null) await caughtUp();
  else if (!(await caughtUpWithLog({ store, projections }))) return false;
  // `caughtUp` does not wait for rows being filled beside or behind all others.
  for (const untilMs = performance.now() + timeoutMs; isBeingFilled(projections, id); await sleep(LOOK_MS)) {
    if ((await store.head()) === null) return true;
    if (performance.now() >= untilMs) return false;
  }
  return true;
}
