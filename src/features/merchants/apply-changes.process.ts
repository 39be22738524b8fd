import { toSec, type Clock } from '../../ports/clock.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import type { MerchantDirectory } from './directory.ts';
import type { Merchants } from './merchants.ts';

export interface ApplyChangesDeps {
  readonly directory: Pick<MerchantDirectory, 'dueChanges'>;
  readonly merchants: Pick<Merchants, 'applyChange'>;
  readonly clock: Clock;
  /** While true, no deadline counts as reached. */
  readonly isClockInDoubt: () => boolean;
  readonly onError: (error: unknown, changeId: string) => void;
}

const EVERY_MS = 1_000;

/**
 * Applies changes of merchants' settings once their delay is over. Pending changes are in the event log, so any process
 * can apply them after any restart, and concurrent attempts apply them once.
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

  /** Applies what is due, in the order of the requests. */
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
