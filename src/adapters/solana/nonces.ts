import type { TransactionValidity } from '../../domain/events/transaction-draft.ts';
import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import type { MissingAccount } from '../../ports/outgoing/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { NONCE_ACCOUNT_BYTES, NONCE_ACCOUNTS, nonceAccountOf, storedNonce } from '../../chain-formats/solana-nonce.ts';
import { readAccounts, rentOf } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

const LAMPORT = 10n ** 9n;
const ACCOUNTS = Array.from({ length: NONCE_ACCOUNTS }, (_, index) => index);

async function readNonces(
  provider: RpcProvider,
  treasury: string,
  indexes: readonly number[],
): Promise<{ slot: number; nonces: (string | null)[] }> {
  // A value from a block that is not final may vanish, and with it everything that refers to it.
  const addresses = indexes.map((index) => nonceAccountOf(treasury, index));
  const { accounts, slot } = await readAccounts(provider, addresses, { commitment: 'finalized' });
  const nonces = accounts.map(
    (account) =>
      account && storedNonce({ owner: account.owner, data: Buffer.from(account.data[0], 'base64') }, treasury),
  );
  return { slot, nonces };
}

/** A nonce without a signed transaction; null if there is none. */
export async function freeNonce(
  provider: RpcProvider,
  treasury: string,
  used: UsedNonces,
): Promise<{ readonly nonceIndex: number; readonly nonce: string } | null> {
  const { nonces } = await readNonces(provider, treasury, ACCOUNTS);
  const nonceIndex = nonces.findIndex((nonce, index) => nonce !== null && nonce !== used[index]);
  return nonceIndex < 0 ? null : { nonceIndex, nonce: must(nonces[nonceIndex]) };
}

/** The next nonce account to create; null while one is free, or if all exist. */
export async function missingNonceAccount(
  provider: RpcProvider,
  treasury: string,
  used: UsedNonces,
): Promise<MissingAccount | null> {
  const { nonces } = await readNonces(provider, treasury, ACCOUNTS);
  const index = nonces.indexOf(null);
  if (index < 0 || nonces.some((nonce, at) => nonce !== null && nonce !== used[at])) return null;
  const rent = (await rentOf(provider, NONCE_ACCOUNT_BYTES)) * LAMPORT;
  return { index, address: nonceAccountOf(treasury, index), rent };
}

/** Whether a payout's nonce was still unused, as of a slot or later. */
export async function nonceAt(
  provider: RpcProvider,
  treasury: string,
  validity: TransactionValidity,
  slot: number,
): Promise<boolean> {
  if (validity.kind !== 'solana-nonce') throw new Error('not a payout of this chain');
  const read = await readNonces(provider, treasury, [validity.nonceIndex]);
  if (read.slot < slot) throw new ProviderFault('behind', 'knows fewer slots than it said before');
  return read.nonces[0] === validity.nonce;
}
