import type { LineItem } from '../events/session-personal-data.ts';
import { maxDecimals } from './currencies.ts';
import { amountOf, decimalsOf, formatAmount, parseAmount, SCALE } from './money.ts';

/** What the order's total is made of. Amounts are decimal strings in the order's currency. */
export interface OrderParts {
  readonly amount: string;
  readonly currency: string;
  readonly taxAmount: string | null;
  readonly shippingAmount: string | null;
  readonly lineItems: readonly LineItem[];
}

export const MAX_QUANTITY_DECIMALS = 6;

/** Products of a price and a quantity have more decimals than an amount. */
const EXTRA = 10n ** BigInt(MAX_QUANTITY_DECIMALS);

/** The quantity in millionths; null when it is not a decimal number with at most six decimals, such as 1e-7. */
function quantityOf(quantity: number): bigint | null {
  const text = String(quantity);
  const units = parseAmount(text);
  return units === null || decimalsOf(text) > MAX_QUANTITY_DECIMALS ? null : units / 10n ** BigInt(SCALE - 6);
}

export const isQuantity = (quantity: number): boolean => quantityOf(quantity) !== null;

function exactLine({ price_data, quantity = 1 }: LineItem): bigint {
  const count = quantityOf(quantity);
  if (count === null) throw new RangeError(`${quantity} is not a quantity`);
  return amountOf(price_data.unit_amount) * count;
}

/** What the item costs, exactly, with at least the decimals of its price. */
export const lineTotal = (item: LineItem): string =>
  formatAmount(exactLine(item) / EXTRA, decimalsOf(item.price_data.unit_amount));

const hasOneCurrency = ({ currency, lineItems }: OrderParts): boolean =>
  lineItems.every(({ price_data }) => price_data.currency.toUpperCase() === currency);

/**
 * What the total has beyond its parts, negative for a discount; `0` when the total is their sum, each line rounded up
 * or down to the currency's smallest unit. Without items, the total only has to cover tax and shipping. Null when the
 * items have prices in other currencies.
 */
export function unlistedAmount(order: OrderParts): bigint | null {
  const { amount, currency, taxAmount, shippingAmount, lineItems } = order;
  if (!hasOneCurrency(order)) return null;
  const lines = lineItems.map(exactLine);
  const extras = amountOf(taxAmount ?? '0') + amountOf(shippingAmount ?? '0');
  const rest = (amountOf(amount) - extras) * EXTRA - lines.reduce((sum, line) => sum + line, 0n);
  if (lines.length === 0) return rest < 0n ? rest / EXTRA : 0n;
  const smallest = EXTRA * 10n ** BigInt(SCALE - maxDecimals(currency));
  const rounded = BigInt(lines.filter((line) => line % smallest !== 0n).length);
  const isRounding = rest === 0n || (rest < 0n ? -rest : rest) < rounded * smallest;
  return isRounding ? 0n : rest / EXTRA;
}
