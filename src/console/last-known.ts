import { messageOf } from '../runtime/util/message-of.ts';
import { RecentMap } from '../runtime/util/recent-map.ts';
import { within } from '../runtime/util/within.ts';

/** The last answer to a question that may take long, such as one to a chain. */
export interface Known<Answer> {
  /** Null before the first answer. */
  readonly answer: Answer | null;
  /** When that answer was requested; null before the first one. */
  readonly atSec: number | null;
  /** A newer answer is on its way. */
  readonly isAsking: boolean;
  /** Why the last attempt failed; null if it did not. */
  readonly fault: string | null;
}

/** A chain that answers at once is on the page at once. */
const PATIENCE_MS = 50;
/** A file is made of the answer itself. */
export const FILE_PATIENCE_MS = 60_000;
const FRESH_SEC = 30;
const MAX_ASKING = 4;
const MAX_KEPT = 50;

interface Attempt<Answer> extends Omit<Known<Answer>, 'isAsking'> {
  readonly endedSec: number;
}

/** Keeps the last answers of slow parties, so that a page opens with what is known and never waits for the next. */
export class LastKnown<Answer> {
  readonly #attempts = new RecentMap<string, Attempt<Answer>>(MAX_KEPT);
  readonly #asking = new Map<string, Promise<void>>();

  /** Asks again in the background if the last attempt is not recent, within a limit of questions at a time. */
  async look(
    key: string,
    nowSec: number,
    ask: () => Promise<Answer>,
    patienceMs = PATIENCE_MS,
  ): Promise<Known<Answer>> {
    const isDue = (): boolean => nowSec - (this.#attempts.get(key)?.endedSec ?? -Infinity) >= FRESH_SEC;
    if (isDue() && !this.#asking.has(key) && this.#asking.size < MAX_ASKING)
      this.#asking.set(
        key,
        this.#ask(key, nowSec, ask).finally(() => this.#asking.delete(key)),
      );
    const asking = this.#asking.get(key);
    if (asking) await within(patienceMs, asking, () => undefined);
    const { answer = null, atSec = null, fault = null } = this.#attempts.get(key) ?? {};
    return { answer, atSec, fault, isAsking: isDue() };
  }

  async #ask(key: string, nowSec: number, ask: () => Promise<Answer>): Promise<void> {
    try {
      this.#attempts.set(key, { answer: await ask(), atSec: nowSec, fault: null, endedSec: nowSec });
    } catch (error) {
      const { answer = null, atSec = null } = this.#attempts.get(key) ?? {};
      this.#attempts.set(key, { answer, atSec, fault: messageOf(error), endedSec: nowSec });
    }
  }
}
