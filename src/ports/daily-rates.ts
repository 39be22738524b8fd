/** What coins were worth at the start of past days (UTC), as one source says. */
export interface DailyRates {
  /** For the books, such as `Kraken, daily close`. */
  readonly source: string;
  /**
   * Units of the currency for one coin, by day; without those that the source does not have. Throws when it does not
   * answer.
   * `days` are in order.
   */
  rates(
    coin: string,
    currency: string,
    days: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>>;
}
