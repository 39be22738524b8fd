import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { nodeRandom } from '../adapters/node/random.ts';
import { connectSigner } from '../adapters/signer/remote.ts';
import { superviseSigner } from '../adapters/signer/supervised.ts';
import { rereadableWallets, takeWalletSources } from '../adapters/signer/wallet-sources.ts';
import { signerOwner } from '../adapters/wallet/address-owner.ts';
import { startHdDerivation, type HdDerivation } from '../adapters/wallet/hd-derivation.ts';
import { signerSolanaDeriver, solanaPoolDeriver } from '../adapters/wallet/solana-pool.ts';
import { InvalidConfig, unknownSettings, type Config } from '../config.ts';
import { type Mode, MODES } from '../domain/values/ids.ts';
import { addressFamilyOf, type AddressFamily, type NetworkSettings } from '../domain/networks/networks.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { AddressDeriver } from '../ports/chain/addresses.ts';
import { systemClock } from '../ports/clock.ts';
import type { OutgoingChain } from '../ports/outgoing/chain.ts';
import type { AcceptedRisk } from '../ports/signer/protocol.ts';
import type { Signer } from '../ports/signer/signer.ts';
import { ClockCheck } from '../runtime/util/clock-check.ts';
import { CANARY_WEBHOOK_PATH, openCanary } from './canary/account.ts';
import { chainReaders } from './networks/readers.ts';
import { liveProviders } from './networks/live-providers.ts';
import { createMetrics } from './outside/observability.ts';
import type { NetworkAccess } from '../settings/network-access.ts';
import { payoutChain, productionPayoutRules, type PayoutParts } from './money/payouts.ts';
import { journalDirectory } from '../settings/journal-directory.ts';
import { productionAccess } from '../settings/production-networks.ts';
import { ownExport, productionFaults } from '../settings/production-faults.ts';
import { secondSourceFrom } from '../settings/providers.ts';
import { acceptedRisks, logRisks } from '../settings/risks.ts';
import { rolesOf } from '../settings/roles.ts';
import { needlessKeys, sealingKeysOrFault } from '../settings/sealing-keys.ts';
import { logFindings, quickFindings } from '../doctor/doctor.ts';
import { contractCheck } from './networks/contract-check.ts';
import { startService } from './service.ts';
import { readSharedSecret } from '../settings/signer-secret.ts';
import { openStorage } from './storage/storage.ts';
import { must } from '../domain/values/must.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

/** Refuses configurations that would lose money or trust. Throws `InvalidConfig` with all faults at once. */
export function checkProductionConfig(config: Config, env: Record<string, string | undefined>): void {
  const found = productionFaults(config, env);
  if (found.length === 0) return;
  // A missing setting may exist under a misspelt name.
  const slips = unknownSettings(env).flatMap(({ name, meant }) =>
    meant === null ? [] : [`${name} is not a setting and has no effect: did you mean ${meant}?`],
  );
  throw new InvalidConfig(
    `quittance serve cannot start:\n${[...found, ...slips].map((line) => `  ${line}`).join('\n')}`,
  );
}

