interface Reading {
  readonly from: number;
  to: number;
  readonly providers: readonly string[];
}

/** Who read which blocks the first time, so that somebody else, or another method, reads them the second time. */
export class FirstReadings {
  /** Ascending, without overlaps. */
  #readings: Reading[] = [];

  add(from: number, to: number, providers: readonly string[]): void {
    this.dropAbove(from - 1);
    const last = this.#readings.at(-1);
    if (last?.to === from - 1 && last.providers.join() === providers.join()) last.to = to;
    else this.#readings.push({ from, to, providers });
  }

  /** The blocks from this one on that the same providers read; nobody in particular where nothing is known. */
  from(number: number): { readonly to: number; readonly providers: readonly string[] } {
    return this.#readings.find(({ from, to }) => from <= number && number <= to) ?? { to: Infinity, providers: [] };
  }

  dropAbove(number: number): void {
    this.#readings = this.#readings.filter(({ from }) => from <= number);
    const last = this.#readings.at(-1);
    if (last && last.to > number) last.to = number;
  }

  dropBelow(number: number): void {
    this.#readings = this.#readings.filter(({ to }) => to >= number);
  }
}
