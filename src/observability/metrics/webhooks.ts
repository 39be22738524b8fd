import { Counter, Histogram, type Registry } from 'prom-client';
import type { AttemptFailure, DeliveryAttempted, DeliveryScheduled } from '../../domain/events/delivery-events.ts';
import { MODES } from '../../domain/values/ids.ts';
import { decidedAtMs } from '../../domain/notifications/notifications.ts';
import { WEBHOOK_TYPES, isWebhookType } from '../../domain/notifications/types.ts';
import { exemplarOf, type TraceSource } from './exemplar.ts';
import { gaugesIn } from './gauges.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DeliveryObserver } from '../../features/webhooks/deliver.process.ts';

const FAILURES: readonly AttemptFailure[] = [
  'network',
  'dns',
  'tls',
  'timeout',
  'http_429',
  'http_5xx',
  'http_4xx',
  'redirect',
  'gone',
  'invalid_response',
  'blocked',
  'no_endpoint',
];
const SUCCESS = 'success';
const ALARMS = ['exhausted', 'rejected', 'blocked', 'suspended', 'parked'] as const;
const ATTEMPT_BUCKETS_SEC = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const DELIVERED_BUCKETS_SEC = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 43_200];

/** Deliveries that are waiting. */
export interface WebhookQueue {
  /** When the oldest unsettled delivery was scheduled, among merchants with an endpoint; null when there is none. */
  oldestPendingAtMs(): number | null;
  pending(): number;
  suspendedEndpoints(): number;
}

/** The deliveries of this process. */
export interface WebhookStats {
  readonly inFlight: number;
  readonly inMemory: number;
  readonly retrying: number;
  readonly lag: number;
}

/** What merchants are sent, how quickly, and what does not get through. */
export class WebhookMetrics {
  readonly #attempts: Counter<'mode' | 'result' | 'trigger'>;
  readonly #duration: Histogram;
  readonly #delivered: Histogram<'event_type'>;
  readonly #alarms: Counter<'kind'>;
  readonly settled: Counter<'outcome'>;

  readonly #traces: () => TraceSource;

  constructor(registry: Registry, traces: () => TraceSource) {
    this.#traces = traces;
    const registers = [registry];
    this.#attempts = new Counter({
      name: 'quittance_webhook_attempts_total',
      help: 'Webhook delivery attempts by mode, result and trigger.',
      labelNames: ['mode', 'result', 'trigger'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'quittance_webhook_attempt_duration_seconds',
      help: "From the start of an attempt to the receiver's answer.",
      buckets: ATTEMPT_BUCKETS_SEC,
      registers,
    });
    this.#delivered = new Histogram({
      name: 'quittance_event_to_webhook_delivered_seconds',
      help: 'From an event (session paid, refund completed) to the acceptance of its webhook, without replays.',
      labelNames: ['event_type'],
      buckets: DELIVERED_BUCKETS_SEC,
      enableExemplars: true,
      registers,
    });
    this.#alarms = new Counter({
      name: 'quittance_webhook_alarms_total',
      help: 'Deliveries ended without success, endpoints suspended, events skipped.',
      labelNames: ['kind'],
      registers,
    });
    this.settled = new Counter({
      name: 'quittance_webhook_deliveries_settled_total',
      help: 'Deliveries that ended, by outcome.',
      labelNames: ['outcome'],
      registers,
    });
    for (const mode of MODES)
      for (const result of [SUCCESS, ...FAILURES]) this.#attempts.inc({ mode, result, trigger: 'automatic' }, 0);
    for (const kind of ALARMS) this.#alarms.inc({ kind }, 0);
    for (const outcome of ['delivered', 'exhausted', 'rejected', 'blocked']) this.settled.inc({ outcome }, 0);
    for (const type of WEBHOOK_TYPES) this.#delivered.zero({ event_type: type });
  }

  get observer(): DeliveryObserver {
    return {
      onAttempt: (attempt, delivery) => this.#attempted(attempt, delivery),
      onAlarm: ({ kind }) => this.#alarms.inc({ kind }),
    };
  }

  #attempted(
    attempt: DeliveryAttempted['data'],
    { eventType, mode }: Pick<DeliveryScheduled['data'], 'eventType' | 'mode'>,
  ): void {
    const { failure, trigger, durationMs, startedAtMs, notificationId } = attempt;
    this.#attempts.inc({ mode, result: failure ?? SUCCESS, trigger });
    this.#duration.observe(durationMs / 1000);
    if (failure !== null || trigger === 'manual' || !isWebhookType(eventType)) return;
    const value = Math.max(0, startedAtMs + durationMs - decidedAtMs(notificationId)) / 1000;
    this.#delivered.observe({
      labels: { event_type: eventType },
      value,
      exemplarLabels: exemplarOf(this.#traces().ofAttempt(notificationId)),
    });
  }

  /** Adds the queue to the metrics. */
  add(registry: Registry, stats: () => WebhookStats, queue: WebhookQueue, clock: Clock): void {
    const gauge = gaugesIn(registry);
    gauge('quittance_webhook_attempts_in_flight', 'Attempts that wait for an answer.', () => stats().inFlight);
    gauge(
      'quittance_webhook_deliveries_retrying',
      'Deliveries that wait for their next attempt.',
      () => stats().retrying,
    );
    gauge('quittance_webhook_queue_deliveries', 'Deliveries that are not settled.', () => queue.pending());
    gauge(
      'quittance_webhook_oldest_pending_age_seconds',
      'Age of the oldest open delivery that has an endpoint; 0 if there is none.',
      () => {
        const oldest = queue.oldestPendingAtMs();
        return oldest === null ? 0 : Math.max(0, clock.nowMs() - oldest) / 1000;
      },
    );
    gauge(
      'quittance_webhook_endpoints_suspended',
      'Endpoints that get nothing until their merchant sets or resumes them.',
      () => queue.suspendedEndpoints(),
    );
  }
}
