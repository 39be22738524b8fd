import { afterEach, expect, it } from 'vitest';
import { createRates } from '../../../../src/adapters/rates/create-rates.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import { ClockCheck } from '../../../../src/runtime/util/clock-check.ts';
import { startPriceFeed } from '../../../support/price-feed.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

it('the clocks of rate providers are read, even from an unusable response', async () => {
  const feed = await startPriceFeed();
  feed.setClock(7_200_000);
  const check = new ClockCheck(systemClock);
  const urls = { coinbase: feed.url, kraken: feed.url, coingecko: feed.url };
  const rates = createRates(
    { providers: ['coinbase', 'kraken', 'coingecko'], staticText: '', urls, maxAgeSec: 300 },
    systemClock,
    undefined,
    check.heard,
  );
  ends.push(
    () => feed.close(),
    () => rates.close(),
  );
  await expect.poll(() => check.verdict().witnesses.length).toBe(3);
  expect(check.verdict()).toMatchObject({
    isInDoubt: true,
    witnesses: [{ source: 'coinbase', agrees: false }, {}, {}],
  });
  expect(Math.abs(check.verdict().offsetMs! + 7_200_000)).toBeLessThan(3_000);
});
