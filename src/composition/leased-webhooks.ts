import type { Leases } from '../ports/leases.ts';
import type { Logger } from '../observability/logger.ts';
import type { WebhookStats } from '../observability/metrics-webhooks.ts';
import type { DeliverWebhooks } from '../features/webhooks/deliver.process.ts';
import { withLease, type LeasedWork, type LeaseGrant, type RunningLease } from '../runtime/leases/with-lease.ts';

export interface LeasedWebhooksDeps {
  readonly leases: Leases;
  readonly ttlMs: number;
  readonly log: Logger;
  /** Deliveries for one term, not started. */
  readonly create: (grant: LeaseGrant) => DeliverWebhooks;
}

const IDLE: WebhookStats = { inFlight: 0, inMemory: 0, retrying: 0, lag: 0 };

/** Deliveries wherever their lease is. */
export class LeasedWebhooks {
  readonly #deps: LeasedWebhooksDeps;
  readonly #lease: RunningLease;
  #current: DeliverWebhooks | null = null;

  constructor(deps: LeasedWebhooksDeps) {
    this.#deps = deps;
    this.#lease = withLease('deliver-webhooks', (grant) => this.#deliver(grant), deps);
  }

  /** Settles after the first try. */
  get first(): Promise<void> {
    return this.#lease.first;
  }

  get stats(): WebhookStats {
    return this.#current?.stats ?? IDLE;
  }

  close(): Promise<void> {
    return this.#lease.close();
  }

  async #deliver(grant: LeaseGrant): Promise<LeasedWork> {
    const process = this.#deps.create(grant);
    try {
      await process.start();
    } catch (error) {
      // It listens to endpoints and holds part of the backlog, and would go on to write it beside the next one.
      await process.stop();
      throw error;
    }
    this.#current = process;
    return {
      stop: async () => {
        this.#current = null;
        await process.stop();
      },
    };
  }
}
