import { StoreUnavailable } from '../ports/event-store.ts';
import type { Projection } from '../ports/projection.ts';
import type { ReadModel } from '../ports/read-model.ts';
import { caughtUpWithLedger, type Following } from './caught-up.ts';
import { projectionId } from './projection-batch.ts';

/** Awaited before rows of one projection are shown to anybody. */
export type ServedRows = () => Promise<void>;

export interface ServedRowsDeps extends Following {
  readonly readModel: Pick<ReadModel, 'checkpoint'>;
  /** Resolves once what this process wrote is shown, or after a bounded wait. */
  readonly caughtUp: () => Promise<unknown>;
}

/**
 * Waits for a bounded time until the rows show what was written before. Rejects with `StoreUnavailable` while there are none to show: they are
 * built for the first time, or again after they were lost, and an empty answer would be wrong.
 */
export function createServedRows({ store, projections, readModel, caughtUp }: ServedRowsDeps, projection: Projection): ServedRows {
  const id = projectionId(projection);
  return async () => {
    if ((await readModel.checkpoint(id)) !== null) await caughtUp();
    else if (!(await caughtUpWithLedger({ store, projections }))) throw new StoreUnavailable(`the rows of ${id} are being built`);
  };
}
