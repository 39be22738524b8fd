import { memoized } from '../values/memoized.ts';
import { must } from '../values/must.ts';

/** The stablecoins a payer can pay with. */
export const COINS = ['USDT', 'USDC'] as const;
export type Coin = (typeof COINS)[number];

export const isCoin = (text: string): text is Coin => text === 'USDT' || text === 'USDC';

/**
 * Every amount inside the core is a `bigint` of 10^-18 units, the finest precision of any supported token (BSC uses 18
 * decimals), so amounts of one coin on different networks add up without rounding.
 */
export const SCALE = 18;
/** Powers of ten by exponent: computing them anew costs more than the arithmetic that uses them. */
const POWERS: readonly bigint[] = Array.from({ length: 2 * SCALE + 1 }, (_, exponent) => 10n ** BigInt(exponent));
function powerOf(exponent: number): bigint {
  const power = POWERS[exponent];
  if (power === undefined) throw new RangeError(`no coin has amounts that need 10^${exponent}`);
  return power;
}

const ONE = powerOf(SCALE);
const ZEROS = '0'.repeat(SCALE);

/** Amounts at or above this many whole units are refused (design, "normal form of amounts"). */
export const MAX_WHOLE_UNITS = 10n ** 12n;

/** The same in 10^-18 units. */
export const MAX_UNITS = MAX_WHOLE_UNITS * powerOf(SCALE);

const NORMAL_FORM = /^(0|[1-9]\d{0,11})(?:\.(\d{1,18}))?$/;
const MAX_TEXT_LENGTH = 40;

/** Reads a decimal string in normal form into 10^-18 units; null when it is anything else. Never rounds. */
export function parseAmount(text: string): bigint | null {
  if (text.length > MAX_TEXT_LENGTH) return null;
  const match = NORMAL_FORM.exec(text);
  if (!match) return null;
  const fraction = match[2] ?? '';
  return BigInt(must(match[1]) + fraction) * powerOf(SCALE - fraction.length);
}

/** Like `parseAmount` for text the service wrote itself, such as event data: unreadable text is a bug. */
export const amountOf = memoized(4_096, (text: string): bigint => {
  const units = parseAmount(text);
  if (units === null) throw new Error(`not an amount in normal form: ${text.slice(0, MAX_TEXT_LENGTH)}`);
  return units;
});

/** Reads what `formatAmount` wrote: one of the service's own balances, of any size and sign. Anything else is a bug. */
export function signedAmountOf(text: string): bigint {
  const point = text.indexOf('.');
  if (point < 0) return BigInt(text) * ONE;
  return BigInt(text.slice(0, point) + text.slice(point + 1)) * powerOf(SCALE - (text.length - point - 1));
}

const DIGIT_ZERO = 0x30;

/** Writes 10^-18 units as a decimal string with at least `minDecimals` decimals and no further trailing zeros. */
export function formatAmount(units: bigint, minDecimals = 2): string {
  if (units < 0n) return `-${formatAmount(-units, minDecimals)}`;
  const digits = units.toString();
  const point = digits.length - SCALE;
  const whole = point > 0 ? digits.slice(0, point) : '0';
  const fraction = point > 0 ? digits.slice(point) : ZEROS.slice(digits.length) + digits;
  let end = SCALE;
  while (end > minDecimals && fraction.charCodeAt(end - 1) === DIGIT_ZERO) end -= 1;
  return end === 0 ? whole : `${whole}.${fraction.slice(0, end)}`;
}

/** Decimals written in a decimal string. */
export function decimalsOf(text: string): number {
  const point = text.indexOf('.');
  return point < 0 ? 0 : text.length - point - 1;
}

/** Token base units (6 or 18 decimals) to 10^-18 units. */
export function fromTokenUnits(units: bigint, decimals: number): bigint {
  return units * powerOf(SCALE - decimals);
}

/** Whether a token with that many decimals can express the amount exactly. */
export const fitsDecimals = (units: bigint, decimals: number): boolean => units % powerOf(SCALE - decimals) === 0n;

/** 10^-18 units to token base units. Throws when the token cannot express the amount exactly. */
export function toTokenUnits(units: bigint, decimals: number): bigint {
  if (!fitsDecimals(units, decimals)) throw new RangeError(`${formatAmount(units)} has more than ${decimals} decimals`);
  return units / powerOf(SCALE - decimals);
}

/** The most that rounding up may add, in thousandths of the converted amount. */
const MOST_ADDED = 1n;

/** `units * rate` rounded up to the fewest decimals, between least and most, that add at most a thousandth. */
export function convertForPayer(units: bigint, rate: string, leastDecimals: number, mostDecimals: number): bigint {
  const exact = units * amountOf(rate);
  for (let decimals = leastDecimals; decimals < mostDecimals; decimals += 1) {
    const rounded = roundTo(exact, decimals, true);
    if ((rounded * ONE - exact) * 1_000n <= exact * MOST_ADDED) return rounded;
  }
  return roundTo(exact, mostDecimals, true);
}

/** `units * rate`, rounded down to `decimals`: what a refund in merchant currency is worth at the locked rate. */
export function convertRoundingDown(units: bigint, rate: string, decimals: number): bigint {
  return roundTo(units * amountOf(rate), decimals, false);
}

const SHOWN_RATE_DECIMALS = 4;

/**
 * The rate implied by the amounts: `due` for `amount`, with the fewest decimals (four or more) whose product with the
 * amount gives exactly what is due. The locked rate would not, because the amount due is rounded up.
 */
export function shownRate(amount: string, due: string): string {
  const [total, owed] = [amountOf(amount), amountOf(due)];
  const dueStep = powerOf(SCALE - decimalsOf(due));
  for (let decimals = SHOWN_RATE_DECIMALS; decimals < SCALE; decimals += 1) {
    const step = powerOf(SCALE - decimals);
    const rate = nearest(owed * ONE, total * step) * step;
    if (nearest(total * rate, ONE * dueStep) * dueStep === owed) return formatAmount(rate);
  }
  return formatAmount((owed * ONE) / total);
}

const nearest = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor);

/** The smallest amount with that many decimals that is not less. */
export const roundedUp = (units: bigint, decimals: number): bigint => {
  const step = powerOf(SCALE - decimals);
  return ((units + step - 1n) / step) * step;
};

/** The largest amount with that many decimals that is not more. */
export const roundedDown = (units: bigint, decimals: number): bigint => units - (units % powerOf(SCALE - decimals));

function roundTo(doubleScaled: bigint, decimals: number, up: boolean): bigint {
  const step = powerOf(2 * SCALE - decimals);
  const steps = doubleScaled / step + (up && doubleScaled % step !== 0n ? 1n : 0n);
  return steps * powerOf(SCALE - decimals);
}

export const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
export const absolute = (units: bigint): bigint => (units < 0n ? -units : units);
export const most = (one: bigint, other: bigint): bigint => (one > other ? one : other);
