import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRates } from '../../src/adapters/rates/create-rates.ts';
import { coinbaseProvider } from '../../src/adapters/rates/coinbase.ts';
import { coingeckoProvider } from '../../src/adapters/rates/coingecko.ts';
import { krakenProvider } from '../../src/adapters/rates/kraken.ts';
import { MarketRates } from '../../src/adapters/rates/market-rates.ts';
import { ManualClock, coinbaseJson, coingeckoJson, krakenJson, startPriceFeed } from '../support/price-feed.ts';
import type { PriceFeed } from '../support/price-feed.ts';

let coinbase: PriceFeed;
let kraken: PriceFeed;
let coingecko: PriceFeed;
let clock: ManualClock;
let rates: MarketRates | undefined;
const failures: string[] = [];

const USDT = { USD: '1', USDC: '1', EUR: '0.8', KES: '129', CNY: '7.1' };

beforeEach(async () => {
  [coinbase, kraken, coingecko] = await Promise.all([startPriceFeed(), startPriceFeed(), startPriceFeed()]);
  clock = new ManualClock();
  failures.length = 0;
  coinbase.answerJson(coinbaseJson(USDT, { USD: '1', EUR: '0.8', KES: '129' }));
  kraken.answerJson(krakenJson({ USDTZUSD: '1', USDTEUR: '0.8', USDCUSD: '1', USDCUSDT: '1' }));
  coingecko.answerJson(
    coingeckoJson({ USD: '1', EUR: '0.8' }, { USD: '1', EUR: '0.8' }, Math.floor(clock.nowMs() / 1000)),
  );
});

afterEach(async () => {
  await rates?.close();
  rates = undefined;
  await Promise.all([coinbase.close(), kraken.close(), coingecko.close()]);
});

function start(options: { firstWaitMs?: number; maxAgeMs?: number } = {}): MarketRates {
  rates = new MarketRates({
    providers: [coinbaseProvider(coinbase.url), krakenProvider(kraken.url), coingeckoProvider(coingecko.url)],
    clock,
    maxAgeMs: options.maxAgeMs ?? 300_000,
    refreshEveryMs: 3_600_000,
    firstWaitMs: options.firstWaitMs ?? 10_000,
    onProviderFailure: (provider, message) => failures.push(`${provider} ${message}`),
  });
  return rates;
}

const down = (feed: PriceFeed): void =>
  feed.answer((_request, response) => void response.writeHead(500).end('<html>oops</html>'));
const hang = (feed: PriceFeed): void => feed.answer(() => undefined);

