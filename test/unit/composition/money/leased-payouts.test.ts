import { expect, test } from 'vitest';
import { createSingleProcessLeases } from '../../../../src/adapters/memory/leases.ts';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { LeasedPayouts } from '../../../../src/composition/money/leased-payouts.ts';
import type { PayoutDeps, PayoutParts } from '../../../../src/composition/money/payouts.ts';
import { createLogger } from '../../../../src/observability/logger.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import type { OutgoingChain } from '../../../../src/ports/outgoing/chain.ts';
import { NotificationIds } from '../../../../src/runtime/commands/notification-ids.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

test('payouts that could not start close their connections before a retry', async () => {
  const done: string[] = [];
  let terms = 0;
  const chains = (): OutgoingChain[] => {
    terms += 1;
    const name = `term ${terms}`;
    done.push(`${name} opens`);
    return [
      {
        network: 'ethereum',
        mode: 'test',
        close: async () => void done.push(`${name} closes`),
      } as Partial<OutgoingChain> as OutgoingChain,
    ];
  };
  const store = new MemoryEventStore();
  const readModel = { generation: () => Promise.reject(new StoreUnavailable('the test took it away')) };
  const core = { notificationIds: new NotificationIds(systemClock, 1) };
  const log = createLogger('silent');
  const leased = new LeasedPayouts(
    { chains, addresses: new Map() } as Partial<PayoutParts> as PayoutParts,
    { core, store, readModel, clock: systemClock, random: nodeRandom, log, soleWriter: true } as unknown as PayoutDeps,
    { leases: createSingleProcessLeases(), leaseTtlMs: 300 },
  );
  await expect(leased.first).rejects.toThrow(StoreUnavailable);
  while (terms < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await leased.stop();
  expect(done).toEqual(['term 1 opens', 'term 1 closes', 'term 2 opens', 'term 2 closes']);
});
