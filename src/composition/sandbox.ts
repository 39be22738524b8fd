import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSignerProcess, type SignerProcess } from '../adapters/signer/process.ts';
import { startHdDerivation, type HdDerivation } from '../adapters/wallet/hd-derivation.ts';
import { nodeRandom as random } from '../adapters/node/random.ts';
import type { SandboxHome } from '../checkout/sandbox-home.ts';
import type { ExchangeWallets } from '../features/deposits/exchange-wallets.ts';
import { InvalidConfig, type Config } from '../config.ts';
import { addressFamilyOf, type Network, type NetworkSettings } from '../domain/networks/networks.ts';
import { holding } from '../domain/values/written-json.ts';
import { systemClock as clock } from '../ports/clock.ts';
import type { TreasuryAddresses } from '../ports/outgoing/signer.ts';
import type { Random } from '../ports/random.ts';
import type { Signer, WatchOnlyExport } from '../ports/signer/signer.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import { parseMasterKeys } from '../runtime/cryptography/sealing.ts';
import { attachedStarters } from '../sandbox/attached-chains.ts';
import { startSandboxChains, type SandboxChains } from '../sandbox/chains.ts';
import type { SandboxChain } from '../sandbox/chain.ts';
import { STARTERS } from '../sandbox/starters.ts';
import type { SolanaSandbox } from '../sandbox/surfpool/start-surfpool.ts';
import { signerOwner } from '../adapters/wallet/address-owner.ts';
import { signerSolanaDeriver } from '../adapters/wallet/solana-pool.ts';
import type { WebhookInbox } from '../sandbox/webhook-inbox.ts';
import { openCanary } from './canary/account.ts';
import { chainReaders } from './networks/readers.ts';
import { demoOrder, startDemoShop, type DemoMerchant, type DemoShop } from '../sandbox/demo-shop.ts';
import { createMetrics } from './outside/observability.ts';
import { payoutChain, sandboxPayoutRules } from './money/payouts.ts';
import { journalDirectory } from '../settings/journal-directory.ts';
import { sandboxMasterKey, sandboxNamespace } from '../sandbox/master-key.ts';
import { writePrivate } from '../runtime/files/private-file.ts';
import { TestWallet } from '../sandbox/test-wallet.ts';
import { profileFaults, rolesOf } from '../settings/roles.ts';
import { contractCheck } from './networks/contract-check.ts';
import { startService, type RunningService } from './service.ts';
import { personIdOf } from '../features/people/people.ts';
import type { ReplacedChain } from './networks/solana.ts';
import { openStorage } from './storage/storage.ts';

/** Settings for real money, which a sandbox refuses. */
const FORBIDDEN = [
  'ETHEREUM_RPC_URLS',
  'BSC_RPC_URLS',
  'TRON_API_URLS',
  'SOLANA_RPC_URLS',
  'WALLET_XPUB_EVM',
  'WALLET_XPUB_TRON',
  'WALLET_SOLANA_POOL',
] as const;
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1']);

/** Refuses settings that would expose a sandbox or touch a main network. Throws `InvalidConfig`. */
export function checkSandboxConfig(config: Config, env: Readonly<Record<string, string | undefined>>): void {
  if (!LOOPBACK.has(config.HOST))
    throw new InvalidConfig(
      `HOST: the sandbox listens on 127.0.0.1 only, not on ${config.HOST}; use "quittance serve" for anything else`,
    );
  const live = FORBIDDEN.filter((name) => env[name] !== undefined && env[name] !== '');
  const faults = profileFaults(config);
  if (faults.length > 0) throw new InvalidConfig(faults.join('\n'));
  if (live.length > 0)
    throw new InvalidConfig(
      `${live.join(', ')}: the sandbox knows local chains only; use "quittance serve" for main networks`,
    );
}

