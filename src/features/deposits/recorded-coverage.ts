import type { RangeScanned } from '../../domain/events/operations-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { coverageStream, rescansStream } from '../../domain/values/streams.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { CoverageTrail, CoveredBlock } from './chain/types.ts';
import { appendNext, type AppendNextDeps } from '../../runtime/commands/append-next.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';

/** Events read at a time in reverse. */
const PAGE = 500;

/** The evidence of what was read of a chain, in its `coverage-` stream. One watcher at a time writes it. */
export class RecordedCoverage implements CoverageTrail {
  readonly #deps: AppendNextDeps & { readonly store: EventStore };
  readonly #stream: string;
  readonly #again: string;

  constructor(deps: AppendNextDeps & { readonly store: EventStore }, mode: Mode, network: Network) {
    this.#deps = deps;
    this.#stream = coverageStream(mode, network);
    this.#again = rescansStream(mode, network);
  }

  async lastCovered(): Promise<CoveredBlock | null> {
    const last = await this.#deps.store.lastOfStream(this.#stream);
    if (!last) return null;
    const { event } = decodeEvent(last);
    // After a chain was replaced nothing of the new one is covered yet.
    if (event.type !== 'RangeScanned') return null;
    const { toBlock, toBlockHash, toBlockTimeSec, sweeps } = event.data;
    return { block: toBlock, hash: toBlockHash, timeSec: toBlockTimeSec, ...(sweeps && { sweeps }) };
  }

  async coveredBelow(block: number): Promise<CoveredBlock | null> {
    let end = ((await this.#deps.store.lastOfStream(this.#stream))?.revision ?? -1) + 1;
    while (end > 0) {
      const from = Math.max(0, end - PAGE);
      for (const recorded of (await this.#deps.store.readStream(this.#stream, { from, limit: end - from })).reverse()) {
        const { event } = decodeEvent(recorded);
        // Earlier reads belong to another chain.
        if (event.type !== 'RangeScanned') return null;
        const { toBlock, toBlockHash, toBlockTimeSec } = event.data;
        if (toBlock < block) return { block: toBlock, hash: toBlockHash, timeSec: toBlockTimeSec };
      }
      end = from;
    }
    return null;
  }

  record(data: RangeScanned['data']): Promise<void> {
    return this.#append(this.#stream, data);
  }

  recordAgain(data: RangeScanned['data']): Promise<void> {
    return this.#append(this.#again, data);
  }

  async #append(stream: string, data: RangeScanned['data']): Promise<void> {
    const last = await this.#deps.store.lastOfStream(stream);
    const event: RangeScanned = { type: 'RangeScanned', data };
    const { result } = await appendNext(this.#deps, { stream, last, event, actor: `chain:${data.network}` });
    if (!result.ok) throw new Error(`${stream} has another writer`);
  }
}
