import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Log } from '../../ports/log.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import { isTransient } from './faults.ts';

interface LoopParts<Executor> {
  readonly executors: readonly Executor[];
  /** Runs one round of an executor. */
  readonly look: (executor: Executor) => Promise<void>;
  readonly pollMs: (network: Network) => number;
  /** False until the event log is known to be sound: nothing is signed or sent. */
  readonly mayPay: () => boolean;
  readonly log: Log;
  /** What stops when a round fails, for logs. */
  readonly what: string;
}

/** One independent loop per treasury, so that a stalled chain does not block the others. */
export class TreasuryLoops<Executor extends { readonly chain: OutgoingChain }> {
  readonly #parts: LoopParts<Executor>;
  readonly #wake = new Map<string, () => void>();
  #loops: readonly Promise<void>[] = [];
  #stopped = false;

  constructor(parts: LoopParts<Executor>) {
    this.#parts = parts;
  }

  start(): void {
    this.#loops = this.#parts.executors.map((executor) => this.#run(executor));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const wake of this.#wake.values()) wake();
    await Promise.all(this.#loops);
  }

  /** Starts the next round at once. */
  wake(mode: Mode, network: Network): void {
    this.#wake.get(`${mode}/${network}`)?.();
  }

  async #run(executor: Executor): Promise<void> {
    const { look, mayPay, log, what } = this.#parts;
    const { mode, network } = executor.chain;
    while (!this.#stopped) {
      try {
        if (mayPay()) await look(executor);
      } catch (error) {
        log[isTransient(error) ? 'warn' : 'error'](
          { err: error, mode, network },
          `${what} of a treasury cannot continue now`,
        );
      }
      if (!this.#stopped) await this.#pause(mode, network);
    }
  }

  #pause(mode: Mode, network: Network): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#parts.pollMs(network));
      this.#wake.set(`${mode}/${network}`, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
