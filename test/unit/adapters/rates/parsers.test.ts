import { describe, expect, it } from 'vitest';
import { parseCoinbase } from '../../../../src/adapters/rates/coinbase.ts';
import { parseCoingecko } from '../../../../src/adapters/rates/coingecko.ts';
import { parseKraken } from '../../../../src/adapters/rates/kraken.ts';
import { ProviderFailed, type Quote } from '../../../../src/adapters/rates/provider.ts';
import { parseStatic, staticProvider } from '../../../../src/adapters/rates/static-rates.ts';

const AT_MS = 1_763_600_000_000;

const rateOf = (quotes: readonly Quote[], currency: string, coin: string): string | undefined =>
  quotes
    .find((quote) => quote.currency === currency && quote.coin === coin)
    ?.rate.toSignificantDigits(10)
    .toFixed();

const NOT_PRICES: readonly unknown[] = [
  0,
  -1,
  '0',
  '-1',
  '-0.5',
  '',
  ' 1',
  '1 ',
  '+1',
  '.5',
  '1.',
  '1e3',
  '0x10',
  'NaN',
  'Infinity',
  '1,5',
  '１',
  null,
  undefined,
  true,
  [],
  {},
  ['1'],
  NaN,
  Infinity,
  '9'.repeat(61),
];

/* Shape: https://docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates (the documented answer, for USDT). */
const coinbase = (coin: string, rates: unknown) => ({ data: { currency: coin, rates } });

describe("Coinbase's answer", () => {
  it('gives the coin units of one unit of each currency', () => {
    const quotes = parseCoinbase(
      coinbase('USDT', { AED: '3.6725', EUR: '0.8', USD: '0.99985', BTC: '0.0000105' }),
      'USDT',
      AT_MS,
    );
    expect(rateOf(quotes, 'EUR', 'USDT')).toBe('1.25');
    expect(rateOf(quotes, 'USD', 'USDT')).toBe('1.000150023');
    expect(quotes.map((quote) => quote.currency)).toEqual(['AED', 'EUR', 'USD']);
    expect(quotes.every((quote) => quote.quotedAtMs === AT_MS && quote.unusable === undefined)).toBe(true);
  });

  it('reads the long decimals it really sends', () => {
    const quotes = parseCoinbase(coinbase('USDT', { JPY: '157.4318856113143365644986761414795' }), 'USDT', AT_MS);
    expect(rateOf(quotes, 'JPY', 'USDT')).toBe('0.006351953393');
  });

  it('keeps USDC at par as evidence that must not be used', () => {
    const quotes = parseCoinbase(coinbase('USDC', { USD: '1', EUR: '0.86', USDT: '1.0003' }), 'USDC', AT_MS);
    expect(quotes.map((quote) => quote.unusable)).toEqual(['assumes_par', 'assumes_par', 'assumes_par']);
    const other = parseCoinbase(coinbase('USDT', { USD: '0.9991', EUR: '0.86', USDC: '0.9991' }), 'USDT', AT_MS);
    expect(other.map((quote) => quote.unusable)).toEqual([undefined, undefined, 'assumes_par']);
  });

  it('uses USDC figures again should Coinbase quote a market one day', () => {
    expect(parseCoinbase(coinbase('USDC', { USD: '0.88' }), 'USDC', AT_MS)[0]?.unusable).toBeUndefined();
  });

  it('leaves out every price that is not a positive plain decimal', () => {
    for (const value of NOT_PRICES)
      expect(parseCoinbase(coinbase('USDT', { EUR: value, USD: '1' }), 'USDT', AT_MS), String(value)).toHaveLength(1);
  });

  it('refuses responses about another coin or of another form', () => {
    for (const json of [
      null,
      [],
      'x',
      1,
      {},
      { data: null },
      coinbase('USDC', { USD: '1' }),
      coinbase('USDT', []),
      coinbase('USDT', null),
    ]) {
      expect(() => parseCoinbase(json, 'USDT', AT_MS), JSON.stringify(json)).toThrow(ProviderFailed);
    }
  });
});

/* Shape: https://docs.kraken.com/api/docs/rest-api/get-ticker-information (the documented members, for our pairs). */
const ticker = (bid: unknown, ask: unknown) => ({
  a: [ask, '1', '1.000'],
  b: [bid, '1', '1.000'],
  c: ['1.00010000', '0.00067643'],
  v: ['4083.67001100', '4412.73601799'],
  p: ['1.00005', '1.00004'],
  t: [34619, 38907],
  l: ['0.99990000', '0.99990000'],
  h: ['1.00030000', '1.00030000'],
  o: '1.00000000',
});
const kraken = (result: unknown, error: unknown = []) => ({ error, result });

