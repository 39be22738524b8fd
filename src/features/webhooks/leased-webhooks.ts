import type { Leases } from '../../ports/leases.ts';
import type { Log } from '../../ports/log.ts';
import type { DeliverWebhooks } from './deliver.process.ts';
import { withLease, type LeasedWork, type LeaseGrant, type RunningLease } from '../../runtime/leases/with-lease.ts';

export interface LeasedWebhooksDeps {
  readonly leases: Leases;
  readonly ttlMs: number;
  readonly log: Log;
  /** Creates the deliveries of one term. */
  readonly create: (grant: LeaseGrant) => DeliverWebhooks;
}

const IDLE = { inFlight: 0, inMemory: 0, retrying: 0, lag: 0 };

/** Deliveries under a lease. */
export class LeasedWebhooks {
  readonly #deps: LeasedWebhooksDeps;
  readonly #lease: RunningLease;
  #current: DeliverWebhooks | null = null;

  constructor(deps: LeasedWebhooksDeps) {
    this.#deps = deps;
    this.#lease = withLease('deliver-webhooks', (grant) => this.#deliver(grant), deps);
  }

  /** Settles after the first attempt. */
  get first(): Promise<void> {
    return this.#lease.first;
  }

  get stats(): typeof IDLE {
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
      // It listens to endpoints and holds part of the backlog, and would otherwise keep writing it alongside its
      // successor.
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
