import { parseNotificationId, type NotificationId } from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';
import type { Clock } from '../../ports/clock.ts';

/** The last three digits identify the node, so ids of one node advance by this many nanoseconds. */
const NODES = 1_000n;
const NANOS_PER_MS = 1_000_000n;

/**
 * Generates `evt_` ids: nanoseconds since the epoch (specification, "Payment event body"), strictly increasing on one
 * node and never equal on two. Assigned when the domain event is decided and stored with it, so retries and replays
 * keep it.
 */
export class NotificationIds {
  readonly #clock: Clock;
  readonly #node: bigint;
  #last = 0n;

  /** `node` is 0 to 999. */
  constructor(clock: Clock, node = 0) {
    if (!Number.isInteger(node) || node < 0 || node >= Number(NODES))
      throw new RangeError(`node number out of range: ${node}`);
    this.#clock = clock;
    this.#node = BigInt(node);
  }

  next(): NotificationId {
    const now = BigInt(this.#clock.nowMs()) * NANOS_PER_MS;
    const ticks = (now > this.#last ? now : this.#last + NODES) / NODES;
    this.#last = ticks * NODES;
    return must(parseNotificationId(`evt_${this.#last + this.#node}`));
  }

  /** Ensures that later ids are greater, even if the clock was set back across a restart. */
  seen(id: string): void {
    const nanos = BigInt(id.slice('evt_'.length));
    if (nanos >= this.#last) this.#last = (nanos / NODES) * NODES;
  }
}