describe('a locked rate', () => {
  it('uses all three providers and records what each of them said', async () => {
    const lock = await start().lock('EUR', 'USDT', clock.nowMs());
    expect(lock).toMatchObject({
      rate: '1.25',
      lockedAtSec: Math.floor(clock.nowMs() / 1000),
      rule: expect.stringContaining('median.v1') as string,
    });
    expect(lock?.quotes.map((quote) => [quote.provider, quote.used])).toEqual([
      ['coinbase', true],
      ['kraken', true],
      ['coingecko', true],
    ]);
  });

  it('serves every currency that a single provider quotes', async () => {
    const lock = await start().lock('KES', 'USDT', clock.nowMs());
    expect(lock?.rate).toBe('0.0077519379845');
    expect(lock?.quotes.map((quote) => quote.reason)).toEqual([undefined, 'not_quoted', 'not_quoted']);
  });

  it('is null for a currency that nobody quotes, without waiting', async () => {
    const service = start();
    await service.lock('USD', 'USDT', clock.nowMs());
    const asked = coinbase.requests.length;
    expect(await service.lock('MWK', 'USDT', clock.nowMs())).toBeNull();
    expect(coinbase.requests).toHaveLength(asked);
  });

  it('outvotes a lying provider', async () => {
    kraken.answerJson(krakenJson({ USDTEUR: '0.5' }));
    expect((await start().lock('EUR', 'USDT', clock.nowMs()))?.rate).toBe('1.25');
  });

  it('shows the market value of USDC in USDT after a depeg, whatever Coinbase assumes', async () => {
    kraken.answerJson(krakenJson({ USDTZUSD: '1', USDCUSD: '0.88', USDCUSDT: '0.88' }));
    coingecko.answerJson(coingeckoJson({ USD: '1' }, { USD: '0.88' }, Math.floor(clock.nowMs() / 1000)));
    const service = start();
    expect((await service.lock('USDC', 'USDT', clock.nowMs()))?.rate).toBe('0.88');
    expect((await service.lock('USD', 'USDC', clock.nowMs()))?.rate).toBe('1.13636363636');
    expect((await service.lock('USDC', 'USDT', clock.nowMs()))?.quotes[0]).toMatchObject({
      provider: 'coinbase',
      used: false,
      reason: 'assumes_par',
    });
  });

  it('goes over USDT and the market between the coins when only Coinbase knows the currency', async () => {
    kraken.answerJson(krakenJson({ USDCUSDT: '0.88' }));
    coingecko.answerJson(coingeckoJson({ EUR: '0.8' }, { EUR: '0.8' }, Math.floor(clock.nowMs() / 1000)));
    const lock = await start().lock('KES', 'USDC', clock.nowMs());
    expect(lock?.rule).toContain('via=USDT');
    expect(Number(lock?.rate)).toBeCloseTo(1 / 129 / 0.88, 8);
    expect(lock?.quotes.filter((quote) => quote.used).map((quote) => quote.provider)).toEqual([
      'coinbase KES-USDT',
      'kraken USDT-USDC',
    ]);
  });
});

describe('the cache', () => {
  it('uses fresh quotes without a request', async () => {
    const service = start();
    await service.lock('EUR', 'USDT', clock.nowMs());
    for (const feed of [coinbase, kraken, coingecko]) hang(feed);
    clock.advance(299_000);
    expect((await service.lock('EUR', 'USDT', clock.nowMs()))?.quotes[0]).toMatchObject({ used: true, ageMs: 299_000 });
    expect(coinbase.requests).toHaveLength(2);
  });

  it('asks again once every quote is too old, and never serves an old one', async () => {
    const service = start();
    await service.lock('EUR', 'USDT', clock.nowMs());
    clock.advance(301_000);
    coinbase.answerJson(coinbaseJson({ EUR: '0.81' }, {}));
    down(kraken);
    down(coingecko);
    const lock = await service.lock('EUR', 'USDT', clock.nowMs());
    expect(lock?.rate).toBe('1.23456790123');
    expect(lock?.quotes.map((quote) => quote.reason)).toEqual([undefined, 'stale', 'stale']);
  });

  it('delays a first request only for a bounded time', async () => {
    for (const feed of [coinbase, kraken, coingecko]) hang(feed);
    expect(await start({ firstWaitMs: 50 }).lock('EUR', 'USDT', clock.nowMs())).toBeNull();
  });

  it('asks each provider once for any number of simultaneous questions', async () => {
    const service = start();
    await Promise.all(Array.from({ length: 50 }, () => service.lock('EUR', 'USDT', clock.nowMs())));
    expect([coinbase.requests.length, kraken.requests.length, coingecko.requests.length]).toEqual([2, 1, 1]);
  });

  it('gives the books a valuation without ever waiting', async () => {
    const service = start();
    expect(service.valuation('EUR', 'USDT', clock.nowMs())).toBeNull();
    await service.lock('EUR', 'USDT', clock.nowMs());
    expect(service.valuation('EUR', 'USDT', clock.nowMs())).toMatchObject({
      currency: 'EUR',
      coin: 'USDT',
      rate: '1.25',
    });
    clock.advance(301_000);
    expect(service.valuation('EUR', 'USDT', clock.nowMs())).toBeNull();
  });
});

