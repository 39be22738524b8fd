import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf, formatAmount, least } from '../../../../src/domain/money/money.ts';
import { toleranceOf } from '../../../../src/domain/money/tolerance.ts';

/** Of the operator; the amount is larger than anything below, unless it is tested. */
const bounds = (maxPercent: number, max = '999999999999') => ({ maxPercent, max });
const tolerated = (due: string, tolerance: string, tolerancePercent?: string | null, maxPercent = 5): string =>
  formatAmount(
    toleranceOf(
      { tolerance, ...(tolerancePercent !== undefined && { tolerancePercent }) },
      amountOf(due),
      bounds(maxPercent),
    ),
  );

const MICRO = 10n ** 12n;
const units = fc.bigInt({ min: 0n, max: 10n ** 30n - 1n });
const amount = fc.bigInt({ min: 0n, max: 5n * 10n ** 17n - 1n }).map((micros) => micros * MICRO);
const basisPoints = fc.integer({ min: 0, max: 5_000 });
const maxPercent = fc.integer({ min: 0, max: 50 });
const percentText = (points: number): string => `${Math.floor(points / 100)}.${String(points % 100).padStart(2, '0')}`;
const shared = (due: bigint, cap: bigint, points: number, max: number): bigint =>
  toleranceOf({ tolerance: formatAmount(cap), tolerancePercent: percentText(points) }, due, bounds(max));

describe('the tolerance', () => {
  it('is the amount alone where there is no share, bounded by the operator', () => {
    for (const none of [undefined, null]) {
      expect(tolerated('100.00', '1.00', none)).toBe('1.00');
      expect(tolerated('10.00', '1.00', none)).toBe('0.50');
      expect(tolerated('100.00', '0', none)).toBe('0.00');
      expect(tolerated('0.000001', '1.00', none)).toBe('0.00000005');
    }
  });

  it('is the share, the amount or what the operator allows, whichever is least', () => {
    expect(tolerated('100.00', '2.00', '1')).toBe('1.00');
    expect(tolerated('1000.00', '2.00', '1')).toBe('2.00');
    expect(tolerated('100.00', '9.00', '5', 3)).toBe('3.00');
    expect(tolerated('100.00', '9.00', '0.01')).toBe('0.01');
  });

  it("has no cap but the operator's where the amount is 0, and is nothing where the share is", () => {
    expect(tolerated('1000.00', '0', '1.25')).toBe('12.50');
    expect(tolerated('1000.00', '0.00', '5', 2)).toBe('20.00');
    expect(tolerated('1000.00', '5', '0')).toBe('0.00');
  });

  it('is rounded down to the decimals of a coin', () => {
    expect(tolerated('19.99', '0', '0.33')).toBe('0.065967');
    expect(tolerated('10.000001', '0', '1')).toBe('0.10');
    expect(tolerated('0.000019', '0', '5')).toBe('0.00');
  });

  it('is never more than any of the three, never negative, and at most one millionth below the least of them', () => {
    fc.assert(
      fc.property(units, amount, basisPoints, maxPercent, (due, cap, points, max) => {
        const found = shared(due, cap, points, max);
        expect(found >= 0n && found % MICRO === 0n).toBe(true);
        expect(found * 10_000n <= due * BigInt(points)).toBe(true);
        expect(found * 100n <= due * BigInt(max)).toBe(true);
        if (cap > 0n) expect(found <= cap).toBe(true);
        const share = least(due * BigInt(points), due * BigInt(max) * 100n);
        expect((found + MICRO) * 10_000n > (cap > 0n ? least(share, cap * 10_000n) : share)).toBe(true);
      }),
    );
  });

  it("never decreases when the amount due, the share, the cap above zero or the operator's bound increases", () => {
    fc.assert(
      fc.property(
        units,
        amount,
        basisPoints,
        maxPercent,
        units,
        amount,
        basisPoints,
        maxPercent,
        (due, cap, points, max, moreDue, moreCap, ...more) => {
          const [morePoints, moreMax] = more;
          const found = shared(due, cap, points, max);
          expect(shared(due + moreDue, cap, points, max) >= found).toBe(true);
          expect(shared(due, cap, Math.min(points + morePoints, 5_000), max) >= found).toBe(true);
          expect(shared(due, cap, points, Math.min(max + moreMax, 50)) >= found).toBe(true);
          if (cap > 0n) expect(shared(due, cap + moreCap, points, max) >= found).toBe(true);
        },
      ),
    );
  });

  it('without a share is the amount, bounded by the operator', () => {
    fc.assert(
      fc.property(units, amount, maxPercent, (due, cap, max) => {
        expect(toleranceOf({ tolerance: formatAmount(cap) }, due, bounds(max))).toBe(
          least(cap, (due * BigInt(max)) / 100n),
        );
      }),
    );
  });

  it("is never more than the operator's amount, whatever the merchant and the share allow", () => {
    fc.assert(
      fc.property(units, amount, basisPoints, maxPercent, amount, (due, cap, points, percent, most) => {
        const both = { tolerance: formatAmount(cap), tolerancePercent: percentText(points) };
        const free = toleranceOf(both, due, bounds(percent));
        expect(toleranceOf(both, due, bounds(percent, formatAmount(most)))).toBe(least(free, most));
      }),
    );
  });
});
