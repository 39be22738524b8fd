import { Counter, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../ports/clock.ts';
import type {
  AppendRequest,
  AppendResult,
  EventStore,
  SubscribeOptions,
  Subscription,
} from '../../ports/event-log/event-store.ts';
import { storeWith } from '../../ports/event-log/store-with.ts';
import { gaugesIn } from './gauges.ts';
import { must } from '../../domain/values/must.ts';

const APPEND_BUCKETS_SEC = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const EVENT_BUCKETS = [1, 2, 3, 5, 10, 25, 50, 100];

interface Followed {
  readonly subscription: Subscription;
  lastAtMs: number;
}

/** Requests to the event log and their latency; subscriptions and their lag. */
export class StoreMetrics {
  readonly #append: Histogram;
  readonly #appendEvents: Histogram;
  readonly #appends: Counter<'result'>;
  readonly #subscriptions = new Map<string, Followed>();
  readonly #clock: Clock;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    const registers = [registry];
    this.#append = new Histogram({
      name: 'quittance_store_append_duration_seconds',
      help: 'From an append to its durable confirmation.',
      buckets: APPEND_BUCKETS_SEC,
      registers,
    });
    this.#appendEvents = new Histogram({
      name: 'quittance_store_append_events',
      help: 'Events of one append.',
      buckets: EVENT_BUCKETS,
      registers,
    });
    this.#appends = new Counter({
      name: 'quittance_store_appends_total',
      help: 'Appends by result.',
      labelNames: ['result'],
      registers,
    });
    for (const result of ['ok', 'conflict', 'error']) this.#appends.inc({ result }, 0);
    this.#registerLag(registry);
  }

  /** Wraps the store so that its calls are measured. */
  observe(store: EventStore): EventStore {
    return storeWith(store, {
      append: (request) => this.#timed(store, request),
      subscribe: (options) => this.#followed(store, options),
    });
  }

  async #timed(store: EventStore, request: AppendRequest): Promise<AppendResult> {
    const startedMs = performance.now();
    try {
      const result = await store.append(request);
      this.#append.observe((performance.now() - startedMs) / 1000);
      this.#appendEvents.observe(request.events.length);
      this.#appends.inc({ result: result.ok ? 'ok' : 'conflict' });
      return result;
    } catch (error) {
      this.#appends.inc({ result: 'error' });
      throw error;
    }
  }

  #followed(store: EventStore, { inParts: _, ...options }: SubscribeOptions): Subscription {
    const subscription = store.subscribe({
      ...options,
      onEvents: async (events) => {
        await options.onEvents(events);
        const followed = this.#subscriptions.get(options.name);
        if (followed) followed.lastAtMs = must(events.at(-1)).atMs;
      },
    });
    // A subscriber that is stuck on its very first event is as old as its subscription.
    this.#subscriptions.set(options.name, { subscription, lastAtMs: this.#clock.nowMs() });
    return {
      get position() {
        return subscription.position;
      },
      get lag() {
        return subscription.lag;
      },
      reached: (position) => subscription.reached(position),
      close: () => {
        if (this.#subscriptions.get(options.name)?.subscription === subscription)
          this.#subscriptions.delete(options.name);
        return subscription.close();
      },
    };
  }

  #registerLag(registry: Registry): void {
    const gauge = (name: string, help: string, of: (followed: Followed) => number): void =>
      gaugesIn(registry).by(name, help, ['subscription'], () =>
        // Projections number their subscriptions and report their own lag.
        [...this.#subscriptions]
          .filter(([subscription]) => !subscription.startsWith('projections'))
          .map(([subscription, followed]) => [{ subscription }, of(followed)]),
      );
    gauge(
      'quittance_subscription_lag_events',
      'Committed events that a follower of the event log has not handled.',
      ({ subscription }) => subscription.lag,
    );
    gauge(
      'quittance_subscription_lag_seconds',
      'Age of the last handled event while others wait; 0 when none do.',
      ({ subscription, lastAtMs }) => (subscription.lag === 0 ? 0 : Math.max(0, this.#clock.nowMs() - lastAtMs) / 1000),
    );
  }
}

/** Of an event store on servers with TLS. */
export function reportStoreCertificates(
  registry: Registry,
  certificates: () => readonly { readonly certificate: string; readonly expiresAtMs: number }[],
): void {
  gaugesIn(registry).by(
    'quittance_event_store_certificate_expiry_timestamp_seconds',
    'When a certificate of the event store ends: that of each host of EVENTSTORE_URL, and that of their authority.',
    ['certificate'],
    () => certificates().map(({ certificate, expiresAtMs }) => [{ certificate }, expiresAtMs / 1_000]),
  );
}
