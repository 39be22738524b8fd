import type { Leases } from '../ports/leases.ts';
import type { Logger } from '../observability/logger.ts';
import type { WebhookStats } from '../observability/metrics-webhooks.ts';
import type { ReadModel } from '../ports/read-model.ts';
import { DELIVERIES_CHECKPOINT } from '../features/webhooks/backlog.ts';
import type { DeliverWebhooks } from '../features/webhooks/deliver.process.ts';
import { withLease, type LeasedWork, type LeaseGrant, type RunningLease } from '../runtime/leases/with-lease.ts';

export interface LeasedWebhooksDeps {
  readonly leases: Leases;
  readonly ttlMs: number;
  readonly log: Logger;
  /** For looking at the checkpoint; null where it cannot be lost. */
  readonly readModel: ReadModel | null;
  /** Deliveries for one term, not started. */
  readonly create: (onMoved: (error: Error) => void) => DeliverWebhooks;
}

const CHECK_MS = 1_000;
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
    const process = this.#deps.create((error) => grant.restart(error));
    try {
      await process.start();
    } catch (error) {
      // It listens to endpoints and holds part of the backlog, and would go on to write it beside the next one.
      await process.stop();
      throw error;
    }
    this.#current = process;
    const stopChecking = this.#watchForLoss(process, grant);
    return {
      stop: async () => {
        stopChecking();
        this.#current = null;
        await process.stop();
      },
    };
  }

  /** A backlog that was lost is built again from the log, also when nothing happens that would be written to it. */
  #watchForLoss(process: DeliverWebhooks, grant: LeaseGrant): () => void {
    const { readModel } = this.#deps;
    if (!readModel) return () => undefined;
    let seenBefore = '';
    const check = async (): Promise<void> => {
      const mine = process.checkpoint;
      const stored = await readModel.checkpoint(DELIVERIES_CHECKPOINT);
      const seen = stored === mine ? '' : `${mine} ${stored}`;
      if (seen !== '' && seen === seenBefore) grant.restart(new Error('the backlog of deliveries was lost'));
      seenBefore = seen;
    };
    const timer = setInterval(() => void check().catch(() => (seenBefore = '')), CHECK_MS).unref();
    return () => clearInterval(timer);
  }
}
