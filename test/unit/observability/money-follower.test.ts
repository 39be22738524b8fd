import { expect, it } from 'vitest';
import { MoneyFollower, type MoneyFollowerDeps } from '../../../src/observability/money-follower.ts';
import { StoreUnavailable, type EventStore } from '../../../src/ports/event-log/event-store.ts';
import type { Change } from '../../../src/ports/read-model/read-model.ts';
import { DUE_SESSIONS_TABLE } from '../../../projections/sessions/due-sessions.ts';
import { SESSIONS_TABLE } from '../../../projections/sessions/session-row.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';

async function rowsOf(...sessionIds: readonly string[]): Promise<MemoryReadModel> {
  const rows = new MemoryReadModel();
  await rows.apply(
    'test@1',
    sessionIds.flatMap((sessionId): Change[] => [
      { op: 'put', table: DUE_SESSIONS_TABLE, key: sessionId, row: { sessionId } },
      { op: 'put', table: SESSIONS_TABLE, key: sessionId, row: { sessionId, mode: 'live', status: 'open' } },
    ]),
    '1',
  );
  return rows;
}

function follower(
  readModel: MemoryReadModel,
  errors: unknown[],
  retryMs: number,
  merchants: MoneyFollowerDeps['merchants'] = () => [],
  more: object = {},
) {
  const subscribed: string[] = [];
  let tell: (events: readonly object[]) => Promise<void> = async () => undefined;
  const store = {
    subscribe: ({ name, onEvents }: { name: string; onEvents: (events: readonly object[]) => Promise<void> }) => {
      subscribed.push(name);
      tell = onEvents;
      return { close: async () => undefined };
    },
  } as unknown as EventStore;
  const metrics = more as Pick<MoneyFollowerDeps, 'money' | 'webhooks'>;
  const noted = {
    onError: (error: unknown) => void errors.push(error),
    onStartError: (error: unknown) => void errors.push(error),
  };
  return {
    subscribed,
    tell: (events: readonly object[]) => tell(events),
    follower: new MoneyFollower({
      ...metrics,
      ...noted,
      store,
      readModel,
      merchants,
      hasEndpoint: (id) => id === 'mer_told',
      sinceMs: 0,
      retryMs,
    }),
  };
}

it('one failed read at the start does not leave the figures empty until the process ends', async () => {
  const rows = await rowsOf('cs_1', 'cs_2');
  const errors: unknown[] = [];
  let reads = 0;
  const { follower: figures, subscribed } = follower(rows, errors, 1, () => {
    reads += 1;
    if (reads === 1) throw new StoreUnavailable('Redis did not answer');
    return [];
  });
  await figures.start();
  expect(errors).toHaveLength(1);
  expect([...figures.openSessions()]).toHaveLength(2);
  expect(subscribed).toEqual(['money-figures']);
  await figures.close();
});

it('what ended between two attempts to start does not count as open', async () => {
  const rows = await rowsOf('cs_1', 'cs_2');
  let reads = 0;
  const { follower: figures } = follower(rows, [], 1, () => {
    reads += 1;
    if (reads > 1) return [];
    void rows.apply('test@1', [{ op: 'delete', table: DUE_SESSIONS_TABLE, key: 'cs_1' }], '2');
    throw new StoreUnavailable('Redis did not answer');
  });
  await figures.start();
  expect([...figures.openSessions()]).toHaveLength(1);
  await figures.close();
});

it('a stop ends the tries to start', async () => {
  const errors: unknown[] = [];
  const { follower: figures, subscribed } = follower(await rowsOf(), errors, 60_000, () => {
    throw new StoreUnavailable('Redis did not answer');
  });
  const started = figures.start();
  for (let turns = 0; errors.length === 0 && turns < 1_000; turns += 1) await new Promise((turn) => setImmediate(turn));
  await figures.close();
  await started;
  expect(subscribed).toEqual([]);
});

it('what waits for an endpoint to be set counts as open, but not as late', async () => {
  const { follower: figures, tell } = follower(await rowsOf(), [], 1);
  await figures.start();
  const scheduled = (id: string, merchantId: string, atMs: number) => ({
    ...{ stream: `delivery-${id}`, type: 'DeliveryScheduled', atMs },
    data: JSON.stringify({ notificationId: id, merchantId, body: JSON.stringify({ merchantId: 'mer_told' }) }),
  });
  await tell([
    scheduled('evt_1', 'mer_silent', 1),
    scheduled('evt_2', 'mer_told', 7),
    scheduled('evt_3', 'mer_told', 9),
  ]);
  expect([figures.pendingDeliveries(), figures.oldestPendingAtMs()]).toEqual([3, 7]);
  await figures.close();
});

it('a payment is being confirmed only until it is final or gone, whatever it did for the order', async () => {
  const counter = { inc: () => undefined };
  const rows = await rowsOf('cs_1');
  const errors: unknown[] = [];
  const { follower: figures, tell } = follower(rows, errors, 1, () => [], {
    money: { deposits: counter, depositKinds: counter, followFailures: counter },
  });
  await figures.start();
  const event = (type: string, depositKey: string, data: object = {}) => ({
    stream: 'session-cs_1',
    type,
    version: 1,
    atMs: 1,
    id: depositKey,
    hash: '00',
    revision: 1,
    metadata: '{"correlationId":"","actor":"","prev":"","v":1}',
    data: JSON.stringify({ depositKey, network: 'ethereum', kind: 'on_time', blockTimeSec: 1, ...data }),
  });
  const status = () => [...figures.openSessions()].map((session) => session.status);
  await tell([event('DepositDetected', 'ethereum:0x1:0'), event('DepositDetected', 'ethereum:0x2:0')]);
  expect(errors).toEqual([]);
  expect(status()).toEqual(['processing']);
  await tell([event('DepositConfirmed', 'ethereum:0x1:0')]);
  expect(status()).toEqual(['processing']);
  await tell([event('DepositReverted', 'ethereum:0x2:0', { afterFinal: false })]);
  expect(status()).toEqual(['open']);
  await tell([event('DepositDetected', 'ethereum:0x3:0'), event('DepositConfirmed', 'ethereum:0x3:0')]);
  expect(status()).toEqual(['open']);
  // Facts of the session that do not end it.
  const fact = (type: string, data: object) => ({ ...event(type, ''), data: JSON.stringify(data) });
  await tell([
    fact('CoinChosen', { coin: 'USDC', dueAmount: '10.02', tolerance: '0', rate: '1.002', rateLockedAtSec: 1 }),
    fact('SessionDeadlineMoved', { expiresAtSec: 2 }),
    event('DepositDetected', 'ethereum:0x4:0'),
  ]);
  expect(status()).toEqual(['processing']);
  await figures.close();
});
