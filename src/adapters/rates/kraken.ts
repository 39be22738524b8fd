import { isCurrency } from '../../domain/money/currencies.ts';
import { COINS } from '../../domain/money/money.ts';
import { endpoint, getJson } from './bounded-json.ts';
import { ONE, ProviderFailed, isRecord, otherCoin, readPrice } from './provider.ts';
import type { HeardTime, Quote, RateProvider } from './provider.ts';

export const KRAKEN_URL = 'https://api.kraken.com';

/** Kraken refuses the whole request if it does not know one pair; then only the liquid markets are requested. */
const DEEP_PAIRS = ['USDTUSD', 'USDTEUR', 'USDCUSD', 'USDCEUR', 'USDCUSDT'];
const ALL_PAIRS = [
  ...DEEP_PAIRS,
  ...['GBP', 'JPY', 'CHF', 'CAD', 'AUD'].map((fiat) => `USDT${fiat}`),
  ...['GBP', 'CHF', 'CAD', 'AUD'].map((fiat) => `USDC${fiat}`),
];

/** A wider order book is not a usable market. */
const MAX_SPREAD = 0.02;

/**
 * Kraken's public ticker: the midpoint of best bid and best ask of each pair. Shape:
 * https://docs.kraken.com/api/docs/rest-api/get-ticker-information
 */
export function krakenProvider(baseUrl: string = KRAKEN_URL): RateProvider {
  let pairs = ALL_PAIRS;
  const ask = async (signal: AbortSignal, heard?: HeardTime) =>
    getJson(endpoint(baseUrl, `0/public/Ticker?pair=${pairs.join(',')}`), signal, heard);
  return {
    name: 'kraken',
    minIntervalMs: 5_000,
    async fetchQuotes(nowMs, signal, heard) {
      let answer = await ask(signal, heard);
      if (pairs !== DEEP_PAIRS && refusesPair(answer.json)) {
        pairs = DEEP_PAIRS;
        answer = await ask(signal);
      }
      return parseKraken(answer.json, nowMs() - answer.cachedForMs);
    },
  };
}

export const errorsOf = (json: unknown): unknown[] =>
  isRecord(json) && Array.isArray(json['error']) ? json['error'] : ['no error list'];
export const refusesPair = (json: unknown): boolean =>
  errorsOf(json).some((error) => typeof error === 'string' && error.includes('Unknown asset pair'));

export function parseKraken(json: unknown, quotedAtMs: number): Quote[] {
  const errors = errorsOf(json);
  if (errors.length > 0) throw new ProviderFailed(`answered an error: ${String(errors[0]).slice(0, 80)}`);
  const result = isRecord(json) ? json['result'] : undefined;
  if (!isRecord(result)) throw new ProviderFailed('answered no tickers');
  return Object.entries(result).flatMap(([pair, ticker]) => quotesOfPair(pair, ticker, quotedAtMs));
}

function quotesOfPair(pair: string, ticker: unknown, quotedAtMs: number): Quote[] {
  const coin = COINS.find((it) => pair.startsWith(it));
  const price = isRecord(ticker) ? middle(ticker['b'], ticker['a']) : null;
  if (coin === undefined || price === null) return [];
  const quoted = pair.slice(coin.length).replace(/^Z(?=[A-Z]{3}$)/, '');
  if (!isCurrency(quoted) || quoted === coin) return [];
  const direct: Quote = { currency: quoted, coin, rate: ONE.dividedBy(price), quotedAtMs };
  if (quoted !== otherCoin(coin)) return [direct];
  return [direct, { currency: coin, coin: otherCoin(coin), rate: price, quotedAtMs }];
}

/** Ask and bid are arrays whose first element is the price. */
function middle(bid: unknown, ask: unknown): ReturnType<typeof readPrice> {
  const low = Array.isArray(bid) ? readPrice(bid[0]) : null;
  const high = Array.isArray(ask) ? readPrice(ask[0]) : null;
  if (low === null || high === null || high.lessThan(low)) return null;
  const price = low.plus(high).dividedBy(2);
  return high.minus(low).dividedBy(price).greaterThan(MAX_SPREAD) ? null : price;
}
