import { createRequire } from 'node:module';
import type * as Web3 from '@solana/web3.js';

/** The classic SPL Token program; the coins we accept are its mints, never those of Token-2022. */
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';

/** Loaded with the first derivation: the library is large, and only deriving needs it. */
let web3: typeof Web3 | null = null;

/** The account in which an owner receives a mint by convention (base58). Takes about a third of a millisecond. */
export function associatedTokenAccount(owner: string, mint: string): string {
  web3 ??= createRequire(import.meta.url)('@solana/web3.js') as typeof Web3;
  const { PublicKey } = web3;
  const seeds = [new PublicKey(owner), new PublicKey(TOKEN_PROGRAM), new PublicKey(mint)].map((key) => key.toBuffer());
  return PublicKey.findProgramAddressSync(seeds, new PublicKey(ASSOCIATED_TOKEN_PROGRAM))[0].toBase58();
}
