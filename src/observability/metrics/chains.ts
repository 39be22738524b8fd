import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Clock } from '../../ports/clock.ts';
import { sourceOf, type ProviderStatus, type RpcObserver, type RpcPool } from '../../ports/chain/rpc-pool.ts';
import type { Anomaly, WatchObserver, WatchStatus } from '../../features/deposits/chain/types.ts';

/** A chain that is being read. */
export interface WatchedChain {
  readonly settings: { readonly mode: Mode; readonly network: Network };
  readonly watcher: { status(): WatchStatus };
}

/** The providers of a network, as one pool uses them. */
export interface NetworkProviders {
  readonly mode: Mode;
  readonly network: Network;
  readonly pool: Pick<RpcPool, 'sources' | 'status'>;
  /** Payments above a threshold wait for a second source. */
  readonly needsSecond: () => boolean;
}

type Where = 'mode' | 'network';
const WHERE = ['mode', 'network'] as const;
const ANOMALIES: readonly Anomaly['kind'][] = [
  'found-late',
  'incomplete-range',
  'other-chain',
  'parked',
  'disputed',
  'unproven',
  'withheld',
  'unexplained',
  'unbooked',
  'returned',
  'kept-final',
];
const RPC_BUCKETS_SEC = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** How the chains are read: heads, gaps, reorganisations, and their providers. */
export class ChainMetrics {
  readonly #clock: Clock;
  readonly #startedSec: number;
  readonly #watched: WatchedChain[] = [];
  readonly #providers: NetworkProviders[] = [];
  readonly #rpcRequests: Counter<Where | 'provider' | 'method' | 'result'>;
  readonly #rpcDuration: Histogram<Where | 'provider'>;
  readonly #rpcLag: Gauge<Where | 'provider'>;
  readonly #rpcRefusals: Counter;
  readonly #rpcExcluded: Gauge<Where | 'provider'>;
  readonly #reorgs: Counter<Where | 'beyond_finality'>;
  readonly #reverted: Counter<Where | 'after_final'>;
  readonly #anomalies: Counter<Where | 'kind'>;
  readonly #troubles: Counter<Where>;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    this.#startedSec = clock.nowMs() / 1000;
    const registers = [registry];
    const counter = <Label extends string>(
      name: string,
      help: string,
      labels: readonly Label[],
    ): Counter<Where | Label> => new Counter({ name, help, labelNames: [...WHERE, ...labels], registers });
    this.#rpcRequests = counter('quittance_rpc_requests_total', 'Requests to chain providers.', [
      'provider',
      'method',
      'result',
    ]);
    this.#rpcDuration = new Histogram({
      name: 'quittance_rpc_request_duration_seconds',
      help: 'Duration of requests to chain providers.',
      labelNames: [...WHERE, 'provider'],
      buckets: RPC_BUCKETS_SEC,
      registers,
    });
    this.#rpcLag = new Gauge({
      name: 'quittance_rpc_provider_lag_blocks',
      help: 'Blocks a provider is behind the best head known.',
      labelNames: [...WHERE, 'provider'],
      registers,
    });
    this.#rpcExcluded = new Gauge({
      name: 'quittance_rpc_provider_excluded',
      help: '1 while a provider is left out, since it serves another chain.',
      labelNames: [...WHERE, 'provider'],
      registers,
    });
    this.#rpcRefusals = new Counter({
      name: 'quittance_rpc_refusals_total',
      help: 'Refusals in words that nobody knows (kind="unknown") or because the plan is used up (kind="quota-used").',
      labelNames: [...WHERE, 'provider', 'kind'],
      registers,
    });
    this.#reorgs = counter(
      'quittance_chain_reorgs_total',
      'Reorganisations seen; beyond_finality="true" changed blocks that had been final.',
      ['beyond_finality'],
    );
    this.#reverted = counter(
      'quittance_chain_reverted_deposits_total',
      'Deposits that left their chain; after_final="true" had been final.',
      ['after_final'],
    );
    this.#anomalies = counter('quittance_chain_anomalies_total', 'Answers of a chain that contradict another answer.', [
      'kind',
    ]);
    this.#troubles = counter('quittance_chain_read_failures_total', 'Rounds of reading that failed.', []);
    this.#registerStatus(registry);
    this.#registerSources(registry);
  }

  /** Adds the chain to the metrics. */
  add(watched: WatchedChain): void {
    const { mode, network } = watched.settings;
    this.#watched.push(watched);
    for (const beyond of ['true', 'false']) this.#reorgs.inc({ mode, network, beyond_finality: beyond }, 0);
    for (const after of ['true', 'false']) this.#reverted.inc({ mode, network, after_final: after }, 0);
    for (const kind of ANOMALIES) this.#anomalies.inc({ mode, network, kind }, 0);
    this.#troubles.inc({ mode, network }, 0);
  }

  /** Adds the providers to the metrics. */
  addProviders(providers: NetworkProviders): void {
    const { mode, network, pool } = providers;
    this.#providers.push(providers);
    for (const { provider } of pool.status()) this.#rpcExcluded.set({ mode, network, provider }, 0);
  }

  get providers(): readonly NetworkProviders[] {
    return this.#providers;
  }

  get watched(): readonly WatchedChain[] {
    return this.#watched;
  }

  rpcObserver(mode: Mode): RpcObserver {
    return {
      onRequest: ({ network, provider, method, ok, durationMs }) => {
        this.#rpcRequests.inc({ mode, network, provider, method, result: ok ? 'ok' : 'error' });
        this.#rpcDuration.observe({ mode, network, provider }, durationMs / 1000);
      },
      onExcluded: ({ network, provider, reason }) =>
        this.#rpcExcluded.set({ mode, network, provider }, reason === null ? 0 : 1),
      onRefusal: ({ network, provider, kind }) => this.#rpcRefusals.inc({ mode, network, provider, kind }),
      onGone: ({ network, provider }) => {
        this.#rpcExcluded.remove({ mode, network, provider });
        this.#rpcLag.remove({ mode, network, provider });
      },
      onLag: ({ network, provider, lagBlocks }) => this.#rpcLag.set({ mode, network, provider }, lagBlocks),
    };
  }

  watchObserver(mode: Mode, network: Network): WatchObserver {
    const where = { mode, network };
    return {
      onReorg: ({ beyondFinality }) => this.#reorgs.inc({ ...where, beyond_finality: String(beyondFinality) }),
      onReverted: ({ afterFinal }) => this.#reverted.inc({ ...where, after_final: String(afterFinal) }),
      onAnomaly: ({ kind }) => this.#anomalies.inc({ ...where, kind }),
      onTrouble: () => this.#troubles.inc(where),
    };
  }

  #registerSources(registry: Registry): void {
    const gauge = (name: string, help: string, of: (pool: NetworkProviders['pool']) => number): void =>
      gaugeOfNetworks(registry, { name, help }, () =>
        this.#providers.map(({ mode, network, pool }) => [{ mode, network }, of(pool)]),
      );
    gauge(
      'quittance_rpc_sources',
      'Independent providers that are configured: two addresses of one host are one.',
      (pool) => pool.sources,
    );
    gauge(
      'quittance_rpc_sources_usable',
      'Independent providers that respond and serve the right chain.',
      usableSources,
    );
  }

  #registerStatus(registry: Registry): void {
    const gauge = (name: string, help: string, of: (status: WatchStatus, nowSec: number) => number | null): void =>
      gaugeOfNetworks(registry, { name, help }, () =>
        this.#watched.map(({ settings: { mode, network }, watcher }) => [
          { mode, network },
          of(watcher.status(), this.#clock.nowMs() / 1000),
        ]),
      );
    gauge('quittance_chain_head_block', 'Newest block of the chain.', (status) => status.headBlock);
    gauge('quittance_chain_scanned_block', 'Last block read for payments.', (status) => status.scannedBlock);
    gauge('quittance_chain_finalized_block', 'Last block the chain calls final.', (status) => status.finalizedBlock);
    gauge(
      'quittance_chain_covered_block',
      'Last final block that the event log records as read.',
      (status) => status.coveredBlock,
    );
    gauge(
      'quittance_chain_scan_lag_seconds',
      'Age of the chain time up to which every payment is known; of this process while it knows of none.',
      (status, nowSec) => Math.max(0, nowSec - (status.scannedToSec ?? this.#startedSec)),
    );
    gauge('quittance_chain_scan_gap_blocks', 'Blocks of the chain not read yet.', ({ headBlock, scannedBlock }) =>
      gap(headBlock, scannedBlock),
    );
    gauge(
      'quittance_chain_read_pace',
      'Blocks read in a second of reading, for each that the chain makes in it; below 1 reading falls behind.',
      ({ readPace }) => readPace ?? null,
    );
    gauge(
      'quittance_chain_coverage_gap_blocks',
      'Final blocks not recorded as read.',
      ({ finalizedBlock, coveredBlock }) => gap(finalizedBlock, coveredBlock),
    );
    gauge(
      'quittance_chain_unsettled_deposits',
      'Deposits that may still be reverted.',
      (status) => status.trackedDeposits,
    );
    gauge('quittance_chain_consecutive_failures', 'Consecutive failed reads.', (status) => status.consecutiveFailures);
  }
}

/** The number of independent providers available now. */
export const usableSources = (pool: NetworkProviders['pool']): number =>
  new Set(pool.status().flatMap((status) => (isUsable(status) ? [sourceOf(status.provider)] : []))).size;

/** A provider whose last answer was a fault is retried, and counts again after a good answer. */
const isUsable = ({ healthy, consecutiveFaults, excluded }: ProviderStatus): boolean =>
  healthy && consecutiveFaults === 0 && excluded === null;

const gap = (to: number | null, from: number | null): number | null =>
  to === null || from === null ? null : Math.max(0, to - from);

/** A gauge that is read on collection; null values leave it unchanged. */
function gaugeOfNetworks(
  registry: Registry,
  named: { readonly name: string; readonly help: string },
  read: () => readonly (readonly [{ readonly mode: Mode; readonly network: Network }, number | null])[],
): void {
  new Gauge({
    ...named,
    labelNames: WHERE,
    registers: [registry],
    collect() {
      for (const [where, value] of read()) if (value !== null) this.set(where, value);
    },
  });
}
