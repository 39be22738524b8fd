import { hash } from 'node:crypto';
import { base58, fromBase58 } from '../../../src/chain-formats/base58.ts';

export const SYSTEM_PROGRAM = '11111111111111111111111111111111';
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
export const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111';
export const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
export const CLOCK_SYSVAR = 'SysvarC1ock11111111111111111111111111111111';

const PRIME = 2n ** 255n - 19n;
const MARKER = 'ProgramDerivedAddress';

export const bytesOf = (address: string): Uint8Array => fromBase58(address)!;

/** The address of somebody by name, be it a key's or a program's. */
export const addressNamed = (name: string): string => base58(hash('sha256', name, 'buffer'));

/** What `createWithSeed` makes of a base, a seed and an owner. */
export const seededAddress = (base: string, seed: Uint8Array, owner: string): string =>
  base58(hash('sha256', Buffer.concat([bytesOf(base), seed, bytesOf(owner)]), 'buffer'));

const known = new Map<string, string>();

/** Where an owner receives a token: the first address off the curve that its seeds lead to. */
export function tokenAccountOf(owner: string, mint: string): string {
  const name = `${owner} ${mint}`;
  let address = known.get(name);
  if (address === undefined) known.set(name, (address = derived([owner, TOKEN_PROGRAM, mint])));
  return address;
}

function derived(seeds: readonly string[]): string {
  const parts = seeds.map(bytesOf);
  for (let bump = 255; ; bump -= 1) {
    const tail = [Uint8Array.of(bump), bytesOf(ASSOCIATED_TOKEN_PROGRAM), Buffer.from(MARKER)];
    const digest = hash('sha256', Buffer.concat([...parts, ...tail]), 'buffer');
    if (!isOnCurve(digest)) return base58(digest);
  }
}

/** Whether the bytes are a point of edwards25519: x² = (y² - 1) / (d·y² + 1) has a root. */
function isOnCurve(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).reverse().toString('hex');
  const y = BigInt(`0x${text}`) & (2n ** 255n - 1n);
  const square = (y * y) % PRIME;
  const curve = (PRIME - 121_665n) * power(121_666n, PRIME - 2n);
  const quotient = (square - 1n + PRIME) * power((curve * square + 1n) % PRIME, PRIME - 2n);
  const root = power(quotient % PRIME, (PRIME - 1n) / 2n);
  return root === 0n || root === 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = base % PRIME;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * factor) % PRIME;
    factor = (factor * factor) % PRIME;
  }
  return result;
}
