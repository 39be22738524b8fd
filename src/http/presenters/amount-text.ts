/**
 * Formats a decimal string with at least `minDecimals` decimals and no trailing zeros beyond them: `10.5` -> `10.50`.
 */
export function paddedAmount(text: string, minDecimals: number): string {
  const point = text.indexOf('.');
  const whole = point < 0 ? text : text.slice(0, point);
  let end = text.length;
  while (point >= 0 && end > point + 1 && text.charCodeAt(end - 1) === 0x30) end -= 1;
  const decimals = point < 0 ? '' : text.slice(point + 1, end);
  const padded = decimals.padEnd(minDecimals, '0');
  return padded === '' ? whole : `${whole}.${padded}`;
}
