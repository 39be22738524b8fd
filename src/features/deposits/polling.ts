import { setTimeout as sleep } from 'node:timers/promises';
import { WrongChain } from '../../ports/chain.ts';
import type { WatchObserver, WatchStatus } from './chain/types.ts';

export interface PollingDeps {
  /** Rejects with `WrongChain` when the providers serve another chain or other tokens. Asked until it resolves once. */
  readonly verify: () => Promise<unknown>;
  /** One look at the chain. What it rejects with is reported, and the next look comes later each time. */
  readonly poll: () => Promise<void>;
  readonly status: () => WatchStatus;
  readonly observer: WatchObserver | undefined;
  readonly intervalMs: () => number;
  /** Resolves after the time, or at once when the signal says so. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const LONGEST_PAUSE_MS = 15_000;
const STOP_GRACE_MS = 5_000;
const MAX_DOUBLINGS = 12;

export const systemSleep = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * The loop of every watcher: it looks at its chain again and again until it is stopped, less often while that fails.
 */
export class Polling {
  readonly #deps: PollingDeps;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #verified = false;
  #failures = 0;

  constructor(deps: PollingDeps) {
    this.#deps = deps;
  }

  get consecutiveFailures(): number {
    return this.#failures;
  }

  /** True from `stop` on: a long look may then end early. */
  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /**
   * Resolves after the first attempt to read, whether or not the chain could be reached; reading goes on until `stop`.
   * Rejects with `WrongChain` and reads nothing when the providers serve another chain or other tokens.
   */
  async start(): Promise<void> {
    const first = this.#attempt();
    this.#running = first.then(() => undefined);
    const wrong = await first;
    if (wrong) throw wrong;
    this.#running = this.#loop();
  }

  /** Waits for the running look, but not for providers that do not answer. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.race([this.#running, sleep(STOP_GRACE_MS, undefined, { ref: false })]);
  }

  async #loop(): Promise<void> {
    const { intervalMs, sleep: pause = systemSleep } = this.#deps;
    while (!this.isStopping) {
      const everyMs = intervalMs();
      const longerMs = Math.min(LONGEST_PAUSE_MS, everyMs * 2 ** Math.min(this.#failures, MAX_DOUBLINGS));
      await pause(this.#failures === 0 ? everyMs : longerMs, this.#stopping.signal);
      if (!this.isStopping) await this.#attempt();
    }
  }

  /** Answers the one error that must end a start. */
  async #attempt(): Promise<WrongChain | null> {
    const { verify, poll, status, observer } = this.#deps;
    try {
      if (!this.#verified) await verify();
      this.#verified = true;
      await poll();
      this.#failures = 0;
      observer?.onTick?.(status());
      return null;
    } catch (error) {
      this.#failures += 1;
      observer?.onTrouble?.({ error, consecutiveFailures: this.#failures });
      return error instanceof WrongChain ? error : null;
    }
  }
}
