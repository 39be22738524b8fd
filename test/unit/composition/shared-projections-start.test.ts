import { expect, it } from 'vitest';
import { createSingleProcessLeases } from '../../../src/adapters/memory/leases.ts';
import { PROJECTIONS } from '../../../src/composition/projections.ts';
import { SharedProjections } from '../../../src/composition/shared-projections.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import { StoreUnavailable, type EventStore } from '../../../src/ports/event-store.ts';
import { projectionId } from '../../../src/runtime/projections/batch.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';

it('projections that could not all begin leave none at work beside the next term', async () => {
  const [first, ...others] = PROJECTIONS;
  const projectedModel = new MemoryReadModel();
  projectedModel.checkpoints.set(projectionId(first), 'known');
  for (const projection of others) projectedModel.checkpoints.set(projectionId(projection), 'beyond the log');
  projectedModel.clear = () => Promise.reject(new StoreUnavailable('Redis did not answer'));
  const open = new Set<string>();
  const store = {
    subscribe: ({ name, after }: { name: string; after: string }) => {
      if (after !== 'known') throw new RangeError('not a position of this log');
      open.add(name);
      return { position: after, lag: 0, close: async () => void open.delete(name) };
    },
  } as unknown as EventStore;
  const leases = createSingleProcessLeases();
  const log = createLogger('silent');
  const deps = { store, projectedModel, readModel: projectedModel, leases, ttlMs: 60_000, clock: systemClock, log, runs: true };
  const projections = new SharedProjections(deps);
  await expect(projections.start(store)).rejects.toThrow('Redis did not answer');
  await projections.stop();
  expect(open.size).toBe(0);
});
