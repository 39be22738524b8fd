import { isCurrency } from '../../domain/money/currencies.ts';
import { COINS, isCoin, type Coin } from '../../domain/money/money.ts';
import { ONE, readPrice, withCoinCrosses, type Quote, type RateProvider } from './provider.ts';

/** Maximum number of decimals of a rate. */
const MAX_DECIMALS = 18;

/**
 * Fixed rates for the sandbox and tests: `USD=1.0002,EUR=1.08` gives the units of the settlement coin, USDT and USDC
 * alike, per unit of the currency. A coin may be named too (`USDC=0.9995`: USDT per USDC), which scales the other rates
 * for it; otherwise both coins have the same value. Throws when the text is invalid, so that a typing error stops the
 * start.
 */
export function staticProvider(text: string): RateProvider {
  const quotes = withCoinCrosses(parseStatic(text));
  const currencies = new Set(quotes.map(({ currency }) => currency));
  return { name: 'static', minIntervalMs: 0, currencies, fetchQuotes: () => Promise.resolve(quotes) };
}

export function parseStatic(text: string): Quote[] {
  const written = new Map<string, Quote['rate']>();
  for (const entry of text.split(',')) {
    const [currency = '', value = '', ...rest] = entry.trim().split('=');
    const rate = readPrice(value);
    if (
      rest.length > 0 ||
      rate === null ||
      rate.decimalPlaces() > MAX_DECIMALS ||
      !isCurrency(currency) ||
      written.has(currency)
    ) {
      throw new Error(
        `RATE_STATIC: cannot read "${entry.trim().slice(0, 40)}"; write CURRENCY=rate pairs such as USD=1.0002,EUR=1.08, each currency once`,
      );
    }
    written.set(currency, rate);
  }
  return [...written].flatMap(([currency, rate]): Quote[] => {
    // A listed coin is priced in the other one, in which the other rates then are.
    const unitsOf = (coin: Coin): Quote['rate'] => (isCoin(currency) ? rate : rate.dividedBy(written.get(coin) ?? ONE));
    const direct = COINS.filter((coin) => coin !== currency).map((coin): Quote => ({
      currency,
      coin,
      rate: unitsOf(coin),
      quotedAtMs: null,
    }));
    const inverse = COINS.filter((coin) => coin === currency).flatMap((coin) =>
      direct.map((quote): Quote => ({ currency: quote.coin, coin, rate: ONE.dividedBy(rate), quotedAtMs: null })),
    );
    return [...direct, ...inverse];
  });
}
