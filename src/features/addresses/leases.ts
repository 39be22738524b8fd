import type { AddressRangeLeased } from '../../domain/events/operations-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { AddressFamily } from '../../domain/networks/networks.ts';
import { addressesStream } from '../../domain/values/streams.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { appendNext } from '../../runtime/commands/append-next.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';

/** Derivation indexes reserved for this node, both inclusive. */
export interface LeasedRange {
  readonly from: number;
  readonly to: number;
}

export interface AddressLeasesOptions {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream'>;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** Other nodes lease at the same time. Each lost attempt means that another node succeeded. */
const MAX_ATTEMPTS = 20;

/**
 * Leases index ranges through the expected revision of the event log: whoever appends the next `AddressRangeLeased`
 * owns its range, so no index is used twice across restarts, crashes and nodes. A crash between lease and use only
 * leaves a gap.
 */
export class AddressLeases {
  readonly #options: AddressLeasesOptions;
  readonly #mode: Mode;
  readonly #family: AddressFamily;
  readonly #stream: string;

  constructor(mode: Mode, family: AddressFamily, options: AddressLeasesOptions) {
    this.#mode = mode;
    this.#family = family;
    this.#options = options;
    this.#stream = addressesStream(mode, family);
  }

  /**
   * Leases the next range. `sizeOf` returns its size for the number of indexes left below `capacity`. Null when none is
   * left.
   */
  take(sizeOf: (left: number) => number, capacity: number): Promise<LeasedRange | null> {
    return this.#append(
      (from) => (from >= capacity ? null : { from, to: Math.min(from + sizeOf(capacity - from), capacity) - 1 }),
      this.#options.node,
    );
  }

  /** The first index that the event log has not leased. */
  async next(): Promise<number> {
    const last = await this.#options.store.lastOfStream(this.#stream);
    return last ? endOf(last) + 1 : 0;
  }

  /** Skips every index below `index` for good. Does nothing if they are already leased. */
  async skipTo(index: number): Promise<void> {
    await this.#append((from) => (from >= index ? null : { from, to: index - 1 }), `${this.#options.node}: skipped`);
  }

  async #append(choose: (from: number) => LeasedRange | null, node: string): Promise<LeasedRange | null> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const last = await this.#options.store.lastOfStream(this.#stream);
      const range = choose(last ? endOf(last) + 1 : 0);
      if (range === null) return null;
      const event: AddressRangeLeased = {
        type: 'AddressRangeLeased',
        data: { mode: this.#mode, family: this.#family, ...range, node },
      };
      const { result } = await appendNext(this.#options, {
        stream: this.#stream,
        last,
        event,
        actor: `node:${this.#options.node}`,
      });
      if (result.ok) return range;
    }
    throw new Error(`${this.#stream}: other nodes were faster ${MAX_ATTEMPTS} times in a row`);
  }
}

function endOf(recorded: RecordedEvent): number {
  const { event } = decodeEvent(recorded);
  if (event.type !== 'AddressRangeLeased') throw new Error(`${recorded.stream} holds a ${event.type}`);
  return event.data.to;
}
