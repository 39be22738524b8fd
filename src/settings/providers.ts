import type { Config } from '../config.ts';
import type { Mode } from '../domain/values/ids.ts';
import { amountOf } from '../domain/money/money.ts';
import { NETWORKS, type Network } from '../domain/networks/networks.ts';
import { sourceOfUrl } from '../domain/networks/provider-source.ts';
import type { Logger } from '../observability/logger.ts';
import type { NotedRefusal, RpcObserver } from '../ports/chain/rpc-pool.ts';
import type { NetworkAccess } from './network-access.ts';

type SecondSourceSetting = Pick<Config, 'SECOND_SOURCE_FROM'>;

/** In units of the coin. For smaller payments a lie costs less than waiting for a second provider every time. */
const DEFAULT_SECOND_SOURCE_FROM = '100';

/** Amount in units of 10^-18 from which a second source must report a transfer and its finality; null: never. */
export function secondSourceFrom(
  { SECOND_SOURCE_FROM: wanted }: SecondSourceSetting,
  { settings: { mode }, urls }: NetworkAccess,
): bigint | null {
  if (sourcesIn(urls) < 2) return null;
  return wanted === undefined && mode === 'test' ? null : amountOf(wanted ?? DEFAULT_SECOND_SOURCE_FROM);
}

/** Live networks whose payments would wait for a second source that is not configured. */
export function missingSecondSources(config: Config): string[] {
  if (config.SECOND_SOURCE_FROM === undefined) return [];
  return NETWORKS.filter((network) => sourcesIn(providerUrls(config, 'live', network)) === 1).map(
    (network) =>
      `SECOND_SOURCE_FROM is set, but ${providerUrlsName('live', network)} names one provider: add one of another host, or leave SECOND_SOURCE_FROM out`,
  );
}

/** The same refusal of a provider is logged again after this. */
const LOG_REFUSAL_EVERY_MS = 3_600_000;
const MOST_REFUSALS = 1_000;
const REFUSALS = {
  unknown: 'unknown answer of a provider: it is asked for less and more slowly',
  'quota-used':
    "the calls of the provider's plan are used up: the others continue, it is asked again every ten minutes",
} as const satisfies Record<NotedRefusal['kind'], string>;

/** Logs when a provider is excluded or back, and what it refuses in words that nobody knows or for want of calls. */
export function loggedProviders(mode: Mode, observer: RpcObserver, log: Pick<Logger, 'error' | 'info'>): RpcObserver {
  const loggedAtMs = new Map<string, number>();
  return {
    ...observer,
    onExcluded: (excluded) => {
      observer.onExcluded?.(excluded);
      const { network, provider, reason } = excluded;
      if (reason === null)
        log.info({ mode, network, provider }, 'the provider serves the right chain again and is used again');
      else
        log.error(
          { mode, network, provider, reason },
          'the provider serves another chain: it is excluded, the others continue',
        );
    },
    onRefusal: (refusal) => {
      observer.onRefusal?.(refusal);
      const { network, provider, kind, text } = refusal;
      // Numbers and hashes differ each time.
      const name = `${network} ${provider} ${text.replaceAll(/0x[0-9a-f]+|\d+/gi, '#')}`;
      const nowMs = performance.now();
      if (nowMs - (loggedAtMs.get(name) ?? -Infinity) < LOG_REFUSAL_EVERY_MS) return;
      if (loggedAtMs.size >= MOST_REFUSALS) loggedAtMs.clear();
      loggedAtMs.set(name, nowMs);
      log.error({ mode, network, provider, said: text }, REFUSALS[kind]);
    },
  };
}

/** Number of independent providers among the URLs. */
export const sourcesIn = (urls: readonly string[]): number => new Set(urls.map(sourceOfUrl)).size;

const PROVIDER_SETTINGS = {
  ethereum: 'ETHEREUM_RPC_URLS',
  bsc: 'BSC_RPC_URLS',
  tron: 'TRON_API_URLS',
  solana: 'SOLANA_RPC_URLS',
} as const satisfies Record<Network, keyof Config>;

type ProviderSetting = (typeof PROVIDER_SETTINGS)[Network];

/** The setting with the providers of a network. */
export const providerUrlsName = (mode: Mode, network: Network): ProviderSetting | `TEST_${ProviderSetting}` =>
  mode === 'test' ? `TEST_${PROVIDER_SETTINGS[network]}` : PROVIDER_SETTINGS[network];

/** Provider URLs of a network by mode, from the environment. */
export const providerUrls = (config: Config, mode: Mode, network: Network): readonly string[] =>
  config[providerUrlsName(mode, network)] ?? [];
