import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { nodeRandom } from '../adapters/node/random.ts';
import { startSignerProcess, type SignerProcess } from '../adapters/signer/process.ts';
import { takeWalletSources } from '../adapters/signer/wallet-sources.ts';
import { startHdDerivation, type HdDerivation } from '../adapters/wallet/hd-derivation.ts';
import { signerSolanaDeriver, solanaPoolDeriver } from '../adapters/wallet/solana-pool.ts';
import { InvalidConfig, type Config } from '../config.ts';
import type { Mode } from '../domain/ids.ts';
import { knownNetwork } from '../domain/known-networks.ts';
import { addressFamilyOf, NETWORKS, type AddressFamily, type Network, type NetworkSettings } from '../domain/networks.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AddressDeriver } from '../ports/addresses.ts';
import { systemClock } from '../ports/clock.ts';
import { parseMasterKeys } from '../runtime/util/sealing.ts';
import { chainReaders } from './chain-readers.ts';
import { providerUrls } from './chains.ts';
import { createMetrics } from './observability.ts';
import { consoleFaults } from './console.ts';
import { journalDirectory, payoutChain, productionPayoutRules, type PayoutNetworkAccess, type PayoutParts } from './payouts.ts';
import { missingSecondSources, secondSourceFrom, warnOfSingleSources } from './providers.ts';
import { profileFaults, rolesOf } from './roles.ts';
import { contractCheck } from './senders.ts';
import { startService } from './service.ts';
import { openStorage } from './storage.ts';

const MODES: readonly Mode[] = ['live', 'test'];

/** Refuses to run in a way that would lose money or trust. Throws `InvalidConfig` with every fault at once. */
export function checkProductionConfig(config: Config, env: Record<string, string | undefined>): void {
  const faults = [
    env['CRASH_AT'] !== undefined && 'CRASH_AT must not be set: it ends the process in the midst of a payment and is for tests of the sandbox',
    config.MASTER_KEY === undefined && 'MASTER_KEY is missing: 32 random bytes, for example from `openssl rand -hex 32`',
    config.PUBLIC_URL === undefined && 'PUBLIC_URL is missing: the https address that payers and merchants use',
    config.PUBLIC_URL !== undefined && !config.PUBLIC_URL.startsWith('https://') && 'PUBLIC_URL must be https; TLS may end at a proxy in front',
    (config.RATE_PROVIDERS === undefined || config.RATE_PROVIDERS.includes('static')) &&
      'RATE_PROVIDERS must name real markets: coinbase, kraken, coingecko; static is for the sandbox',
    config.WEBHOOK_ALLOW_INSECURE === true && 'WEBHOOK_ALLOW_INSECURE must not be set: webhooks go over https to public addresses only',
    ...missingSecondSources(config),
    ...consoleFaults(config),
    ...profileFaults(config),
  ];
  const found = faults.filter((fault) => fault !== false);
  if (found.length > 0) throw new InvalidConfig(`quittance serve cannot start:\n${found.map((fault) => `  ${fault}`).join('\n')}`);
}

/** The service in production: real networks, no sandbox route. Resolves when it accepts requests. */
export async function startProduction(config: Config, log: Logger, env: Record<string, string | undefined>): Promise<{ close(): Promise<void> }> {
  checkProductionConfig(config, env);
  const wallets = takeWalletSources(env);
  const roles = rolesOf(config);
  if (!roles.signer && Object.keys(wallets).length > 0)
    throw new InvalidConfig(
      `ROLES is ${config.ROLES.join(',')}, so keys have no place here: WALLET_MNEMONIC and WALLET_KEYSTORE belong to the signer`,
    );
  const clock = systemClock;
  const random = nodeRandom;
  const metrics = createMetrics(config, clock, log);
  const masterKeys = parseMasterKeys(config.MASTER_KEY!);
  const networks = new Map(
    MODES.map((mode) => [
      mode,
      NETWORKS.filter((network) => providerUrls(config, mode, network).length > 0).map((network) => settingsOf(config, mode, network)),
    ]),
  );
  if ([...networks.values()].flat().length === 0)
    log.warn({}, 'no network is configured: set ETHEREUM_RPC_URLS, BSC_RPC_URLS, TRON_API_URLS or SOLANA_RPC_URLS (TEST_ in front for test mode)');
  const onFatal = (error: Error): void => endWith(log, error);
  const storage = await openStorage(config, { clock, random, log, roles, namespace: '', onFatal, readDamaged: true });
  const access = [...networks.values()]
    .flat()
    .map((settings) => ({ settings, urls: providerUrls(config, settings.mode, settings.network), headers: headersOf(config, settings.network) }));
  warnOfSingleSources(access, log);
  const rules = productionPayoutRules(config, access);
  const signer =
    Object.keys(wallets).length > 0
      ? await startSignerProcess({ directory: config.DATA_DIR, wallets, ...(rules && { payouts: rules }), ...anchorPlace(config), log })
      : null;
  const derivation = startHdDerivation();
  const readers = chainReaders(access, metrics, { secondSourceFrom: ({ mode, network }) => secondSourceFrom(config, mode, network), log });
  const service = await startService({
    config,
    roles,
    storage,
    masterKeys,
    clock,
    random,
    log,
    metrics,
    derivers: roles.api ? await derivers(config, signer, derivation, networks, wallets, log) : [],
    chains: readers.byBlocks,
    solana: readers.byAccounts.map((chain) => ({ chain, replaced: null })),
    networks: (mode) => networks.get(mode) ?? [],
    contractChecks: access.map(contractCheck),
    rateProviders: config.RATE_PROVIDERS!,
    webhookRules: { allowInsecure: false, ownHosts: [new URL(config.PUBLIC_URL!).host] },
    payouts: rules && signer && (await payoutParts(config, signer, metrics, access, Object.keys(wallets) as Mode[])),
    checkpointSigner: signer,
    sandbox: false,
    testWallet: null,
  });
  log.info({ url: service.baseUrl, ops: service.opsUrl }, 'the service accepts requests');
  return {
    close: async () => {
      await service.close();
      await Promise.all([derivation.close(), signer?.close()]);
    },
  };
}

