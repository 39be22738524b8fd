import { z } from 'zod';
import type { HistoryEntry, HistoryOptions, TokenAccount } from '../../ports/chain/account-chain.ts';
import type { Block } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, type Meaning, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { base58 } from '../../chain-formats/base58.ts';
import { TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';
import { must } from '../../domain/values/must.ts';
import { faultOf, meaningOf } from '../rpc/dialects.ts';
import { inForm } from '../rpc/in-form.ts';
import { solanaTransaction, type SolanaTransaction, type TransactionWithMeta } from './token-balances.ts';

export type Commitment = 'confirmed' | 'finalized';

/** Nodes refuse transactions with a higher version than requested. */
const MAX_TRANSACTION_VERSION = 1;
const CLOCK_SYSVAR = 'SysvarC1ock11111111111111111111111111111111';
/** `getMultipleAccounts` takes 100; one of them is the clock. */
export const ACCOUNTS_A_CALL = 99;
const SIGNATURES_A_PAGE = 1_000;
/** An account with more transactions is under attack, or not ours. */
const MAX_PAGES = 200;

export async function ask<Value>(
  provider: RpcProvider,
  form: z.ZodType<Value>,
  method: string,
  params: readonly unknown[],
): Promise<Value> {
  try {
    return inForm(form, await provider.call(method, params), method);
  } catch (error) {
    const means = meaningIn(error, method);
    throw error instanceof RpcError && (means === 'behind' || means === 'cannot')
      ? faultOf(error, method, means)
      : error;
  }
}

const meaningIn = (error: unknown, method: string): Meaning | null =>
  error instanceof RpcError ? meaningOf({ family: 'solana', method, code: error.code, text: error.message }) : null;

export const slotOf = (provider: RpcProvider, commitment: Commitment): Promise<number> =>
  ask(provider, z.number(), 'getSlot', [{ commitment }]);

/** The oldest slot whose transactions the node keeps; it knows nothing of what happened before. */
const firstKeptSlot = (provider: RpcProvider): Promise<number> =>
  ask(provider, z.number(), 'getFirstAvailableBlock', []);

/** Seconds between the oldest and the newest finalised block that the node keeps; null if it keeps the whole chain. */
export async function keptSec(provider: RpcProvider): Promise<number | null> {
  const first = await firstKeptSlot(provider);
  if (first <= 1) return null;
  // The oldest block may be deleted between the two calls.
  const { slot } = await firstFinalizedFrom(provider, first + KEPT_MARGIN_SLOTS);
  const [oldest, newest] = await Promise.all([mustHaveBlock(provider, slot), newestFinalized(provider)]);
  return Math.max(0, newest.timeSec - oldest.timeSec);
}

const KEPT_MARGIN_SLOTS = 64;

async function mustHaveBlock(provider: RpcProvider, slot: number): Promise<Block> {
  const block = await blockAtSlot(provider, slot, 'finalized');
  if (block === null) throw new ProviderFault('inconsistent', `has no block at slot ${slot}, which it named`);
  return block;
}

/** The block of the slot that the provider calls finalised. */
export const newestFinalized = async (provider: RpcProvider): Promise<Block> =>
  mustHaveBlock(provider, await slotOf(provider, 'finalized'));

/** Lamports that keep an account of this size alive. */
export const rentOf = async (provider: RpcProvider, bytes: number): Promise<bigint> =>
  BigInt(await ask(provider, z.int().positive(), 'getMinimumBalanceForRentExemption', [bytes]));

const blockhashAnswer = z.object({ value: z.object({ blockhash: z.string() }) });

/** Wallets try a transaction in the finalised state before they send it, where a newer blockhash is unknown. */
export async function latestBlockhash(provider: RpcProvider, commitment: Commitment): Promise<string> {
  return (await ask(provider, blockhashAnswer, 'getLatestBlockhash', [{ commitment }])).value.blockhash;
}

const blockHeader = z
  .object({ blockhash: z.string(), previousBlockhash: z.string(), blockTime: z.number().nullish() })
  .nullable();

const blockOptions = (commitment: Commitment, transactionDetails: 'none' | 'signatures' | 'accounts') => ({
  ...{ commitment, encoding: 'json', transactionDetails, rewards: false },
  maxSupportedTransactionVersion: MAX_TRANSACTION_VERSION,
});

/** Null for a slot without a block. Throws `ProviderFault` (behind) for one that the provider does not have yet. */
export async function blockAtSlot(provider: RpcProvider, slot: number, commitment: Commitment): Promise<Block | null> {
  const options = blockOptions(commitment, 'none');
  const block = await unlessSkipped(ask(provider, blockHeader, 'getBlock', [slot, options]));
  if (block === 'skipped') return null;
  // For a skipped slot nodes answer an error.
  if (block === null) throw new ProviderFault('behind', `has no block at slot ${slot} yet`);
  const timeSec = block.blockTime ?? (await ask(provider, z.number().nullable(), 'getBlockTime', [slot]));
  if (timeSec === null) throw new ProviderFault('incapable', `knows no time of slot ${slot}`);
  return { number: slot, hash: block.blockhash, parentHash: block.previousBlockhash, timeSec };
}

const unlessSkipped = <Value>(block: Promise<Value>): Promise<Value | 'skipped'> =>
  block.catch((error: unknown) => {
    if (meaningIn(error, 'getBlock') === 'no-block') return 'skipped';
    throw error;
  });

/** The parts of a finalised block that prove the absence of a transaction or a slot. */
export interface FinalizedBlock {
  readonly slot: number;
  readonly parentSlot: number;
  readonly hash: string;
  readonly signatures: ReadonlySet<string>;
}

const blockSignatures = z
  .object({ blockhash: z.string(), parentSlot: z.number(), signatures: z.array(z.string()).nullish() })
  .nullable();

/** The first finalised block at or above the slot. Throws `ProviderFault` (behind) if there is none yet. */
export async function firstFinalizedFrom(provider: RpcProvider, slot: number): Promise<FinalizedBlock> {
  const asked = [slot, 1, { commitment: 'finalized' }];
  const [first] = await ask(provider, z.array(z.number()), 'getBlocksWithLimit', asked);
  if (first === undefined) throw new ProviderFault('behind', `has no finalized block from slot ${slot} on`);
  const options = blockOptions('finalized', 'signatures');
  const block = await ask(provider, blockSignatures, 'getBlock', [first, options]);
  if (!block?.signatures) throw new ProviderFault('incapable', `does not list what is in the block of slot ${first}`);
  return { slot: first, parentSlot: block.parentSlot, hash: block.blockhash, signatures: new Set(block.signatures) };
}

export const rawAccount = z.object({ owner: z.string(), data: z.tuple([z.string(), z.string()]) }).nullable();
export type RawAccount = z.infer<typeof rawAccount>;
const accountsAnswer = z.object({ context: z.object({ slot: z.number() }), value: z.array(rawAccount) });

/** The accounts with these names; null for one that does not exist. */
export async function readAccounts(provider: RpcProvider, names: readonly string[], options: object) {
  const answer = await ask(provider, accountsAnswer, 'getMultipleAccounts', [
    names,
    { encoding: 'base64', ...options },
  ]);
  if (answer.value.length !== names.length)
    throw new ProviderFault('inconsistent', 'answered other accounts than were asked for');
  return { accounts: answer.value, slot: answer.context.slot };
}

export interface Balances {
  readonly units: readonly bigint[];
  readonly slot: number;
  readonly timeSec: number;
}

/** At most 99 accounts and the clock of the same state, so that no second call is needed to learn its age. */
export async function readBalances(
  provider: RpcProvider,
  accounts: readonly TokenAccount[],
  commitment: Commitment = 'confirmed',
): Promise<Balances> {
  const names = [...accounts.map(({ account }) => account), CLOCK_SYSVAR];
  const read = await readAccounts(provider, names, { commitment, dataSlice: { offset: 0, length: BALANCE_BYTES } });
  const clock = Buffer.from(read.accounts[accounts.length]?.data[0] ?? '', 'base64');
  if (clock.length < 40) throw new ProviderFault('inconsistent', 'answered no clock');
  if (commitment === 'confirmed') for (const what of ['head', 'read'] as const) provider.report(what, read.slot);
  const units = accounts.map((account, index) => unitsIn(read.accounts[index] ?? null, account));
  return { units, slot: read.slot, timeSec: Number(clock.readBigInt64LE(32)) };
}

const lamportsAnswer = z.object({ value: z.array(z.object({ lamports: z.number() }).nullable()) });

/** Native balances of addresses, without their token accounts, in the newest final state. */
export async function finalLamports(provider: RpcProvider, addresses: readonly string[]): Promise<bigint[]> {
  const lamports: bigint[] = [];
  const options = { encoding: 'base64', commitment: 'finalized', dataSlice: { offset: 0, length: 0 } };
  for (let from = 0; from < addresses.length; from += ACCOUNTS_A_CALL) {
    const part = addresses.slice(from, from + ACCOUNTS_A_CALL);
    const { value } = await ask(provider, lamportsAnswer, 'getMultipleAccounts', [part, options]);
    if (value.length !== part.length)
      throw new ProviderFault('inconsistent', 'answered other accounts than were asked for');
    lamports.push(...value.map((account) => BigInt(account?.lamports ?? 0)));
  }
  return lamports;
}

/** Mint, owner and amount come first in a token account. */
const BALANCE_BYTES = 72;

function unitsIn(raw: RawAccount, { owner, token }: TokenAccount): bigint {
  if (raw === null || raw.owner !== TOKEN_PROGRAM) return 0n;
  const data = Buffer.from(raw.data[0], 'base64');
  if (data.length < BALANCE_BYTES)
    throw new ProviderFault('inconsistent', `answered ${data.length} bytes of the token account of ${owner}`);
  if (base58(data.subarray(0, 32)) !== token.address || base58(data.subarray(32, 64)) !== owner) return 0n;
  return data.readBigUInt64LE(64);
}

/** Some providers leave out what is null. Each that is not said to have failed is read. */
const signatures = z.array(z.object({ signature: z.string(), slot: z.number(), err: z.unknown().default(null) }));

/** One page of the transactions that name an account, newest first. */
export const signaturesOf = (provider: RpcProvider, account: string, options: object) =>
  ask(provider, signatures, 'getSignaturesForAddress', [account, options]);

/**
 * The same; null if the provider does not keep a transaction that the options name as an end of the page. Nodes delete
 * their oldest slots all the time, within minutes to days.
 */
export const signaturesBetween = (provider: RpcProvider, account: string, options: object) =>
  signaturesOf(provider, account, options).catch((error: unknown) => {
    if (meaningIn(error, 'getSignaturesForAddress') === 'not-kept') return null;
    throw error;
  });

/**
 * The whole history down to `until`, newest first. Where the provider does not keep that any more, all that it keeps
 * above its slot: whether something is missing, the balance tells.
 */
export async function readHistory(
  provider: RpcProvider,
  account: string,
  { commitment, until, untilSlot = -1, minSlot }: HistoryOptions,
): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let isKept = until !== undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const before = entries.at(-1);
    const page = await signaturesBetween(provider, account, {
      commitment,
      limit: SIGNATURES_A_PAGE,
      ...(isKept && { until }),
      ...(before && { before: before.txHash }),
      ...(minSlot !== undefined && { minContextSlot: minSlot }),
    });
    if (page === null) {
      // Without `until` it is the newest of the page before that went, and everything below it.
      if (!isKept) return entries;
      isKept = false;
      continue;
    }
    entries.push(
      ...page
        .filter(({ slot }) => isKept || slot > untilSlot)
        .map(({ signature, slot, err }) => ({ txHash: signature, slot, failed: err !== null })),
    );
    if (page.length < SIGNATURES_A_PAGE || (!isKept && must(page.at(-1)).slot <= untilSlot)) return entries;
  }
  throw new ProviderFault('too-large', `${account} has over ${MAX_PAGES * SIGNATURES_A_PAGE} transactions`);
}

