import type { Config } from '../config.ts';
import { type Mode, MODES } from '../domain/values/ids.ts';
import { knownNetwork } from '../domain/networks/known-networks.ts';
import { NETWORKS, type Network, type NetworkSettings } from '../domain/networks/networks.ts';
import { providerUrls } from './providers.ts';
import type { RunningAccess } from './network-access.ts';

/** Every network with provider URLs, in both modes. */
export function productionAccess(config: Config): RunningAccess[] {
  return MODES.flatMap((mode) =>
    NETWORKS.filter((network) => providerUrls(config, mode, network).length > 0).map((network) => ({
      settings: settingsOf(config, mode, network),
      urls: providerUrls(config, mode, network),
      headers: headersOf(config, network),
    })),
  );
}

function settingsOf(config: Config, mode: Mode, network: Network): NetworkSettings {
  const known = knownNetwork(mode, network);
  const own = mode === 'test' ? config.TEST_NETWORKS?.[network] : undefined;
  return own
    ? { ...known, chainId: own.chain_id, tokens: own.tokens, explorerTransactionUrl: own.explorer_url ?? null }
    : known;
}

/** Two networks of one chain would both count one payment; a live chain in test mode would escape the floors. */
export function networkFaults(config: Config): string[] {
  const used = new Map<string, string>(
    NETWORKS.map((network) => [knownNetwork('live', network).chainId, `live ${network}`]),
  );
  return NETWORKS.filter((network) => providerUrls(config, 'test', network).length > 0).flatMap((network) => {
    const { chainId } = settingsOf(config, 'test', network);
    const other = used.get(chainId);
    used.set(chainId, `test ${network}`);
    return other === undefined
      ? []
      : [
          `TEST_NETWORKS: ${network} has the chain ${chainId}, which is that of ${other}: each network needs a chain of its own, and test mode none with real money`,
        ];
  });
}

const headersOf = (config: Config, network: Network): Record<string, string> =>
  network === 'tron' && config.TRON_API_KEY !== undefined ? { 'TRON-PRO-API-KEY': config.TRON_API_KEY } : {};
