import { statfsSync } from 'node:fs';
import { collectDefaultMetrics, Counter, Registry } from 'prom-client';
import type { Clock } from '../../ports/clock.ts';
import { NO_TRACES, type TraceSource } from './exemplar.ts';
import { gaugesIn } from './gauges.ts';
import { ChainMetrics } from './chains.ts';
import { HttpMetrics } from './http.ts';
import { MoneyMetrics } from './money.ts';
import { ProjectionMetrics } from './projections.ts';
import { StoreMetrics } from './store.ts';
import { WebhookMetrics } from './webhooks.ts';
import type { HealthChecks } from '../health.ts';

/** Runtime gauges whose names violate the Prometheus naming rules; their labelled counterparts stay. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
const STATES = ['ok', 'degraded', 'down', 'refusing'] as const;

/** All metrics of the service. No label ever contains the name of a merchant, a session or a person. */
export class Metrics {
  readonly registry = new Registry();
  /** Set once traces are recorded: buckets then link to one of their traces. */
  traces: TraceSource = NO_TRACES;
  readonly http: HttpMetrics;
  readonly chains: ChainMetrics;
  readonly store: StoreMetrics;
  readonly projections: ProjectionMetrics;
  readonly money: MoneyMetrics;
  readonly webhooks: WebhookMetrics;
  readonly logLines: Counter<'level'>;

  constructor(options: { readonly clock: Clock; readonly version: string; readonly dataDir: string }) {
    const { registry } = this;
    // Only a registry of this format accepts exemplars; the request decides which format is written (`ops-server.ts`).
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as string as typeof Registry.PROMETHEUS_CONTENT_TYPE);
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
    this.http = new HttpMetrics(registry, () => this.traces);
    this.chains = new ChainMetrics(registry, options.clock);
    this.store = new StoreMetrics(registry, options.clock);
    this.projections = new ProjectionMetrics(registry);
    this.money = new MoneyMetrics(registry);
    this.webhooks = new WebhookMetrics(registry, () => this.traces);
    this.logLines = new Counter({
      name: 'quittance_log_lines_total',
      help: 'Log lines by level.',
      labelNames: ['level'],
      registers: [registry],
    });
    for (const level of ['warn', 'error', 'fatal']) this.logLines.inc({ level }, 0);
    const gauge = gaugesIn(registry);
    gauge.by(
      'quittance_build_info',
      '1, with the version of the service and of Node as labels.',
      ['version', 'node_version'],
      () => [[{ version: options.version, node_version: process.versions.node }, 1]],
    );
    gauge('quittance_data_disk_free_bytes', 'Free space of the file system that holds the data directory.', () => {
      const { bavail, bsize } = statfsSync(options.dataDir);
      return bavail * bsize;
    });
    registry.setContentType(Registry.PROMETHEUS_CONTENT_TYPE);
  }

  /** Adds the health checks: one series per check, and whether the node accepts traffic. */
  addHealth(health: HealthChecks): void {
    const gauge = gaugesIn(this.registry);
    gauge.by(
      'quittance_health_state',
      'State of a part of the service: 0 ok, 1 degraded, 2 down, 3 refuses anything new but can be read.',
      ['check'],
      () => health.report().facts.map(({ name, state }) => [{ check: name }, STATES.indexOf(state)]),
    );
    gauge('quittance_ready', '1 while the node may be sent traffic.', () => (health.report().ready ? 1 : 0));
  }
}
