import type { CanaryFailure, CanaryStepTime } from '../../domain/canary.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { canaryStream } from '../../domain/values/streams.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';

/** One recorded payment. */
export interface CanaryRun {
  readonly mode: Mode;
  readonly network: Network;
  readonly sessionId: SessionId | null;
  /** Null if no money left the wallet. */
  readonly amount: string | null;
  readonly coin: Coin | null;
  readonly startedAtSec: number;
  readonly steps: readonly CanaryStepTime[];
  readonly failure: CanaryFailure | null;
  /** Null while it is in progress, or if the service ended before it did. */
  readonly endedAtSec: number | null;
}

export type CanaryReader = Pick<EventStore, 'readStream' | 'lastOfStream'>;

/** Newest first. */
export async function canaryHistory(
  store: CanaryReader,
  mode: Mode,
  network: Network,
  limit: number,
): Promise<CanaryRun[]> {
  const stream = canaryStream(mode, network);
  const newest = await store.lastOfStream(stream);
  if (newest === null) return [];
  // Each payment has at most two events.
  const events = await store.readStream(stream, { from: Math.max(0, newest.revision + 1 - 2 * limit) });
  const runs: CanaryRun[] = [];
  for (const { event } of events.map(decodeEvent)) {
    if (event.type === 'CanaryPaymentStarted') {
      const { sessionId, amount, coin, startedAtSec } = event.data;
      runs.push({ mode, network, sessionId, amount, coin, startedAtSec, steps: [], failure: null, endedAtSec: null });
    }
    if (event.type === 'CanaryPaymentEnded') {
      const last = runs.at(-1);
      const begun = last?.endedAtSec === null && last.sessionId === event.data.sessionId ? runs.pop() : undefined;
      const { amount, coin } = begun ?? { amount: null, coin: null };
      runs.push({ ...event.data, amount, coin });
    }
  }
  return runs.reverse().slice(0, limit);
}
