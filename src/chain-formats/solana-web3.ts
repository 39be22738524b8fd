import { createRequire } from 'node:module';
import type * as Web3 from '@solana/web3.js';
import { once } from '../runtime/util/once.ts';

/** Loaded on first use: the library is large, and many processes never need it. */
export const web3 = once(() => createRequire(import.meta.url)('@solana/web3.js') as typeof Web3);
