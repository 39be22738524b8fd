import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { coingeckoDays } from '../../../../src/adapters/rates/coingecko-days.ts';
import { createDailyRates } from '../../../../src/adapters/rates/daily-rates.ts';
import { krakenDays } from '../../../../src/adapters/rates/kraken-days.ts';
import { krakenCandlesJson, startPriceFeed, type PriceFeed } from '../../../support/price-feed.ts';

const DAYS = ['2026-11-20', '2026-11-21', '2026-11-22'];
const { signal } = new AbortController();
const secOf = (day: string): number => Date.parse(day) / 1000;

describe('what sources say about past days', () => {
  let feed: PriceFeed;
  beforeEach(async () => {
    feed = await startPriceFeed();
  });
  afterEach(() => feed.close());

  it('is the close of the day before at Kraken, without the candle of a day that is not over', async () => {
    const candle = (day: string, close: unknown) => [secOf(day), '1', '1', '1', close, '1', '1.5', 7];
    const candles = [candle('2026-11-19', '2345.67'), candle('2026-11-20', '2400.10'), candle('2026-11-21', '2410.00')];
    feed.answerJson(() => ({ error: [], result: { XETHZEUR: candles, last: 1 } }));
    expect(await krakenDays(feed.url, 0).rates('ETH', 'EUR', DAYS, signal)).toEqual(
      new Map([
        ['2026-11-20', '2345.67'],
        ['2026-11-21', '2400.1'],
      ]),
    );
    expect(feed.requests).toEqual([`/0/public/OHLC?pair=ETHEUR&interval=1440&since=${secOf('2026-11-19') - 1}`]);
    feed.answerJson((path) => krakenCandlesJson('0.92', path, Date.parse('2026-11-22T01:00:00Z')));
    expect([...(await krakenDays(feed.url, 0).rates('USDT', 'EUR', DAYS, signal)).keys()]).toEqual(DAYS);
  });

  it('is nothing at Kraken for a pair it does not have, and no day for what cannot be read', async () => {
    feed.answerJson(() => ({ error: ['EQuery:Unknown asset pair'] }));
    expect(await krakenDays(feed.url, 0).rates('TRX', 'JPY', DAYS, signal)).toEqual(new Map());
    const odd = [
      [secOf('2026-11-19') + 60, '1', '1', '1', '2.5'],
      [secOf('2026-11-19'), '1', '1', '1', '-2.5'],
      'x',
      [secOf('2026-11-20')],
      [],
    ];
    feed.answerJson(() => ({ error: [], result: { TRXEUR: odd } }));
    expect(await krakenDays(feed.url, 0).rates('TRX', 'EUR', DAYS, signal)).toEqual(new Map());
    for (const answer of [{ error: ['EService:Busy'] }, { error: [], result: {} }, []]) {
      feed.answerJson(() => answer);
      await expect(krakenDays(feed.url, 0).rates('TRX', 'EUR', DAYS, signal)).rejects.toThrow(/answered/);
    }
  });

  it('is the snapshot of midnight at CoinGecko, for the requested coin', async () => {
    feed.answerJson((path) => {
      if (path.includes('22-11-2026')) return { id: 'binancecoin', symbol: 'bnb' };
      return {
        id: path.includes('21-11-2026') ? 'bitcoin' : 'binancecoin',
        market_data: { current_price: { eur: 812.345, usd: 900 } },
      };
    });
    expect(await coingeckoDays(feed.url, 0).rates('BNB', 'EUR', DAYS, signal)).toEqual(
      new Map([['2026-11-20', '812.345']]),
    );
    expect(feed.requests[0]).toBe('/api/v3/coins/binancecoin/history?date=20-11-2026&localization=false');
    expect(await coingeckoDays(feed.url, 0).rates('DOGE', 'EUR', DAYS, signal)).toEqual(new Map());
  });

  it('is asked of those providers of orders that keep past days, in their order', () => {
    const sources = createDailyRates({ providers: ['coinbase', 'coingecko', 'static', 'kraken'], urls: {} });
    expect(sources.map(({ source }) => source)).toEqual(['CoinGecko, 00:00 UTC', 'Kraken, daily close']);
  });
});
