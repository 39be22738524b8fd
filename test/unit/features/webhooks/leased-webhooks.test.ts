import { expect, test } from 'vitest';
import { createSingleProcessLeases } from '../../../../src/adapters/memory/leases.ts';
import { LeasedWebhooks } from '../../../../src/features/webhooks/leased-webhooks.ts';
import { createLogger } from '../../../../src/observability/logger.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import type { DeliverWebhooks } from '../../../../src/features/webhooks/deliver.process.ts';

test('deliveries that could not start are ended before a retry, so that nothing of them runs beside it', async () => {
  const done: string[] = [];
  const deliveries = (name: string, isAway: boolean): DeliverWebhooks => {
    const start = async (): Promise<void> => {
      done.push(`${name} begins`);
      if (isAway) throw new StoreUnavailable('the test took it away');
    };
    return { start, stop: async () => void done.push(`${name} ends`) } as Partial<DeliverWebhooks> as DeliverWebhooks;
  };
  const all = [deliveries('one', true), deliveries('two', false)];
  const leased = new LeasedWebhooks({
    leases: createSingleProcessLeases(),
    ttlMs: 300,
    log: createLogger('silent'),
    create: () => all.shift()!,
  });
  await expect(leased.first).rejects.toThrow(StoreUnavailable);
  while (all.length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await leased.close();
  expect(done).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});
