/** Writes a decimal string with at least `minDecimals` decimals and no trailing zeros beyond them: `10.5` -> `10.50`. */
export function paddedAmount(text: string, minDecimals: number): string {
  const point = text.indexOf('.');
  if (point < 0) return minDecimals === 0 ? text : `${text}.${'0'.repeat(minDecimals)}`;
  let end = text.length;
  while (end > point + 1 + minDecimals && text.charCodeAt(end - 1) === 0x30) end -= 1;
  const cut = text.slice(0, end === point + 1 ? point : end);
  const decimals = cut.length - point - 1;
  return decimals < minDecimals ? cut + '0'.repeat(minDecimals - decimals) : cut;
}
