/**
 * `ledger-rates`: what coins were worth, as somebody outside said. A rate is never changed: another moment has another
 * one.
 */
export interface BookRatesRecorded {
  readonly type: 'BookRatesRecorded';
  readonly data: {
    readonly currency: string;
    /** Who says so, such as `ECB` or `Kraken, daily close`. */
    readonly source: string;
    readonly rates: readonly BookRate[];
    readonly actor: string;
    readonly recordedAtSec: number;
  };
}

export interface BookRate {
  readonly coin: string;
  readonly atSec: number;
  /** Units of the currency for one of the coin. */
  readonly rate: string;
}
