import type { RangeScanned } from '../domain/events/operations-events.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';
import { coverageStream } from '../domain/streams.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Random } from '../ports/random.ts';
import type { CoverageTrail, CoveredBlock } from '../features/deposits/chain/types.ts';
import { decodeEvent, encodeEvent } from '../runtime/commands/codec.ts';

/** Events read at a time on the way back. */
const PAGE = 500;

/** The evidence of what was read of a chain, kept in its `coverage-` stream. One watcher writes it at a time. */
export class LedgerCoverage implements CoverageTrail {
  readonly #store: EventStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #stream: string;

  constructor(deps: { store: EventStore; clock: Clock; random: Random }, mode: Mode, network: Network) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#stream = coverageStream(mode, network);
  }

  async lastCovered(): Promise<CoveredBlock | null> {
    const last = await this.#store.lastOfStream(this.#stream);
    if (!last) return null;
    const { event } = decodeEvent(last);
    // After a chain was replaced nothing of the new one is covered yet.
    if (event.type !== 'RangeScanned') return null;
    const { toBlock, toBlockHash, toBlockTimeSec, sweeps } = event.data;
    return { block: toBlock, hash: toBlockHash, timeSec: toBlockTimeSec, ...(sweeps && { sweeps }) };
  }

  async coveredBelow(block: number): Promise<CoveredBlock | null> {
    let end = ((await this.#store.lastOfStream(this.#stream))?.revision ?? -1) + 1;
    while (end > 0) {
      const from = Math.max(0, end - PAGE);
      for (const recorded of (await this.#store.readStream(this.#stream, { from, limit: end - from })).reverse()) {
        const { event } = decodeEvent(recorded);
        // What was read before belongs to another chain.
        if (event.type !== 'RangeScanned') return null;
        const { toBlock, toBlockHash, toBlockTimeSec } = event.data;
        if (toBlock < block) return { block: toBlock, hash: toBlockHash, timeSec: toBlockTimeSec };
      }
      end = from;
    }
    return null;
  }

  async record(data: RangeScanned['data']): Promise<void> {
    const last = await this.#store.lastOfStream(this.#stream);
    const revision = (last?.revision ?? -1) + 1;
    const event: RangeScanned = { type: 'RangeScanned', data };
    const metadata = { correlationId: this.#random.uuid(), actor: `chain:${data.network}`, prev: last?.hash ?? '' };
    const encoded = encodeEvent({ id: this.#random.uuid(), stream: this.#stream, revision, atMs: this.#clock.nowMs(), event, metadata });
    const result = await this.#store.append({ stream: this.#stream, expected: last ? last.revision : 'no-stream', events: [encoded] });
    if (!result.ok) throw new Error(`${this.#stream} has another writer`);
  }
}
