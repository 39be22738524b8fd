import type { Mode } from '../../domain/ids.ts';
import type { Network } from '../../domain/networks.ts';
import type { Log } from '../../ports/log.ts';
import type { OutgoingChain } from '../../ports/outgoing-chain.ts';
import { isTransient } from './faults.ts';

interface LoopParts<Executor> {
  readonly executors: readonly Executor[];
  /** One look at what an executor has to do. */
  readonly look: (executor: Executor) => Promise<void>;
  readonly pollMs: (network: Network) => number;
  /** False while the ledger is not known to be sound: nothing is signed and nothing is sent. */
  readonly mayPay: () => boolean;
  readonly log: Log;
  /** What cannot go on when a look fails, for logs. */
  readonly what: string;
}

/** One loop a treasury, each on its own, so that a chain that stands still holds up no other. */
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

  /** Looks at once instead of at the next round. */
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
