import { existsSync, readFileSync } from 'node:fs';
import { hash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { startSignerProcess } from '../../src/adapters/signer/process.ts';
import { signerOwner } from '../../src/adapters/wallet/address-owner.ts';
import { startHdDerivation } from '../../src/adapters/wallet/hd-derivation.ts';
import { solanaPoolDeriver } from '../../src/adapters/wallet/solana-pool.ts';
import { requiredText, type AdminCommands } from '../../src/operator/server/commands.ts';
import type { Storage } from '../../src/composition/storage/parts.ts';
import { CANARY_WEBHOOK_PATH } from '../../src/composition/canary/account.ts';
import { chainReaders } from '../../src/composition/networks/readers.ts';
import { openEmbedded } from '../../src/composition/storage/embedded.ts';
import { createMetrics } from '../../src/composition/outside/observability.ts';
import { payoutChain, sandboxPayoutRules } from '../../src/composition/money/payouts.ts';
import { contractCheck } from '../../src/composition/networks/contract-check.ts';
import { sandboxMasterKey } from '../../src/sandbox/master-key.ts';
import { writePrivate } from '../../src/runtime/files/private-file.ts';
import { rolesOf } from '../../src/settings/roles.ts';
import { startService, type RunningService } from '../../src/composition/service.ts';
import { readConfig } from '../../src/config.ts';
import { canonicalText } from '../../src/domain/events/canonical-text.ts';
import type { MerchantId } from '../../src/domain/values/ids.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { SubscribeOptions } from '../../src/ports/event-log/event-store.ts';
import { newMnemonic, Wallet } from '../../src/signer/keys/wallet.ts';
import { ClockCheck } from '../../src/runtime/util/clock-check.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { BY } from '../support/by-operator.ts';

/*
 * The whole service in a process of its own, as `startSandbox` composes it, but on providers that the drill has in its
 * hand. Beside the operator's commands it knows three of the drill: a follower of the event log that hangs, an event that
 * this build cannot read, and the end of the thread that checks the event log.
 */

export interface DrillNetwork {
  readonly settings: NetworkSettings;
  /** Read from; several are asked in turn. */
  readonly urls: readonly string[];
  /** Paid over. */
  readonly payoutUrl: string;
}

export interface DrillNodeSettings {
  readonly networks: readonly DrillNetwork[];
  /** Keys of the exported pool of Solana addresses. */
  readonly poolSize: number;
  /** The extended public key is of another wallet than the signer's. */
  readonly foreignWallet: boolean;
  /** Units of a coin from which a second provider must agree. */
  readonly secondSourceFrom: string;
  /** It pays itself on BSC. */
  readonly canary: boolean;
  /** Something that does not pay has the lease of canary payments. */
  readonly canaryLeaseTaken: boolean;
}

export interface DrillFacts {
  readonly base_url: string;
  readonly ops_url: string;
  readonly merchant: {
    readonly id: string;
    readonly api_key: string;
    readonly api_secret: string;
    readonly webhook_secret: string;
  };
  readonly treasury: string;
  /** The wallet that canary payments are made from. */
  readonly canary: string;
  readonly signer_pid: number;
}

const hanging = new Set<string>();
let auditThread: Worker | undefined;
process.on('worker', (worker) => {
  if (worker.threadName === 'audit') auditThread = worker;
});

/** The same storage; a follower whose name is in `hanging` gets no more events until it is not. */
function withHangingFollowers(storage: Storage): Storage {
  const subscribe = (options: SubscribeOptions) =>
    storage.store.subscribe({
      ...options,
      onEvents: async (events) => {
        while (hanging.has(options.name)) await new Promise((wait) => setTimeout(wait, 50));
        return options.onEvents(events);
      },
    });
  const store = new Proxy(storage.store, {
    get: (target, name) => {
      const value: unknown = name === 'subscribe' ? subscribe : Reflect.get(target, name, target);
      return typeof value === 'function' && name !== 'subscribe' ? (value.bind(target) as unknown) : value;
    },
  });
  return { ...storage, store };
}

function faultCommands({ store }: Storage): AdminCommands {
  return {
    'drill.hang': async (args) => {
      const name = requiredText(args, 'follower');
      if (args['on'] === true) hanging.add(name);
      else hanging.delete(name);
      return {};
    },
    'drill.end-audit': async () => ({ exitCode: (await auditThread?.terminate()) ?? null }),
    'drill.append': async (args) => {
      const stream = requiredText(args, 'stream');
      const last = await store.lastOfStream(stream);
      const revision = last === null ? 0 : last.revision + 1;
      const metadata = JSON.stringify({ correlationId: randomUUID(), actor: 'drill', prev: last?.hash ?? '' });
      const event = {
        id: randomUUID(),
        type: requiredText(args, 'type'),
        version: Number(args['version']),
        atMs: Date.now(),
        data: requiredText(args, 'data'),
        metadata,
      };
      const digest = hash('sha256', canonicalText({ stream, revision, ...event }), 'hex');
      const result = await store.append({
        stream,
        expected: last === null ? 'no-stream' : last.revision,
        events: [{ ...event, hash: digest }],
      });
      return { stored: result.ok };
    },
  };
}

const readJson = <Value>(file: string): Value | null =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Value) : null;

type DrillMerchant = DrillFacts['merchant'];
const CANARY_FILE = 'canary-merchant.json';

