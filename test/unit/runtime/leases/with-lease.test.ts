import { expect, onTestFinished, test } from 'vitest';
import { createSingleProcessLeases } from '../../../../src/adapters/memory/leases.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import type { Leases } from '../../../../src/ports/leases.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { withLease, type LeaseGrant, type RunningLease } from '../../../../src/runtime/leases/with-lease.ts';

interface Worker {
  readonly lease: RunningLease;
  readonly grants: LeaseGrant[];
  stops: number;
  isWorking: boolean;
}

/** One process that takes its turn. */
function worker(leases: Leases, ttlMs = 300): Worker {
  const grants: LeaseGrant[] = [];
  const start = async (grant: LeaseGrant) => {
    grants.push(grant);
    state.isWorking = true;
    return {
      stop: async () => {
        state.isWorking = false;
        state.stops += 1;
      },
    };
  };
  const lease = withLease('job', start, { leases, log: silentLog, ttlMs, retryMs: 20 });
  onTestFinished(() => lease.close());
  const state: Worker = { lease, grants, stops: 0, isWorking: false };
  return state;
}

async function until(what: () => boolean): Promise<void> {
  for (let looks = 0; !what(); looks += 1) {
    if (looks > 2_000) throw new Error('it never came');
    await new Promise((wait) => setTimeout(wait, 10));
  }
}

test('one of two processes works, and the other takes over when it stops, with a higher token', async () => {
  const leases = createSingleProcessLeases();
  const first = worker(leases);
  await first.lease.first;
  const second = worker(leases);
  await second.lease.first;
  expect([first.isWorking, second.isWorking]).toEqual([true, false]);
  await first.lease.close();
  expect(first.isWorking).toBe(false);
  await until(() => second.isWorking);
  expect(second.grants[0]!.token).toBeGreaterThan(first.grants[0]!.token);
});

test('work has ended before the lease is released', async () => {
  const leases = createSingleProcessLeases();
  const order: string[] = [];
  const lease = withLease('job', async () => ({ stop: async () => void order.push('stopped') }), {
    leases: {
      ...leases,
      acquire: async (name, ttlMs) => {
        const granted = await leases.acquire(name, ttlMs);
        return granted && { ...granted, release: async () => void order.push('released') };
      },
    },
    log: silentLog,
  });
  await lease.first;
  await lease.close();
  expect(order).toEqual(['stopped', 'released']);
});

test('a lease that cannot be renewed ends the work, and it begins again with the next grant', async () => {
  const leases = createSingleProcessLeases();
  let isReachable = true;
  const flaky: Leases = {
    ...leases,
    acquire: async (name, ttlMs) => {
      if (!isReachable) throw new StoreUnavailable('nobody can tell');
      const granted = await leases.acquire(name, ttlMs);
      return granted && { ...granted, renew: async () => isReachable && granted.renew() };
    },
  };
  const one = worker(flaky, 150);
  await one.lease.first;
  isReachable = false;
  await until(() => !one.isWorking);
  expect(one.grants[0]!.isHeld()).toBe(false);
  isReachable = true;
  await until(() => one.isWorking);
  expect(one.grants[1]!.token).toBeGreaterThan(one.grants[0]!.token);
});

test('work that requests it is ended and restarted', async () => {
  const one = worker(createSingleProcessLeases());
  await one.lease.first;
  one.grants[0]!.restart(new Error('the rows are gone'));
  await until(() => one.grants.length === 2 && one.isWorking);
  expect(one.stops).toBe(1);
  expect(one.grants[0]!.isHeld()).toBe(false);
  expect(one.grants[1]!.isHeld()).toBe(true);
});

test('work that cannot begin reports it at once and is retried', async () => {
  let tries = 0;
  const start = async () => {
    tries += 1;
    if (tries === 1) throw new Error('not now');
    return { stop: async () => undefined };
  };
  const lease = withLease('job', start, { leases: createSingleProcessLeases(), log: silentLog, retryMs: 20 });
  onTestFinished(() => lease.close());
  await expect(lease.first).rejects.toThrow('not now');
  await until(() => tries === 2 && lease.isHeld);
});

test('a process that closes while it waits for the lease never begins', async () => {
  const leases = createSingleProcessLeases();
  const first = worker(leases);
  await first.lease.first;
  const second = worker(leases);
  await second.lease.first;
  await second.lease.close();
  await first.lease.close();
  await new Promise((wait) => setTimeout(wait, 100));
  expect(second.grants).toEqual([]);
});

test('a process that closes while it requests the lease begins nothing, and frees it for the next one', async () => {
  const leases = createSingleProcessLeases();
  const asked = Promise.withResolvers<void>();
  const slow: Leases = {
    ...leases,
    acquire: async (name, ttlMs) => {
      await asked.promise;
      return leases.acquire(name, ttlMs);
    },
  };
  const one = worker(slow);
  const closed = one.lease.close();
  asked.resolve();
  await closed;
  await one.lease.first;
  expect(one.grants).toEqual([]);
  expect(await leases.acquire('job', 1_000)).not.toBeNull();
});
