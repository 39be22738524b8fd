import { afterEach, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../../src/ports/event-store.ts';
import type { Projection } from '../../../../src/ports/projection.ts';
import type { Change, OwnedRows, NextRows } from '../../../../src/ports/read-model.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { appendLedger, sessionIdOf } from '../../../support/random-ledger.ts';
import { createdFacts } from '../../../support/session-facts.ts';

const P: Projection = {
  ...{ name: 'p', version: 1, streamPrefixes: ['session-'], tables: ['p@1'], lists: [], needs: () => [] },
  apply: ({ stream }) => [{ op: 'put', table: 'p@1', key: stream, row: {} }],
};
const slow = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

/** As the one over Redis: what lost its rows refuses to go on with them. */
class LosingReadModel extends MemoryReadModel {
  #known: string | null = null;
  lose(): void {
    this.checkpoints.clear();
    this.tables.clear();
  }
  override async begin(projection: string): Promise<string | null> {
    return (this.#known = await super.begin(projection));
  }
  override async apply(projection: string, changes: readonly Change[], checkpoint: string): Promise<void> {
    await slow();
    if ((await this.checkpoint(projection)) !== this.#known) throw new StoreUnavailable('the rows were lost');
    await super.apply(projection, changes, checkpoint);
    this.#known = checkpoint;
  }
  override next(owned: OwnedRows): NextRows {
    const next = super.next(owned);
    return {
      ...next,
      apply: async (changes, checkpoint) => {
        await slow();
        await next.apply(changes, checkpoint);
      },
      promote: async () => {
        await next.promote();
        this.#known = await this.checkpoint('p@1');
      },
    };
  }
}

let stop: () => Promise<void> = async () => undefined;
afterEach(() => stop());

it('rows that were lost while events arrive are not served in part', async () => {
  const store = new MemoryEventStore();
  const readModel = new LosingReadModel();
  const add = (session: number): Promise<void> =>
    appendLedger(store, [
      {
        session,
        event: { type: 'SessionCreated', data: createdFacts({ sessionId: sessionIdOf(session), orderId: `o-${session}` }) },
        atMs: 1_800_000_000_000,
      },
    ]);
  for (let session = 0; session < 10; session += 1) await add(session);
  const runner = new ProjectionRunner({ store, readModel, projections: [P], clock: { nowMs: () => 0 }, maxBatch: 1 });
  await runner.start();
  stop = () => runner.stop();
  await runner.ready();
  expect(await readModel.scan('p@1', { limit: 20 })).toHaveLength(10);
  readModel.lose();
  await add(10);
  const seen = new Set<number>();
  for (let look = 0; look < 600; look += 1) {
    if ((await readModel.checkpoint('p@1')) !== null) seen.add((await readModel.scan('p@1', { limit: 20 })).length);
    if (seen.has(11)) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect([...seen]).toEqual([11]);
});