describe("Kraken's answer", () => {
  it('gives the middle of bid and ask, under old and new pair names', () => {
    const quotes = parseKraken(
      kraken({ USDTZUSD: ticker('0.99990', '1.00010'), USDTEUR: ticker('0.79990', '0.80010') }),
      AT_MS,
    );
    expect(rateOf(quotes, 'USD', 'USDT')).toBe('1');
    expect(rateOf(quotes, 'EUR', 'USDT')).toBe('1.25');
  });

  it('gives coin to coin in both directions from one market', () => {
    const quotes = parseKraken(kraken({ USDCUSDT: ticker('0.8799', '0.8801') }), AT_MS);
    expect(rateOf(quotes, 'USDC', 'USDT')).toBe('0.88');
    expect(rateOf(quotes, 'USDT', 'USDC')).toBe('1.136363636');
  });

  it('leaves out pairs of other assets, broken prices, crossed and empty books', () => {
    for (const value of NOT_PRICES) {
      expect(parseKraken(kraken({ USDTZUSD: ticker(value, '1.0001') }), AT_MS), String(value)).toEqual([]);
      expect(parseKraken(kraken({ USDTZUSD: ticker('0.9999', value) }), AT_MS), String(value)).toEqual([]);
    }
    const strange = {
      XXBTZUSD: ticker('30300.0', '30300.1'),
      USDTZUSD: ticker('1.2', '0.8'),
      USDTEUR: ticker('0.7', '0.9'),
      USDCUSD: { a: 'x' },
      USDTXBT: ticker('0.00001', '0.00001'),
    };
    expect(parseKraken(kraken(strange), AT_MS)).toEqual([]);
  });

  it('refuses errors and other forms', () => {
    for (const json of [
      kraken({}, ['EGeneral:Too many requests']),
      { result: {} },
      kraken(null),
      null,
      [],
      'busy',
      { error: 'x', result: {} },
    ]) {
      expect(() => parseKraken(json, AT_MS), JSON.stringify(json)).toThrow(ProviderFailed);
    }
  });
});

/* Shape: https://docs.coingecko.com/v3.0.1/reference/simple-price (with `include_last_updated_at`). */
describe("CoinGecko's answer", () => {
  const updatedAtSec = 1_711_356_300;

  it('gives the coin units of one unit of each currency with its own time', () => {
    const quotes = parseCoingecko({ tether: { usd: 0.9995, eur: 0.8, last_updated_at: updatedAtSec } });
    expect(rateOf(quotes, 'EUR', 'USDT')).toBe('1.25');
    expect(quotes.every((quote) => quote.quotedAtMs === updatedAtSec * 1000)).toBe(true);
  });

  it('crosses the two coins over the dollar, so that a depeg shows', () => {
    const quotes = parseCoingecko({
      tether: { usd: 1, last_updated_at: updatedAtSec },
      'usd-coin': { usd: 0.88, last_updated_at: updatedAtSec - 60 },
    });
    const cross = quotes.find((quote) => quote.currency === 'USDC' && quote.coin === 'USDT');
    expect(cross?.rate.toSignificantDigits(30).toFixed()).toBe('0.88');
    expect(cross?.quotedAtMs).toBe((updatedAtSec - 60) * 1000);
  });

  it('leaves out every price that is not a positive finite number', () => {
    for (const value of NOT_PRICES) {
      expect(
        parseCoingecko({ tether: { usd: 1, eur: value, last_updated_at: updatedAtSec } }),
        String(value),
      ).toHaveLength(1);
    }
  });

  it('leaves out coins without a time, and refuses a response without any price', () => {
    for (const time of [undefined, null, 0, -1, 1.5, '1711356300', NaN]) {
      expect(() => parseCoingecko({ tether: { usd: 1, last_updated_at: time } }), String(time)).toThrow(ProviderFailed);
    }
    for (const json of [
      null,
      [],
      {},
      { tether: null },
      { bitcoin: { usd: 67187.33, last_updated_at: updatedAtSec } },
    ]) {
      expect(() => parseCoingecko(json), JSON.stringify(json)).toThrow(ProviderFailed);
    }
  });
});

describe('RATE_STATIC', () => {
  it('serves both coins alike and the currency exactly as written', async () => {
    const quotes = await staticProvider('USD=1.0002, EUR=1.08,CNY=0.139').fetchQuotes(
      () => AT_MS,
      new AbortController().signal,
    );
    expect(rateOf(quotes, 'USD', 'USDT')).toBe('1.0002');
    expect(rateOf(quotes, 'USD', 'USDC')).toBe('1.0002');
    expect(rateOf(quotes, 'CNY', 'USDT')).toBe('0.139');
    expect(rateOf(quotes, 'USDC', 'USDT')).toBe('1');
  });

  it('accepts a coin-to-coin rate if there is one', async () => {
    const quotes = await staticProvider('USD=1,USDC=0.8').fetchQuotes(() => AT_MS, new AbortController().signal);
    expect(rateOf(quotes, 'USDC', 'USDT')).toBe('0.8');
    expect(rateOf(quotes, 'USDT', 'USDC')).toBe('1.25');
    expect(rateOf(quotes, 'USD', 'USDT')).toBe('1');
    expect(rateOf(quotes, 'USD', 'USDC')).toBe('1.25');
  });

  it('refuses what it cannot read instead of guessing', () => {
    for (const text of [
      '',
      'USD',
      'USD=',
      'USD=0',
      'USD=-1',
      'USD=1=2',
      'usd=1',
      'XXX=1',
      'USD=1,USD=2',
      'USD=1;EUR=2',
      'USD=1e3',
      'USD=NaN',
      `USD=1.${'0'.repeat(18)}1`,
    ]) {
      expect(() => parseStatic(text), text).toThrow(/RATE_STATIC/);
    }
  });
});