/** Null if the provider does not have it (yet). */
export async function readTransaction(
  provider: RpcProvider,
  txHash: string,
  commitment: Commitment,
): Promise<TransactionWithMeta | null> {
  const options = { commitment, encoding: 'json', maxSupportedTransactionVersion: MAX_TRANSACTION_VERSION };
  const transaction = await ask(provider, solanaTransaction.nullable(), 'getTransaction', [txHash, options]);
  return transaction && withMeta(transaction, txHash);
}

function withMeta({ meta, ...transaction }: SolanaTransaction, txHash: string): TransactionWithMeta {
  if (meta === null) throw new ProviderFault('incapable', `keeps no balances of ${txHash}`);
  return { ...transaction, meta };
}

/** Of a block with `accounts` as its details, which lists accounts of look-up tables among the others. */
const listedTransaction = z.object({
  transaction: z.object({
    signatures: z.array(z.string()),
    accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })),
  }),
  meta: solanaTransaction.shape.meta,
});
const blockTransactions = z.object({ transactions: z.array(listedTransaction) }).nullable();

/**
 * A transaction by its finalised block, for a node that does not find it by its signature any more. Null if the block
 * does not list it, or the slot was skipped.
 */
export async function listedIn(
  provider: RpcProvider,
  slot: number,
  txHash: string,
): Promise<TransactionWithMeta | null> {
  const options = blockOptions('finalized', 'accounts');
  const asked = ask(provider, blockTransactions, 'getBlock', [slot, options]).catch((error: unknown) => {
    const isGone = meaningIn(error, 'getBlock') === 'not-kept';
    throw isGone ? new ProviderFault('incapable', `keeps nothing of slot ${slot} any more`) : error;
  });
  const block = await unlessSkipped(asked);
  if (block === 'skipped') return null;
  if (block === null) throw new ProviderFault('behind', `has no block at slot ${slot} yet`);
  const listed = block.transactions.find(({ transaction }) => transaction.signatures[0] === txHash);
  if (!listed) return null;
  const { accountKeys } = listed.transaction;
  const header = { numRequiredSignatures: accountKeys.filter(({ signer }) => signer).length };
  return withMeta({ slot, meta: listed.meta, transaction: { message: { accountKeys, header } } }, txHash);
}

const statuses = z.object({
  context: z.object({ slot: z.number() }),
  value: z.array(z.object({ slot: z.number(), err: z.unknown(), confirmationStatus: z.string().nullish() }).nullable()),
});

/** What the provider knows of the transactions anywhere in its history up to a slot. */
export async function readStatuses(provider: RpcProvider, txHashes: readonly string[]) {
  const options = { searchTransactionHistory: true };
  const { value, context } = await ask(provider, statuses, 'getSignatureStatuses', [txHashes, options]);
  if (value.length !== txHashes.length)
    throw new ProviderFault('inconsistent', 'answered other transactions than were asked for');
  return { found: value, slot: context.slot };
}

/** Whether the provider has a status for the transaction anywhere in its history up to the slot. */
export async function hasStatus(provider: RpcProvider, txHash: string, slot = 0): Promise<boolean> {
  const answer = await readStatuses(provider, [txHash]);
  if (answer.slot < slot) throw new ProviderFault('behind', `knows no status up to slot ${slot} yet`);
  return answer.found[0] !== null;
}
