import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { must } from '../../domain/values/must.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import type { MoveMoney } from '../payouts/moves/moves.process.ts';
import type { UnbookedLook, UnbookedMoney } from './reconcile-unbooked.ts';

interface LookDeps {
  readonly moves: Pick<MoveMoney, 'executors'>;
  /** `addressesTo`: how far the walk over the addresses has come. */
  readonly reconcile: (
    executor: MoveExecutor,
    addressesTo: string | null,
  ) => Promise<{ readonly unknown: readonly { readonly outflowKey: string }[] }>;
  /** One batch of all assigned addresses; `after`: where the previous batch ended. */
  readonly unbooked: (executor: MoveExecutor, after: string | null) => Promise<UnbookedLook>;
  readonly onUnbooked: (mode: Mode, network: Network, money: UnbookedMoney) => void;
  readonly mayPay: () => boolean;
  /** Told by how much a comparison is overdue. */
  readonly onOverdue: (executor: MoveExecutor, overdueSec: number) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** 0: only on request. */
  readonly everyMs: number;
}

/** How often it is asked which comparisons are due, so that a service that restarts often compares, too. */
const ASKED_EVERY_MS = 5_000;

/**
 * Periodically compares the treasuries and the assigned addresses with the books. When the next one is due, and where
 * the walk over the addresses goes on, follows from the newest `TreasuryReconciled`, so restarts change neither.
 */
export class TreasuryLook {
  readonly #deps: LookDeps;
  /** By treasury: the last address of the previous batch, and when that was. */
  readonly #looked = new Map<MoveExecutor, { readonly to: string | null; readonly atMs: number }>();
  readonly #startedAtMs: number;
  #timer: NodeJS.Timeout | null = null;
  readonly #looks = new InTurn();
  #stopped = false;

  constructor(deps: LookDeps) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.nowMs();
  }

  start(): void {
    const { everyMs } = this.#deps;
    if (everyMs > 0)
      this.#timer = setInterval(() => void this.#looks.run(() => this.#all()), Math.min(everyMs, ASKED_EVERY_MS));
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
      const warn = (words: string) => (error: unknown) => this.#deps.log.warn({ err: error, mode, network }, words);
      const isDue = await this.#isDue(executor).catch(warn('when a treasury was reconciled cannot be read'));
      if (isDue !== true) continue;
      // The comparison records how far the walk came.
      await this.#nextPart(executor).catch(warn('addresses cannot currently be compared with the books'));
      if (this.#stopped) return;
      await this.#one(executor).catch(warn('a treasury cannot be reconciled now'));
    }
  }

  /** One attempt per interval, however it ends. */
  async #isDue(executor: MoveExecutor): Promise<boolean> {
    const { clock, everyMs, onOverdue } = this.#deps;
    const { reconciledAtSec, addressesTo } = await executor.context();
    const nowMs = clock.nowMs();
    // The first one ever is due when the process starts.
    const dueMs = reconciledAtSec === null ? this.#startedAtMs : reconciledAtSec * 1000 + everyMs;
    onOverdue(executor, Math.max(0, Math.floor((nowMs - dueMs) / 1000)));
    const looked = this.#looked.get(executor);
    if (nowMs < Math.max(dueMs, (looked?.atMs ?? -Infinity) + everyMs)) return false;
    this.#looked.set(executor, { to: looked ? looked.to : addressesTo, atMs: nowMs });
    return true;
  }

  async #one(executor: MoveExecutor): Promise<void> {
    if (!this.#deps.mayPay()) return;
    const { unknown } = await this.#deps.reconcile(executor, must(this.#looked.get(executor)).to);
    const { mode, network } = executor.chain;
    for (const { outflowKey } of unknown)
      this.#deps.log.error({ mode, network, outflow: outflowKey }, 'money left one of our addresses without an order');
  }

  /** The only check that finds unrecorded money at one of our addresses. */
  async #nextPart(executor: MoveExecutor): Promise<void> {
    const { mode, network } = executor.chain;
    const looked = must(this.#looked.get(executor));
    const { found, native, next } = await this.#deps.unbooked(executor, looked.to);
    this.#looked.set(executor, { ...looked, to: next });
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
