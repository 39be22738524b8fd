interface Reading {
  readonly from: number;
  to: number;
  readonly providers: readonly string[];
}

/** Which providers first read which blocks, so that another provider or another method does the second reading. */
export class FirstReadings {
  /** Ascending, without overlaps. */
  #readings: Reading[] = [];

  add(from: number, to: number, providers: readonly string[]): void {
    this.dropAbove(from - 1);
    const last = this.#readings.at(-1);
    if (last?.to === from - 1 && last.providers.join() === providers.join()) last.to = to;
    else this.#readings.push({ from, to, providers });
  }

  /** The blocks from `number` on that the same providers read; an empty provider list if unknown. */
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
