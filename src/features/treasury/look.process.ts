import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Log } from '../../ports/log.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import type { MoveMoney } from '../payouts/moves/moves.process.ts';
import type { UnbookedLook, UnbookedMoney } from './reconcile-unbooked.ts';

interface LookDeps {
  readonly moves: MoveMoney;
  readonly reconcile: (
    executor: MoveExecutor,
  ) => Promise<{ readonly unknown: readonly { readonly outflowKey: string }[] }>;
  /** One batch of all assigned addresses; `after`: where the previous batch ended. */
  readonly unbooked: (executor: MoveExecutor, after: string | null) => Promise<UnbookedLook>;
  readonly onUnbooked: (mode: Mode, network: Network, money: UnbookedMoney) => void;
  readonly mayPay: () => boolean;
  readonly log: Log;
  /** 0: only on request. */
  readonly everyMs: number;
}

/** Periodically compares the treasuries and the assigned addresses with the books. */
export class TreasuryLook {
  readonly #deps: LookDeps;
  /** By treasury: the last address of the previous batch. */
  readonly #lookedTo = new Map<string, string | null>();
  #timer: NodeJS.Timeout | null = null;
  readonly #looks = new InTurn();
  #stopped = false;

  constructor(deps: LookDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { everyMs } = this.#deps;
    if (everyMs > 0) this.#timer = setInterval(() => void this.#looks.run(() => this.#all()), everyMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#looks.ended();
  }

  async #all(): Promise<void> {
    for (const executor of this.#deps.moves.executors) {
      if (this.#stopped) return;
      const { mode, network } = executor.chain;
      await this.#one(executor).catch((error: unknown) =>
        this.#deps.log.warn({ err: error, mode, network }, 'a treasury cannot be reconciled now'),
      );
      if (this.#stopped) return;
      await this.#nextPart(executor).catch((error: unknown) =>
        this.#deps.log.warn({ err: error, mode, network }, 'addresses cannot currently be compared with the books'),
      );
    }
  }

  async #one(executor: MoveExecutor): Promise<void> {
    if (!this.#deps.mayPay()) return;
    const { unknown } = await this.#deps.reconcile(executor);
    const { mode, network } = executor.chain;
    for (const { outflowKey } of unknown)
      this.#deps.log.error({ mode, network, outflow: outflowKey }, 'money left one of our addresses without an order');
  }

  /** The only check that finds unrecorded money at one of our addresses. */
  async #nextPart(executor: MoveExecutor): Promise<void> {
    const { mode, network } = executor.chain;
    const treasury = `${mode}/${network}`;
    const { found, native, next } = await this.#deps.unbooked(executor, this.#lookedTo.get(treasury) ?? null);
    this.#lookedTo.set(treasury, next);
    for (const { kind, ...facts } of native) {
      if (kind === 'missing')
        this.#deps.log.error({ mode, ...facts }, 'native coin left one of our addresses without an order');
      else this.#deps.log.info({ mode, ...facts }, 'one of our addresses holds native coin that we did not send');
    }
    for (const money of found) {
      this.#deps.log.error({ mode, ...money }, 'one of our addresses holds money that the books do not have');
      this.#deps.onUnbooked(mode, network, money);
    }
  }
}
