import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease, Leases } from '../../ports/leases.ts';
import type { Log } from '../../ports/log.ts';

/** The lease as the work sees it. */
export interface LeaseGrant {
  readonly name: string;
  /** Fencing token: higher than that of every earlier holder. */
  readonly token: number;
  /** False as soon as another process may hold the lease, even if this process was suspended. */
  isHeld(): boolean;
  /** Ends the work, releases the lease and starts over a moment later. */
  restart(reason: unknown): void;
}

export interface LeasedWork {
  /** Resolves once everything has stopped. */
  stop(): Promise<void>;
}

export interface WithLeaseOptions {
  readonly leases: Leases;
  readonly log: Log;
  /** A holder that does not renew for this long has lost the lease. Default 10,000. */
  readonly ttlMs?: number;
  /** Pause between two attempts to acquire it. Default 1,000. */
  readonly retryMs?: number;
}

/** Work that runs in the process that holds the lease. */
export interface RunningLease {
  readonly name: string;
  readonly isHeld: boolean;
  /**
   * Settles after the first attempt: the work has started, or another process has the lease. Rejects if the work could
   * not start.
   */
  readonly first: Promise<void>;
  /** Stops the work and releases the lease. */
  close(): Promise<void>;
}

const TTL_MS = 10_000;
const RETRY_MS = 1_000;
/** Renewals per lease duration; two may fail before it is lost. */
const RENEWALS = 3;

/**
 * Runs work in exactly one of several processes, as far as possible: a process that stalls loses its lease without
 * noticing. Everything the work writes must therefore be guarded by the expected revision, or by the grant's token.
 */
export function withLease(
  name: string,
  start: (grant: LeaseGrant) => Promise<LeasedWork>,
  options: WithLeaseOptions,
): RunningLease {
  return new LeaseHolder(name, start, options);
}

class LeaseHolder implements RunningLease {
  readonly name: string;
  readonly first: Promise<void>;
  readonly #start: (grant: LeaseGrant) => Promise<LeasedWork>;
  readonly #options: WithLeaseOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #term: Term | null = null;

  constructor(name: string, start: (grant: LeaseGrant) => Promise<LeasedWork>, options: WithLeaseOptions) {
    this.name = name;
    this.#start = start;
    this.#options = options;
    const first = Promise.withResolvers<void>();
    this.first = first.promise;
    this.first.catch(() => {});
    this.#running = this.#run(first);
  }

  get isHeld(): boolean {
    return this.#term?.isHeld() ?? false;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#term?.end();
    await this.#running;
  }

  async #run(first: PromiseWithResolvers<void>): Promise<void> {
    const retryMs = this.#options.retryMs ?? RETRY_MS;
    while (!this.#closing.signal.aborted) {
      const term = await this.#acquire();
      // Closed during the request: the next process need not wait for work that would end at once.
      if (term && this.#closing.signal.aborted) await term.release();
      else if (term) await this.#serve(term, first);
      first.resolve();
      // Randomised, so that the same process does not always win.
      await sleep(retryMs * (0.5 + Math.random()), undefined, { signal: this.#closing.signal, ref: false }).catch(
        () => undefined,
      );
    }
  }

  async #acquire(): Promise<Term | null> {
    const ttlMs = this.#options.ttlMs ?? TTL_MS;
    const askedMs = performance.now();
    try {
      const lease = await this.#options.leases.acquire(this.name, ttlMs);
      return lease && new Term(lease, ttlMs, askedMs);
    } catch (error) {
      // If nobody knows the holder, nobody works.
      this.#options.log.warn({ err: error, lease: this.name }, 'a lease cannot be requested');
      return null;
    }
  }

  async #serve(term: Term, first: PromiseWithResolvers<void>): Promise<void> {
    const { log } = this.#options;
    this.#term = term;
    const over = term.run();
    const grant = {
      name: this.name,
      token: term.token,
      isHeld: () => term.isHeld(),
      restart: (reason: unknown) => term.end(reason),
    };
    try {
      const work = await this.#start(grant);
      first.resolve();
      if (this.#closing.signal.aborted) term.end();
      const reason = await over;
      if (!this.#closing.signal.aborted)
        log.warn({ lease: this.name, ...(reason !== undefined && { err: reason }) }, 'leased work stopped here');
      await work.stop();
    } catch (error) {
      first.reject(error);
      log.error({ err: error, lease: this.name }, 'leased work failed');
      term.end();
      await over;
    } finally {
      this.#term = null;
      await term.release();
    }
  }
}

/** One grant, renewed until it is ended or lost. */
class Term {
  readonly #lease: Lease;
  readonly #ttlMs: number;
  readonly #ending = new AbortController();
  #heldUntilMs: number;
  #reason: unknown;

  constructor(lease: Lease, ttlMs: number, askedMs: number) {
    this.#lease = lease;
    this.#ttlMs = ttlMs;
    this.#heldUntilMs = askedMs + ttlMs;
  }

  get token(): number {
    return this.#lease.token;
  }

  isHeld(): boolean {
    return !this.#ending.signal.aborted && performance.now() < this.#heldUntilMs;
  }

  end(reason?: unknown): void {
    this.#reason ??= reason;
    this.#ending.abort();
  }

  /** Resolves when it is over, with the reason if there was one. */
  async run(): Promise<unknown> {
    while (!this.#ending.signal.aborted) {
      await sleep(this.#ttlMs / RENEWALS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
      if (this.#ending.signal.aborted) break;
      const askedMs = performance.now();
      const isRenewed = askedMs < this.#heldUntilMs && (await this.#lease.renew());
      if (isRenewed) this.#heldUntilMs = askedMs + this.#ttlMs;
      else this.end(new Error('the lease was lost'));
    }
    return this.#reason;
  }

  async release(): Promise<void> {
    await this.#lease.release();
  }
}
