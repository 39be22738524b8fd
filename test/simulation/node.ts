import { hash } from 'node:crypto';
// Loaded with its first use elsewhere, which would take real time in the midst of a run.
import '@solana/web3.js';
import { Registry } from 'prom-client';
import { nativeChildDerivation, portableChildDerivation } from '../../src/adapters/wallet/child-public-key.ts';
import { checkedAddresses } from '../../src/adapters/wallet/checked-addresses.ts';
import { readExtendedPublicKey } from '../../src/adapters/wallet/extended-public-key.ts';
import { signerSolanaDeriver } from '../../src/adapters/wallet/solana-pool.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { chainReaders } from '../../src/composition/networks/readers.ts';
import type { NetworkAccess } from '../../src/settings/network-access.ts';
import { payoutChain } from '../../src/composition/money/payouts.ts';
import { rolesOf } from '../../src/settings/roles.ts';
import { contractCheck } from '../../src/composition/networks/contract-check.ts';
import type { Core } from '../../src/composition/core.ts';
import { startFoundation, type Foundation } from '../../src/composition/service-foundation.ts';
import { startMoney, type MovingMoney } from '../../src/composition/service-money.ts';
import type { ServiceParts } from '../../src/composition/service-parts.ts';
import { startInbox } from '../../src/composition/money/unmatched.ts';
import { outflowCommands } from '../../src/composition/outside/operator-commands.ts';
import type { Config } from '../../src/config.ts';
import { addressFamilyOf, type AddressFamily } from '../../src/domain/networks/networks.ts';
import type { AdminCommands } from '../../src/operator/server/commands.ts';
import type { Logger } from '../../src/observability/logger.ts';
import type { Metrics } from '../../src/observability/metrics/metrics.ts';
import type { AddressDeriver } from '../../src/ports/chain/addresses.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { withEventLog } from '../../src/features/payouts/event-log-feed.ts';
import type { Wallet } from '../../src/signer/keys/wallet.ts';
import type { Disk } from './edges/storage.ts';
import type { Receivers } from './edges/receiver.ts';
import type { SignerProcess } from './edges/signer.ts';
import type { Profile } from './plan/plan.ts';
import { ModelProcess, within } from './time/scheduler.ts';
import { onceForAll } from './time/virtual-runtime.ts';

export interface NodeParts {
  readonly config: Config;
  readonly disk: Disk;
  readonly receivers: Receivers;
  readonly wallet: Wallet;
  readonly networks: readonly NetworkAccess[];
  readonly profile: Profile;
  /** Null where this process never pays. */
  readonly startSigner: (() => SignerProcess) | null;
  readonly onLog: (level: 'warn' | 'error' | 'fatal', message: string, fields: object) => void;
  readonly secondSourceFrom: bigint | null;
}

/**
 * One process of the service from its start to its end, wired by the production composition: all of it but the HTTP
 * servers and the audit's thread.
 */
export class ServiceNode {
  readonly process = new ModelProcess('node');
  readonly signer: SignerProcess | null;
  readonly started: Promise<void>;
  #core: Core | null = null;
  #commands: AdminCommands = {};
  #foundation: Foundation | null = null;
  #money: MovingMoney | null = null;

  constructor(parts: NodeParts, skewMs: number) {
    this.signer = parts.startSigner?.() ?? null;
    this.setClock(skewMs);
    this.started = within(this.process, () => this.#start(serviceParts(parts, this.signer)));
  }

  /** Null until it takes requests. */
  get core(): Core | null {
    return this.#core;
  }

  /** What operators can tell it. */
  get commands(): AdminCommands {
    return this.#commands;
  }

  get foundation(): Foundation | null {
    return this.#foundation;
  }

  get money(): MovingMoney | null {
    return this.#money;
  }

  /** The signer is its child and never outlives it. */
  kill(): void {
    this.process.isDead = true;
    if (this.signer) this.signer.process.isDead = true;
  }

  /** Look-ups and whatever else follows the log; a restart ends it. */
  setBehind(isBehind: boolean): void {
    this.process.isBehind = isBehind;
  }

  /** Of the process, not of its signer. */
  pause(nowMs: number, forMs: number): void {
    this.process.resumesMs = nowMs + forMs;
  }

  setClock(skewMs: number): void {
    this.process.skewMs = skewMs;
    if (this.signer) this.signer.process.skewMs = skewMs;
  }

  async #start(parts: ServiceParts): Promise<void> {
    const hasHistory = (await parts.storage.store.head()) !== null;
    const foundation = await startFoundation(parts);
    const money = await startMoney(parts, foundation, { mayPay: () => true }, hasHistory);
    const inbox = startInbox(parts, foundation, money);
    this.#commands = { ...outflowCommands(parts, foundation, money.payouts), ...inbox.commands };
    this.#foundation = foundation;
    this.#money = money;
    this.#core = foundation.core;
  }
}

