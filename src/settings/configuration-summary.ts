import type { Config } from '../config.ts';
import { MODES } from '../domain/values/ids.ts';
import { NETWORKS } from '../domain/networks/networks.ts';
import { VERSION } from '../observability/version.ts';
import { providerUrls } from './providers.ts';

/** Settings that are safe to show: numbers, choices and our own paths, never keys, address lists or URLs. */
const SHOWN = [
  ...([
    'HOST',
    'PORT',
    'OPS_PORT',
    'CONSOLE_PORT',
    'ADMIN_PORT',
    'NODE_NUMBER',
    'TRUSTED_PROXIES',
    'DATA_DIR',
    'SIGNER_JOURNAL_DIR',
  ] as const),
  ...([
    'WATCH_ONLY',
    'SECOND_SOURCE_FROM',
    'SESSION_TTL_SECONDS',
    'EXPIRY_MAX_WAIT_SECONDS',
    'RATE_LIMIT_PER_KEY',
    'RATE_PROVIDERS',
  ] as const),
  ...([
    'RATE_MAX_AGE_SECONDS',
    'TOLERANCE_MAX_PERCENT',
    'TOLERANCE_MAX',
    'ACCEPT_RISKS',
    'ETHEREUM_MIN_CONFIRMATIONS',
    'ETHEREUM_FINALIZED_FROM_MAX',
    'SWEEP_FROM',
    'HEADER_PREFIX',
    'LOG_LEVEL',
  ] as const),
  'CHANGE_DELAY_MINUTES',
  'RECOVERY_DELAY_HOURS',
] satisfies readonly (keyof Config)[];

/** The settings in a start-up log line: enough to compare two starts, without secrets. */
export function configurationSummary(config: Config): object {
  const networks = MODES.flatMap((mode) =>
    NETWORKS.flatMap((network) => {
      const hosts = providerUrls(config, mode, network).map((address) => URL.parse(address)?.host ?? '?');
      return hosts.length === 0 ? [] : [[`${mode}:${network}`, hosts] as const];
    }),
  );
  return {
    version: VERSION,
    node: process.versions.node,
    roles: config.ROLES,
    store: config.EVENTSTORE_URL === undefined ? 'embedded' : 'EventStoreDB and Redis',
    signer: config.SIGNER_SOCKET === undefined ? 'none or started here' : 'run by another user',
    networks: Object.fromEntries(networks),
    publicHost: config.PUBLIC_URL === undefined ? null : (URL.parse(config.PUBLIC_URL)?.host ?? '?'),
    payoutCoins: Object.keys(config.PAYOUT_LIMITS ?? {}),
    approvers: config.PAYOUT_APPROVERS?.length ?? 0,
    settings: Object.fromEntries(SHOWN.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]]))),
  };
}
