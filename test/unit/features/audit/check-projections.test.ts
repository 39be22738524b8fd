import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SESSIONS_TABLE } from '../../../../projections/sessions/session-row.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../../../src/adapters/sqlite/event-log/event-store.ts';
import { openProjectionThread, type ProjectionThread } from '../../../../src/look-ups/thread.ts';
import { CheckProjections } from '../../../../src/features/audit/check-projections.process.ts';
import { appendHistory, historyOf, sessionIdOf, steps } from '../../../support/random-history.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

describe('the comparison of what merchants read with the event log', () => {
  let dataDir: string;
  let store: SqliteEventStore;
  let thread: ProjectionThread;
  const told: { stream: string; rows: number }[] = [];

  const checkOf = (eventsPerRound: number): CheckProjections =>
    new CheckProjections({
      store,
      readModel: thread.readModel,
      caughtUp: async () => thread.caughtUpTo((await store.head())!),
      onDrift: ({ stream, rows }) => told.push({ stream, rows }),
      onError: (error) => expect.unreachable(String(error)),
      eventsPerRound,
    });
  const rows = (check: CheckProjections): number => check.drift()[0]!.rows;

  beforeEach(async () => {
    told.length = 0;
    dataDir = temporaryFolder('drift');
    store = await openSqliteEventStore({ dataDir });
    thread = await openProjectionThread(dataDir);
    await thread.start(store);
    // Payments, refunds and reversals of several merchants, mixed; the first session is always there.
    const { entries } = historyOf([...fc.sample(steps, { numRuns: 1, seed: 7 })[0]!]);
    await appendHistory(store, entries);
    await thread.caughtUpTo((await store.head())!);
  });
  afterEach(async () => {
    await thread.stop();
    await thread.readModel.close();
    await store.close();
  });

  it('finds nothing where nothing is wrong, also when it goes round in small steps', async () => {
    const check = checkOf(20);
    for (let round = 0; round < 40; round += 1) await check.round();
    expect(rows(check)).toBe(0);
    expect(told).toEqual([]);
  });

  it('finds a changed row, reports it once, and drops it once it is right again', async () => {
    const check = checkOf(1_000);
    const [projection, key] = ['session-view@1', sessionIdOf(0)];
    const right = (await thread.readModel.get(SESSIONS_TABLE, key))!;
    const position = (await thread.readModel.checkpoint(projection))!;
    const put = (row: typeof right) =>
      thread.readModel.apply(projection, [{ op: 'put', table: SESSIONS_TABLE, key, row }], position);
    await put({ ...right, received: '999999.00' });
    await check.round();
    await check.round();
    expect(rows(check)).toBe(1);
    expect(told).toEqual([{ stream: `session-${key}`, rows: 1 }]);
    await put(right);
    await check.round();
    expect(rows(check)).toBe(0);
  });

  it('finds a row that is not there', async () => {
    const check = checkOf(1_000);
    const position = (await thread.readModel.checkpoint('session-view@1'))!;
    await thread.readModel.apply(
      'session-view@1',
      [{ op: 'delete', table: SESSIONS_TABLE, key: sessionIdOf(0) }],
      position,
    );
    await check.round();
    expect(rows(check)).toBe(1);
  });
});
