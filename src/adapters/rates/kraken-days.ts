import { setTimeout as sleep } from 'node:timers/promises';
import { dayOf, startOfDaySec } from '../../domain/values/calendar.ts';
import type { DailyRates } from '../../ports/rates/daily-rates.ts';
import { endpoint, getJson } from './bounded-json.ts';
import { isRecord, priceText, ProviderFailed } from './provider.ts';
import { errorsOf, KRAKEN_URL, refusesPair } from './kraken.ts';
import { must } from '../../domain/values/must.ts';

const DAY_SEC = 86_400;
const TIMEOUT_MS = 10_000;
/** Kraken allows about one public request a second. */
const PAUSE_MS = 1_100;

/**
 * Closing prices of Kraken's daily candles, at most the newest 720. The close of a day is the rate at the start of the
 * next. Shape: https://docs.kraken.com/api-reference/market-data/get-ohlc-data
 */
export function krakenDays(baseUrl: string = KRAKEN_URL, pauseMs: number = PAUSE_MS): DailyRates {
  return {
    source: 'Kraken, daily close',
    async rates(coin, currency, days, signal) {
      await sleep(pauseMs, undefined, { signal });
      const since = startOfDaySec(must(days[0])) - DAY_SEC - 1;
      const path = `0/public/OHLC?pair=${coin}${currency}&interval=1440&since=${since}`;
      const { json } = await getJson(
        endpoint(baseUrl, path),
        AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      );
      if (refusesPair(json)) return new Map();
      const closes = parseKrakenDays(json);
      return new Map([...closes].filter(([day]) => days.includes(day)));
    },
  };
}

/** The rate at the start of each day. Drops the last candle, whose day is not over. */
function parseKrakenDays(json: unknown): Map<string, string> {
  const [error] = errorsOf(json);
  if (error !== undefined) throw new ProviderFailed(`answered an error: ${JSON.stringify(error).slice(0, 80)}`);
  const result = isRecord(json) && isRecord(json['result']) ? json['result'] : {};
  const candles = Object.entries(result).flatMap(([name, value]) =>
    name !== 'last' && Array.isArray(value) ? [value as unknown[]] : [],
  );
  if (candles.length !== 1) throw new ProviderFailed('answered no candles of one pair');
  return new Map(
    must(candles[0])
      .slice(0, -1)
      .flatMap((candle) => closeOf(candle)),
  );
}

function closeOf(candle: unknown): (readonly [day: string, rate: string])[] {
  if (!Array.isArray(candle)) return [];
  const startSec: unknown = candle[0];
  const close = priceText(candle[4]);
  if (typeof startSec !== 'number' || !Number.isSafeInteger(startSec) || startSec % DAY_SEC !== 0 || close === null)
    return [];
  return [[dayOf(startSec + DAY_SEC), close]];
}
