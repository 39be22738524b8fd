import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import type { Projection } from '../../../../src/ports/read-model/projection.ts';
import { createWholeRows, seedFrom } from '../../../../src/runtime/projections/whole-rows.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';

const projection: Projection = {
  name: 'p',
  version: 1,
  streamPrefixes: ['session-'],
  tables: ['p@1'],
  lists: [],
  needs: () => [],
  apply: () => [],
};

/** Loses everything, and fills a part of it again, when it is told to in the middle of a reading. */
async function lose(model: MemoryReadModel, refilledTo: string | null): Promise<void> {
  await model.clear({ projection: 'p@1', tables: ['p@1'], lists: [] });
  if (refilledTo !== null) await model.apply('p@1', [], refilledTo);
}

describe('rows that seed a follower of the event log', () => {
  it('are read once, from the checkpoint before them', async () => {
    const model = new MemoryReadModel();
    await model.apply('p@1', [], '7');
    let reads = 0;
    const after = await seedFrom(model, projection, async () => {
      reads += 1;
      await model.apply('p@1', [], '8');
    });
    expect([after, reads]).toEqual(['7', 1]);
  });

  it('are read again when they were lost meanwhile, even when they came as far as before', async () => {
    const model = new MemoryReadModel();
    await model.apply('p@1', [], '7');
    let reads = 0;
    const after = await seedFrom(model, projection, async () => void ((reads += 1) === 1 && (await lose(model, '7'))));
    expect([after, reads]).toEqual(['7', 2]);
  });

  it('are followed from the beginning if there are none', async () => {
    const model = new MemoryReadModel();
    await model.apply('p@1', [], '7');
    let reads = 0;
    const after = await seedFrom(model, projection, async () => void ((reads += 1) === 1 && (await lose(model, null))));
    expect([after, reads]).toEqual([null, 2]);
  });
});

describe('rows on which events are based', () => {
  const store = { head: async () => '7' };
  const projections = { caughtUpTo: async () => true, status: () => [] };

  it('count when nothing happened to them', async () => {
    const model = new MemoryReadModel();
    await model.apply('p@1', [], '7');
    expect(await createWholeRows({ store, readModel: model, projections }, projection)(async () => 'sum')).toBe('sum');
  });

  it('are read again when they were lost meanwhile', async () => {
    const model = new MemoryReadModel();
    await model.apply('p@1', [], '7');
    let reads = 0;
    const read = async (): Promise<number> => {
      reads += 1;
      if (reads === 1) await lose(model, '7');
      return reads;
    };
    expect(await createWholeRows({ store, readModel: model, projections }, projection)(read)).toBe(2);
  });

  it('are no facts while they lag, while they are replayed, or when they are lost each time', async () => {
    const model = new MemoryReadModel();
    const refused = async (change: object, read = async (): Promise<void> => undefined): Promise<void> => {
      const whole = createWholeRows(
        { store, readModel: model, projections: { ...projections, ...change } },
        projection,
      );
      await expect(whole(read)).rejects.toThrow(StoreUnavailable);
    };
    await refused({ caughtUpTo: async () => false });
    await refused({
      status: () => [{ projection: 'p@1', position: '3', hasCaughtUp: false, lagEvents: 4, lagSec: 1 }],
    });
    await refused({}, () => model.apply('p@1', [], '7').then(() => lose(model, '7')));
  });
});
