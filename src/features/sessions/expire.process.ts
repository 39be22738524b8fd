import type { SessionId, Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { DueSessions, DueSession } from './due.ts';

export interface ExpireSessionsDeps {
  readonly due: DueSessions;
  readonly clock: Clock;
  /** While true, no deadline counts as passed. */
  readonly isClockInDoubt: () => boolean;
  /** Chain time up to which a network was read without a gap; null if it never was. */
  readonly scannedToSec: (mode: Mode, network: Network) => number | null;
  /** Longest wait for an unreadable network, counted both from the deadline and from its last progress. */
  readonly maxWaitSec: number;
  /** Monotonic milliseconds; default `performance.now`. */
  readonly monotonicMs?: () => number;
  /** Resolves when the decision is durable. A session with money on its way stays as it is. */
  readonly expire: (
    id: SessionId,
    nowSec: number,
    scannedToSec: Partial<Record<Network, number | null>>,
  ) => Promise<void>;
  readonly onError: (error: unknown, id: SessionId) => void;
}

/** Sessions per round, so that a backlog never blocks the event loop. */
const BATCH = 200;
/** Pause before a session is tried again because its network lags or money is on its way. */
const RETRY_MS = 1_000;
const TICK_MS = 250;

/**
 * Ends sessions whose deadline passed *in chain time*: only once every offered network was read past it, so that a
 * transfer in the last second is seen first, or after the longest wait for a network that cannot be read. A network
 * that is catching up is readable, so neither downtime of this service nor a clock set forward ends a session.
 */
export class ExpireSessions {
  readonly #deps: ExpireSessionsDeps;
  readonly #monotonicMs: () => number;
  /** Per mode and network: how far it was read, and since when it made no progress. */
  readonly #progress = new Map<string, { readonly toSec: number; readonly sinceMs: number }>();
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(deps: ExpireSessionsDeps) {
    this.#deps = deps;
    this.#monotonicMs = deps.monotonicMs ?? (() => performance.now());
  }

  start(): void {
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#round;
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#round = this.round().finally(() => this.#schedule());
    }, TICK_MS);
  }

  /** Handles everything that is due now. */
  async round(): Promise<void> {
    if (this.#deps.isClockInDoubt()) return;
    const nowMs = this.#deps.clock.nowMs();
    const due = this.#deps.due.takeDue(toSec(nowMs), nowMs, BATCH);
    await Promise.all(due.map((session) => this.#consider(session, nowMs)));
  }

  async #consider(session: DueSession, nowMs: number): Promise<void> {
    const nowSec = toSec(nowMs);
    const scanned: Partial<Record<Network, number | null>> = Object.fromEntries(
      session.networks.map((network) => [network, this.#deps.scannedToSec(session.mode, network)]),
    );
    const waitedEnough = nowSec > session.expiresAtSec + this.#deps.maxWaitSec;
    const mayEnd = session.networks.every((network) => {
      const isStuck = this.#isStuck(session.mode, network, scanned[network] ?? null);
      return (scanned[network] ?? -Infinity) > session.expiresAtSec || (waitedEnough && isStuck);
    });
    // Retries later whatever the decision: the session's own event removes it from the list.
    this.#deps.due.postpone(session.sessionId, nowMs, nowMs + RETRY_MS);
    if (nowSec <= session.expiresAtSec || !mayEnd) return;
    try {
      await this.#deps.expire(session.sessionId, nowSec, scanned);
    } catch (error) {
      this.#deps.onError(error, session.sessionId);
    }
  }

  /** Whether the network made no progress for the longest wait. */
  #isStuck(mode: Mode, network: Network, scannedToSec: number | null): boolean {
    const nowMs = this.#monotonicMs();
    const toSec = scannedToSec ?? -Infinity;
    const known = this.#progress.get(`${mode}/${network}`);
    if (known && toSec <= known.toSec) return nowMs - known.sinceMs >= this.#deps.maxWaitSec * 1000;
    this.#progress.set(`${mode}/${network}`, { toSec, sinceMs: nowMs });
    return this.#deps.maxWaitSec === 0;
  }
}
