import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { associatedTokenAccount, heldIn, TOKEN_PROGRAM, type HeldTokens } from '../../chain-formats/spl-token.ts';
import { ask, rawAccount, readAccounts, readTransaction, type RawAccount } from './rpc.ts';
import { tokenDeltas } from './token-balances.ts';

/** The account of an owner for a token; null when it is not there, or is somebody else's by now. */
export async function tokenAccount(
  provider: RpcProvider,
  account: string,
  owner: string,
  { address: mint }: Token,
): Promise<HeldTokens | null> {
  const { accounts } = await readAccounts(provider, [account], { commitment: 'confirmed' });
  const held = mustBeHeld(account, accounts[0] ?? null);
  return held?.owner === owner && held.mint === mint ? held : null;
}

/** Null when it is not there, or holds no tokens. */
function mustBeHeld(account: string, raw: RawAccount): HeldTokens | null {
  if (raw?.owner !== TOKEN_PROGRAM) return null;
  const held = heldIn(Buffer.from(raw.data[0], 'base64'));
  if (held === undefined) throw new ProviderFault('inconsistent', `answered no data of the token account ${account}`);
  return held;
}

const holdings = z.object({ value: z.array(z.object({ pubkey: z.string(), account: rawAccount.unwrap() })) });

/** Every final token account of an owner. */
export async function holdingsOf(
  provider: RpcProvider,
  owner: string,
): Promise<(HeldTokens & { readonly account: string })[]> {
  const options = { encoding: 'base64', commitment: 'finalized' };
  const asked = [owner, { programId: TOKEN_PROGRAM }, options];
  const { value } = await ask(provider, holdings, 'getTokenAccountsByOwner', asked);
  return value.flatMap(({ pubkey: account, account: raw }) => {
    const held = mustBeHeld(account, raw);
    return held?.owner === owner ? [{ account, ...held }] : [];
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