/** Without a place outside the data directory the signer could not tell an old log from the newest, so it signs none. */
function anchorPlace(config: Config): { auditDirectory?: string } {
  const directory = journalDirectory(config);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    accessSync(directory, constants.R_OK | constants.W_OK);
    return { auditDirectory: directory };
  } catch {
    return {};
  }
}

function settingsOf(config: Config, mode: Mode, network: Network): NetworkSettings {
  const known = knownNetwork(mode, network);
  const own = mode === 'test' ? config.TEST_NETWORKS?.[network] : undefined;
  return own ? { ...known, chainId: own.chain_id, tokens: own.tokens, explorerTransactionUrl: own.explorer_url ?? null } : known;
}

const headersOf = (config: Config, network: Network): Record<string, string> =>
  network === 'tron' && config.TRON_API_KEY !== undefined ? { 'TRON-PRO-API-KEY': config.TRON_API_KEY } : {};

async function payoutParts(
  config: Config,
  signer: SignerProcess,
  metrics: Metrics,
  access: readonly PayoutNetworkAccess[],
  modes: readonly Mode[],
): Promise<PayoutParts> {
  const addresses = await Promise.all(modes.map(async (mode) => [mode, await signer.treasuryAddresses(mode)] as const));
  const chains = () =>
    access.map((network) =>
      payoutChain(network, {
        sandbox: false,
        maxGasGwei: config.PAYOUT_MAX_GAS_GWEI,
        ...(config.NATIVE_LIMITS && { nativeLimits: config.NATIVE_LIMITS }),
        bumpAfterSec: config.PAYOUT_BUMP_AFTER_SECONDS,
        observer: metrics.chains.rpcObserver(network.settings.mode),
      }),
    );
  return { signer, chains, addresses: new Map(addresses), sandbox: false };
}

/** Where addresses come from: the signer beside us, or what it exported. A network without any cannot be offered. */
async function derivers(
  config: Config,
  signer: SignerProcess | null,
  derivation: HdDerivation,
  networks: ReadonlyMap<Mode, readonly NetworkSettings[]>,
  wallets: { readonly [mode in Mode]?: unknown },
  log: Logger,
): Promise<AddressDeriver[]> {
  const found: AddressDeriver[] = [];
  for (const mode of MODES) {
    const families = new Set((networks.get(mode) ?? []).map(({ network }) => addressFamilyOf(network)));
    const exported = signer && mode in wallets ? await signer.exportWatchOnly(mode, 0) : null;
    const [evm, tron, pool] = ownExport(config, mode);
    for (const family of families) {
      const deriver = deriverOf(family, { evm: evm ?? exported?.evmXpub, tron: tron ?? exported?.tronXpub });
      if (deriver) found.push(deriver);
      else
        log.error(
          { mode, family },
          'no wallet: set WALLET_MNEMONIC, WALLET_KEYSTORE or a watch-only export (TEST_ in front for test mode); the network is not offered',
        );
    }
    function deriverOf(family: AddressFamily, xpubs: { evm: string | undefined; tron: string | undefined }): AddressDeriver | null {
      if (family !== 'solana') return xpubs[family] === undefined ? null : derivation.deriver(mode, family, xpubs[family]);
      if (pool !== undefined) return solanaPoolDeriver(mode, readFileSync(pool, 'utf8').split(/\s+/).filter(Boolean));
      return exported && signer ? signerSolanaDeriver(mode, signer) : null;
    }
  }
  assertApart(config);
  return found;
}

function ownExport(config: Config, mode: Mode): [string | undefined, string | undefined, string | undefined] {
  return mode === 'live'
    ? [config.WALLET_XPUB_EVM, config.WALLET_XPUB_TRON, config.WALLET_SOLANA_POOL]
    : [config.TEST_WALLET_XPUB_EVM, config.TEST_WALLET_XPUB_TRON, config.TEST_WALLET_SOLANA_POOL];
}

/** One wallet for both modes would let test money and real money meet at one address. */
function assertApart(config: Config): void {
  const live = ownExport(config, 'live');
  const test = ownExport(config, 'test');
  if (live.some((value, place) => value !== undefined && value === test[place]))
    throw new InvalidConfig('live and test mode must not share a wallet: WALLET_... and TEST_WALLET_... are equal');
}

function endWith(log: Logger, error: Error): void {
  log.fatal({ err: error }, 'the ledger cannot be written any more');
  process.exit(1);
}
