import type { Response } from 'express';
import type { Position } from '../ports/event-store.ts';

export interface LiveDeps {
  /** Of the log: it moves with everything that is recorded. */
  readonly head: () => Promise<Position | null>;
}

interface Reader {
  readonly response: Response;
  readonly isSignedIn: () => boolean;
}

const LOOK_MS = 2_000;
/**
 * What no event tells of, such as the blocks of a chain, is looked at that often, which also keeps connections open
 * through proxies.
 */
const QUIET_LOOKS = 7;
const MAX_READERS = 1_000;
const MAX_EACH = 16;
/** Beyond these a page is loaded by hand: this answer ends a browser's attempts. */
const NO_ROOM = 204;

/**
 * Tells open pages when to look again, over server-sent events. What there is to see they fetch like any page, under
 * the same checks.
 */
export class LiveReaders {
  readonly #deps: LiveDeps;
  readonly #byPerson = new Map<string, Set<Reader>>();
  #timer: NodeJS.Timeout | null = null;
  #seen: Position | null = null;
  #looksLeft = QUIET_LOOKS;

  constructor(deps: LiveDeps) {
    this.#deps = deps;
  }

  open(response: Response, personId: string, isSignedIn: () => boolean): void {
    const own = this.#byPerson.get(personId) ?? new Set();
    if (own.size >= MAX_EACH || this.#size() >= MAX_READERS) return void response.status(NO_ROOM).end();
    response.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' }).flushHeaders();
    response.write('retry: 3000\n\n');
    const reader = { response, isSignedIn };
    this.#byPerson.set(personId, own.add(reader));
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    response.on('close', () => {
      own.delete(reader);
      if (own.size === 0 && this.#byPerson.get(personId) === own) this.#byPerson.delete(personId);
      if (this.#byPerson.size > 0 || !this.#timer) return;
      clearInterval(this.#timer);
      this.#timer = null;
    });
  }

  #size(): number {
    return [...this.#byPerson.values()].reduce((sum, { size }) => sum + size, 0);
  }

  async #look(): Promise<void> {
    // A store that does not answer has nothing new; the pages say themselves that they cannot be had.
    const head = await this.#deps.head().catch(() => this.#seen);
    const isQuiet = head === this.#seen && (this.#looksLeft -= 1) > 0;
    this.#seen = head;
    if (!isQuiet) this.#looksLeft = QUIET_LOOKS;
    for (const { response, isSignedIn } of [...this.#byPerson.values()].flatMap((own) => [...own])) {
      if (!isSignedIn()) response.end('event: ended\ndata: 1\n\n');
      else if (!isQuiet) response.write('event: look\ndata: 1\n\n');
    }
  }
}
