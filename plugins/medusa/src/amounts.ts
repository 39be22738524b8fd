import type { Amount } from './medusa.ts';
import { ShopError } from './errors.ts';

const COIN_DECIMALS = 6;

/** What Medusa hands over, as a decimal string rounded to what the currency has: totals with taxes may be finer. */
export function amountOf(amount: Amount, currency: string): string {
  return sumOf([amount], currency);
}

/** The sum, rounded once: parts that are rounded one by one may add up to a cent more than the whole. */
export function sumOf(amounts: readonly Amount[], currency: string): string {
  const parts = amounts.map(partsOf);
  const decimals = decimalsOf(currency);
  const places = Math.max(decimals, ...parts.map(([, fraction]) => fraction.length));
  const total = parts.reduce((sum, [whole, fraction]) => sum + BigInt(whole + fraction.padEnd(places, '0')), 0n);
  const unit = 10n ** BigInt(places - decimals);
  return written((total + unit / 2n) / unit, decimals);
}

/** Both are written with the currency's decimals; never below zero. */
export function difference(one: string, other: string): string {
  const decimals = one.split('.')[1]?.length ?? 0;
  const left = BigInt(one.replace('.', '')) - BigInt(other.replace('.', ''));
  return written(left < 0n ? 0n : left, decimals);
}

function written(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function partsOf(amount: Amount): readonly [whole: string, fraction: string] {
  const text = textOf(amount);
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (parts === null)
    throw new ShopError('invalid_data', `amount must be a decimal number of at least zero, not ${text}`);
  return [parts[1] ?? '', parts[2] ?? ''];
}

/** As it was given, in digits. */
export function textOf(amount: Amount): string {
  if (typeof amount === 'string') return amount;
  if (typeof amount === 'number') return String(amount);
  if ('value' in amount) return String(amount.value);
  return 'numeric' in amount ? String(amount.numeric) : amount.toFixed();
}

function decimalsOf(currency: string): number {
  if (!/^[a-z]{3}$/i.test(currency)) return COIN_DECIMALS;
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}
