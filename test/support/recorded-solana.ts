import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { SolanaTransaction } from '../../src/adapters/solana/token-balances.ts';
import { REPOSITORY } from './repository.ts';

/* What a validator of Agave 4.0.0 answered: single calls, and 25 blocks of its chain (votes left out). */

const FOLDER = join(REPOSITORY, 'test', 'fixtures', 'nodes', 'agave-4.0.0');

export const agaveAnswer = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));

export interface RecordedTransaction extends SolanaTransaction {
  readonly meta: NonNullable<SolanaTransaction['meta']>;
  readonly version: unknown;
  readonly transaction: SolanaTransaction['transaction'] & { readonly signatures: readonly string[] };
}

export interface RecordedBlock {
  readonly slot: number;
  readonly block: {
    readonly blockhash: string;
    readonly previousBlockhash: string;
    readonly parentSlot: number;
    readonly blockTime: number;
    readonly transactions: readonly RecordedTransaction[];
  };
}

export const agaveBlocks = (): RecordedBlock[] =>
  gunzipSync(readFileSync(join(FOLDER, 'chain.jsonl.gz')))
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedBlock);

/** Read from the chain by a program that shares nothing with this one. */
export interface TokenChange {
  readonly slot: number;
  readonly signature: string;
  readonly failed: boolean;
  readonly account: string;
  readonly mint: string;
  readonly pre: string;
  readonly post: string;
  readonly pre_owner?: string;
  readonly post_owner?: string;
}

export const agaveTokenChanges = () =>
  agaveAnswer('token-changes') as {
    readonly mints: Readonly<Record<'USDT' | 'USDC' | 'OTHER' | 'T22', string>>;
    readonly changes: readonly TokenChange[];
  };

/** By account, as `getSignaturesForAddress` lists them. */
export const agaveSignatures = () =>
  agaveAnswer('signatures') as Readonly<
    Record<string, readonly { readonly signature: string; readonly slot: number }[]>
  >;
