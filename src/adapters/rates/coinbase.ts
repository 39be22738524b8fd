import { isCurrency } from '../../domain/money/currencies.ts';
import { COINS, type Coin } from '../../domain/money/money.ts';
import { endpoint, getJson } from './bounded-json.ts';
import { ONE, ProviderFailed, isRecord, readPrice, type Quote, type RateProvider } from './provider.ts';

const COINBASE_URL = 'https://api.coinbase.com';

/**
 * Coinbase's data API: one call per coin returns its price in every fiat currency known to Coinbase. Coinbase converts
 * USDC to US dollars at par by policy, so its USDC figures do not reflect the market and serve only as evidence. Shape:
 * https://docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates
 */
export function coinbaseProvider(baseUrl: string = COINBASE_URL): RateProvider {
  return {
    name: 'coinbase',
    minIntervalMs: 5_000,
    async fetchQuotes(nowMs, signal, heard) {
      const ask = async (coin: Coin): Promise<Quote[]> => {
        const { json, cachedForMs } = await getJson(
          endpoint(baseUrl, `v2/exchange-rates?currency=${coin}`),
          signal,
          heard,
        );
        return parseCoinbase(json, coin, nowMs() - cachedForMs);
      };
      // Waits for both even if one fails, so that no request is running after a refresh.
      const answers = await Promise.allSettled(COINS.map(ask));
      return answers.flatMap((answer) => {
        if (answer.status === 'rejected') throw answer.reason;
        return answer.value;
      });
    },
  };
}

export function parseCoinbase(json: unknown, coin: Coin, quotedAtMs: number): Quote[] {
  const data = isRecord(json) ? json['data'] : undefined;
  const rates = isRecord(data) && data['currency'] === coin ? data['rates'] : undefined;
  if (!isRecord(rates)) throw new ProviderFailed(`answered no rates of ${coin}`);
  const dollars = readPrice(rates['USD']);
  return Object.entries(rates).flatMap(([currency, value]): Quote[] => {
    const price = currency !== coin && isCurrency(currency) ? readPrice(value) : null;
    if (price === null) return [];
    const assumesPar =
      coin === 'USDC' ? dollars?.equals(1) === true : currency === 'USDC' && dollars?.equals(price) === true;
    return [
      { currency, coin, rate: ONE.dividedBy(price), quotedAtMs, ...(assumesPar ? { unusable: 'assumes_par' } : {}) },
    ];
  });
}
