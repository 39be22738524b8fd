import type { QueueId } from '../../domain/notifications/delivery-ids.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import { decidedAtMs } from '../../domain/notifications/notifications.ts';
import type { EndpointDirectory } from '../../ports/webhooks/endpoint-directory.ts';
import type { Position } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Timers } from '../../ports/timers.ts';
import {
  dueAttempt,
  type DeliveryState,
  type RecordAttempt,
} from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import type { Backlog, BacklogEntry } from './backlog.ts';
import { must } from '../../domain/values/must.ts';

/** How long and how many deliveries of one merchant wait for an endpoint to be set. */
export interface WaitingLimits {
  readonly forMs: number;
  readonly perMerchant: number;
}

export const WAITING_LIMITS: WaitingLimits = { forMs: 7 * 86_400_000, perMerchant: 10_000 };

export interface WaitingDeps {
  readonly backlog: Backlog;
  readonly directory: EndpointDirectory;
  readonly timers: Timers;
  readonly log: Log;
  readonly limits: WaitingLimits;
  readonly handled: () => Position | null;
  readonly read: (id: NotificationId) => Promise<DeliveryState | null>;
  readonly attempt: (state: DeliveryState, trigger: RecordAttempt['trigger']) => Promise<RecordAttempt>;
  readonly record: (before: DeliveryState, attempt: RecordAttempt) => Promise<DeliveryState>;
}

const LOOK_EVERY_MS = 3_600_000;
const PAGE = 500;
/** Retries deferred for lack of an endpoint are due again within minutes, so they are among the first. */
const MAX_LATER = 5_000;

/**
 * Gives up deliveries that wait too long for an endpoint, oldest first. They remain visible, repeatable and in the pull
 * feed.
 */
export class WaitingForEndpoint {
  readonly #deps: WaitingDeps;
  #cancel: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Number of running checks. */
  working = 0;

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#arm(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#looking;
  }

  #arm(inMs: number): void {
    const { timers, log } = this.#deps;
    this.#cancel = timers.at(timers.nowMs() + inMs, () => {
      this.working += 1;
      this.#looking = this.#look()
        .catch((error: unknown) => log.error({ err: error }, 'deliveries waiting for an endpoint could not be checked'))
        .then(() => {
          this.working -= 1;
          if (!this.#stopped) this.#arm(LOOK_EVERY_MS);
        });
    });
  }

  async #look(): Promise<void> {
    const { backlog, handled } = this.#deps;
    if (!(await backlog.flush(handled()))) return;
    for (const queue of await backlog.queues()) if (this.#hasNone(queue)) await this.#lookAt(queue);
    for (const entry of await backlog.later(MAX_LATER))
      if (this.#hasNone(entry.queue) && this.#isOld(entry)) await this.#giveUp(entry);
  }

  async #lookAt(queue: QueueId): Promise<void> {
    let surplus = -this.#deps.limits.perMerchant;
    for await (const page of this.#pages(queue)) surplus += page.length;
    for await (const page of this.#pages(queue)) {
      for (const entry of page) {
        if (this.#stopped || (surplus <= 0 && !this.#isOld(entry))) return;
        await this.#giveUp(entry);
        surplus -= 1;
      }
    }
  }

  async *#pages(queue: QueueId): AsyncGenerator<readonly BacklogEntry[]> {
    for (let afterSeq = 0; ;) {
      const page = await this.#deps.backlog.of(queue, afterSeq, PAGE);
      if (page.length > 0) yield page;
      if (page.length < PAGE) return;
      afterSeq = must(page.at(-1)).seq;
    }
  }

  /** An attempt without an endpoint: nothing is sent, and the delivery says why. */
  async #giveUp({ id, queue, ref }: BacklogEntry): Promise<void> {
    const { backlog, read, attempt, record } = this.#deps;
    const state = await read(id);
    // No await from here to the attempt, so an endpoint cannot be set in between.
    if (!this.#hasNone(queue)) return;
    const due = state && dueAttempt(state);
    if (state && due) await record(state, await attempt(state, due.trigger));
    backlog.remove(ref);
  }

  #hasNone(queue: QueueId): boolean {
    return this.#deps.directory.endpointOf(queue) === null;
  }

  #isOld({ id }: BacklogEntry): boolean {
    return this.#deps.timers.nowMs() - decidedAtMs(id) > this.#deps.limits.forMs;
  }
}
