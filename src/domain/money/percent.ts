import { decimalsOf, parseAmount, SCALE } from './money.ts';

const BASIS_POINT = 10n ** BigInt(SCALE - 2);

/** Reads a percentage with at most two decimals into hundredths of a percent; null when it is anything else. */
export function basisPointsOf(percent: string): number | null {
  const units = parseAmount(percent);
  return units === null || decimalsOf(percent) > 2 ? null : Number(units / BASIS_POINT);
}
