import type { DeliveryAttempted } from '../../domain/events/delivery-events.ts';
import { merchantOf, queueOf, type QueueId } from '../../domain/notifications/delivery-ids.ts';
import type { EndpointDirectory } from '../../ports/webhooks/endpoint-directory.ts';
import type { Log } from '../../ports/log.ts';
import type { Timers } from '../../ports/timers.ts';
import type { Backlog } from './backlog.ts';
import { failuresAfter, type EndpointFailuresRow } from '../../../projections/webhooks/work.projection.ts';
import { suspensionReason } from './health.ts';

export interface EndpointWatchDeps {
  readonly backlog: Backlog;
  readonly directory: EndpointDirectory;
  readonly timers: Timers;
  readonly log: Log;
  readonly onSuspended: (queue: QueueId, endpointId: string, reason: 'only_failures' | 'gone') => void;
  /** The endpoint is back; queued deliveries go out slowly. */
  readonly onResumed: (queue: QueueId) => void;
  /** Another property of the endpoint changed. */
  readonly onChanged: (queue: QueueId) => void;
}

/** Whether notifications go out now. Without an endpoint, or while it is suspended, they wait. */
export const isReachable = (directory: EndpointDirectory, queue: QueueId): boolean =>
  directory.endpointOf(queue)?.suspended === false;

/** Counts successes and failures of endpoints, suspends those that are gone, and notices when they are back. */
export class EndpointWatch {
  readonly #deps: EndpointWatchDeps;
  readonly #health = new Map<QueueId, EndpointFailuresRow>();
  /** Suspended, or without an endpoint while something waits. */
  readonly #away = new Set<QueueId>();
  #isLive = false;
  #unlisten: () => void = () => {};

  constructor(deps: EndpointWatchDeps) {
    this.#deps = deps;
  }

  /** `withBacklog`: queues with entries from before the start. */
  async open(withBacklog: readonly QueueId[]): Promise<void> {
    for (const { queue, row } of await this.#deps.backlog.health()) this.#health.set(queue, row);
    for (const queue of withBacklog) if (this.#isAway(queue)) this.#away.add(queue);
    this.#unlisten = this.#deps.directory.onChange((queue) => this.#changed(queue));
  }

  close(): void {
    this.#unlisten();
  }

  /** Something was admitted. If it has to wait, it goes out slowly once the endpoint is available. */
  noteWork(queue: QueueId): void {
    if (this.#isAway(queue)) this.#away.add(queue);
  }

  /** The event log was read to its end: only now are the results of endpoints before the last stop complete. */
  goLive(): void {
    if (this.#isLive) return;
    this.#isLive = true;
    for (const [queue, health] of this.#health) {
      // It may have been resumed during downtime, and its history must not suspend it again.
      if (this.#isAway(queue)) this.#away.add(queue);
      else if (suspensionReason(health, this.#deps.timers.nowMs()) !== null) this.#resumed(queue);
    }
  }

  /**
   * Recognises the success of a healthy endpoint without parsing the whole event: inside a JSON text this pattern is
   * always a field.
   */
  saysNothingNew(attemptJson: string): boolean {
    return this.#health.size === 0 && attemptJson.includes('"failure":null,');
  }

  learn(attempt: DeliveryAttempted['data']): void {
    const { endpointId } = attempt;
    const queue = queueOf(attempt);
    const before = this.#health.get(queue) ?? null;
    const health = failuresAfter(before, attempt);
    if (health === before) return;
    if (health) this.#health.set(queue, health);
    else this.#health.delete(queue);
    this.#deps.backlog.putHealth(queue, health);
    if (health && this.#isLive && endpointId !== null) this.#suspendIfDue(queue, endpointId, health);
  }

  #suspendIfDue(queue: QueueId, endpointId: string, health: EndpointFailuresRow): void {
    const { directory, timers, log, onSuspended } = this.#deps;
    const reason = suspensionReason(health, timers.nowMs());
    const endpoint = directory.endpointOf(queue);
    if (reason === null || endpoint?.endpointId !== endpointId || endpoint.suspended || this.#away.has(queue)) return;
    this.#away.add(queue);
    onSuspended(queue, endpointId, reason);
    directory.suspend(merchantOf(queue), endpointId, reason).catch((error: unknown) => {
      // The next failure tries again.
      this.#away.delete(queue);
      log.error({ err: error, queue, endpointId }, 'a webhook endpoint could not be suspended');
    });
  }

  #changed(queue: QueueId): void {
    if (this.#isAway(queue)) this.#away.add(queue);
    else if (this.#away.delete(queue)) this.#resumed(queue);
    else this.#deps.onChanged(queue);
  }

  #resumed(queue: QueueId): void {
    this.#health.delete(queue);
    this.#deps.backlog.putHealth(queue, null);
    this.#deps.onResumed(queue);
  }

  #isAway(queue: QueueId): boolean {
    return !isReachable(this.#deps.directory, queue);
  }
}
