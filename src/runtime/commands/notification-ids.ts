import type { NotificationId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';

/** Nodes are told apart by the last three digits, so ids of one node step by this many nanoseconds. */
const NODES = 1_000n;
const NANOS_PER_MS = 1_000_000n;

/**
 * Gives `evt_` ids: nanoseconds since the epoch (specification, "Payment event body"), strictly rising on one node and
 * never equal on two. Given when the domain event is decided and stored with it, so retries and replays keep it.
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
    return `evt_${this.#last + this.#node}` as NotificationId;
  }

  /** Never gives an id at or below one that was seen, even when the clock was set back over a restart. */
  seen(id: string): void {
    const nanos = BigInt(id.slice('evt_'.length));
    if (nanos >= this.#last) this.#last = (nanos / NODES) * NODES;
  }
}
