import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { associatedTokenAccount, TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';
import { ask, readTransaction } from './rpc.ts';
import { tokenAmount, tokenDeltas } from './token-balances.ts';

const tokenInfo = z.object({
  ...{ mint: z.string().nullish(), owner: z.string().nullish(), state: z.string().nullish() },
  tokenAmount: tokenAmount.nullish(),
});
/** Nodes answer a list of texts for an account that they cannot parse, such as one that only holds SOL. */
const parsedData = z.object({ parsed: z.object({ info: tokenInfo.optional() }).optional() });
const parsedAccount = z.object({
  value: z
    .object({ owner: z.string(), data: z.union([z.array(z.string()).transform(() => null), parsedData]) })
    .nullable(),
});

interface ShownAccount {
  readonly units: bigint;
  readonly isFrozen: boolean;
}

/** The account of an owner for a token; null when it is not there, or is somebody else's by now. */
export async function tokenAccount(
  provider: RpcProvider,
  account: string,
  owner: string,
  { address: mint }: Token,
): Promise<ShownAccount | null> {
  const options = { encoding: 'jsonParsed', commitment: 'confirmed' };
  const { value } = await ask(provider, parsedAccount, 'getAccountInfo', [account, options]);
  const info = value?.owner === TOKEN_PROGRAM ? value.data?.parsed?.info : undefined;
  if (info?.owner !== owner || info.mint !== mint) return null;
  return { units: BigInt(info.tokenAmount?.amount ?? '0'), isFrozen: info.state === 'frozen' };
}

const holdings = z.object({
  value: z.array(z.object({ pubkey: z.string(), account: z.object({ data: parsedData }) })),
});

/** Every final token account of an owner. */
export async function holdingsOf(
  provider: RpcProvider,
  owner: string,
): Promise<{ readonly account: string; readonly mint: string; readonly units: bigint }[]> {
  const options = { encoding: 'jsonParsed', commitment: 'finalized' };
  const asked = [owner, { programId: TOKEN_PROGRAM }, options];
  const { value } = await ask(provider, holdings, 'getTokenAccountsByOwner', asked);
  return value.map(({ pubkey, account: { data } }) => {
    const info = data.parsed?.info;
    return { account: pubkey, mint: info?.mint ?? '', units: BigInt(info?.tokenAmount?.amount ?? 0) };
  });
}

/** Whether it may name the account that it pays into. */
export const paysBack = ({ kind }: Pick<OutgoingTransaction, 'kind'>): boolean =>
  kind === 'refund' || kind === 'return';

/**
 * Where a payout goes. A refund or a return goes back into the account that paid, where that is still the payer's: who
 * closes it, gets its rent, and would get ours if a new one were made each time.
 */
export async function payeeAccount(
  provider: RpcProvider,
  order: OutgoingTransaction,
  token: Token,
): Promise<{ readonly account: string; readonly exists: boolean; readonly isFrozen: boolean }> {
  for (const account of paysBack(order) ? await payingAccounts(provider, order, token) : []) {
    const shown = await tokenAccount(provider, account, order.toAddress, token);
    if (shown && !shown.isFrozen) return { account, exists: true, isFrozen: false };
  }
  const account = associatedTokenAccount(order.toAddress, token.address);
  const shown = await tokenAccount(provider, account, order.toAddress, token);
  return { account, exists: shown !== null, isFrozen: shown?.isFrozen ?? false };
}

/** Of the newest deposits that the node still shows. */
async function payingAccounts(
  provider: RpcProvider,
  { deposits, toAddress }: OutgoingTransaction,
  token: Token,
): Promise<readonly string[]> {
  const accounts = new Set<string>();
  for (const { txHash } of deposits.slice(0, DEPOSITS_LOOKED_AT)) {
    const transaction = await readTransaction(provider, txHash, 'confirmed');
    for (const { account, owner, units, left } of transaction ? tokenDeltas(transaction, [token]) : [])
      if (units < 0n && owner === toAddress && left === null) accounts.add(account);
  }
  return [...accounts];
}

/** A payer of many small transfers uses few accounts. */
const DEPOSITS_LOOKED_AT = 3;
