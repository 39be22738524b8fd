import { toSec, type Clock } from '../../ports/clock.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import type { MerchantDirectory } from './directory.ts';
import type { Merchants } from './merchants.ts';

export interface ApplyChangesDeps {
  readonly directory: Pick<MerchantDirectory, 'dueChanges'>;
  readonly merchants: Pick<Merchants, 'applyChange'>;
  readonly clock: Clock;
  /** While it is, no time has come for sure. */
  readonly isClockInDoubt: () => boolean;
  readonly onError: (error: unknown, changeId: string) => void;
}

const EVERY_MS = 1_000;

/**
 * Puts changes of merchants' settings into force when they have waited long enough. What waits is in the ledger, so any
 * process may do it after any restart, and two that do it at once do it once.
 */
export class ApplyChanges {
  readonly #deps: ApplyChangesDeps;
  readonly #timer: NodeJS.Timeout;
  readonly #turns = new InTurn();

  constructor(deps: ApplyChangesDeps, everyMs = EVERY_MS) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.#turns.run(() => this.now()), everyMs);
    this.#timer.unref();
  }

  /** What is due now, in the order in which it was asked for. */
  async now(): Promise<void> {
    const { directory, merchants, clock, isClockInDoubt, onError } = this.#deps;
    if (isClockInDoubt()) return;
    for (const pending of directory.dueChanges(toSec(clock.nowMs()))) {
      try {
        const done = await merchants.applyChange(pending);
        if (!done.ok) onError(new Error(done.refusal.message), pending.changeId);
      } catch (error) {
        onError(error, pending.changeId);
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turns.ended();
  }
}
