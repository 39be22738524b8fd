import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import { ProviderFault } from '../../ports/chain/rpc-pool.ts';
import { TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';

export const tokenAmount = z.object({ amount: z.string().regex(/^\d+$/) });

/** One entry of `preTokenBalances` or `postTokenBalances`. */
const tokenBalance = z.object({
  accountIndex: z.number(),
  mint: z.string(),
  owner: z.string().nullish(),
  programId: z.string().nullish(),
  uiTokenAmount: tokenAmount,
});
type TokenBalance = z.infer<typeof tokenBalance>;

/** The fields used of a `getTransaction` response in `json` or `jsonParsed`; any transaction version. */
export const solanaTransaction = z.object({
  slot: z.number(),
  meta: z
    .object({
      err: z.unknown(),
      preBalances: z.array(z.number()).default([]),
      postBalances: z.array(z.number()).default([]),
      preTokenBalances: z.array(tokenBalance).nullish(),
      postTokenBalances: z.array(tokenBalance).nullish(),
      loadedAddresses: z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish(),
    })
    .nullable(),
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.union([z.string(), z.object({ pubkey: z.string() })])),
      /** Absent in `jsonParsed`. */
      header: z.object({ numRequiredSignatures: z.number() }).optional(),
    }),
  }),
});
export type SolanaTransaction = z.infer<typeof solanaTransaction>;

/** A transaction of a node that keeps its balances. */
export interface TransactionWithMeta extends SolanaTransaction {
  readonly meta: NonNullable<SolanaTransaction['meta']>;
}

/** The change of an account's balance of an allow-listed token in a transaction. */
export interface TokenDelta {
  readonly accountIndex: number;
  readonly account: string;
  /** Null if the node does not say. */
  readonly owner: string | null;
  readonly token: Token;
  readonly units: bigint;
}

/**
 * The balance changes of allow-listed tokens, computed from balances alone, because logs and instructions can be
 * incomplete (batches, inner instructions). Only mints under the classic token program count; a missing entry is a zero
 * balance. Empty for a failed transaction.
 */
export function tokenDeltas(transaction: SolanaTransaction, tokens: readonly Token[]): TokenDelta[] {
  const { meta } = transaction;
  if (meta === null || meta.err !== null) return [];
  const keys = accountKeysOf(transaction);
  const deltas = new Map<number, TokenDelta>();
  const add = (balance: TokenBalance, sign: bigint): void => {
    const token = tokens.find((candidate) => candidate.address === balance.mint);
    if (token === undefined || balance.programId !== TOKEN_PROGRAM) return;
    const known = deltas.get(balance.accountIndex);
    const units = (known?.units ?? 0n) + sign * BigInt(balance.uiTokenAmount.amount);
    const account = keys[balance.accountIndex];
    if (account === undefined)
      throw new ProviderFault(
        'inconsistent',
        `answered a token balance of account ${balance.accountIndex}, of which there are ${keys.length}`,
      );
    deltas.set(balance.accountIndex, {
      accountIndex: balance.accountIndex,
      account,
      owner: balance.owner ?? known?.owner ?? null,
      token,
      units,
    });
  };
  for (const balance of meta.preTokenBalances ?? []) add(balance, -1n);
  for (const balance of meta.postTokenBalances ?? []) add(balance, 1n);
  return [...deltas.values()].filter(({ units }) => units !== 0n).sort((a, b) => a.accountIndex - b.accountIndex);
}

/**
 * The owner whose balance of the mint fell; null unless there is exactly one and the node names it. The signer and the
 * fee payer are irrelevant.
 */
export function payerOf(deltas: readonly TokenDelta[], mint: string): string | null {
  const byOwner = new Map<string | null, bigint>();
  for (const { owner, token, units } of deltas) {
    if (token.address === mint) byOwner.set(owner, (byOwner.get(owner) ?? 0n) + units);
  }
  const fallen = [...byOwner].filter(([, units]) => units < 0n).map(([owner]) => owner);
  return fallen.length === 1 ? (fallen[0] ?? null) : null;
}

/**
 * Keys of the message, then those of look-up tables, in the order in which balances index accounts. `jsonParsed` lists
 * all of them itself.
 */
export function accountKeysOf({ transaction, meta }: SolanaTransaction): string[] {
  const keys = transaction.message.accountKeys;
  const own = keys.map((key) => (typeof key === 'string' ? key : key.pubkey));
  const parsed = keys.some((key) => typeof key !== 'string');
  return parsed
    ? own
    : [...own, ...(meta?.loadedAddresses?.writable ?? []), ...(meta?.loadedAddresses?.readonly ?? [])];
}
