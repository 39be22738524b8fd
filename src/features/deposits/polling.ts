import { setTimeout as sleep } from 'node:timers/promises';
import type { AwaitedPayments, WatchObserver, WatchStatus } from './chain/types.ts';

export interface PollingDeps {
  /** Rejects while no provider serves this chain with its tokens. Called until it resolves once. */
  readonly verify: () => Promise<unknown>;
  /** Reads the chain once. Errors are reported and increase the pause before the next poll. */
  readonly poll: () => Promise<void>;
  readonly status: () => WatchStatus;
  readonly observer: WatchObserver | undefined;
  readonly intervalMs: () => number;
  /** Its first payment ends the pause before the next poll. */
  readonly awaited?: AwaitedPayments | undefined;
  /** Resolves after the time, or at once when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const LONGEST_PAUSE_MS = 15_000;
const STOP_GRACE_MS = 5_000;
const MAX_DOUBLINGS = 12;

export const systemSleep = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** The loop of every watcher: polls its chain until stopped, with backoff on failures. */
export class Polling {
  readonly #deps: PollingDeps;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #verified = false;
  #failures = 0;
  #pause = new AbortController();
  #unsubscribe: (() => void) | undefined;

  constructor(deps: PollingDeps) {
    this.#deps = deps;
  }

  get consecutiveFailures(): number {
    return this.#failures;
  }

  /** True once `stop` was called; a long poll may then end early. */
  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /**
   * Resolves after the first attempt to read, whether or not it succeeded; polling continues until `stop`. Nothing is
   * read from providers that serve another chain or other tokens; they are asked again.
   */
  async start(): Promise<void> {
    this.#running = this.#attempt();
    await this.#running;
    this.#unsubscribe = this.#deps.awaited?.onAwaited(() => this.#pause.abort());
    this.#running = this.#loop();
  }

  /** Waits for the running poll, but not for providers that do not respond. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe?.();
    await Promise.race([this.#running, sleep(STOP_GRACE_MS, undefined, { ref: false })]);
  }

  async #loop(): Promise<void> {
    const { intervalMs, sleep: pause = systemSleep } = this.#deps;
    while (!this.isStopping) {
      const everyMs = intervalMs();
      const longerMs = Math.min(LONGEST_PAUSE_MS, everyMs * 2 ** Math.min(this.#failures, MAX_DOUBLINGS));
      this.#pause = new AbortController();
      const ended = AbortSignal.any([this.#stopping.signal, this.#pause.signal]);
      await pause(this.#failures === 0 ? everyMs : longerMs, ended);
      if (!this.isStopping) await this.#attempt();
    }
  }

  async #attempt(): Promise<void> {
    const { verify, poll, status, observer } = this.#deps;
    try {
      if (!this.#verified) await verify();
      this.#verified = true;
      await poll();
      this.#failures = 0;
      observer?.onTick?.(status());
    } catch (error) {
      this.#failures += 1;
      observer?.onTrouble?.({ error, consecutiveFailures: this.#failures });
    }
  }
}
