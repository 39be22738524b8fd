import type { Mode } from '../../domain/values/ids.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import type { InboxList } from './list.ts';

export interface CountInboxDeps {
  readonly list: InboxList;
  readonly onError: (error: unknown) => void;
  readonly everyMs: number;
}

interface Count {
  readonly mode: Mode;
  readonly network: string;
  transfers: number;
  /** Unix seconds. */
  readonly oldestSec: number;
}

const PAGE = 500;
/** Counting stops here. The oldest come first, so their age is still correct. */
const MAX_PAGES = 20;

/** Counts open transfers in the inbox at its own pace, so that a metric never waits for a table. */
export class CountInbox {
  readonly #list: InboxList;
  readonly #rounds: Recurring;
  #counts: readonly Count[] = [];

  constructor({ list, onError, everyMs }: CountInboxDeps) {
    this.#list = list;
    this.#rounds = new Recurring(() => this.#round(), everyMs, onError);
  }

  start(): void {
    this.#rounds.start();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  counts(): readonly Count[] {
    return this.#counts;
  }

  async #round(): Promise<void> {
    const counts = new Map<string, Count>();
    let after: string | null = null;
    for (let page = 0; page < MAX_PAGES && !this.#rounds.isClosed; page += 1) {
      const found = await this.#list.page({ state: 'unresolved' }, after, PAGE);
      for (const { mode, network, blockTimeSec } of found.transfers) {
        const count = counts.get(`${mode}/${network}`);
        if (count) count.transfers += 1;
        else counts.set(`${mode}/${network}`, { mode, network, transfers: 1, oldestSec: blockTimeSec });
      }
      after = found.next;
      if (after === null) break;
    }
    this.#counts = [...counts.values()];
  }
}
