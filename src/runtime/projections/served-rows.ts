import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../ports/event-store.ts';
import type { Projection } from '../../ports/projection.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { caughtUpWithLedger, isBeingFilled, type FollowingOf } from './caught-up.ts';
import { projectionId } from './batch.ts';

/** Awaited before rows of some projections are shown to anybody. */
export type ServedRows = () => Promise<void>;

export interface ServedRowsDeps extends FollowingOf {
  readonly readModel: Pick<ReadModel, 'checkpoint'>;
  /** Resolves once what this process wrote is shown, or after a bounded wait. */
  readonly caughtUp: () => Promise<unknown>;
  /** How long rows that are being filled are waited for. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 2_000;
const LOOK_MS = 20;

/**
 * Waits for a bounded time until the rows of all of the projections show what was written before. Rejects with
 * `StoreUnavailable` while those of one are not whole: they are built for the first time, or again after they were
 * lost, and an empty answer, or one in part, would be wrong.
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
  else if (!(await caughtUpWithLedger({ store, projections }))) return false;
  // Whoever catches up does not wait for what is filled beside, or behind, all others.
  for (const untilMs = performance.now() + timeoutMs; isBeingFilled(projections, id); await sleep(LOOK_MS)) {
    if ((await store.head()) === null) return true;
    if (performance.now() >= untilMs) return false;
  }
  return true;
}
