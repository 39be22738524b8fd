import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge, rateText, type Testimony } from '../../../../src/adapters/rates/judge-quotes.ts';
import { isSane } from '../../../../src/adapters/rates/sanity-band.ts';
import { FIAT_CODES } from '../../../../src/domain/money/currencies.ts';
import { parseAmount } from '../../../../src/domain/money/money.ts';

const NOW_MS = 1_763_600_000_000;
const MAX_AGE_MS = 300_000;

const says = (rate: string | number, ageMs = 1000, provider = `p${rate}`): Testimony => ({
  provider,
  quote: { currency: 'EUR', coin: 'USDT', rate: new Decimal(rate), quotedAtMs: NOW_MS - ageMs },
});
const about = (currency: string, ...testimonies: Testimony[]) => judge(currency, testimonies, NOW_MS, MAX_AGE_MS);
const reasons = (...testimonies: Testimony[]) =>
  about('EUR', ...testimonies).quotes.map((quote) => (quote.used ? 'used' : quote.reason));

describe('judging quotes', () => {
  it('takes the median of those that agree', () => {
    expect(about('EUR', says('1.160'), says('1.170'), says('1.165')).rate).toBe('1.165');
    expect(about('EUR', says('1.16'), says('1.17')).rate).toBe('1.165');
    expect(about('EUR', says('1.1650001')).rate).toBe('1.1650001');
  });

  it('drops an outlier and says so', () => {
    const judgement = about('EUR', says('1.16'), says('1.45'), says('1.17'));
    expect(judgement.rate).toBe('1.165');
    expect(judgement.quotes).toMatchObject([
      { used: true },
      { used: false, reason: 'outlier', rate: '1.45' },
      { used: true },
    ]);
  });

  it('gives no rate when two contradict each other or all are apart', () => {
    expect(about('EUR', says('1.10'), says('1.20'))).toMatchObject({ rate: null });
    expect(about('EUR', says('1.00'), says('1.16'), says('1.30')).rate).toBeNull();
    expect(reasons(says('1.00'), says('1.16'), says('1.30'))).toEqual(['outlier', 'no_majority', 'outlier']);
  });

  it('never uses a stale quote, nor one from the future', () => {
    expect(reasons(says('1.16', MAX_AGE_MS), says('1.17', MAX_AGE_MS + 1), says('1.165', -60_001))).toEqual([
      'used',
      'stale',
      'from_the_future',
    ]);
    expect(about('EUR', says('1.17', MAX_AGE_MS + 1)).rate).toBeNull();
  });

  it('never uses a misplaced decimal point, even from the only provider', () => {
    for (const factor of ['1e6', '1e-6', '100', '0.01', '10', '0.1']) {
      expect(about('EUR', says(new Decimal('1.16').times(factor).toFixed())), factor).toMatchObject({
        rate: null,
        quotes: [{ used: false, reason: 'out_of_band' }],
      });
    }
  });

  it('shows a depeg instead of hiding it', () => {
    const usd = (rate: string): Testimony => ({
      provider: 'x',
      quote: { currency: 'USD', coin: 'USDC', rate: new Decimal(rate), quotedAtMs: NOW_MS },
    });
    expect(judge('USD', [usd('1.136')], NOW_MS, MAX_AGE_MS).rate).toBe('1.136');
    expect(judge('USD', [usd('3')], NOW_MS, MAX_AGE_MS).rate).toBeNull();
  });

  it('keeps as evidence what every provider said and how old it was', () => {
    const judgement = about('EUR', says('1.16', 5_000, 'kraken'), {
      provider: 'coinbase',
      quote: null,
      reason: 'no_answer',
    });
    expect(judgement.quotes).toEqual([
      { provider: 'kraken', rate: '1.16', quotedAtMs: NOW_MS - 5_000, ageMs: 5_000, used: true },
      { provider: 'coinbase', rate: null, quotedAtMs: null, ageMs: null, used: false, reason: 'no_answer' },
    ]);
    expect(judgement.rule).toBe('median.v1 max_age=300s max_deviation=2%');
  });

  it('one liar among three moves the rate no further than the honest ones lie apart', () => {
    const near = fc.double({ min: 1.155, max: 1.165, noNaN: true });
    const anything = fc.double({ min: 1e-9, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(near, near, anything, (one, two, lie) => {
        const { rate } = about('EUR', says(one), says(lie), says(two));
        const low = Math.min(one, two);
        const high = Math.max(one, two);
        if (rate !== null) expect(Number(rate) >= low * 0.99 && Number(rate) <= high * 1.01).toBe(true);
      }),
    );
  });
});

describe('the sanity band', () => {
  it('accepts one unit of every ISO currency at an everyday magnitude', () => {
    const cheap = new Decimal('0.0000009');
    const unlisted = FIAT_CODES.filter((code) => isSane(code, cheap));
    // Only currencies that lost or may lose magnitudes have no band of their own.
    expect(unlisted).toEqual(['ARS', 'IRR', 'KPW', 'LBP', 'SDG', 'SLE', 'SSP', 'SYP', 'VED', 'VES', 'ZWG']);
  });

  it('allows for a crash but not for two digits', () => {
    expect(isSane('JPY', new Decimal('0.0066'))).toBe(true);
    expect(isSane('JPY', new Decimal('0.003'))).toBe(true);
    expect(isSane('JPY', new Decimal('0.66'))).toBe(false);
    expect(isSane('JPY', new Decimal('0.000066'))).toBe(false);
  });
});

describe('a rate as text', () => {
  it('is an amount in normal form with at most 18 decimals, within 12 digits of the value', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-8, max: 1e6, noNaN: true }), (value) => {
        const text = rateText(new Decimal(value));
        expect(parseAmount(text)).not.toBeNull();
        expect(new Decimal(text).minus(value).abs().dividedBy(value).toNumber()).toBeLessThan(1e-10);
      }),
    );
    expect(rateText(new Decimal('1.0002'))).toBe('1.0002');
    expect(rateText(new Decimal(1).dividedBy(3))).toBe('0.333333333333');
  });
});
