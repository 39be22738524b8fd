import type { Network, NetworkSettings } from '../domain/networks/networks.ts';

/** How a network is reached. */
export interface NetworkAccess {
  readonly settings: NetworkSettings;
  /** The current list, which may change while the service runs. */
  readonly urls: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A network whose list of providers may change while the service runs; users read it here each time. */
export interface RunningAccess extends NetworkAccess {
  urls: readonly string[];
}

interface ReachedNetwork {
  readonly network: Network;
  readonly urls: () => readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** For a pool that follows the list. */
export const reached = (access: NetworkAccess): ReachedNetwork => ({
  network: access.settings.network,
  urls: () => access.urls,
  ...(access.headers && { headers: access.headers }),
});
