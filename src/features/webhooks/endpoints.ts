import type { DeliveryAttempted } from '../../domain/events/delivery-events.ts';
import type { MerchantId } from '../../domain/ids.ts';
import type { EndpointDirectory } from '../../ports/endpoint-directory.ts';
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
  readonly onSuspended: (merchantId: MerchantId, endpointId: string, reason: 'only_failures' | 'gone') => void;
  /** The endpoint is back: what queued goes out slowly. */
  readonly onResumed: (merchantId: MerchantId) => void;
  /** Something else about the endpoint changed. */
  readonly onChanged: (merchantId: MerchantId) => void;
}

/** What is to be notifications goes out now. Without an endpoint, or while it is suspended, it waits. */
export const isReachable = (directory: EndpointDirectory, merchantId: MerchantId): boolean => directory.endpointOf(merchantId)?.suspended === false;

/** Keeps count of how endpoints fare, suspends those that are gone, and notices when they are back. */
export class EndpointWatch {
  readonly #deps: EndpointWatchDeps;
  readonly #health = new Map<MerchantId, EndpointFailuresRow>();
  /** Suspended, or without an endpoint while something waits. */
  readonly #away = new Set<MerchantId>();
  #isLive = false;
  #unlisten: () => void = () => {};

  constructor(deps: EndpointWatchDeps) {
    this.#deps = deps;
  }

  /** `withBacklog`: merchants for whom something waits since before. */
  async open(withBacklog: readonly MerchantId[]): Promise<void> {
    for (const { merchantId, row } of await this.#deps.backlog.health()) this.#health.set(merchantId, row as EndpointFailuresRow);
    for (const merchantId of withBacklog) if (this.#isAway(merchantId)) this.#away.add(merchantId);
    this.#unlisten = this.#deps.directory.onChange((merchantId) => this.#changed(merchantId));
  }

  close(): void {
    this.#unlisten();
  }

  /** Something was admitted: where it has to wait, it goes out slowly once the endpoint is there. */
  noteWork(merchantId: MerchantId): void {
    if (this.#isAway(merchantId)) this.#away.add(merchantId);
  }

  /** The log was read to its end: only now is known how endpoints fared before the last stop. */
  goLive(): void {
    if (this.#isLive) return;
    this.#isLive = true;
    for (const [merchantId, health] of this.#health) {
      // It may have been resumed while nobody was looking: its history must not suspend it again.
      if (this.#isAway(merchantId)) this.#away.add(merchantId);
      else if (suspensionReason(health, this.#deps.timers.nowMs()) !== null) this.#resumed(merchantId);
    }
  }

  /** A success of an endpoint that fares well, notifications without reading the whole event: inside a JSON text this pattern is a field. */
  saysNothingNew(attemptJson: string): boolean {
    return this.#health.size === 0 && attemptJson.includes('"failure":null,');
  }

  learn(attempt: DeliveryAttempted['data']): void {
    const { merchantId, endpointId } = attempt;
    const before = this.#health.get(merchantId) ?? null;
    const health = failuresAfter(before, attempt);
    if (health === before) return;
    if (health) this.#health.set(merchantId, health);
    else this.#health.delete(merchantId);
    this.#deps.backlog.putHealth(merchantId, health);
    if (health && this.#isLive && endpointId !== null) this.#suspendIfDue(merchantId, endpointId, health);
  }

  #suspendIfDue(merchantId: MerchantId, endpointId: string, health: EndpointFailuresRow): void {
    const { directory, timers, log, onSuspended } = this.#deps;
    const reason = suspensionReason(health, timers.nowMs());
    const endpoint = directory.endpointOf(merchantId);
    if (reason === null || endpoint?.endpointId !== endpointId || endpoint.suspended || this.#away.has(merchantId)) return;
    this.#away.add(merchantId);
    onSuspended(merchantId, endpointId, reason);
    directory.suspend(merchantId, endpointId, reason).catch((error: unknown) => {
      // The next failure tries again.
      this.#away.delete(merchantId);
      log.error({ err: error, merchantId, endpointId }, 'a webhook endpoint could not be suspended');
    });
  }

  #changed(merchantId: MerchantId): void {
    if (this.#isAway(merchantId)) this.#away.add(merchantId);
    else if (this.#away.delete(merchantId)) this.#resumed(merchantId);
    else this.#deps.onChanged(merchantId);
  }

  #resumed(merchantId: MerchantId): void {
    this.#health.delete(merchantId);
    this.#deps.backlog.putHealth(merchantId, null);
    this.#deps.onResumed(merchantId);
  }

  #isAway(merchantId: MerchantId): boolean {
    return !isReachable(this.#deps.directory, merchantId);
  }
}