/** Everything on this machine: embedded store, local chains, a demo merchant. Resolves once it accepts requests. */
export async function startSandbox(config: Config, log: Logger, crashAt: string): Promise<{ close(): Promise<void> }> {
  const dataDir = config.DATA_DIR;
  const sandboxFile = join(dataDir, 'sandbox.json');
  rmSync(sandboxFile, { force: true });
  const metrics = createMetrics(config, clock, log);
  const roles = rolesOf(config);
  const masterKey = config.MASTER_KEY ?? sandboxMasterKey(dataDir);
  const sealingKeys = parseMasterKeys(masterKey);
  const storage = await openStorage(config, {
    ...{ clock, random, log, sealingKeys, roles },
    ...{ namespace: sandboxNamespace(masterKey), onFatal: endWith(log), readDamaged: true },
  });
  const chains = await startChains(config, log);
  const access = chains.chains.map((chain) => ({ settings: chain.settings, urls: [chain.rpcUrl] }));
  const signer = await startSandboxSigner(config, access, log, crashAt);
  const watchOnly = await signer.exportWatchOnly('test', 0);
  const treasury = await signer.treasuryAddresses('test');
  const canary = await openCanary(config, [treasury]);
  const payoutChains = () => access.map((network) => payoutChain(network, payoutOptions(config, metrics)));
  const derivation = startHdDerivation();
  const settings = chains.chains.map((chain) => chain.settings);
  const readers = chainReaders(access, metrics);
  let home: SandboxHome | null = null;
  const service = await startService({
    config: withSandboxDefaults(config),
    roles,
    storage,
    sealingKeys,
    clock,
    random,
    log,
    metrics,
    derivers: deriversOf(derivation, watchOnly, signer),
    chains: readers.byBlocks,
    solana: readers.byAccounts.map((chain) => ({ chain, replaced: replacedChain(chains) })),
    networks: (mode) => (mode === 'test' ? settings : []),
    contractChecks: access.map(contractCheck),
    testExchanges: testExchanges(chains),
    rateProviders: config.RATE_PROVIDERS ?? ['static'],
    webhookRules: { allowInsecure: config.WEBHOOK_ALLOW_INSECURE ?? true, ownHosts: [] },
    payouts: { signer, chains: payoutChains, addresses: new Map([['test', treasury]]), sandbox: true },
    canary: canary && { ...canary, chains: payoutChains },
    checkpointSigner: signer,
    addressOwner: signerOwner(signer),
    sandbox: true,
    testWallet: (core) => new TestWallet(core, chains, clock),
    sandboxHome: () => home,
  });
  fundTreasuries(chains, treasury, log);
  if (canary?.wallet) fundTreasuries(chains, canary.wallet.treasury, log);
  const shop = await startDemoShop(service.core, config, clock, log, service.readOnly() !== null);
  const { inbox } = shop;
  shop.onMerchant((merchant) =>
    writePrivate(sandboxFile, `${JSON.stringify(sandboxFacts(service, merchant, inbox, chains, treasury), null, 2)}\n`),
  );
  home = sandboxHome(service, shop, chains, { factsFile: sandboxFile, random });
  // A damaged log accepts no link.
  if (service.readOnly() === null) await offerConsole(service);
  log.info(
    { url: service.baseUrl, ops: service.opsUrl, inbox: inbox.pageUrl, facts: sandboxFile },
    'the sandbox accepts requests',
  );
  return {
    close: async () => {
      shop.detach();
      rmSync(sandboxFile, { force: true });
      await service.close();
      await Promise.all([inbox.close(), derivation.close(), signer.close(), chains.close()]);
    },
  };
}

const deriversOf = (derivation: HdDerivation, { evmXpub, tronXpub }: WatchOnlyExport, signer: Signer) => [
  derivation.deriver('test', 'evm', evmXpub),
  derivation.deriver('test', 'tron', tronXpub),
  signerSolanaDeriver('test', signer),
];

const withSandboxDefaults = (config: Config): Config => ({
  ...config,
  WEBHOOK_ALLOW_INSECURE: config.WEBHOOK_ALLOW_INSECURE ?? true,
});

/** Next to the data, with a wallet that it creates itself. */
const startSandboxSigner = (
  config: Config,
  access: Parameters<typeof sandboxPayoutRules>[1],
  log: Logger,
  crashAt: string,
): Promise<SignerProcess> =>
  startSignerProcess({
    directory: config.DATA_DIR,
    wallets: { test: { kind: 'sandbox', directory: join(config.DATA_DIR, 'wallet') } },
    payouts: sandboxPayoutRules(config, access),
    auditDirectory: journalDirectory(config),
    ...(crashAt !== '' && { crashAt }),
    log,
  });

function sandboxHome(
  service: RunningService,
  { merchantId, inbox }: DemoShop,
  { chains, unavailable }: SandboxChains,
  { factsFile, random }: { readonly factsFile: string; readonly random: Random },
): SandboxHome {
  const { opsUrl: statusUrl, consoleUrl } = service;
  return {
    ...{ merchantId, networks: chains.map(({ settings }) => settings), unavailable },
    ...{ inboxUrl: inbox.pageUrl, statusUrl, consoleUrl, factsFile },
    order: () => demoOrder(service, merchantId, random),
  };
}

/**
 * Until somebody has a passkey, each start shows a link for single use, outside the log, which is stored and shipped.
 */
