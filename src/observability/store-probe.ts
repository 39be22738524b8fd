import type { HealthFact } from './health.ts';
import type { EventStore } from '../ports/event-log/event-store.ts';
import type { SharedStatus } from '../ports/shared-status.ts';

const EVERY_MS = 1_000;
/** A single slow response is not an outage. */
const FAILURES = 2;

interface Probed {
  readonly name: string;
  readonly ask: () => Promise<unknown>;
  failures: number;
  reason: string;
  asking: boolean;
}

/** Probes the shared servers constantly, so that load balancers notice an outage before payers do. */
export class StoreProbe {
  readonly #probed: readonly Probed[];
  readonly #timer: NodeJS.Timeout;

  constructor({
    store,
    sharedStatus,
  }: {
    readonly store: Pick<EventStore, 'lastOfStream'>;
    readonly sharedStatus: Pick<SharedStatus, 'refresh'>;
  }) {
    this.#probed = [
      { name: 'event-store', ask: () => store.lastOfStream('probe'), failures: 0, reason: '', asking: false },
      { name: 'redis', ask: () => sharedStatus.refresh(), failures: 0, reason: '', asking: false },
    ];
    this.#timer = setInterval(() => this.#probed.forEach((one) => void this.#ask(one)), EVERY_MS).unref();
  }

  facts(): HealthFact[] {
    return this.#probed.map(({ name, failures, reason }) =>
      failures < FAILURES
        ? { name, state: 'ok' }
        : { name, state: 'down', detail: `no answer for ${failures} s: ${reason}` },
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** A missing response counts with every second. */
  async #ask(probed: Probed): Promise<void> {
    if (probed.asking) {
      probed.failures += 1;
      probed.reason ||= 'it does not answer';
      return;
    }
    probed.asking = true;
    try {
      await probed.ask();
      probed.failures = 0;
      probed.reason = '';
    } catch (error) {
      probed.failures += 1;
      probed.reason = error instanceof Error ? error.message : 'no reason given';
    } finally {
      probed.asking = false;
    }
  }
}
