import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MANIFEST } from '../../src/backup/manifest.ts';
import { readConfig } from '../../src/config.ts';
import type { MerchantId, Mode } from '../../src/domain/values/ids.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { Caller } from '../../src/features/shared/merchant-api.ts';
import { approverKey } from '../support/approvers.ts';
import { MODEL_WALLET } from '../support/model-chains/model-chain.ts';
import type { SimulatedChain } from './chain/simulated-chain.ts';
import type { SimulatedProvider } from './chain/simulated-provider.ts';
import { EventLog } from './edges/event-log.ts';
import { forgeriesOf } from './edges/forgeries.ts';
import { HttpNetwork } from './edges/http.ts';
import { Receivers } from './edges/receiver.ts';
import { SignerWatch } from './edges/signer-watch.ts';
import { SignerProcess } from './edges/signer.ts';
import { Disk } from './edges/storage.ts';
import { addressOf, openNetwork, TOKEN_DECIMALS, TOKENS, treasuryOn } from './networks.ts';
import { ServiceNode } from './node.ts';
import type { ModelledNetwork, Plan } from './plan/plan.ts';
import { Prng } from './time/prng.ts';
import { Scheduler, within } from './time/scheduler.ts';
import { Timeline } from './timeline.ts';
import { takeOver } from './time/virtual-runtime.ts';
import { BY } from '../support/by-operator.ts';

/** Who agrees to what operators propose. */
export const APPROVERS = ['ada', 'bob'] as const;
/** Of the operators' own, to which they may withdraw. */
export const COLD_ACCOUNT = `0x${'0c'.repeat(20)}`;

export const START_MS = Date.UTC(2026, 10, 20);

interface Chain {
  readonly chain: SimulatedChain;
  readonly providers: readonly SimulatedProvider[];
  /** The treasury's account. */
  readonly treasury: string;
  readonly settings: NetworkSettings;
  readonly urls: readonly string[];
}

export interface Merchant {
  readonly url: string;
  /** Null until it is registered. */
  account: { readonly id: MerchantId; readonly webhookSecret: string } | null;
}

const REQUEST_TIMEOUT_MS = 10_000;
const RAM_DISK = '/dev/shm';
const ENOUGH = '999999999999';

/** Everything that exists in one run: the installation, and what is around it. */
export class World {
  readonly plan: Plan;
  readonly scheduler = new Scheduler(START_MS);
  readonly prng: Prng;
  readonly log: EventLog;
  readonly disk: Disk;
  readonly receivers: Receivers;
  readonly chains: ReadonlyMap<ModelledNetwork, Chain>;
  readonly merchants: readonly Merchant[];
  readonly timeline: Timeline;
  /** When a chain could be read last by fewer than could be, or a process was away. */
  troubledMs = -Infinity;
  /** Whether the process that pays is in the hands of an attacker. */
  isAttacked = false;
  /** Whether somebody else answers the commands of approvers. */
  isSocketFalse = false;
  /** Transactions that somebody made with the treasury's own key. */
  readonly misplaced = new Set<string>();
  readonly signerWatch: SignerWatch;
  /** Told of each forged payment that the signer signed. */
  readonly onStolen: ((what: string) => void)[] = [];
  /** Processes that have been started. */
  starts = 0;
  readonly skewsMs: number[];
  readonly #nodes: (ServiceNode | null)[];
  readonly #journals: string;
  /** Holds nothing but the mark of a restored log. */
  readonly #dataDir: string;
  /** From when a copy of the event log has all merchants. */
  #registeredMs = START_MS;
  readonly #requests: Prng;

