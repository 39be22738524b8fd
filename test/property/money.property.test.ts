import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  amountOf,
  convertForPayer,
  convertRoundingDown,
  decimalsOf,
  formatAmount,
  fromTokenUnits,
  parseAmount,
  shownRate,
  toTokenUnits,
} from '../../src/domain/money/money.ts';

const units = fc.bigInt({ min: 0n, max: 10n ** 30n - 1n });
const decimals = fc.constantFrom(6, 18);

describe('amounts', () => {
  it('survive writing and reading to the last unit', () => {
    fc.assert(
      fc.property(
        units,
        fc.integer({ min: 0, max: 6 }),
        (value, shown) => void expect(parseAmount(formatAmount(value, shown))).toBe(value),
      ),
    );
  });

  it('are written as whole units, a point and the fraction without zeros that say nothing', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        fc.integer({ min: 0, max: 6 }),
        (value, shown) => {
          const size = value < 0n ? -value : value;
          const fraction = String(size % 10n ** 18n)
            .padStart(18, '0')
            .replace(/0+$/, '')
            .padEnd(shown, '0');
          const text = `${value < 0n ? '-' : ''}${size / 10n ** 18n}${fraction === '' ? '' : `.${fraction}`}`;
          expect(formatAmount(value, shown)).toBe(text);
        },
      ),
      {
        examples: [
          [0n, 0],
          [0n, 2],
          [0n, 6],
          [10n ** 18n, 0],
          [10n ** 18n, 2],
          [1n, 2],
          [-1n, 2],
          [5n * 10n ** 17n, 0],
        ],
      },
    );
  });

  it('convert to token units and back exactly, or not at all', () => {
    fc.assert(
      fc.property(units, decimals, (value, precision) => {
        const step = 10n ** BigInt(18 - precision);
        if (value % step === 0n) expect(fromTokenUnits(toTokenUnits(value, precision), precision)).toBe(value);
        else expect(() => toTokenUnits(value, precision)).toThrow(RangeError);
      }),
    );
  });

  it('read only the normal form', () => {
    for (const bad of [
      '1e309',
      'NaN',
      'Infinity',
      '-0',
      '-1',
      '+5',
      '0x10',
      '0b1',
      '1_000',
      '.5',
      '5.',
      '00.1',
      '01',
      '1,5',
      '１２',
      '١٢',
      '',
      ' 1',
      '1 ',
      '1\n',
      '1.',
      '1'.repeat(13),
      `0.${'1'.repeat(19)}`,
      '9'.repeat(1_000_000),
    ]) {
      expect(parseAmount(bad), bad.slice(0, 20)).toBeNull();
    }
    for (const good of ['0', '0.0', '10', '10.5', '999999999999.999999999999999999'])
      expect(parseAmount(good)).not.toBeNull();
  });

  it('read only strings whose value a strict grammar admits', () => {
    fc.assert(
      fc.property(
        fc.string(),
        (text) =>
          void expect(parseAmount(text) !== null).toBe(
            /^(0|[1-9]\d{0,11})(\.\d{1,18})?$/.test(text) && !text.includes('\n'),
          ),
      ),
    );
  });

  it('show at least the asked decimals', () => {
    expect(formatAmount(amountOf('10.5'))).toBe('10.50');
    expect(formatAmount(amountOf('10'), 0)).toBe('10');
    expect(formatAmount(amountOf('0.000001'))).toBe('0.000001');
    expect(decimalsOf('1.230')).toBe(3);
  });
});

describe('conversion', () => {
  const rate = fc.bigInt({ min: 1n, max: 10n ** 22n }).map((value) => formatAmount(value, 0));
  const amount = fc.bigInt({ min: 1n, max: 10n ** 26n });

  it('rounds the payer up and a refund down, never by a whole step', () => {
    fc.assert(
      fc.property(amount, rate, fc.integer({ min: 0, max: 6 }), (value, text, places) => {
        const up = convertForPayer(value, text, places, places);
        const down = convertRoundingDown(value, text, places);
        const exact = value * amountOf(text);
        const scale = 10n ** 18n;
        expect(up * scale >= exact && down * scale <= exact).toBe(true);
        expect(up - down).toBeLessThanOrEqual(10n ** BigInt(18 - places));
        expect(up % 10n ** BigInt(18 - places)).toBe(0n);
      }),
    );
  });

  it('adds at most a thousandth while decimals are left, with as few decimals as do', () => {
    fc.assert(
      fc.property(amount, rate, fc.integer({ min: 0, max: 6 }), (value, text, least) => {
        const due = convertForPayer(value, text, least, 6);
        const exact = value * amountOf(text);
        const isFair = (units: bigint): boolean => (units * 10n ** 18n - exact) * 1_000n <= exact;
        const used = Math.max(least, decimalsOf(formatAmount(due, 0)));
        expect(isFair(due) || due === convertForPayer(value, text, 6, 6)).toBe(true);
        for (let fewer = least; fewer < used; fewer += 1)
          expect(isFair(convertForPayer(value, text, fewer, fewer))).toBe(false);
      }),
    );
    expect(formatAmount(convertForPayer(amountOf('0.01'), '1.0001', 2, 6))).toBe('0.01001');
  });

  it('prints a rate whose product with the amount is what is due, to the last digit', () => {
    const cents = fc.bigInt({ min: 1n, max: 10n ** 9n }).map((value) => formatAmount(value * 10n ** 16n));
    const usual = fc.bigInt({ min: 10n ** 12n, max: 10n ** 20n }).map((value) => formatAmount(value, 0));
    fc.assert(
      fc.property(cents, usual, (total, text) => {
        const due = formatAmount(convertForPayer(amountOf(total), text, 2, 6));
        if (amountOf(due) === 0n) return;
        const step = 10n ** BigInt(18 - decimalsOf(due));
        const product = (amountOf(total) * amountOf(shownRate(total, due))) / 10n ** 18n;
        expect(((product + step / 2n) / step) * step).toBe(amountOf(due));
      }),
    );
    expect(shownRate('12.50', '13.51')).toBe('1.0808');
  });

  it('gives the amounts of the specification example', () => {
    expect(formatAmount(convertForPayer(amountOf('10.00'), '1.0002', 2, 6))).toBe('10.01');
    expect(formatAmount(convertForPayer(amountOf('10.00'), '1', 2, 6))).toBe('10.00');
  });
});
