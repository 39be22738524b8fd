/**
 * `ledger-rates`: values of coins as published by an outside source. A rate never changes; another moment has another
 * rate.
 */
export interface BookRatesRecorded {
  readonly type: 'BookRatesRecorded';
  readonly data: {
    readonly currency: string;
    /** The source, such as `ECB` or `Kraken, daily close`. */
    readonly source: string;
    readonly rates: readonly BookRate[];
    readonly actor: string;
    readonly recordedAtSec: number;
  };
}

export interface BookRate {
  readonly coin: string;
  readonly atSec: number;
  /** Units of the currency per unit of the coin. */
  readonly rate: string;
}