async function madeMerchant({ core }: RunningService, file: string, name: string): Promise<DrillMerchant> {
  const known = readJson<DrillMerchant>(file);
  if (known && core.directory.settings(known.id as MerchantId)) return known;
  const created = await core.merchants.registerMerchant({ name, mode: 'test' }, BY);
  if (!created.ok) throw new Error(created.refusal.message);
  writePrivate(file, JSON.stringify(created.value));
  return created.value;
}

/** The same at every start. */
function ownWallet(dataDir: string): Wallet {
  const file = join(dataDir, 'canary-wallet.json');
  const words = readJson<string>(file) ?? newMnemonic();
  writePrivate(file, JSON.stringify(words));
  return new Wallet(words);
}

const accessOf = ({ api_key: apiKey, api_secret: apiSecret, webhook_secret: webhookSecret }: DrillMerchant) =>
  ({ mode: 'test', apiKey, apiSecret, webhookSecret }) as const;

async function startNode(): Promise<RunningService & { readonly closeAll: () => Promise<void> }> {
  const config = readConfig(process.env);
  const settings = JSON.parse(process.env['DRILL_NODE']!) as DrillNodeSettings;
  const { networks, poolSize, foreignWallet, secondSourceFrom, canary } = settings;
  const log = createLogger(config.LOG_LEVEL);
  const clock = systemClock;
  const random = nodeRandom;
  const metrics = createMetrics(config, clock, log);
  const observer = metrics.chains.rpcObserver('test');
  const onFatal = (error: Error): void => {
    log.fatal({ err: error }, 'the event log can no longer be written');
    process.exit(1);
  };
  const sealingKeys = parseMasterKeys(sandboxMasterKey(config.DATA_DIR));
  const storage = withHangingFollowers(
    await openEmbedded(config.DATA_DIR, { clock, random, log, sealingKeys, onFatal }),
  );
  if (settings.canaryLeaseTaken) await storage.leases.acquire('canary', 86_400_000);
  const paidOver = networks.map(({ settings, payoutUrl }) => ({ settings, urls: [payoutUrl] }));
  const signer = await startSignerProcess({
    directory: config.DATA_DIR,
    wallets: { test: { kind: 'sandbox', directory: join(config.DATA_DIR, 'wallet') } },
    payouts: sandboxPayoutRules(config, paidOver),
    auditDirectory: `${config.DATA_DIR}-signer`,
    log,
  });
  const [watchOnly, treasury] = await Promise.all([
    signer.exportWatchOnly('test', poolSize),
    signer.treasuryAddresses('test'),
  ]);
  const evmXpub = foreignWallet ? new Wallet(newMnemonic()).evmXpub : watchOnly.evmXpub;
  const payoutChains = () =>
    paidOver.map((network) =>
      payoutChain(network, { sandbox: true, maxGasGwei: config.PAYOUT_MAX_GAS_GWEI, observer }),
    );
  const canaryWallet = ownWallet(config.DATA_DIR);
  // Made by a start before this one.
  const canaryMerchant = canary ? readJson<DrillMerchant>(join(config.DATA_DIR, CANARY_FILE)) : null;
  const derivation = startHdDerivation();
  const clockCheck = new ClockCheck(clock);
  const service = await startService({
    config,
    roles: rolesOf(config),
    storage,
    sealingKeys,
    clock,
    random,
    log,
    metrics,
    derivers: [derivation.deriver('test', 'evm', evmXpub), solanaPoolDeriver('test', watchOnly.solanaPool)],
    clockCheck,
    chains: chainReaders(networks, metrics, {
      onServerTime: clockCheck.heard,
      secondSourceFrom: ({ urls }) => (urls.length > 1 ? amountOf(secondSourceFrom) : null),
      log,
    }).byBlocks,
    networks: (mode) => (mode === 'test' ? networks.map(({ settings }) => settings) : []),
    contractChecks: paidOver.map(contractCheck),
    rateProviders: config.RATE_PROVIDERS!,
    webhookRules: { allowInsecure: true, ownHosts: [] },
    payouts: {
      signer,
      chains: payoutChains,
      addresses: new Map([['test', treasury]]),
      sandbox: true,
    },
    canary: canaryMerchant && { ...accessOf(canaryMerchant), wallet: canaryWallet, chains: payoutChains },
    addressOwner: signerOwner(signer),
    checkpointSigner: signer,
    // The watchers look as often as in the sandbox.
    sandbox: true,
    testWallet: null,
    moreAdmin: () => faultCommands(storage),
  });
  const merchant = await madeMerchant(service, join(config.DATA_DIR, 'drill-merchant.json'), 'Drill');
  const { id } = await madeMerchant(service, join(config.DATA_DIR, CANARY_FILE), 'Canary');
  await service.core.merchants.setWebhook(id as MerchantId, { url: `${service.baseUrl}${CANARY_WEBHOOK_PATH}` }, BY);
  const accounts = { treasury: treasury.evm, canary: canaryWallet.treasury.evm };
  const facts: DrillFacts = {
    base_url: service.baseUrl,
    ops_url: service.opsUrl,
    merchant,
    ...accounts,
    signer_pid: signer.pid,
  };
  writePrivate(join(config.DATA_DIR, 'drill.json'), JSON.stringify(facts));
  const closeAll = async (): Promise<void> => {
    await service.close();
    await Promise.all([derivation.close(), signer.close()]);
  };
  return { ...service, closeAll };
}

if (process.argv[1] === import.meta.filename) {
  const node = await startNode();
  process.once('SIGTERM', () => void node.closeAll().then(() => process.exit(0)));
}
