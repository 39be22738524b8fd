import { type EventStore, type Position, StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Projection } from '../../ports/read-model/projection.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { caughtUpWithLog, isBeingFilled } from './caught-up.ts';
import { projectionId } from './batch.ts';
import type { RunningProjections } from './runner.ts';

/** Runs a read of many rows, again if they were lost during it. */
export type WholeRows = <Value>(read: () => Promise<Value>) => Promise<Value>;

export interface WholeRowsDeps {
  readonly store: Pick<EventStore, 'head'>;
  readonly readModel: Pick<ReadModel, 'generation'>;
  readonly projections: Pick<RunningProjections, 'caughtUpTo' | 'status'>;
  readonly timeoutMs?: number;
}

const ATTEMPTS = 3;

/**
 * For code that writes events based on rows: the read starts once the rows contain everything in the event log, and
 * counts only if they were not lost before it ended. Rejects with `StoreUnavailable` otherwise, because rows being
 * refilled are no facts.
 */
export function createWholeRows(
  { store, readModel, projections, timeoutMs }: WholeRowsDeps,
  projection: Projection,
): WholeRows {
  const id = projectionId(projection);
  const isReplayed = (): boolean => isBeingFilled(projections, id);
  return async (read) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const generation = await readModel.generation(id);
      if (isReplayed() || !(await caughtUpWithLog({ store, projections }, timeoutMs))) break;
      const value = await read();
      if ((await readModel.generation(id)) === generation && !isReplayed()) return value;
    }
    throw new StoreUnavailable(`the rows of ${id} are behind the event log`);
  };
}

/**
 * Reads rows into memory and returns the position from which to follow the event log so that nothing is missed: null if
 * there were none, or they were lost. Repeats the read if they were lost during it, so reading a row twice must be
 * harmless; so must rows that are newer than the position.
 */
export async function seedFrom(
  readModel: Pick<ReadModel, 'checkpoint' | 'generation'>,
  projection: Pick<Projection, 'name' | 'version'>,
  read: () => Promise<void>,
): Promise<Position | null> {
  const id = projectionId(projection);
  for (;;) {
    const generation = await readModel.generation(id);
    const checkpoint = await readModel.checkpoint(id);
    await read();
    if ((await readModel.generation(id)) === generation) return generation === null ? null : checkpoint;
  }
}