/** The service in production: real networks, no sandbox route. Resolves once it accepts requests. */
export async function startProduction(
  config: Config,
  log: Logger,
  env: Record<string, string | undefined>,
): Promise<{ close(): Promise<void> }> {
  checkProductionConfig(config, env);
  logFindings(quickFindings(config, env), log);
  const reread = rereadableWallets(env);
  const wallets = takeWalletSources(env);
  const roles = rolesOf(config);
  if (!roles.signer && Object.keys(wallets).length > 0)
    throw new InvalidConfig(
      `ROLES is ${config.ROLES.join(',')}, so keys do not belong here: WALLET_MNEMONIC and WALLET_KEYSTORE belong to the signer`,
    );
  const [clock, random] = [systemClock, nodeRandom];
  const metrics = createMetrics(config, clock, log);
  const sealingKeys = sealingKeysOrFault(config);
  for (const needless of needlessKeys(config)) log.warn({}, needless);
  const access = productionAccess(config);
  const networks = networksByMode(access, log);
  const onFatal = (error: Error): void => endWith(log, error);
  const stored = { clock, random, log, sealingKeys, roles, namespace: '', onFatal, readDamaged: true };
  const storage = await openStorage(config, stored);
  const keys = await openKeys(config, { wallets, reread }, access, log);
  const signer = keys?.signer ?? null;
  const payouts = keys?.pays ? await payoutParts(config, keys.signer, metrics, access, keys.modes) : null;
  const canary = await openCanary(config, payouts?.addresses.values());
  const derivation = startHdDerivation();
  const clockCheck = new ClockCheck(clock);
  const secondFrom = (network: NetworkAccess) => secondSourceFrom(config, network);
  const readers = chainReaders(access, metrics, { secondSourceFrom: secondFrom, log, onServerTime: clockCheck.heard });
  const service = await startService({
    config,
    roles,
    storage,
    sealingKeys,
    clock,
    clockCheck,
    random,
    log,
    metrics,
    derivers: roles.api ? await derivers(config, signer, derivation, networks, keys?.modes ?? [], log) : [],
    chains: readers.byBlocks,
    solana: readers.byAccounts.map((chain) => ({ chain, replaced: null })),
    networks: (mode) => networks.get(mode) ?? [],
    liveSettings: liveProviders({ access, config, sealingKeys }),
    contractChecks: access.map(contractCheck),
    rateProviders: must(config.RATE_PROVIDERS),
    webhookRules: {
      ...{ allowInsecure: false, ownHosts: [new URL(must(config.PUBLIC_URL)).host] },
      ...(canary && { ownReceiver: new URL(CANARY_WEBHOOK_PATH, config.PUBLIC_URL).href }),
    },
    payouts,
    canary: canary && { ...canary, chains: () => payoutChains(config, metrics, access) },
    checkpointSigner: signer,
    acceptedRisks: () => [...acceptedRisks(config), ...(keys?.acceptedRisks() ?? [])],
    addressOwner: signer && signerOwner(signer),
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

function networksByMode(access: readonly NetworkAccess[], log: Logger): ReadonlyMap<Mode, readonly NetworkSettings[]> {
  if (access.length === 0)
    log.warn(
      {},
      'no network is configured: set ETHEREUM_RPC_URLS, BSC_RPC_URLS, TRON_API_URLS or SOLANA_RPC_URLS (TEST_ in front for test mode)',
    );
  return new Map(
    MODES.map((mode) => [mode, access.map(({ settings }) => settings).filter((settings) => settings.mode === mode)]),
  );
}

/** The holder of the keys, for which modes, and whether it may pay. */
interface Keys {
  readonly signer: Signer;
  readonly modes: readonly Mode[];
  readonly pays: boolean;
  /** Those of another user's signer; what this process starts has this process's own settings. */
  readonly acceptedRisks: () => readonly AcceptedRisk[];
}

/** The signer of another user, or one that this process starts with the keys it was given; null without either. */
async function openKeys(
  config: Config,
  {
    wallets,
    reread,
  }: { readonly wallets: ReturnType<typeof takeWalletSources>; readonly reread: ReturnType<typeof rereadableWallets> },
  access: readonly NetworkAccess[],
  log: Logger,
): Promise<Keys | null> {
  const { SIGNER_SOCKET: socketPath, SIGNER_SECRET_FILE: secretFile } = config;
  const modes = MODES.filter((mode) => wallets[mode] !== undefined);
  if (socketPath !== undefined && secretFile !== undefined) {
    const signer = await connectSigner({ socketPath, secret: readSharedSecret(secretFile), log });
    if (statSync(socketPath).uid === process.getuid?.()) {
      if (signer.modes.includes('live')) throw new InvalidConfig(SAME_USER);
      log.warn({}, SAME_USER);
    }
    logRisks(signer.acceptedRisks(), log);
    return { signer, modes: signer.modes, pays: signer.pays, acceptedRisks: signer.acceptedRisks };
  }
  if (modes.length === 0) return null;
  const rules = productionPayoutRules(config, access);
  const options = {
    directory: config.DATA_DIR,
    wallets,
    ...(rules && { payouts: rules }),
    ...anchorPlace(config),
    log,
  };
  const { api, worker } = rolesOf(config);
  const signer = await superviseSigner(options, {
    walletsAgain: reread && (() => takeWalletSources({ ...reread })),
    // The service manager restarts this process with its secrets. A process that serves others continues, because they
    // need no keys.
    onGone: (reason) =>
      api || worker
        ? undefined
        : endWith(log, new Error(reason), 'the signer has ended and this process has nothing else to do'),
  });
  return { signer, modes, pays: rules !== null, acceptedRisks: () => [] };
}

const SAME_USER =
  "SIGNER_SOCKET: the signer runs as the service's user, so anyone who takes over the service can read its keys; run quittance signer as a separate user";

/**
 * Without a place outside the data directory the signer could not distinguish an old log from the newest, so it signs
 * no checkpoints.
 */
function anchorPlace(config: Config): { auditDirectory?: string } {
  const directory = journalDirectory(config);
  try {
    makeFolder(directory);
    accessSync(directory, constants.R_OK | constants.W_OK);
    return { auditDirectory: directory };
  } catch {
    return {};
  }
}

async function payoutParts(
  config: Config,
  signer: Signer,
  metrics: Metrics,
  access: readonly NetworkAccess[],
  modes: readonly Mode[],
): Promise<PayoutParts> {
  const addresses = await Promise.all(modes.map(async (mode) => [mode, await signer.treasuryAddresses(mode)] as const));
  return { signer, chains: () => payoutChains(config, metrics, access), addresses: new Map(addresses), sandbox: false };
}

const payoutChains = (config: Config, metrics: Metrics, access: readonly NetworkAccess[]): OutgoingChain[] =>
  access.map((network) =>
    payoutChain(network, {
      sandbox: false,
      maxGasGwei: config.PAYOUT_MAX_GAS_GWEI,
      ...(config.NATIVE_LIMITS && { nativeLimits: config.NATIVE_LIMITS }),
      bumpAfterSec: config.PAYOUT_BUMP_AFTER_SECONDS,
      observer: metrics.chains.rpcObserver(network.settings.mode),
    }),
  );

/** The source of addresses: the local signer, or its exports. A network without addresses cannot be offered. */
async function derivers(
  config: Config,
  signer: Signer | null,
  derivation: HdDerivation,
  networks: ReadonlyMap<Mode, readonly NetworkSettings[]>,
  modes: readonly Mode[],
  log: Logger,
): Promise<AddressDeriver[]> {
  const found: AddressDeriver[] = [];
  for (const mode of MODES) {
    const families = new Set((networks.get(mode) ?? []).map(({ network }) => addressFamilyOf(network)));
    const exported = signer && modes.includes(mode) ? await signer.exportWatchOnly(mode, 0) : null;
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
    function deriverOf(
      family: AddressFamily,
      xpubs: { evm: string | undefined; tron: string | undefined },
    ): AddressDeriver | null {
      if (family !== 'solana')
        return xpubs[family] === undefined ? null : derivation.deriver(mode, family, xpubs[family]);
      if (pool !== undefined) return solanaPoolDeriver(mode, readFileSync(pool, 'utf8').split(/\s+/).filter(Boolean));
      return exported && signer ? signerSolanaDeriver(mode, signer) : null;
    }
  }
  return found;
}

function endWith(log: Logger, error: Error, message = 'the event log can no longer be written'): void {
  log.fatal({ err: error }, message);
  process.exit(1);
}
