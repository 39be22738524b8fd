import { readFileSync } from 'node:fs';
import { nodeRandom } from '../adapters/node/random.ts';
import { startSignerProcess } from '../adapters/signer/process.ts';
import { signerOwner } from '../adapters/wallet/address-owner.ts';
import { startHdDerivation } from '../adapters/wallet/hd-derivation.ts';
import { solanaPoolDeriver } from '../adapters/wallet/solana-pool.ts';
import { InvalidConfig, type Config } from '../config.ts';
import { addressFamilyOf } from '../domain/networks/networks.ts';
import { holding, readWritten } from '../domain/values/written-json.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import { systemClock } from '../ports/clock.ts';
import type { TreasuryAddresses } from '../ports/outgoing/signer.ts';
import { parseMasterKeys } from '../runtime/cryptography/sealing.ts';
import { chainReaders } from './networks/readers.ts';
import { createMetrics } from './outside/observability.ts';
import type { NetworkAccess } from '../settings/network-access.ts';
import { payoutChain, sandboxPayoutRules } from './money/payouts.ts';
import { journalDirectory } from '../settings/journal-directory.ts';
import { rolesOf } from '../settings/roles.ts';
import { sandboxNamespace } from '../sandbox/master-key.ts';
import { contractCheck } from './networks/contract-check.ts';
import { startService } from './service.ts';
import { openStorage } from './storage/storage.ts';

/** What the nodes of a sandbox cluster share besides their servers: local chains that run separately, and a wallet. */
export interface SandboxClusterFile {
  readonly networks: readonly NetworkAccess[];
  /** The source of an API node's addresses. */
  readonly watchOnly: { readonly evmXpub: string; readonly tronXpub: string; readonly solanaPool: readonly string[] };
  readonly treasury: TreasuryAddresses;
  /** Read only by the signer's node. */
  readonly walletDirectory: string;
}

const isClusterFile = holding<SandboxClusterFile>('networks', 'watchOnly', 'treasury', 'walletDirectory');

/**
 * One node of a sandbox that spans several processes: the roles of `ROLES`, on the servers of `EVENTSTORE_URL` and
 * `REDIS_URL`, for the chains of the file. Resolves once it has started.
 */
export async function startSandboxNode(config: Config, log: Logger, file: string): Promise<{ close(): Promise<void> }> {
  const { EVENTSTORE_URL: store, REDIS_URL: redis, MASTER_KEY: masterKey } = config;
  if (store === undefined || redis === undefined || masterKey === undefined)
    throw new InvalidConfig(
      'a node of a sandbox cluster needs EVENTSTORE_URL, REDIS_URL and MASTER_KEY, the same as the others',
    );
  const cluster = readWritten(readFileSync(file, 'utf8'), isClusterFile);
  const roles = rolesOf(config);
  const clock = systemClock;
  const random = nodeRandom;
  const metrics = createMetrics(config, clock, log);
  const onFatal = (error: Error): never => {
    log.fatal({ err: error }, 'the event log can no longer be written');
    process.exit(1);
  };
  const sealingKeys = parseMasterKeys(masterKey);
  const storage = await openStorage(config, {
    clock,
    random,
    log,
    sealingKeys,
    roles,
    namespace: sandboxNamespace(masterKey),
    onFatal,
  });
  const signer = roles.signer ? await startSigner(config, cluster, log) : null;
  const derivation = startHdDerivation();
  const settings = cluster.networks.map((network) => network.settings);
  const readers = chainReaders(cluster.networks, metrics);
  const families = new Set(settings.map(({ network }) => addressFamilyOf(network)));
  const service = await startService({
    config: { ...config, WEBHOOK_ALLOW_INSECURE: true },
    roles,
    storage,
    sealingKeys,
    clock,
    random,
    log,
    metrics,
    derivers: [
      ...(families.has('evm') ? [derivation.deriver('test', 'evm', cluster.watchOnly.evmXpub)] : []),
      ...(families.has('tron') ? [derivation.deriver('test', 'tron', cluster.watchOnly.tronXpub)] : []),
      ...(families.has('solana') ? [solanaPoolDeriver('test', cluster.watchOnly.solanaPool)] : []),
    ],
    chains: readers.byBlocks,
    solana: readers.byAccounts.map((chain) => ({ chain, replaced: null })),
    networks: (mode) => (mode === 'test' ? settings : []),
    contractChecks: cluster.networks.map(contractCheck),
    rateProviders: config.RATE_PROVIDERS ?? ['static'],
    webhookRules: { allowInsecure: true, ownHosts: [] },
    payouts: signer && {
      signer,
      chains: () => cluster.networks.map((network) => payoutChain(network, payoutOptions(config, metrics))),
      addresses: new Map([['test', cluster.treasury]]),
      sandbox: true,
    },
    checkpointSigner: signer,
    addressOwner: signer && signerOwner(signer),
    sandbox: true,
    testWallet: null,
  });
  log.info({ url: service.baseUrl, ops: service.opsUrl, roles: config.ROLES }, 'the node has started');
  return {
    close: async () => {
      await service.close();
      await Promise.all([derivation.close(), signer?.close()]);
    },
  };
}

const startSigner = (config: Config, { networks, walletDirectory }: SandboxClusterFile, log: Logger) =>
  startSignerProcess({
    directory: config.DATA_DIR,
    wallets: { test: { kind: 'sandbox', directory: walletDirectory } },
    payouts: sandboxPayoutRules(config, networks),
    auditDirectory: journalDirectory(config),
    log,
  });

const payoutOptions = ({ PAYOUT_MAX_GAS_GWEI: maxGasGwei, NATIVE_LIMITS: nativeLimits }: Config, { chains }: Metrics) =>
  ({ sandbox: true, maxGasGwei, ...(nativeLimits && { nativeLimits }), observer: chains.rpcObserver('test') }) as const;
