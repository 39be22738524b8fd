import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf, formatAmount } from '../../../../src/domain/money/money.ts';
import { isQuantity, lineTotal, unlistedAmount } from '../../../../src/domain/money/order-parts.ts';

const item = (unitAmount: string, quantity?: number, currency = 'EUR') => ({
  price_data: { currency, unit_amount: unitAmount, product_data: { name: 'Mug' } },
  quantity,
});
const rest = (amount: string, lineItems: ReturnType<typeof item>[], more: object = {}): string | null => {
  const order = { amount, currency: 'EUR', taxAmount: null, shippingAmount: null, lineItems, ...more };
  const units = unlistedAmount(order);
  return units === null ? null : formatAmount(units);
};

describe('the parts of an order', () => {
  it.each([
    ['items alone', rest('7.00', [item('3.50', 2)]), '0.00'],
    ['a missing quantity counts as one', rest('3.50', [item('3.50')]), '0.00'],
    ['tax and shipping on top', rest('10.00', [item('3.50', 2)], { taxAmount: '1', shippingAmount: '2.00' }), '0.00'],
    ['a discount', rest('9.00', [item('10.00')]), '-1.00'],
    ['something unnamed', rest('11.00', [item('10.00')]), '1.00'],
    ['tax that is inside the prices', rest('10.00', [item('10.00')], { taxAmount: '1.60' }), '-1.60'],
    ['a line rounded up', rest('1.40', [item('3.99', 0.35)]), '0.00'],
    ['a line rounded down', rest('1.39', [item('3.99', 0.35)]), '0.00'],
    ['more than rounding', rest('1.41', [item('3.99', 0.35)]), '0.0135'],
    ['a cent is no rounding when every line is whole', rest('7.01', [item('3.50', 2)]), '0.01'],
    ['other currencies', rest('7.00', [item('3.50', 2), item('1.00', 1, 'USD')]), null],
    ['a currency in small letters', rest('7.00', [item('3.50', 2, 'eur')]), '0.00'],
    ['only tax and shipping', rest('10.00', [], { taxAmount: '2.00', shippingAmount: '3.00' }), '0.00'],
    ['more tax than the total', rest('1.00', [], { taxAmount: '2.00', shippingAmount: '3.00' }), '-4.00'],
  ])('are compared with its total: %s', (_, found, wanted) => expect(found).toBe(wanted));

  it('are exact for every price and quantity that is accepted', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 14n - 1n), fc.integer({ min: 1, max: 1e15 }), (cents, millionths) => {
        const quantity = millionths / 1e6;
        if (!isQuantity(quantity)) throw new Error(`${quantity} has six decimals`);
        const line = item(formatAmount(cents * 10n ** 16n), quantity);
        const exact = cents * BigInt(millionths) * 10n ** 10n;
        expect(lineTotal(line)).toBe(formatAmount(exact));
      }),
    );
  });

  it.each([1e-7, 0.1 + 0.2, 1.0000001, 1e21, Number.NaN, Number.POSITIVE_INFINITY, -1])(
    'have no quantity such as %d',
    (quantity) => expect(isQuantity(quantity)).toBe(false),
  );

  it('add up however each line is rounded', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.bigInt(1n, 10n ** 7n), fc.integer({ min: 1, max: 5_000_000 }), fc.boolean()), {
          minLength: 1,
          maxLength: 20,
        }),
        (lines) => {
          const cent = 10n ** 16n;
          const items = lines.map(([cents, millionths]) => item(formatAmount(cents * cent), millionths / 1e6));
          const total = items.reduce((sum, one, at) => {
            const exact = amountOf(lineTotal(one));
            return sum + (exact / cent + (lines[at]![2] && exact % cent !== 0n ? 1n : 0n)) * cent;
          }, 0n);
          expect(rest(formatAmount(total), items)).toBe('0.00');
        },
      ),
    );
  });
});
