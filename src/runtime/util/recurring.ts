/** Repeats work with a pause after each run; never runs it concurrently, and errors do not stop it. */
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

  /** True once `close` was called; long work may then end early. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Starts at once. */
  start(): void {
    this.#running = this.#work()
      .catch((error: unknown) => this.#onError(error))
      .then(() => {
        if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), this.#pauseMs);
      });
  }

  /** Resolves once everything has stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#running;
  }
}
