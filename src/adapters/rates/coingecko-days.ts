import { setTimeout as sleep } from 'node:timers/promises';
import { NATIVE_COIN } from '../../domain/networks/networks.ts';
import type { DailyRates } from '../../ports/rates/daily-rates.ts';
import { endpoint, getJson } from './bounded-json.ts';
import { COINGECKO_IDS, COINGECKO_URL } from './coingecko.ts';
import { isRecord, priceText } from './provider.ts';

const IDS: Readonly<Record<string, string>> = {
  ...COINGECKO_IDS,
  [NATIVE_COIN.ethereum]: 'ethereum',
  [NATIVE_COIN.bsc]: 'binancecoin',
  [NATIVE_COIN.tron]: 'tron',
  [NATIVE_COIN.solana]: 'solana',
};
const TIMEOUT_MS = 10_000;
/** Each day is one request, and about five a minute are allowed without a key. The rest follows in the next round. */
const MOST_DAYS = 3;
const PAUSE_MS = 13_000;

/**
 * CoinGecko's snapshots of 00:00 UTC within the past year. Shape: https://docs.coingecko.com/reference/coins-id-history
 */
export function coingeckoDays(baseUrl: string = COINGECKO_URL, pauseMs: number = PAUSE_MS): DailyRates {
  return {
    source: 'CoinGecko, 00:00 UTC',
    async rates(coin, currency, days, signal) {
      const found = new Map<string, string>();
      const id = IDS[coin];
      if (id === undefined) return found;
      for (const day of days.slice(-MOST_DAYS)) {
        await sleep(pauseMs, undefined, { signal });
        const path = `api/v3/coins/${id}/history?date=${day.split('-').toReversed().join('-')}&localization=false`;
        const { json } = await getJson(
          endpoint(baseUrl, path),
          AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        );
        const rate = parseCoingeckoDay(json, id, currency);
        if (rate !== null) found.set(day, rate);
      }
      return found;
    },
  };
}

function parseCoingeckoDay(json: unknown, id: string, currency: string): string | null {
  const market = isRecord(json) && json['id'] === id ? json['market_data'] : null;
  const prices = isRecord(market) ? market['current_price'] : null;
  return isRecord(prices) ? priceText(prices[currency.toLowerCase()]) : null;
}
