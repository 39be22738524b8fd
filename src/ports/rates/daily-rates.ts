/** One source's values of coins at the start of past UTC days. */
export interface DailyRates {
  /** Name for the books, such as `Kraken, daily close`. */
  readonly source: string;
  /**
   * Units of the currency per coin, by day, without days that the source does not have. Throws when it does not answer.
   * `days` must be in order.
   */
  rates(
    coin: string,
    currency: string,
    days: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>>;
}
