import { Counter, Histogram, type Registry } from 'prom-client';
import type { ProjectionHooks } from '../../runtime/projections/hooks.ts';
import type { ProjectionStatus } from '../../runtime/projections/status.ts';
import { gaugesIn } from './gauges.ts';

const BATCH_BUCKETS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** How far the read side lags behind the event log, and which events it could not apply. */
export class ProjectionMetrics {
  readonly #duration: Histogram;
  readonly #latency: Histogram;
  readonly #events: Counter;
  readonly #parked: Counter<'projection'>;
  readonly #rebuilds: Counter<'projection'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#duration = new Histogram({
      name: 'quittance_projection_batch_duration_seconds',
      help: 'From taking a batch of events to its commit in the read model.',
      buckets: BATCH_BUCKETS_SEC,
      registers,
    });
    this.#latency = new Histogram({
      name: 'quittance_projection_latency_seconds',
      help: 'Age of the last event of a batch when it became visible to readers.',
      buckets: BATCH_BUCKETS_SEC,
      registers,
    });
    this.#events = new Counter({
      name: 'quittance_projection_events_total',
      help: 'Events that became visible to readers.',
      registers,
    });
    this.#parked = new Counter({
      name: 'quittance_projection_parked_events_total',
      help: 'Events that a projection could not process and skipped.',
      labelNames: ['projection'],
      registers,
    });
    this.#rebuilds = new Counter({
      name: 'quittance_projection_rebuilds_total',
      help: 'Replays of a projection from the beginning.',
      labelNames: ['projection'],
      registers,
    });
  }

  get hooks(): ProjectionHooks {
    return {
      onBatch: ({ events, durationMs, lagSec }) => {
        this.#duration.observe(durationMs / 1000);
        this.#latency.observe(lagSec);
        this.#events.inc(events);
      },
      onParked: ({ projection }) => this.#parked.inc({ projection }),
      onRebuild: (projection) => this.#rebuilds.inc({ projection }),
    };
  }

  /** Reports projections for which another process derived something else from the same events. */
  addAgreement(registry: Registry, agreement: { differing(): readonly string[] }): void {
    gaugesIn(registry).by(
      'quittance_projection_differs',
      '1 for a projection of which another process has made something else of the same events.',
      ['projection'],
      () => agreement.differing().map((projection) => [{ projection }, 1]),
    );
  }

  /** Adds these projections to the metrics. */
  add(registry: Registry, runner: { status(): readonly ProjectionStatus[] }): void {
    for (const { projection } of runner.status()) {
      this.#parked.inc({ projection }, 0);
      this.#rebuilds.inc({ projection }, 0);
    }
    const gauge = (name: string, help: string, of: (status: ProjectionStatus) => number): void =>
      gaugesIn(registry).by(name, help, ['projection'], () =>
        runner.status().map((status) => [{ projection: status.projection }, of(status)]),
      );
    gauge(
      'quittance_projection_lag_events',
      'Committed events a projection has not handled.',
      ({ lagEvents }) => lagEvents,
    );
    gauge(
      'quittance_projection_lag_seconds',
      'Age of the last handled event while others wait; 0 when none do.',
      ({ lagSec }) => lagSec,
    );
    gauge('quittance_projection_caught_up', '1 once the projection has seen everything there was.', ({ hasCaughtUp }) =>
      hasCaughtUp ? 1 : 0,
    );
  }
}
