import type { Amount } from './medusa.ts';

const COIN_DECIMALS = 6;

/** What Medusa hands over, as a decimal string rounded to what the currency has: totals with taxes may be finer. */
export function amountOf(amount: Amount, currency: string): string {
  const text = textOf(amount);
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (parts === null) throw new TypeError(`amount must be a decimal number of at least zero, not ${text}`);
  const decimals = decimalsOf(currency);
  const [, whole = '', fraction = ''] = parts;
  const scaled =
    BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0')) +
    (Number(fraction[decimals] ?? '0') >= 5 ? 1n : 0n);
  const digits = scaled.toString().padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function textOf(amount: Amount): string {
  if (typeof amount === 'string') return amount;
  if (typeof amount === 'number') return String(amount);
  if ('value' in amount) return String(amount.value);
  return 'numeric' in amount ? String(amount.numeric) : amount.toFixed();
}

function decimalsOf(currency: string): number {
  if (!/^[a-z]{3}$/i.test(currency)) return COIN_DECIMALS;
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}
