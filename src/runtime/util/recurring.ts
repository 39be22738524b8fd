/** Work that is done again and again, with a pause after each time; never twice at once, and an error ends nothing. */
export class Recurring {
  readonly #work: () => Promise<void>;
  readonly #pauseMs: number;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(work: () => Promise<void>, pauseMs: number, onError: (error: unknown) => void) {
    this.#work = work;
    this.#pauseMs = pauseMs;
    this.#onError = onError;
  }

  /** True from `close` on: long work may then end early. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Begins at once. */
  start(): void {
    this.#running = this.#work()
      .catch((error: unknown) => this.#onError(error))
      .then(() => {
        if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), this.#pauseMs);
      });
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#running;
  }
}
