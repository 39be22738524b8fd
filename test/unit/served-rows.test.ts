import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/ports/event-store.ts';
import type { Projection } from '../../src/ports/projection.ts';
import { createServedRows } from '../../src/runtime/served-rows.ts';

const projection: Projection = { name: 'p', version: 2, streamPrefixes: ['session-'], tables: [], lists: [], needs: () => [], apply: () => [] };

interface World {
  readonly head: string | null;
  readonly checkpoint: string | null;
  readonly reaches: boolean;
}

function servedRows({ head, checkpoint, reaches }: World) {
  const asked: string[] = [];
  const wait = createServedRows(
    {
      store: { head: async () => head },
      projections: {
        caughtUpTo: async (position) => {
          asked.push(`reaches ${position}`);
          return reaches;
        },
      },
      readModel: { checkpoint: async (id) => (id === 'p@2' ? checkpoint : null) },
      caughtUp: async () => void asked.push('own writes'),
    },
    projection,
  );
  return { wait, asked };
}

describe('rows that are shown', () => {
  it('wait for what was written before, and are shown as they are then', async () => {
    const { wait, asked } = servedRows({ head: '9', checkpoint: '4', reaches: false });
    await wait();
    expect(asked).toEqual(['own writes']);
  });
  it('are none of an empty ledger', async () => {
    await servedRows({ head: null, checkpoint: null, reaches: false }).wait();
  });
  it('are none when nothing in the ledger concerns them', async () => {
    const { wait, asked } = servedRows({ head: '9', checkpoint: null, reaches: true });
    await wait();
    expect(asked).toEqual(['reaches 9']);
  });
  it('are refused while they are built for the first time or after a loss', async () => {
    await expect(servedRows({ head: '9', checkpoint: null, reaches: false }).wait()).rejects.toThrow(StoreUnavailable);
  });
});
