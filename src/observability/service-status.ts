import type { HealthChecks, HealthFact } from './health.ts';
import type { WatchedChain } from './metrics/chains.ts';
import type { WebhookQueue, WebhookStats } from './metrics/webhooks.ts';
import type { LastPayment, MoneyFollower } from './money-follower.ts';
import type { DeliveriesUnderWay } from '../features/webhooks/under-way.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProjectionStatus } from '../runtime/projections/status.ts';

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly atMs: number;
}

export interface ServiceStatusDeps {
  readonly health: HealthChecks;
  readonly clock: Clock;
  readonly version: string;
  readonly startedAtMs: number;
  readonly watched: readonly WatchedChain[];
  readonly follower: Pick<MoneyFollower, 'openSessions' | 'openRefunds' | 'lastPayment'>;
  readonly queue: WebhookQueue;
  readonly projections: { status(): readonly ProjectionStatus[] };
  readonly webhooks: () => WebhookStats;
  /** Why the node is read-only; null when healthy. */
  readonly readOnly: () => string | null;
}

export interface NetworkLine {
  readonly mode: string;
  readonly network: string;
  readonly headBlock: number | null;
  /** Seconds of chain time not read yet; null before the first read. */
  readonly lagSec: number | null;
  readonly gapBlocks: number | null;
  readonly failures: number;
}

/** Everything the status page shows, at one moment. */
export interface Status {
  readonly ready: boolean;
  readonly readOnly: boolean;
  readonly atMs: number;
  readonly version: string;
  readonly upSec: number;
  readonly facts: readonly HealthFact[];
  readonly networks: readonly NetworkLine[];
  readonly sessions: { readonly open: number; readonly processing: number };
  readonly refunds: { readonly pending: number; readonly processing: number; readonly oldestAgeSec: number };
  readonly webhooks: DeliveriesUnderWay;
  readonly projections: { readonly lagEvents: number; readonly lagSec: number };
  readonly lastPayment: LastPayment | null;
  readonly lastError: LogLine | null;
}

/** The first page people look at: the same facts as the metrics, at a glance. */
export class ServiceStatus {
  readonly #deps: ServiceStatusDeps;
  #lastError: LogLine | null = null;

  constructor(deps: ServiceStatusDeps) {
    this.#deps = deps;
  }

  logged(line: LogLine): void {
    if (line.level === 'error' || line.level === 'fatal') this.#lastError = line;
  }

  status(): Status {
    const { health, clock, follower, queue, webhooks, projections, watched } = this.#deps;
    const nowMs = clock.nowMs();
    const { ready, facts } = health.report();
    const sessions = [...follower.openSessions()];
    const refunds = [...follower.openRefunds()];
    const lags = projections.status();
    const { inFlight, retrying } = webhooks();
    const oldestWebhook = queue.oldestPendingAtMs();
    const requested = refunds.map(({ requestedAtSec }) => requestedAtSec);
    return {
      ready,
      readOnly: this.#deps.readOnly() !== null,
      atMs: nowMs,
      version: this.#deps.version,
      upSec: since(this.#deps.startedAtMs, nowMs),
      facts,
      networks: watched.map((network) => networkLine(network, nowMs)),
      sessions: {
        open: sessions.filter(({ status }) => status === 'open').length,
        processing: sessions.filter(({ status }) => status === 'processing').length,
      },
      refunds: {
        pending: refunds.filter(({ status }) => status === 'PENDING').length,
        processing: refunds.filter(({ status }) => status === 'PROCESSING').length,
        oldestAgeSec: requested.length === 0 ? 0 : since(Math.min(...requested) * 1000, nowMs),
      },
      webhooks: {
        waiting: queue.pending(),
        oldestAgeSec: oldestWebhook === null ? 0 : since(oldestWebhook, nowMs),
        inFlight,
        retrying,
        suspended: queue.suspendedEndpoints(),
      },
      projections: {
        lagEvents: Math.max(0, ...lags.map(({ lagEvents }) => lagEvents)),
        lagSec: Math.max(0, ...lags.map(({ lagSec }) => lagSec)),
      },
      lastPayment: follower.lastPayment,
      lastError: this.#lastError,
    };
  }
}

function networkLine({ settings, watcher }: WatchedChain, nowMs: number): NetworkLine {
  const { headBlock, scannedBlock, scannedToSec, consecutiveFailures } = watcher.status();
  return {
    mode: settings.mode,
    network: settings.network,
    headBlock,
    lagSec: scannedToSec === null ? null : since(scannedToSec * 1000, nowMs),
    gapBlocks: headBlock === null || scannedBlock === null ? null : Math.max(0, headBlock - scannedBlock),
    failures: consecutiveFailures,
  };
}

const since = (fromMs: number, nowMs: number): number => Math.max(0, Math.floor((nowMs - fromMs) / 1000));
