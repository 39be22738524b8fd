import type { Log } from '../../ports/log.ts';
import type { MoveExecutor } from '../payouts/moves/executor.ts';
import type { MoveMoney } from '../payouts/moves/moves.process.ts';

interface LookDeps {
  readonly moves: MoveMoney;
  readonly reconcile: (executor: MoveExecutor) => Promise<{ readonly unknown: readonly { readonly outflowKey: string }[] }>;
  readonly mayPay: () => boolean;
  readonly log: Log;
  /** 0: only when asked. */
  readonly everyMs: number;
}

/** Compares the treasuries with the books again and again. */
export class TreasuryLook {
  readonly #deps: LookDeps;
  #timer: NodeJS.Timeout | null = null;
  #task: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: LookDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { everyMs } = this.#deps;
    if (everyMs > 0) this.#timer = setInterval(() => void (this.#task = this.#task.then(() => this.#all())), everyMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#task;
  }

  async #all(): Promise<void> {
    for (const executor of this.#deps.moves.executors) {
      if (this.#stopped) return;
      const { mode, network } = executor.chain;
      await this.#one(executor).catch((error: unknown) => this.#deps.log.warn({ err: error, mode, network }, 'a treasury cannot be reconciled now'));
    }
  }

  async #one(executor: MoveExecutor): Promise<void> {
    if (!this.#deps.mayPay()) return;
    const { unknown } = await this.#deps.reconcile(executor);
    const { mode, network } = executor.chain;
    for (const { outflowKey } of unknown)
      this.#deps.log.error({ mode, network, outflow: outflowKey }, 'money left an address of ours that nobody ordered');
  }
}
