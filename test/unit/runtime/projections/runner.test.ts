import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressIndex } from '../../../../projections/addresses/address-index.projection.ts';
import { sessionView } from '../../../../projections/sessions/session-view.projection.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import type { Projection } from '../../../../src/ports/read-model/projection.ts';
import type { Change, NextRows, OwnedRows, ReadModel } from '../../../../src/ports/read-model/read-model.ts';
import type { BatchReport } from '../../../../src/runtime/projections/group.ts';
import type { ParkedEvent } from '../../../../src/runtime/projections/batch.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import type { ProjectionRunnerOptions } from '../../../../src/runtime/projections/runner-options.ts';
import { RebuildRunning } from '../../../../src/runtime/projections/status.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { appendHistory, sessionIdOf, type HistoryEntry } from '../../../support/random-history.ts';
import { createdFacts } from '../../../support/session-facts.ts';

/** Counts events of each type: doubling or missing one shows. */
const counting = (name: string, change: Partial<Projection> = {}): Projection => ({
  name,
  version: 1,
  streamPrefixes: ['session-'],
  tables: [`${name}@1`],
  lists: [`${name}@1/`],
  needs: () => [{ table: `${name}@1`, key: 'count' }],
  apply: (_event, read) => [
    {
      op: 'put',
      table: `${name}@1`,
      key: 'count',
      row: { count: (read<{ count: number }>(`${name}@1`, 'count')?.count ?? 0) + 1 },
    },
  ],
  ...change,
});

const created = (session: number): HistoryEntry => ({
  session,
  event: {
    type: 'SessionCreated',
    data: createdFacts({ sessionId: sessionIdOf(session), orderId: `order-${session}` }),
  },
  atMs: 1_800_000_000_000,
});

/** Fails applies as told, before or after they are committed. */
class FaultyReadModel extends MemoryReadModel {
  readonly faults: ((projection: string) => 'before' | 'after' | null)[] = [];

  override apply(projection: string, changes: readonly Change[], checkpoint: string): Promise<void> {
    return this.#failing(projection, () => super.apply(projection, changes, checkpoint));
  }

  override next(owned: OwnedRows): NextRows {
    const next = super.next(owned);
    return {
      ...next,
      apply: (changes, checkpoint) => this.#failing(owned.projection, () => next.apply(changes, checkpoint)),
    };
  }

  async #failing(projection: string, apply: () => Promise<void>): Promise<void> {
    const fault = this.faults[0]?.(projection);
    if (fault === 'before') throw new StoreUnavailable('lost before the commit');
    await apply();
    if (fault === 'after') throw new StoreUnavailable('lost after the commit');
  }
}

/** What is built beside is not written while the gate is closed. */
class GatedReadModel extends MemoryReadModel {
  isOpen = false;
  waiting = 0;
  /** Switches that fail. */
  refusals = 0;

  override next(owned: OwnedRows): NextRows {
    const next = super.next(owned);
    return {
      ...next,
      apply: async (changes, checkpoint) => {
        this.waiting += 1;
        while (!this.isOpen) await new Promise((resolve) => setTimeout(resolve, 1));
        await next.apply(changes, checkpoint);
      },
      promote: async () => {
        this.refusals -= 1;
        if (this.refusals >= 0) throw new StoreUnavailable('not now');
        await next.promote();
      },
    };
  }
}

/** Refuses to write the served rows of one projection, and answers late where they begin. */
class StragglingReadModel extends GatedReadModel {
  straggler = '';

  override apply(projection: string, changes: readonly Change[], checkpoint: string): Promise<void> {
    return projection === this.straggler
      ? Promise.reject(new StoreUnavailable('not now'))
      : super.apply(projection, changes, checkpoint);
  }

  override async checkpoint(projection: string): Promise<string | null> {
    const checkpoint = await super.checkpoint(projection);
    while (projection === this.straggler) await new Promise((resolve) => setTimeout(resolve, 1));
    return checkpoint;
  }
}

/** Served rows wait to be written while it is blocked; what is built beside can be lost. */
class LosingReadModel extends GatedReadModel {
  isBlocked = false;
  losses = 0;

