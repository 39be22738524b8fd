import type { WatchedNetwork } from './chains.ts';
import type { Core } from './core.ts';
import { startFoundation } from './service-foundation.ts';
import { startMoney } from './service-money.ts';
import { startOutside } from './service-outside.ts';
import type { ServiceParts } from './service-parts.ts';

export interface RunningService {
  readonly core: Core;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly watched: readonly WatchedNetwork[];
  close(): Promise<void>;
}

/** Starts the whole service on open storage, from the inside out. Resolves when requests are accepted. */
export async function startService(parts: ServiceParts): Promise<RunningService> {
  const foundation = await startFoundation(parts);
  const money = await startMoney(parts, foundation);
  const outside = await startOutside(parts, foundation, money);
  return {
    core: foundation.core,
    baseUrl: outside.baseUrl,
    opsUrl: outside.opsUrl,
    watched: money.watched,
    close: async () => {
      await outside.stopTaking();
      await money.close();
      await outside.close();
      await foundation.close();
      await parts.storage.close();
      await foundation.tracing?.close();
    },
  };
}