async function offerConsole({ core, consoleUrl }: RunningService): Promise<void> {
  if (consoleUrl === null) return;
  const { people, directory } = core;
  const isUsed = people.directory.all().some(({ passkeys }) => Object.keys(passkeys).length > 0);
  if (isUsed) return void process.stderr.write(`Console: ${consoleUrl}\n`);
  const wanted = { by: 'the sandbox', reason: 'the first person of a sandbox' };
  const everything = (['operator', 'finance', 'approver'] as const).map((role) => ({
    role,
    merchantId: null,
    untilSec: null,
  }));
  const shops = directory
    .merchantIds()
    .map((merchantId) => ({ role: 'merchant_admin' as const, merchantId, untilSec: null }));
  const personId = personIdOf(FIRST_PERSON);
  const made = people.directory.find(personId)
    ? await people.issueLink(personId, wanted, true)
    : await people.invite(FIRST_PERSON, [...everything, ...shops], wanted);
  if (made.ok) process.stderr.write(`Console: ${consoleUrl}/join/${made.value.token} (good once, for a day)\n`);
}

const testExchanges = ({ chains }: SandboxChains): ExchangeWallets =>
  Object.fromEntries(
    chains.map(({ settings, exchangeAddress }) => [
      settings.network,
      exchangeAddress ? { [exchangeAddress]: 'Test exchange' } : {},
    ]),
  );

const FIRST_PERSON = 'Owner';
const FUNDING_ATTEMPTS = 10;
const FUNDING_PAUSE_MS = 1_000;

const payoutOptions = ({ PAYOUT_MAX_GAS_GWEI: maxGasGwei, NATIVE_LIMITS: nativeLimits }: Config, { chains }: Metrics) =>
  ({ sandbox: true, maxGasGwei, ...(nativeLimits && { nativeLimits }), observer: chains.rpcObserver('test') }) as const;

function startChains({ DATA_DIR: dataDir, SANDBOX_NETWORKS: networks }: Config, log: Logger): Promise<SandboxChains> {
  const attached = process.env['SANDBOX_CHAINS'];
  const own = Object.fromEntries(networks.map((network) => [network, STARTERS[network]]));
  return startSandboxChains({ dataDir, log, starters: attached ? attachedStarters(attached) : own });
}

function fundTreasuries({ chains }: SandboxChains, treasury: TreasuryAddresses, log: Logger): void {
  for (const chain of chains) void fundTreasury(chain, treasury[addressFamilyOf(chain.settings.network)], log);
}

/** A newly started node may refuse; an existing balance is not topped up again. */
async function fundTreasury(chain: SandboxChain, address: string, log: Logger): Promise<void> {
  for (let attempt = 1; attempt <= FUNDING_ATTEMPTS; attempt += 1) {
    try {
      return await chain.fundTreasury?.(address);
    } catch (error) {
      log.warn({ err: error, network: chain.settings.network, attempt }, 'the treasury has no test money');
      await sleep(FUNDING_PAUSE_MS, undefined, { ref: false });
    }
  }
}

const tellsHistory = holding<Pick<SolanaSandbox, 'previousGenesis'>>('previousGenesis');

/** Surfpool does not keep its chain across restarts. */
function replacedChain({ chains }: SandboxChains): ReplacedChain | null {
  const solana = chains.find(({ settings }) => settings.network === 'solana');
  if (!tellsHistory(solana) || solana.previousGenesis === null) return null;
  return { oldGenesis: solana.previousGenesis };
}

function sandboxFacts(
  service: Pick<RunningService, 'baseUrl' | 'opsUrl' | 'consoleUrl'>,
  merchant: DemoMerchant,
  inbox: WebhookInbox,
  chains: SandboxChains,
  treasury: TreasuryAddresses,
) {
  const networks = chains.chains.map(({ settings, rpcUrl }): [Network, object] => [
    settings.network,
    {
      rpc_url: rpcUrl,
      chain_id: chainIdOf(settings),
      simulated: settings.simulated,
      treasury: treasury[addressFamilyOf(settings.network)],
      tokens: Object.fromEntries(settings.tokens.map(({ coin, address }) => [coin, address])),
    },
  ]);
  return {
    base_url: service.baseUrl,
    ops_url: service.opsUrl,
    console_url: service.consoleUrl,
    merchant,
    webhook_inbox: inbox.pageUrl,
    networks: Object.fromEntries<object>(networks),
    unavailable: chains.unavailable,
  };
}

const chainIdOf = ({ chainId }: NetworkSettings): number | string =>
  /^\d+$/.test(chainId) ? Number(chainId) : chainId;

const endWith =
  (log: Logger) =>
  (error: Error): void => {
    log.fatal({ err: error }, 'the event log can no longer be written');
    process.exit(1);
  };
