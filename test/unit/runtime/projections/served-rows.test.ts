import { describe, expect, it, onTestFinished } from 'vitest';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import type { Projection } from '../../../../src/ports/read-model/projection.ts';
import type { NextRows, OwnedRows } from '../../../../src/ports/read-model/read-model.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import type { ProjectionStatus } from '../../../../src/runtime/projections/status.ts';
import { createServedRows } from '../../../../src/runtime/projections/served-rows.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { appendHistory, sessionIdOf } from '../../../support/random-history.ts';
import { createdFacts } from '../../../support/session-facts.ts';

const projectionOf = (name: string): Projection => ({
  ...{ name, version: 2, streamPrefixes: ['session-'], tables: [`${name}@2`], lists: [], needs: () => [] },
  apply: ({ stream }) => [{ op: 'put', table: `${name}@2`, key: stream, row: {} }],
});
const projection = projectionOf('p');

interface World {
  readonly head: string | null;
  readonly checkpoint: string | null;
  readonly reaches: boolean;
  readonly status?: () => readonly Partial<ProjectionStatus>[];
}

function servedRows({ head, checkpoint, reaches, status = () => [] }: World) {
  const asked: string[] = [];
  const wait = createServedRows(
    {
      store: { head: async () => head },
      projections: {
        caughtUpTo: async (position) => {
          asked.push(`reaches ${position}`);
          return reaches;
        },
        status: () => status() as ProjectionStatus[],
      },
      readModel: { checkpoint: async (id) => (id === 'p@2' ? checkpoint : null) },
      caughtUp: async () => void asked.push('own writes'),
      timeoutMs: 100,
    },
    projection,
  );
  return { wait, asked };
}

/** What is built beside is not written while the gate is closed. */
class GatedReadModel extends MemoryReadModel {
  isOpen = false;

  override next(owned: OwnedRows): NextRows {
    const next = super.next(owned);
    const apply: NextRows['apply'] = async (changes, checkpoint) => {
      while (!this.isOpen) await new Promise((resolve) => setTimeout(resolve, 1));
      await next.apply(changes, checkpoint);
    };
    return { ...next, apply };
  }
}

describe('served rows', () => {
  it('wait for earlier writes, and include them', async () => {
    const { wait, asked } = servedRows({ head: '9', checkpoint: '4', reaches: false });
    await wait();
    expect(asked).toEqual(['own writes']);
  });
  it('do not exist for an empty event log', async () => {
    const status = () => [{ projection: 'p@2', hasCaughtUp: false }];
    await servedRows({ head: null, checkpoint: null, reaches: false, status }).wait();
  });
  it('do not exist when nothing in the event log concerns them', async () => {
    const { wait, asked } = servedRows({ head: '9', checkpoint: null, reaches: true });
    await wait();
    expect(asked).toEqual(['reaches 9']);
  });
  it('are refused while they are built for the first time or after a loss', async () => {
    await expect(servedRows({ head: '9', checkpoint: null, reaches: false }).wait()).rejects.toThrow(StoreUnavailable);
  });

  it('are refused while those of a new version are built and others are served', async () => {
    const store = new MemoryEventStore();
    const readModel = new GatedReadModel();
    const run = async (...projections: Projection[]): Promise<ProjectionRunner> => {
      const runner = new ProjectionRunner({ store, readModel, projections, clock: { nowMs: () => 0 } });
      onTestFinished(() => runner.stop());
      await runner.start();
      return runner;
    };
    const data = createdFacts({ sessionId: sessionIdOf(0) });
    await appendHistory(store, [{ session: 0, event: { type: 'SessionCreated', data }, atMs: 1_800_000_000_000 }]);
    readModel.isOpen = true;
    const before = await run(projectionOf('old'));
    await before.ready();
    await before.stop();
    readModel.isOpen = false;
    const runner = await run(projectionOf('old'), projectionOf('new'));
    const deps = {
      store,
      projections: runner,
      readModel,
      timeoutMs: 100,
      caughtUp: async () => runner.caughtUpTo((await store.head())!),
    };
    const [old, both] = [
      createServedRows(deps, projectionOf('old')),
      createServedRows(deps, projectionOf('old'), projectionOf('new')),
    ];
    await old();
    await expect(both()).rejects.toThrow('the rows of new@2 are being built');
    readModel.isOpen = true;
    await runner.ready();
    await both();
    expect(await readModel.scan('new@2', { limit: 2 })).toHaveLength(1);
  });

  it('are refused, or waited for, while they are filled again in the place that is served', async () => {
    const status = () => [{ projection: 'p@2', hasCaughtUp: false }];
    await expect(servedRows({ head: '9', checkpoint: '4', reaches: true, status }).wait()).rejects.toThrow(
      StoreUnavailable,
    );
    let looks = 0;
    const soon = () => [{ projection: 'p@2', hasCaughtUp: (looks += 1) > 2 }];
    await servedRows({ head: '9', checkpoint: '4', reaches: true, status: soon }).wait();
  });
});