function serviceParts(
  { config, disk, receivers, wallet, networks, onLog, secondSourceFrom, profile }: NodeParts,
  signer: SignerProcess | null,
): ServiceParts {
  const [log, roles] = [logger(onLog), rolesOf(config)];
  const metrics = unmeasured() as unknown as Metrics;
  const settings = networks.map((access) => access.settings);
  const readers = chainReaders(networks, metrics, { secondSourceFrom: () => secondSourceFrom });
  const families = new Set(settings.map(({ network }) => addressFamilyOf(network)));
  const storage = disk.open({ profile, node: config.NODE_NUMBER, roles });
  return {
    config,
    roles,
    storage,
    sealingKeys: parseMasterKeys(hash('sha256', 'of this simulation')),
    clock: systemClock,
    random: nodeRandom,
    log,
    metrics,
    derivers: [...families].map((family) =>
      family === 'solana'
        ? signerSolanaDeriver('test', { exportSolanaKeys: async (_, ...part) => wallet.solanaPublicKeys(...part) })
        : deriver(family, family === 'evm' ? wallet.evmXpub : wallet.tronXpub),
    ),
    chains: readers.byBlocks,
    solana: readers.byAccounts.map((chain) => ({ chain, replaced: null })),
    networks: (mode) => (mode === 'test' ? settings : []),
    contractChecks: networks.map(contractCheck),
    rateProviders: ['static'],
    webhookRules: { allowInsecure: true, ownHosts: [] },
    webhookSender: receivers.sender(),
    payouts: signer && {
      signer: withEventLog(signer.calls(), storage.store),
      chains: () =>
        networks.map((network) =>
          payoutChain(network, {
            sandbox: false,
            maxGasGwei: config.PAYOUT_MAX_GAS_GWEI,
            bumpAfterSec: config.PAYOUT_BUMP_AFTER_SECONDS,
          }),
        ),
      addresses: new Map([['test', wallet.treasury]]),
      sandbox: false,
    },
    checkpointSigner: null,
    sandbox: false,
    testWallet: null,
  };
}

const nothing = (): undefined => undefined;

/** Figures for operators are not looked at here. */
const unmeasured = () => ({
  store: { observe: <Store>(store: Store) => store },
  projections: { hooks: {} },
  chains: { watchObserver: () => ({}), rpcObserver: () => ({}), addProviders: nothing },
  webhooks: { observer: {} },
  registry: new Registry(),
});

function logger(onLog: NodeParts['onLog']): Logger {
  const line =
    (level: 'warn' | 'error' | 'fatal') =>
    (fields: object, message: string): void =>
      onLog(level, message, fields);
  return {
    ...{ info: nothing, debug: nothing, trace: nothing, isLevelEnabled: () => false },
    warn: line('warn'),
    error: line('error'),
    fatal: line('fatal'),
  } as unknown as Logger;
}

const derived = new Map<string, string>();

/** As the thread derives them, each once in the life of this program. */
function deriver(family: 'evm' | 'tron', xpub: string): AddressDeriver {
  const key = readExtendedPublicKey(xpub);
  const derivation = nativeChildDerivation() ?? portableChildDerivation;
  const addressAt = (index: number): string => {
    const name = `${family} ${index}`;
    if (!derived.has(name))
      onceForAll(() => checkedAddresses(derivation, { key, format: family, fromIndex: index, count: 64 })).forEach(
        (address, offset) => derived.set(`${family} ${index + offset}`, address),
      );
    return derived.get(name)!;
  };
  return {
    ...{ family: family satisfies AddressFamily, mode: 'test', capacity: 2 ** 31 },
    derive: async (fromIndex, count) => Array.from({ length: count }, (_, offset) => addressAt(fromIndex + offset)),
  };
}
