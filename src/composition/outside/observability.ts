import type { Config } from '../../config.ts';
import type { HealthChecks, HealthFact } from '../../observability/health.ts';
import { addLogContext, onLogLine, type Logger } from '../../observability/logger.ts';
import { reportDrift, type ProjectionDrift } from '../../observability/metrics/audit.ts';
import { Metrics } from '../../observability/metrics/metrics.ts';
import { reportAddresses, reportRates, type RateProviderStatus } from '../../observability/metrics/parts.ts';
import type { WebhookStats } from '../../observability/metrics/webhooks.ts';
import { MoneyFollower } from '../../observability/money-follower.ts';
import {
  chainFacts,
  projectionFacts,
  providerFacts,
  rateFacts,
  webhookFacts,
} from '../../observability/service-health.ts';
import { VERSION } from '../../observability/version.ts';
import { ServiceStatus } from '../../observability/service-status.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { CheckProjections, type CheckProjectionsDeps } from '../../features/audit/check-projections.process.ts';
import type { AddressStock } from '../../features/addresses/pool.ts';
import type { ProjectionStatus } from '../../runtime/projections/status.ts';
import type { Core } from '../core.ts';
import type { WatchedNetwork } from '../../features/deposits/network-watcher.ts';

/** Null unless traces are enabled, so that none of it is loaded. */
export async function createTracing(config: Config, store: EventStore, log: Logger): Promise<Tracing | null> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return null;
  const [{ createOtelTracer }, { Tracing: TracingOfService }] = await Promise.all([
    import('../../adapters/otel/tracer.ts'),
    import('../../observability/tracing.ts'),
  ]);
  const tracing = new TracingOfService(
    createOtelTracer({
      endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
      version: VERSION,
      instance: `node-${config.NODE_NUMBER}`,
    }),
    store,
  );
  addLogContext(log, () => tracing.logContext());
  return tracing;
}

/** The metrics of this process from its first moment. */
export function createMetrics(config: Config, clock: Clock, log: Logger): Metrics {
  const metrics = new Metrics({ clock, version: VERSION, dataDir: config.DATA_DIR });
  onLogLine(log, ({ level }) => metrics.logLines.inc({ level }));
  return metrics;
}

export interface ObservedParts {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly health: HealthChecks;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly core: Core;
  readonly watched: readonly WatchedNetwork[];
  readonly projections: { status(): readonly ProjectionStatus[] };
  readonly rates: { status(): readonly RateProviderStatus[] };
  readonly addresses: { stocks(): readonly AddressStock[] };
  readonly webhooks: () => WebhookStats;
  readonly startedAtMs: number;
  /** Why nothing can be written; null while healthy. */
  readonly readOnly: () => string | null;
}

export interface Observability {
  readonly status: ServiceStatus;
  close(): Promise<void>;
}

/** Continuously compares what merchants read with the event log; a difference is a metric that alerts. */
export function watchProjections(
  metrics: Metrics,
  log: Logger,
  deps: Pick<CheckProjectionsDeps, 'store' | 'readModel' | 'caughtUp'>,
  /** The result of the last full comparison. */
  compared: () => readonly ProjectionDrift[],
): CheckProjections {
  const check = new CheckProjections({
    ...deps,
    onDrift: (drift) => log.error({ ...drift }, 'what merchants read differs from the event log'),
    onError: (error) => log.warn({ err: error }, 'the projections could not be compared with the event log'),
  });
  reportDrift(metrics.registry, () => worseOf([...check.drift(), ...compared()]));
  check.start();
  return check;
}

/** One figure per projection, the larger of the two comparisons. */
function worseOf(drifts: readonly ProjectionDrift[]): ProjectionDrift[] {
  const rows = new Map<string, number>();
  for (const drift of drifts) rows.set(drift.projection, Math.max(drift.rows, rows.get(drift.projection) ?? 0));
  return [...rows].map(([projection, count]) => ({ projection, rows: count }));
}

/** Connects the running parts with metrics, health checks and the status page. */
export function startObservability(parts: ObservedParts): Observability {
  const { config, metrics, health, clock, log, core, watched } = parts;
  const { registry } = metrics;
  const merchants = () =>
    core.directory.merchantIds().flatMap((merchantId) => {
      const settings = core.directory.settings(merchantId);
      return settings ? [{ merchantId, mode: settings.mode }] : [];
    });
  const follower = new MoneyFollower({
    store: parts.store,
    readModel: parts.readModel,
    money: metrics.money,
    webhooks: metrics.webhooks,
    merchants,
    hasEndpoint: (merchantId) => core.directory.endpointOf(merchantId) !== null,
    sinceMs: parts.startedAtMs,
    onError: (error) => log.warn({ err: error }, 'the money metrics missed an event'),
    onStartError: (error) => log.warn({ err: error }, 'the money metrics could not be started and will be retried'),
  });
  for (const network of watched) {
    metrics.chains.add(network);
    metrics.money.addNetwork(network.settings.mode, network.settings.network);
  }
  const queue = {
    pending: () => follower.pendingDeliveries(),
    oldestPendingAtMs: () => follower.oldestPendingAtMs(),
    suspendedEndpoints: () =>
      merchants().filter(({ merchantId }) => core.directory.endpointOf(merchantId)?.suspended === true).length,
  };
  metrics.projections.add(registry, parts.projections);
  metrics.money.addUnderWay(registry, follower, clock);
  metrics.webhooks.add(registry, parts.webhooks, queue, clock);
  reportRates(registry, () => parts.rates.status(), config.RATE_MAX_AGE_SECONDS);
  reportAddresses(registry, () => parts.addresses.stocks());
  health.add(() => chainFacts(watched, clock.nowMs()));
  health.add(() => providerFacts(metrics.chains.providers));
  health.add(() => projectionFacts(parts.projections.status()));
  health.add(() => rateFacts(parts.rates.status(), config.RATE_MAX_AGE_SECONDS));
  health.add(() => webhookFacts(queue, clock.nowMs()));
  health.add(() => addressFacts(parts.addresses.stocks()));
  metrics.addHealth(health);
  const status = new ServiceStatus({
    health,
    clock,
    version: VERSION,
    startedAtMs: parts.startedAtMs,
    watched,
    follower,
    queue,
    projections: parts.projections,
    webhooks: parts.webhooks,
    readOnly: parts.readOnly,
  });
  onLogLine(log, (line) => status.logged(line));
  const started = follower.start();
  return {
    status,
    close: async () => {
      await follower.close();
      await started;
    },
  };
}

function addressFacts(stocks: readonly AddressStock[]): HealthFact[] {
  return stocks.map(({ mode, family, available, target, exhausted }) => {
    const state = available === 0 || exhausted ? 'degraded' : 'ok';
    return {
      name: `addresses:${mode}:${family}`,
      state,
      detail: exhausted ? 'the exported pool has run out' : `${available} of ${target} ready`,
    };
  });
}
