import type { Response } from 'express';
import type { Position } from '../ports/event-log/event-store.ts';

export interface LiveDeps {
  /** The head of the event log, which moves with everything that is recorded. */
  readonly head: () => Promise<Position | null>;
}

interface Reader {
  readonly response: Response;
  readonly isSignedIn: () => boolean;
}

const LOOK_MS = 2_000;
/**
 * After so many rounds without an event the pages are told to refresh anyway: some facts, such as the blocks of a
 * chain, are not events. This also keeps connections open through proxies.
 */
const QUIET_LOOKS = 7;
const MAX_READERS = 1_000;
const MAX_EACH = 16;
/** The response above these limits: the browser stops trying, and the page has to be reloaded by hand. */
const NO_ROOM = 204;

/**
 * Tells open pages over server-sent events when to refresh. They then fetch their content like any page, with the same
 * checks.
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
    // An unavailable store has nothing new; the pages themselves say that they cannot be loaded.
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
