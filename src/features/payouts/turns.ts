import { must } from '../../domain/values/must.ts';

/** A failed try is repeated after this many rounds, then after twice as many each time. */
export const WAIT_LOOKS = 4;
/** The longest pause, as a multiple of the first. */
const LONGEST_PAUSE = 16;

interface Pace {
  readonly notBeforeMs: number;
  /** Number of consecutive failed tries. */
  readonly inVain: number;
}

export interface TurnsOf<Item> {
  readonly id: (item: Item) => string;
  /** The owner of an item: each owner gets one turn before any gets a second. */
  readonly owner: (item: Item) => string;
}

/**
 * Decides which items are tried next, so that stuck items do not delay others. Owners take turns, least recently served
 * first. Within an owner, new items and failed ones also take turns, so that neither starves the other. With M active
 * owners, the k-th untried item of an owner is among the first `most` within 2k * ceil(M / most) rounds.
 */
export class Turns {
  readonly #lookMs: number;
  readonly #paces = new Map<string, Pace>();
  readonly #servedAt = new Map<string, number>();
  /** Owners whose next turn belongs to a previously tried item. */
  readonly #owesAgain = new Set<string>();
  #served = 0;

  /** `lookMs`: the pause between two checks of an item without problems. */
  constructor(lookMs: number) {
    this.#lookMs = lookMs;
  }

  isDue(id: string): boolean {
    return (this.#paces.get(id)?.notBeforeMs ?? 0) <= performance.now();
  }

  postpone(id: string, looks: number): void {
    this.#paces.set(id, {
      notBeforeMs: performance.now() + this.#lookMs * looks,
      inVain: this.#paces.get(id)?.inVain ?? 0,
    });
  }

  /** Delays an item that is stuck for a reason of its own, twice as long each time, up to a limit. */
  backOff(id: string): void {
    const inVain = this.#paces.get(id)?.inVain ?? 0;
    const pause = WAIT_LOOKS * Math.min(2 ** inVain, LONGEST_PAUSE);
    this.#paces.set(id, { notBeforeMs: performance.now() + this.#lookMs * pause, inVain: inVain + 1 });
  }

  /** Forgets previous failures. */
  clear(id: string): void {
    const pace = this.#paces.get(id);
    if (pace) this.#paces.set(id, { ...pace, inVain: 0 });
  }

  forget(id: string): void {
    this.#paces.delete(id);
  }

  /** Due items, longest overdue first. */
  due<Item>(items: readonly Item[], id: (item: Item) => string): Item[] {
    const dueMs = (item: Item): number => this.#paces.get(id(item))?.notBeforeMs ?? 0;
    return items.filter((item) => this.isDue(id(item))).sort((one, other) => dueMs(one) - dueMs(other));
  }

  /**
   * At most `most` due items in the order to try them. An item counts as tried once it is taken. `items` must be oldest
   * first.
   */
  *take<Item>(items: readonly Item[], most: number, { id, owner }: TurnsOf<Item>): Generator<Item, void> {
    const queues = new Map<string, { readonly untried: Item[]; readonly again: Item[] }>();
    for (const item of this.due(items, id)) {
      const queue = queues.get(owner(item)) ?? { untried: [], again: [] };
      queue[this.#paces.has(id(item)) ? 'again' : 'untried'].push(item);
      queues.set(owner(item), queue);
    }
    this.#forgetAllBut(new Set(items.map(owner)));
    let taken = 0;
    while (queues.size > 0) {
      for (const name of [...queues.keys()].sort((one, other) => this.#lastTurn(one) - this.#lastTurn(other))) {
        if (taken >= most) return;
        const { untried, again } = must(queues.get(name));
        const first = this.#owesAgain.has(name) ? [again, untried] : [untried, again];
        const item = must(first[0]).shift() ?? must(first[1]).shift();
        if (item === undefined) {
          queues.delete(name);
          continue;
        }
        taken += 1;
        this.#served += 1;
        this.#servedAt.set(name, this.#served);
        if (!this.#owesAgain.delete(name)) this.#owesAgain.add(name);
        this.postpone(id(item), WAIT_LOOKS);
        yield item;
      }
    }
  }

  #lastTurn(owner: string): number {
    return this.#servedAt.get(owner) ?? 0;
  }

  #forgetAllBut(owners: ReadonlySet<string>): void {
    for (const owner of this.#servedAt.keys()) {
      if (owners.has(owner)) continue;
      this.#servedAt.delete(owner);
      this.#owesAgain.delete(owner);
    }
  }
}