  override async apply(projection: string, changes: readonly Change[], checkpoint: string): Promise<void> {
    while (this.isBlocked) await new Promise((resolve) => setTimeout(resolve, 1));
    await super.apply(projection, changes, checkpoint);
  }

  override next(owned: OwnedRows): NextRows {
    const next = super.next(owned);
    const apply: NextRows['apply'] = async (changes, checkpoint) => {
      this.losses -= 1;
      if (this.losses < 0) return next.apply(changes, checkpoint);
      await next.drop();
      throw new StoreUnavailable('what was built is lost');
    };
    return { ...next, apply };
  }
}

describe('the projection runner', () => {
  const runners: ProjectionRunner[] = [];
  const store = { current: new MemoryEventStore() };
  const start = async (
    projections: readonly Projection[],
    readModel: ReadModel,
    options: Partial<ProjectionRunnerOptions> = {},
  ): Promise<ProjectionRunner> => {
    const runner = new ProjectionRunner({
      store: store.current,
      readModel,
      projections,
      clock: { nowMs: () => 1_800_000_005_000 },
      maxBatch: 2,
      ...options,
    });
    runners.push(runner);
    await runner.start();
    return runner;
  };
  const append = (from: number, to: number): Promise<void> =>
    appendHistory(
      store.current,
      Array.from({ length: to - from }, (_, index) => created(from + index)),
    );
  const countOf = async (model: ReadModel, name: string) =>
    (await model.get<{ count: number }>(`${name}@1`, 'count'))?.count;

  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    await store.current.close();
    store.current = new MemoryEventStore();
  });

  it('feeds every projection what was there and what comes, and lets a writer wait for its own event', async () => {
    const model = new MemoryReadModel();
    await append(0, 5);
    const runner = await start([counting('one'), counting('two')], model);
    await runner.ready();
    await append(5, 8);
    expect(await runner.caughtUpTo((await store.current.head())!)).toBe(true);
    expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([8, 8]);
    expect(model.checkpoints).toEqual(
      new Map([
        ['one@1', '8'],
        ['two@1', '8'],
      ]),
    );
  });

  it('gives up waiting when the time is up', async () => {
    const model = new FaultyReadModel();
    const runner = await start([counting('one')], model);
    await runner.ready();
    model.faults.push(() => 'before');
    await append(0, 1);
    expect(await runner.caughtUpTo('1', 30)).toBe(false);
    model.faults.pop();
    expect(await runner.caughtUpTo('1')).toBe(true);
  });

  it('continues from each checkpoint after a restart, and projections at the same position continue together', async () => {
    const model = new MemoryReadModel();
    await append(0, 7);
    const first = await start([counting('old')], model);
    await first.ready();
    await first.stop();
    await append(7, 12);
    const reports: BatchReport[] = [];
    const runner = await start([counting('old'), counting('new')], model, {
      hooks: { onBatch: (report) => reports.push(report) },
    });
    await runner.ready();
    expect([await countOf(model, 'old'), await countOf(model, 'new')]).toEqual([12, 12]);
    await append(12, 13);
    await runner.caughtUpTo('13');
    expect(reports.at(-1)?.projections.toSorted()).toEqual(['new@1', 'old@1']);
    expect([await countOf(model, 'old'), await countOf(model, 'new')]).toEqual([13, 13]);
  });

  it('parks an event that one projection cannot process; it and the others continue', async () => {
    const model = new MemoryReadModel();
    const alarms: ParkedEvent[] = [];
    const fragile = counting('fragile', {
      apply: (event, read) => {
        if (event.stream.includes(sessionIdOf(1))) throw new TypeError('cannot take this');
        return counting('fragile').apply(event, read);
      },
    });
    await append(0, 4);
    const runner = await start([fragile, counting('sound')], model, {
      hooks: { onParked: (event) => alarms.push(event) },
    });
    await runner.ready();
    expect([await countOf(model, 'fragile'), await countOf(model, 'sound')]).toEqual([3, 4]);
    const parked = {
      projection: 'fragile@1',
      stream: `session-${sessionIdOf(1)}`,
      revision: 0,
      position: '2',
      type: 'SessionCreated',
      error: 'TypeError: cannot take this',
    };
    expect(alarms).toEqual([expect.objectContaining(parked)]);
    expect(await runner.parked()).toEqual([expect.objectContaining(parked)]);
  });

  it('parks an event that it cannot read, for every projection', async () => {
    const model = new MemoryReadModel();
    await append(0, 1);
    await store.current.append({
      stream: 'session-x',
      expected: 'no-stream',
      events: [{ id: 'x', type: 'FromTheFuture', version: 1, atMs: 1, data: '{}', metadata: '{}', hash: '' }],
    });
    await append(1, 2);
    const runner = await start([counting('one'), counting('two')], model);
    await runner.ready();
    expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([2, 2]);
    expect((await runner.parked()).map((event) => [event.projection, event.type])).toEqual([
      ['one@1', 'FromTheFuture'],
      ['two@1', 'FromTheFuture'],
    ]);
  });

  it('parks an event whose projection reads a row that it did not name', async () => {
    const model = new MemoryReadModel();
    await append(0, 1);
    const runner = await start([counting('careless', { needs: () => [] })], model);
    await runner.ready();
    expect((await runner.parked())[0]?.error).toContain('was read but not named');
  });

  it('clears parked events when the projection is rebuilt with a build that can process them', async () => {
    const model = new MemoryReadModel();
    await append(0, 3);
    let isRepaired = false;
    const repaired = counting('one', {
      apply: (event, read) => {
        if (!isRepaired) throw new Error('not yet');
        return counting('one').apply(event, read);
      },
    });
    const runner = await start([repaired, counting('two')], model);
    await runner.ready();
    expect((await runner.parked()).length).toBe(3);
    isRepaired = true;
    await runner.rebuild(['one']);
    await runner.ready();
    expect(await runner.parked()).toEqual([]);
    expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([3, 3]);
  });

  it.each(['before', 'after'] as const)(
    'applies each event once when the read model is lost %s a commit',
    async (moment) => {
      const model = new FaultyReadModel();
      let applies = 0;
      // The first batch is committed, so that rows are in memory that a lost answer makes outdated.
      model.faults.push(() => ((applies += 1) > 2 && applies <= 5 ? moment : null));
      await append(0, 9);
      const runner = await start([counting('one'), counting('two')], model);
      await runner.ready();
      await expect.poll(() => countOf(model, 'one')).toBe(9);
      await expect.poll(() => countOf(model, 'two')).toBe(9);
      expect(model.checkpoints).toEqual(
        new Map([
          ['one@1', '9'],
          ['two@1', '9'],
        ]),
      );
    },
  );

  it('continues with the others while the read model refuses one of them', async () => {
    const model = new FaultyReadModel();
    model.faults.push((projection) => (projection === 'stuck@1' ? 'before' : null));
    await append(0, 4);
    const runner = await start([counting('stuck'), counting('sound')], model);
    await expect.poll(() => countOf(model, 'sound')).toBe(4);
    expect(await countOf(model, 'stuck')).toBeUndefined();
    model.faults.pop();
    await expect.poll(() => countOf(model, 'stuck')).toBe(4);
    await append(4, 6);
    await runner.caughtUpTo('6');
    expect([await countOf(model, 'stuck'), await countOf(model, 'sound')]).toEqual([6, 6]);
  });

  describe('rebuilding', () => {
    /** A row that no event makes: it is there as long as the old rows are served. */
    const leftOver = async (model: MemoryReadModel): Promise<void> =>
      model.apply('one@1', [{ op: 'put', table: 'one@1', key: 'left over', row: {} }], model.checkpoints.get('one@1')!);
    const isOld = async (model: MemoryReadModel): Promise<boolean> => (await model.get('one@1', 'left over')) !== null;
    let model: GatedReadModel;

    /** A runner whose projections are served what the event log holds; what is built from now on waits at the gate. */
    const startServing = async (
      names: readonly string[],
      options: Partial<ProjectionRunnerOptions> = {},
    ): Promise<ProjectionRunner> => {
      model.isOpen = true;
      const runner = await start(
        names.map((name) => counting(name)),
        model,
        options,
      );
      await runner.ready();
      model.isOpen = false;
      model.waiting = 0;
      return runner;
    };

    beforeEach(() => {
      model = new GatedReadModel();
    });
    afterEach(() => {
      model.isOpen = true;
    });

    it('serves the old rows until the rows built beside them have caught up with later events', async () => {
      await append(0, 5);
      const switched: string[] = [];
      const runner = await startServing(['one', 'two'], { hooks: { onSwitched: (id) => switched.push(id) } });
      switched.length = 0;
      await leftOver(model);
      await runner.rebuild(['one']);
      await append(5, 7);
      expect(await runner.caughtUpTo('7')).toBe(true);
      expect([await countOf(model, 'one'), await countOf(model, 'two'), await isOld(model), switched]).toEqual([
        7,
        7,
        true,
        [],
      ]);
      expect(runner.status().map(({ position, hasCaughtUp }) => [position, hasCaughtUp])).toEqual([
        ['7', true],
        ['7', true],
      ]);
      model.isOpen = true;
      await runner.ready();
      expect([await countOf(model, 'one'), await countOf(model, 'two'), await isOld(model), switched]).toEqual([
        7,
        7,
        false,
        ['one@1'],
      ]);
      await append(7, 8);
      await runner.caughtUpTo('8');
      expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([8, 8]);
      expect(runner.status().map(({ position }) => position)).toEqual(['8', '8']);
    });

    it('refuses a rebuild during a rebuild, and accepts one afterwards', async () => {
      await append(0, 3);
      const runner = await startServing(['one', 'two']);
      await runner.rebuild(['one']);
      await expect(runner.rebuild(['two', 'one'])).rejects.toThrow(RebuildRunning);
      model.isOpen = true;
      await runner.ready();
      await runner.rebuild(['one', 'two']);
      await runner.ready();
      expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([3, 3]);
    });

    it('continues a rebuild after a restart, while the old rows are served', async () => {
      await append(0, 9);
      const first = await startServing(['one']);
      await leftOver(model);
      await first.rebuild(['one']);
      await expect.poll(() => model.waiting).toBe(1);
      const stopping = first.stop();
      model.isOpen = true;
      await stopping;
      model.isOpen = false;
      const reasons: string[] = [];
      const again = await start([counting('one')], model, {
        hooks: { onRebuild: (id, reason) => reasons.push(`${id} ${reason}`) },
      });
      expect([await countOf(model, 'one'), await isOld(model), reasons]).toEqual([9, true, ['one@1 resumed']]);
      model.isOpen = true;
      await again.ready();
      expect([await countOf(model, 'one'), await isOld(model)]).toEqual([9, false]);
    });

    it('serves no rows of a new projection until they are complete, but those of others meanwhile', async () => {
      await append(0, 5);
      await (await startServing(['two'])).stop();
      const runner = await start([counting('one'), counting('two')], model);
      await append(5, 6);
      expect(await runner.caughtUpTo('6')).toBe(true);
      expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([undefined, 6]);
      const statusOf = (): unknown => runner.status().find(({ projection }) => projection === 'one@1');
      expect(statusOf()).toMatchObject({ position: null, hasCaughtUp: false, lagEvents: 6 });
      model.isOpen = true;
      await runner.ready();
      expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([6, 6]);
      expect(statusOf()).toMatchObject({ position: '6', hasCaughtUp: true });
    });

    it('tries again if the new rows could not replace the old ones', async () => {
      await append(0, 3);
      const errors: unknown[] = [];
      const runner = await startServing(['one'], { hooks: { onError: (error) => errors.push(error) } });
      model.isOpen = true;
      model.refusals = 1;
      await leftOver(model);
      await runner.rebuild(['one']);
      await runner.ready();
      expect([await countOf(model, 'one'), await isOld(model), errors.length]).toEqual([3, false, 1]);
    });

    it('waits for a projection that fell behind the others before it replaces its rows', async () => {
      const straggling = new StragglingReadModel();
      model = straggling;
      await append(0, 5);
      const runner = await startServing(['one', 'two']);
      await leftOver(model);
      await runner.rebuild(['one']);
      straggling.straggler = 'one@1';
      await append(5, 6);
      await expect.poll(() => countOf(model, 'two')).toBe(6);
      model.isOpen = true;
      await new Promise((resolve) => setTimeout(resolve, 50));
      straggling.straggler = '';
      await new Promise((resolve) => setTimeout(resolve, 50));
      await runner.ready();
      expect([await countOf(model, 'one'), await countOf(model, 'two'), await isOld(model)]).toEqual([6, 6, false]);
      await append(6, 7);
      await runner.caughtUpTo('7');
      expect([await countOf(model, 'one'), await countOf(model, 'two')]).toEqual([7, 7]);
      expect(
        runner
          .status()
          .map(({ projection }) => projection)
          .toSorted(),
      ).toEqual(['one@1', 'two@1']);
    });

    it('builds again if the finished rows are lost while they wait to take over', async () => {
      const losing = new LosingReadModel();
      model = losing;
      await append(0, 5);
      const errors: unknown[] = [];
      const runner = await startServing(['one'], { hooks: { onError: (error) => errors.push(error) } });
      await leftOver(model);
      losing.isBlocked = true;
      await append(5, 6);
      await runner.rebuild(['one']);
      model.isOpen = true;
      const built = (): string | undefined => model.nextModels.get('one@1')?.checkpoints.get('one@1');
      await expect.poll(built).toBe('6');
      losing.losses = 1;
      await append(6, 7);
      await expect.poll(() => losing.losses < 0 && built()).toBe('7');
      losing.isBlocked = false;
      await runner.ready();
      await append(7, 8);
      await runner.caughtUpTo('8');
      await expect.poll(() => countOf(model, 'one')).toBe(8);
      expect([await isOld(model), errors]).toEqual([false, []]);
    });

    it('leaves an empty event log as it is', async () => {
      const runner = await start([counting('one')], model);
      await runner.rebuild(['one']);
      await runner.ready();
      await append(0, 1);
      await runner.caughtUpTo('1');
      expect(await countOf(model, 'one')).toBe(1);
    });
  });

  it('replays a projection whose checkpoint the log does not reach', async () => {
    const model = new MemoryReadModel();
    await append(0, 5);
    await (await start([counting('one')], model)).ready();
    await runners.pop()!.stop();
    store.current = new MemoryEventStore();
    await append(0, 2);
    const reasons: string[] = [];
    const runner = await start([counting('one')], model, {
      hooks: { onRebuild: (projection, reason) => reasons.push(`${projection} ${reason}`) },
    });
    await runner.ready();
    expect([await countOf(model, 'one'), reasons]).toEqual([2, ['one@1 checkpoint_beyond_log']]);
  });

  it('reports a projection that fell behind the others and has not resumed yet', async () => {
    const model = new StragglingReadModel();
    model.isOpen = true;
    await append(0, 1);
    const runner = await start([counting('one'), counting('two')], model);
    await runner.ready();
    model.straggler = 'one@1';
    await append(1, 2);
    const statusOf = (id: string): unknown => runner.status().find(({ projection }) => projection === id);
    await expect.poll(() => statusOf('two@1')).toMatchObject({ position: '2', hasCaughtUp: true });
    expect(statusOf('one@1')).toEqual({
      projection: 'one@1',
      position: null,
      hasCaughtUp: false,
      lagEvents: 0,
      lagSec: 0,
    });
    model.straggler = '';
    await expect.poll(() => statusOf('one@1')).toMatchObject({ position: '2', hasCaughtUp: true });
    expect(await countOf(model, 'one')).toBe(2);
  });

  it('reports how far each projection is', async () => {
    const model = new MemoryReadModel();
    const runner = await start([sessionView, addressIndex], model);
    await append(0, 2);
    await runner.caughtUpTo('2');
    await runner.ready();
    const status = { position: '2', hasCaughtUp: true, lagEvents: 0, lagSec: 0 };
    expect(runner.status()).toEqual([
      { projection: 'session-view@1', ...status },
      { projection: 'address-index@1', ...status },
    ]);
  });
});
