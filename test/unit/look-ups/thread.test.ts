import { MessagePort } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SESSIONS_TABLE } from '../../../projections/sessions/session-row.ts';
import { StoreUnavailable } from '../../../src/ports/event-log/event-store.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { openProjectionThread, type ProjectionThread } from '../../../src/look-ups/thread.ts';
import { PROJECTIONS } from '../../../src/look-ups/projections.ts';
import { projectionId, type ParkedEvent } from '../../../src/runtime/projections/batch.ts';
import { appendHistory, sessionIdOf, type HistoryEntry } from '../../support/random-history.ts';
import { createdFacts, CREATED_AT } from '../../support/session-facts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const created = (session: number): HistoryEntry => ({
  session,
  event: {
    type: 'SessionCreated',
    data: createdFacts({ sessionId: sessionIdOf(session), orderId: `order-${session}` }),
  },
  atMs: CREATED_AT * 1000,
});

describe("the projections' thread", () => {
  let dataDir: string;
  let store: SqliteEventStore;
  let thread: ProjectionThread;
  const parked: ParkedEvent[] = [];

  const open = async (): Promise<void> => {
    store = await openSqliteEventStore({ dataDir });
    thread = await openProjectionThread(dataDir);
    await thread.start(store, { onParked: (event) => parked.push(event) });
  };
  const close = async (): Promise<void> => {
    await thread.stop();
    await thread.readModel.close();
    await store.close();
  };
  const caughtUp = async (): Promise<boolean> => thread.caughtUpTo((await store.head())!);

  beforeEach(async () => {
    dataDir = temporaryFolder('projections');
    await open();
  });
  afterEach(() => close());

  it('lets a writer find its own event, and accepts applies by others in the same file', async () => {
    await appendHistory(store, [created(0)]);
    expect(await caughtUp()).toBe(true);
    expect(await thread.readModel.get(SESSIONS_TABLE, sessionIdOf(0))).toMatchObject({ orderId: 'order-0' });
    await Promise.all([
      thread.readModel.apply('beside', [{ op: 'put', table: 'beside@1', key: 'a', row: { n: 1 } }], '1'),
      appendHistory(store, [created(1)]),
    ]);
    expect(await caughtUp()).toBe(true);
    expect(await thread.readModel.get('beside@1', 'a')).toEqual({ n: 1 });
    expect(await thread.readModel.get(SESSIONS_TABLE, sessionIdOf(1))).toMatchObject({ order: 1 });
    expect(thread.status().map(({ projection, lagEvents }) => [projection, lagEvents])).toEqual(
      PROJECTIONS.map((projection) => [projectionId(projection), 0]),
    );
  });

  it('continues after a restart from where it stopped', async () => {
    await appendHistory(store, [created(0)]);
    await caughtUp();
    await thread.stop();
    await thread.readModel.close();
    await appendHistory(store, [created(1)]);
    await store.close();
    await open();
    await thread.ready();
    expect(await thread.readModel.getMany(SESSIONS_TABLE, [0, 1].map(sessionIdOf))).toMatchObject([
      { order: 0 },
      { order: 1 },
    ]);
  });

  it('rebuilds a projection and reports the events that it parks', async () => {
    await appendHistory(store, [created(0)]);
    const confirmed = {
      depositKey: 'ethereum:0x1:0',
      rule: { kind: 'finalized' },
      blockNumber: 1,
      blockHash: '0x',
      blockTimeSec: 1,
      headNumber: 1,
    } as const;
    await appendHistory(store, [
      { session: 0, event: { type: 'DepositConfirmed', data: confirmed }, atMs: CREATED_AT * 1000 },
    ]);
    await caughtUp();
    await expect.poll(() => parked.length).toBeGreaterThan(0);
    expect((await thread.parked())[0]).toMatchObject({ type: 'DepositConfirmed', projection: 'session-view@1' });
    await thread.rebuild(['session-view']);
    await thread.ready();
    expect(await thread.readModel.get(SESSIONS_TABLE, sessionIdOf(0))).toMatchObject({ order: 0 });
    await expect(thread.rebuild(['no such projection'])).rejects.toThrow('there is no projection');
  });

  it('that hangs is waited for a bounded time, and one that has ended not at all', async () => {
    await appendHistory(store, [created(0)]);
    const position = (await store.head())!;
    const tell = MessagePort.prototype.postMessage;
    const told = vi.spyOn(MessagePort.prototype, 'postMessage').mockImplementation(function (
      this: MessagePort,
      ...message
    ) {
      if ((message[0] as { kind?: string } | null)?.kind !== 'reach') tell.apply(this, message);
    });
    try {
      expect(await thread.caughtUpTo(position, 50)).toBe(false);
    } finally {
      told.mockRestore();
    }
    expect(await thread.caughtUpTo(position)).toBe(true);
    await thread.stop();
    await thread.readModel.close();
    await expect(thread.caughtUpTo(`${position}0`)).rejects.toThrow(StoreUnavailable);
    await store.close();
    await open();
  });

  it('whose thread is silent lags by the time of its silence', async () => {
    await expect.poll(() => thread.status().length).toBe(PROJECTIONS.length);
    const worst = (): number => Math.max(...thread.status().map(({ lagSec }) => lagSec));
    expect(worst()).toBe(0);
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 40_000);
    expect(worst()).toBeGreaterThan(39);
    now.mockRestore();
  });
});