describe('a provider that fails', () => {
  it('is left alone after three failures and asked again later, the pause growing', async () => {
    down(coinbase);
    const service = start();
    const ask = async () => service.lock('MWK', 'USDT', clock.nowMs());
    for (let failure = 1; failure <= 3; failure++) {
      await ask();
      clock.advance(6_000);
    }
    expect(service.status()[0]).toMatchObject({ provider: 'coinbase', breaker: 'open', lastError: 'answered 500' });
    const asked = coinbase.requests.length;
    await ask();
    expect(coinbase.requests).toHaveLength(asked);
    clock.advance(4_001);
    await ask();
    expect(coinbase.requests).toHaveLength(asked + 2);
    expect(service.status()[0]?.retryInMs).toBe(20_000);
  });

  it('is used again after one good response', async () => {
    down(coinbase);
    const service = start();
    for (let failure = 1; failure <= 3; failure++) {
      await service.lock('KES', 'USDT', clock.nowMs());
      clock.advance(11_000);
    }
    coinbase.answerJson(coinbaseJson(USDT, {}));
    expect((await service.lock('KES', 'USDT', clock.nowMs()))?.rate).toBe('0.0077519379845');
    expect(service.status()[0]).toMatchObject({ breaker: 'closed', lastError: null });
  });

  it('is not asked before the time it named itself', async () => {
    coinbase.answer((_request, response) => void response.writeHead(429, { 'retry-after': '120' }).end());
    const service = start();
    await service.lock('KES', 'USDT', clock.nowMs());
    const asked = coinbase.requests.length;
    clock.advance(119_000);
    await service.lock('KES', 'USDT', clock.nowMs());
    expect(coinbase.requests).toHaveLength(asked);
    clock.advance(2_000);
    await service.lock('KES', 'USDT', clock.nowMs());
    expect(coinbase.requests.length).toBeGreaterThan(asked);
  });
});

describe('a hostile feed', () => {
  const only = async (handler: Parameters<PriceFeed['answer']>[0]) => {
    coinbase.answer(handler);
    rates = new MarketRates({
      providers: [coinbaseProvider(coinbase.url)],
      clock,
      maxAgeMs: 300_000,
      firstWaitMs: 2_000,
      onProviderFailure: (_, message) => failures.push(message),
    });
    return rates.lock('EUR', 'USDT', clock.nowMs());
  };
  const json = (text: string) => async () =>
    only((_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text));
  const price = (value: string) => json(`{"data":{"currency":"USDT","rates":{"EUR":${value}}}}`);

  it.each([
    '0',
    '"0"',
    '-0.8',
    '"-0.8"',
    'null',
    '"NaN"',
    '"Infinity"',
    '1e400',
    '"800000"',
    '"0.0000008"',
    '800000',
    '{}',
    '[0.8]',
    '""',
    'true',
  ])('gets no rate from the price %s', async (value) => {
    expect(await price(value)()).toBeNull();
  });

  it.each([
    ['HTML', '<!doctype html><title>Maintenance</title>'],
    ['nothing', ''],
    ['half a document', '{"data":{"currency":"USDT","rates":{"EUR":"0.8"'],
    ['a prototype', '{"data":{"currency":"USDT","__proto__":{"rates":{"EUR":"0.8"}}}}'],
    ['deep nesting', '['.repeat(200_000)],
  ])('gets no rate from %s', async (_, text) => {
    expect(await json(text)()).toBeNull();
    expect(failures[0]).toMatch(/did not answer JSON|no rates/);
  });

  it('gets no rate from a body without end, and stops reading it', async () => {
    let sent = 0;
    const result = await only((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(64 * 1024, 0x20);
      const more = (): void => {
        if (response.destroyed || sent > 512) return;
        sent += 1;
        response.write(chunk, () => setImmediate(more));
      };
      more();
    });
    expect(result).toBeNull();
    expect(failures[0]).toContain('answered more than');
    expect(sent).toBeLessThan(512);
  });

  it('gets no rate from a small body that unpacks to a huge one', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
    expect(
      await only((_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)),
    ).toBeNull();
    expect(failures[0]).toContain('answered more than');
  });

  it('is not followed anywhere', async () => {
    expect(
      await only((_request, response) => void response.writeHead(302, { location: `${kraken.url}/` }).end()),
    ).toBeNull();
    expect(kraken.requests).toEqual([]);
  });

  it('that trickles a byte at a time delays nobody longer than the first wait', async () => {
    coinbase.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    rates = new MarketRates({
      providers: [coinbaseProvider(coinbase.url)],
      clock,
      maxAgeMs: 300_000,
      firstWaitMs: 100,
    });
    expect(await rates.lock('EUR', 'USDT', clock.nowMs())).toBeNull();
  });
});

