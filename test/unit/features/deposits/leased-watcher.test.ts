import { expect, it } from 'vitest';
import { createMemorySharedStatus } from '../../../../src/adapters/memory/shared-status.ts';
import { createSingleProcessLeases } from '../../../../src/adapters/memory/leases.ts';
import { LeasedWatcher } from '../../../../src/features/deposits/leased-watcher.ts';
import { createLogger } from '../../../../src/observability/logger.ts';
import type { NetworkWatcher } from '../../../../src/features/deposits/network-watcher.ts';
import { localSettings } from '../../../support/anvil.ts';

const leasedOver = (create: () => Promise<NetworkWatcher>): LeasedWatcher =>
  new LeasedWatcher({
    settings: localSettings('0x5FbDB2315678afecb367f032d93F642f64180aa3'),
    leases: createSingleProcessLeases(),
    ttlMs: 10_000,
    sharedStatus: createMemorySharedStatus(),
    log: createLogger('silent'),
    create,
  });

it('a watcher that cannot start ends nothing, and is tried again', async () => {
  let attempts = 0;
  const leased = leasedOver(() => ((attempts += 1), Promise.reject(new Error('its chain says nothing'))));
  await leased.start();
  await expect.poll(() => attempts, { timeout: 10_000 }).toBeGreaterThan(1);
  await leased.stop();
});

it('a watcher that still catches up stops when its term ends', async () => {
  const caughtUp = Promise.withResolvers<void>();
  let hasBegun = false;
  const watcher: NetworkWatcher = {
    start: () => ((hasBegun = true), caughtUp.promise),
    stop: async () => caughtUp.resolve(),
    scannedToSec: () => null,
    onScanned: () => () => undefined,
    status: () => expect.unreachable(),
  };
  const leased = leasedOver(async () => watcher);
  const started = leased.start();
  await expect.poll(() => hasBegun).toBe(true);
  await leased.stop();
  await started;
});
