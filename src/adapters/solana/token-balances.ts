import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import type { UnknownPayer } from '../../domain/networks/unknown-payer.ts';
import { must } from '../../domain/values/must.ts';
import { ProviderFault } from '../../ports/chain/rpc-pool.ts';
import type { Transfer } from '../../ports/chain/chain.ts';
import { TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';

const tokenAmount = z.object({ amount: z.string().regex(/^\d+$/) });

/** One entry of `preTokenBalances` or `postTokenBalances`. */
const tokenBalance = z.object({
  accountIndex: z.number(),
  mint: z.string(),
  owner: z.string().nullish(),
  programId: z.string(),
  uiTokenAmount: tokenAmount,
});
type TokenBalance = z.infer<typeof tokenBalance>;

/** The fields used of a `getTransaction` response in `json` or `jsonParsed`; any transaction version. */
export const solanaTransaction = z.object({
  slot: z.number(),
  meta: z
    .object({
      err: z.unknown(),
      preBalances: z.array(z.number()),
      postBalances: z.array(z.number()),
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
  /** Who got the money: the owner after the transaction; or who gave it: the one before. Null if the node does not say. */
  readonly owner: string | null;
  /** What became of an account that lost money; null if it stayed with its owner. */
  readonly left: 'account_closed' | 'account_handed_over' | null;
  readonly token: Token;
  readonly units: bigint;
}

interface AccountBalances {
  readonly accountIndex: number;
  readonly token: Token;
  readonly before?: TokenBalance;
  readonly after?: TokenBalance;
}

/**
 * The balance changes of allow-listed tokens, computed from balances alone, because logs and instructions can be
 * incomplete (batches, inner instructions). Only mints under the classic token program count; a missing entry is a zero
 * balance. Empty for a failed transaction.
 */
export function tokenDeltas(transaction: SolanaTransaction, tokens: readonly Token[]): TokenDelta[] {
  const { meta } = transaction;
  if (meta === null || meta.err !== null) return [];
  // A missing list would turn a whole balance into money that came.
  if (!meta.preTokenBalances || !meta.postTokenBalances)
    throw new ProviderFault('incapable', 'keeps no token balances of a transaction');
  const keys = accountKeysOf(transaction);
  // By mint, too: an account can be closed and opened again for another one.
  const accounts = new Map<string, AccountBalances>();
  const add = (when: 'before' | 'after', balance: TokenBalance): void => {
    const token = tokens.find((candidate) => candidate.address === balance.mint);
    if (token === undefined || balance.programId !== TOKEN_PROGRAM) return;
    if (keys[balance.accountIndex] === undefined)
      throw new ProviderFault(
        'inconsistent',
        `answered a token balance of account ${balance.accountIndex}, of which there are ${keys.length}`,
      );
    const { accountIndex, mint } = balance;
    const name = `${accountIndex} ${mint}`;
    accounts.set(name, { ...accounts.get(name), accountIndex, token, [when]: balance });
  };
  for (const balance of meta.preTokenBalances) add('before', balance);
  for (const balance of meta.postTokenBalances) add('after', balance);
  return [...accounts.values()]
    .map((balances) => deltaOf(must(keys[balances.accountIndex]), balances))
    .filter(({ units }) => units !== 0n)
    .sort((a, b) => a.accountIndex - b.accountIndex);
}

function deltaOf(account: string, { accountIndex, token, before, after }: AccountBalances): TokenDelta {
  const units = unitsIn(after) - unitsIn(before);
  const isLoss = units < 0n;
  const owner = (isLoss ? before : after)?.owner ?? null;
  const keptBy = after?.owner ?? null;
  const left = !isLoss || keptBy === owner ? null : after === undefined ? 'account_closed' : 'account_handed_over';
  return { accountIndex, account, owner, left, token, units };
}

const unitsIn = (balance: TokenBalance | undefined): bigint => BigInt(balance?.uiTokenAmount.amount ?? 0);

/**
 * The owner before the transaction of the accounts of the mint that lost money. Unknown unless that is exactly one who
 * kept them: whoever is given an account in the same transaction has signed nothing. The signer and the fee payer are
 * irrelevant.
 */
export function payerOf(deltas: readonly TokenDelta[], mint: string): Pick<Transfer, 'fromAddress' | 'unknownPayer'> {
  const unknown = (unknownPayer: UnknownPayer) => ({ fromAddress: null, unknownPayer });
  const byOwner = new Map<string | null, bigint>();
  for (const { owner, token, units, left } of deltas) {
    if (token.address !== mint) continue;
    if (left !== null) return unknown(left);
    if (units < 0n && owner === null) return unknown('owner_not_named');
    byOwner.set(owner, (byOwner.get(owner) ?? 0n) + units);
  }
  const [payer, ...others] = [...byOwner].filter(([, units]) => units < 0n).map(([owner]) => owner);
  if (!payer) return unknown('nobody_paid');
  return others.length > 0 ? unknown('several_payers') : { fromAddress: payer };
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