describe('Kraken', () => {
  it('falls back to the deep markets when it no longer knows one of the pairs', async () => {
    kraken.answerJson((path) =>
      path.includes('USDTCHF') ? { error: ['EQuery:Unknown asset pair'] } : krakenJson({ USDTEUR: '0.8' })(),
    );
    rates = new MarketRates({ providers: [krakenProvider(kraken.url)], clock, maxAgeMs: 300_000 });
    expect((await rates.lock('EUR', 'USDT', clock.nowMs()))?.rate).toBe('1.25');
  });
});

describe('the installation', () => {
  const settings = { staticText: 'USD=1.0002,EUR=1.08,CNY=0.139', urls: {}, maxAgeSec: 300 };

  it('serves fixed rates from the first request on, however the clock stalls or jumps', async () => {
    rates = createRates({ ...settings, providers: ['static'] }, clock);
    expect(await rates.lock('USD', 'USDT', clock.nowMs())).toMatchObject({
      rate: '1.0002',
      lockedAtSec: Math.floor(clock.nowMs() / 1000),
      quotes: [{ provider: 'static', used: true, ageMs: 0 }],
    });
    clock.advance(86_400_000);
    expect((await rates.lock('CNY', 'USDC', clock.nowMs()))?.rate).toBe('0.139');
    expect(await rates.lock('JPY', 'USDT', clock.nowMs())).toBeNull();
  });

  it('asks the addresses of the settings, under their own path', async () => {
    rates = createRates(
      {
        ...settings,
        providers: ['coinbase', 'kraken', 'coingecko'],
        urls: { coinbase: `${coinbase.url}/mirror`, kraken: kraken.url, coingecko: `${coingecko.url}/` },
      },
      clock,
    );
    await rates.lock('EUR', 'USDT', clock.nowMs());
    expect(coinbase.requests).toContain('/mirror/v2/exchange-rates?currency=USDT');
    expect(kraken.requests[0]).toMatch(/^\/0\/public\/Ticker\?pair=USDTUSD,/);
    expect(coingecko.requests[0]).toMatch(/^\/api\/v3\/simple\/price\?ids=tether,usd-coin&vs_currencies=usd,/);
  });

  it('says only for fixed rates which currencies will never be quoted', async () => {
    const ask = async (providers: Parameters<typeof createRates>[0]['providers']): Promise<boolean[]> => {
      const fixed = createRates({ ...settings, urls: { coinbase: 'http://127.0.0.1:9' }, providers }, clock);
      const asked = ['USD', 'CNY', 'USDC', 'GBP'].map((currency) => fixed.mayQuote(currency));
      await fixed.close();
      return asked;
    };
    expect(await ask(['static'])).toEqual([true, true, true, false]);
    expect(await ask(['static', 'coinbase'])).toEqual([true, true, true, true]);
  });

  it('does not start with settings it cannot read', () => {
    expect(() => createRates({ ...settings, providers: ['static'], staticText: 'USD:1' }, clock)).toThrow(
      /RATE_STATIC/,
    );
    expect(() => createRates({ ...settings, providers: [] }, clock)).toThrow(/RATE_PROVIDERS/);
  });
});
