/** Runs tasks sequentially in the order of arrival. A failure does not affect later tasks. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const run = this.#last.then(task);
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** Resolves once every task given so far has ended. */
  async ended(): Promise<void> {
    await this.#last;
  }
}

/** Runs tasks of one key sequentially in the order of arrival, and tasks of different keys concurrently. */
export class InTurnByKey {
  readonly #byKey = new Map<string, { readonly turns: InTurn; open: number }>();

  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const own = this.#byKey.get(key) ?? { turns: new InTurn(), open: 0 };
    this.#byKey.set(key, own);
    own.open += 1;
    try {
      return await own.turns.run(task);
    } finally {
      own.open -= 1;
      if (own.open === 0) this.#byKey.delete(key);
    }
  }
}
