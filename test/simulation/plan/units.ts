import { TOKEN_DECIMALS } from '../networks.ts';

/** Decimal text of a token with its decimals. */
export function toUnits(amount: string): bigint {
  const [whole, part = ''] = amount.split('.');
  return BigInt(whole! + part.padEnd(TOKEN_DECIMALS, '0').slice(0, TOKEN_DECIMALS));
}

export function fromUnits(units: bigint): string {
  const text = units.toString().padStart(TOKEN_DECIMALS + 1, '0');
  return `${text.slice(0, -TOKEN_DECIMALS)}.${text.slice(-TOKEN_DECIMALS)}`;
}
