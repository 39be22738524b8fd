/** Runs tasks one after the other, in the order in which they came. One that fails does not keep the next one from its turn. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const run = this.#last.then(task);
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** Resolves once every task that was given so far has ended. */
  async ended(): Promise<void> {
    await this.#last;
  }
}
