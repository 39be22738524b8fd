import type { RpcPoolOptions } from '../adapters/rpc/pool.ts';
import type { NetworkSettings } from '../domain/networks.ts';

/** How a network is reached. */
export interface NetworkAccess {
  readonly settings: NetworkSettings;
  /** The current list, which may change while the service runs. */
  readonly urls: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** For a pool that follows the list. */
export const reached = (access: NetworkAccess): Pick<RpcPoolOptions, 'network' | 'urls' | 'headers'> => ({
  network: access.settings.network,
  urls: () => access.urls,
  ...(access.headers && { headers: access.headers }),
});
