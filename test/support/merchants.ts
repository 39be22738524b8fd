import { nodeRandom } from '../../src/adapters/node/random.ts';
import { MerchantDirectory } from '../../src/features/merchants/directory.ts';
import { Merchants } from '../../src/features/merchants/merchants.ts';
import type { MerchantsDeps } from '../../src/features/merchants/merchants-deps.ts';
import { createMerchantHandler } from '../../src/features/shared/handlers/merchant-handler.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { createSealer, parseMasterKeys, type Sealer } from '../../src/runtime/cryptography/sealing.ts';
import { handlerDeps } from './handler-deps.ts';

/** The merchants of a store as a process has them after its start. */
export async function merchantsOf(
  store: EventStore,
  clock: Clock,
  sealer: Sealer = createSealer(parseMasterKeys('0123456789abcdef'.repeat(4))),
  change: Partial<MerchantsDeps> = {},
) {
  const directory = new MerchantDirectory({ store, sealer });
  await directory.start();
  const handler = createMerchantHandler(handlerDeps(store, clock));
  const merchants = new Merchants({
    ...{ handler, directory, sealer, clock, random: nodeRandom },
    vetWebhookUrl: (url) => ({ ok: true, url }),
    finalityFloor: { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' },
    toleranceBounds: { maxPercent: 5, max: '100' },
    changeDelayMinutes: 0,
    ...change,
  });
  return { directory, handler, merchants };
}
