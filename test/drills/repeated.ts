/** Repeats a step in the background until it is told to end. */
export class Repeated {
  #running: Promise<void> = Promise.resolve();
  #ended = true;

  begin(step: () => Promise<void>): void {
    this.#ended = false;
    this.#running = (async () => {
      while (!this.#ended) await step();
    })();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#running;
  }
}