  constructor(plan: Plan) {
    this.plan = plan;
    this.prng = new Prng(plan.seed);
    this.skewsMs = Array.from({ length: plan.nodes }, () => 0);
    this.#nodes = Array.from({ length: plan.nodes }, () => null);
    const { scheduler, prng } = this;
    takeOver(scheduler, prng.fork('runtime'));
    this.timeline = new Timeline(() => scheduler.nowMs - START_MS);
    this.#journals = mkdtempSync(join(existsSync(RAM_DISK) ? RAM_DISK : tmpdir(), 'quittance-simulation-'));
    this.#dataDir = join(this.#journals, 'data');
    this.#requests = prng.fork('requests');
    this.log = new EventLog(scheduler, prng.fork('log'));
    this.disk = new Disk(this.log, prng.fork('disk'));
    this.receivers = new Receivers(scheduler, prng.fork('receivers'));
    const http = new HttpNetwork(scheduler, prng.fork('http'));
    this.chains = new Map(plan.networks.map((network) => [network, this.#openChain(network, http)]));
    this.signerWatch = new SignerWatch(this.chains, prng.fork('attacker'), (situation) =>
      this.timeline.count(situation),
    );
    this.merchants = Array.from({ length: plan.merchants }, (_, number) => ({
      url: `https://merchant-${number}.example/hook`,
      account: null,
    }));
    this.log.onCommitted.push((event) => this.timeline.event(event));
  }

  get nodes(): readonly (ServiceNode | null)[] {
    return this.#nodes;
  }

  chainOf(network: ModelledNetwork): Chain {
    return this.chains.get(network)!;
  }

  startNode(number: number): void {
    this.starts += 1;
    this.timeline.add('process', `start ${this.starts}: node ${number}`);
    const pays = number === 0;
    const node = new ServiceNode(
      {
        config: readConfig({
          DATA_DIR: this.#dataDir,
          SIGNER_JOURNAL_DIR: '/dev/null/journal',
          LOG_LEVEL: 'silent',
          RATE_PROVIDERS: 'static',
          ...{ SESSION_TTL_SECONDS: String(this.plan.ttlSec), RECONCILE_EVERY_SECONDS: String(this.plan.reconcileSec) },
          ...{ NODE_NUMBER: String(number), ROLES: pays ? 'api,worker,signer' : 'api,worker' },
          ...(this.plan.sweepFrom !== null && { SWEEP_FROM: this.plan.sweepFrom }),
        }),
        ...{ disk: this.disk, receivers: this.receivers, wallet: MODEL_WALLET, profile: this.plan.profile },
        networks: [...this.chains.values()].map(({ settings, urls }) => ({ settings, urls })),
        startSigner: pays ? () => this.#startSigner() : null,
        onLog: (level, message, fields) => this.timeline.add(`log ${level}`, `${message} ${wordsOf(fields)}`),
        secondSourceFrom: this.plan.secondSourceFrom === null ? null : amountOf(this.plan.secondSourceFrom),
      },
      this.skewsMs[number]!,
    );
    this.#nodes[number] = node;
    node.started.catch((error: unknown) => {
      if (node.process.isDead) return;
      // Whatever watches over the service starts it again.
      this.timeline.add('process', `node ${number} did not start: ${(error as Error).message}`);
      this.killNode(number);
      this.scheduler.after(5_000, null, () => this.#nodes[number] === null && this.startNode(number));
    });
  }

  killNode(number: number): void {
    this.#nodes[number]?.kill();
    this.#nodes[number] = null;
    this.timeline.add('process', `killed: node ${number}`);
  }

  /** Every process ends, and the installation has nothing but an old copy of its event log, put in place by the tool. */
  restore(oldSec: number): void {
    for (const number of this.#nodes.keys()) {
      this.killNode(number);
      this.disk.forgetRows(number);
    }
    this.disk.leaseServer.forget();
    mkdirSync(this.#dataDir, { recursive: true });
    writeFileSync(join(this.#dataDir, MANIFEST), '{}');
    this.log.restoreTo(Math.max(this.#registeredMs, this.scheduler.nowMs - oldSec * 1000));
  }

  setClock(number: number, skewMs: number): void {
    this.skewsMs[number] = skewMs;
    this.#nodes[number]?.setClock(skewMs);
  }

  /**
   * A request of somebody outside to whatever process there is: null when nobody answers in time, be it done or not.
   * `ask` runs within the process.
   */
  request<Value>(ask: (node: ServiceNode) => Promise<Value>): Promise<Value | null> {
    // Whatever spreads requests over the processes takes one that answers.
    const ready = this.#nodes.filter((candidate) => candidate?.core);
    return this.#requestOf(ready.length === 0 ? null : this.#requests.pick(ready), ask);
  }

  /** A request to the process that pays, which must say no on its own words: those are thrown. */
  requestOfPayer<Value>(ask: (node: ServiceNode) => Promise<Value>): Promise<Value | null> {
    const node = this.#nodes[0];
    return this.#requestOf(node?.core ? node : null, ask);
  }

  #requestOf<Value>(
    node: ServiceNode | null | undefined,
    ask: (node: ServiceNode) => Promise<Value>,
  ): Promise<Value | null> {
    if (!node) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.scheduler.after(REQUEST_TIMEOUT_MS, null, () => resolve(null));
      this.scheduler.after(3, node.process, () => {
        ask(node).then(
          (value) => void this.scheduler.after(3, null, () => resolve(value)),
          (error: unknown) => {
            this.timeline.add('request', `failed: ${(error as Error).name}: ${(error as Error).message}`);
            this.scheduler.after(3, null, () => resolve(null));
          },
        );
      });
    });
  }

  callerOf(merchant: Merchant, requestId: string, idempotencyKey?: string): Caller {
    const mode: Mode = 'test';
    return {
      merchantId: merchant.account!.id,
      mode,
      requestId,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
  }

  /** Until all of them are known to the service. */
  async registerMerchants(): Promise<void> {
    for (const [number, merchant] of this.merchants.entries()) {
      const node = this.#nodes[0]!;
      const done = await within(node.process, () =>
        node.core!.merchants.registerMerchant(
          { name: `Merchant ${number}`, mode: 'test', webhookUrl: merchant.url },
          BY,
        ),
      );
      if (!done.ok) throw new Error(done.refusal.message);
      merchant.account = { id: done.value.id, webhookSecret: done.value.webhook_secret };
    }
    this.#registeredMs = this.scheduler.nowMs;
  }

  close(): void {
    for (const node of this.#nodes) node?.kill();
    rmSync(this.#journals, { recursive: true, force: true });
  }

  #openChain(network: ModelledNetwork, http: HttpNetwork): Chain {
    const blockSec = this.plan.blockSec?.[network];
    const { chain, providers } = openNetwork(network, this.plan.providers, {
      ...(blockSec !== undefined && { blockSec }),
      scheduler: this.scheduler,
      prng: this.prng.fork(network),
    });
    const urls = providers.map((_, number) => `http://${network}-${number}.example`);
    providers.forEach((provider, number) => http.serve(urls[number]!, (request) => provider.serve(request)));
    const token = (coin: 'USDT' | 'USDC') => ({
      coin,
      address: addressOf(network, TOKENS[network][coin]),
      decimals: TOKEN_DECIMALS,
    });
    const settings: NetworkSettings = {
      ...{ network, mode: 'test', chainId: chain.options.chainId, tokens: [token('USDT'), token('USDC')] },
      ...{ simulated: false, mainNetwork: false, explorerTransactionUrl: null },
    };
    return { chain, providers, treasury: treasuryOn(network), settings, urls };
  }

  #stolen(what: string): void {
    for (const listener of this.onStolen) listener(what);
  }

  #startSigner(): SignerProcess {
    const rules = {
      journalDirectory: this.#journals,
      networks: [...this.chains.values()].map(({ settings: { mode, network, chainId, tokens }, urls }) => ({
        mode,
        network,
        chainId,
        tokens,
        urls,
      })),
      limits: Object.fromEntries(
        (['USDT', 'USDC'] as const).map((coin) => [
          coin,
          { perTransaction: ENOUGH, perHour: ENOUGH, perDay: ENOUGH, approvalFrom: ENOUGH },
        ]),
      ),
      payoutsPerHour: 1_000_000,
      approvers: APPROVERS.map(approverKey),
      treasuryLimits: {
        USDT: { perTransaction: ENOUGH, perDay: ENOUGH },
        USDC: { perTransaction: ENOUGH, perDay: ENOUGH },
      },
      withdrawalAddresses: {
        test: Object.fromEntries(this.plan.networks.map((network) => [network, [addressOf(network, COLD_ACCOUNT)]])),
      },
    };
    return new SignerProcess({
      scheduler: this.scheduler,
      prng: this.prng.fork(`signer ${this.starts}`),
      wallet: MODEL_WALLET,
      rules,
      watched: this.signerWatch,
      attacker: {
        forge: (request) =>
          this.isAttacked ? [...forgeriesOf(request, COLD_ACCOUNT), ...this.signerWatch.asDeposits(request)] : [],
        frees: () => (this.isAttacked ? this.signerWatch.landed() : []),
        answered: ({ order }, answer) => {
          this.timeline.count(`attack ${answer}`);
          if (answer === 'signed')
            this.#stolen(`the signer signed a forged ${order.kind} of ${order.amount} to ${order.toAddress}`);
        },
        freed: ({ id, kind }, answer) => {
          this.timeline.count(`attack release ${kind} ${answer}`);
          if (answer === 'released')
            this.#stolen(`the signer gave the money of ${id} (${kind}) free, which had landed`);
        },
        stopped: (what) => this.#stolen(what),
      },
    });
  }
}

function wordsOf(fields: object): string {
  const { err, ...others } = fields as { err?: unknown };
  const said = err instanceof Error ? `${err.name}: ${err.message}` : '';
  return [
    said,
    JSON.stringify(others, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value instanceof Error ? value.message : value,
    ),
  ]
    .join(' ')
    .trim();
}
