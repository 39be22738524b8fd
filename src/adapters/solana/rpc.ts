import type { HistoryEntry, HistoryOptions, TokenAccount } from '../../ports/account-chain.ts';
import type { Block } from '../../ports/chain.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/rpc-pool.ts';
import { base58 } from '../../runtime/util/base58.ts';
import { TOKEN_PROGRAM } from '../../runtime/util/spl-token.ts';
import type { SolanaTransaction } from './token-balances.ts';

export type Commitment = 'confirmed' | 'finalized';

/** Nodes refuse transactions with a higher version than requested. */
const MAX_TRANSACTION_VERSION = 1;
const CLOCK_SYSVAR = 'SysvarC1ock11111111111111111111111111111111';
/** `getMultipleAccounts` takes 100; one of them is the clock. */
export const ACCOUNTS_A_CALL = 99;
const SIGNATURES_A_PAGE = 1_000;
/** An account with more transactions is under attack, or not ours. */
const MAX_PAGES = 200;

/** Errors of Agave after which another node, or this one later, will answer (`rpc-client-api/src/custom_error.rs`). */
const BEHIND = new Set([-32004, -32005, -32014, -32016]);
const NO_BLOCK = new Set([-32007, -32009]);
const INCAPABLE = new Set([-32601, -32010, -32011, -32015]);

export async function ask<Answer>(provider: RpcProvider, method: string, params: readonly unknown[]): Promise<Answer> {
  try {
    return (await provider.call(method, params)) as Answer;
  } catch (error) {
    if (error instanceof RpcError && BEHIND.has(error.code))
      throw new ProviderFault('behind', `${method}: ${error.message}`);
    if (error instanceof RpcError && INCAPABLE.has(error.code))
      throw new ProviderFault('incapable', `${method}: ${error.message}`);
    throw error;
  }
}

export const slotOf = (provider: RpcProvider, commitment: Commitment): Promise<number> =>
  ask<number>(provider, 'getSlot', [{ commitment }]);

interface RawBlock {
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly blockTime: number | null;
}

/** Null for a slot without a block. Throws `ProviderFault` (behind) for a slot that the provider has not reached. */
export async function blockAtSlot(provider: RpcProvider, slot: number, commitment: Commitment): Promise<Block | null> {
  const options = {
    commitment,
    encoding: 'json',
    transactionDetails: 'none',
    rewards: false,
    maxSupportedTransactionVersion: MAX_TRANSACTION_VERSION,
  };
  const block = await ask<RawBlock | null>(provider, 'getBlock', [slot, options]).catch((error: unknown) => {
    if (error instanceof RpcError && NO_BLOCK.has(error.code)) return null;
    throw error;
  });
  if (block === null) return null;
  const timeSec = block.blockTime ?? (await ask<number | null>(provider, 'getBlockTime', [slot]));
  if (timeSec === null) throw new ProviderFault('incapable', `knows no time of slot ${slot}`);
  return { number: slot, hash: block.blockhash, parentHash: block.previousBlockhash, timeSec };
}

/** The parts of a finalised block that prove the absence of a transaction or a slot. */
export interface FinalizedBlock {
  readonly slot: number;
  readonly parentSlot: number;
  readonly hash: string;
  readonly signatures: ReadonlySet<string>;
}

/** The first finalised block at or above the slot. Throws `ProviderFault` (behind) if there is none yet. */
export async function firstFinalizedFrom(provider: RpcProvider, slot: number): Promise<FinalizedBlock> {
  const [first] = await ask<readonly number[]>(provider, 'getBlocksWithLimit', [slot, 1, { commitment: 'finalized' }]);
  if (first === undefined) throw new ProviderFault('behind', `has no finalized block from slot ${slot} on`);
  const options = {
    commitment: 'finalized',
    encoding: 'json',
    transactionDetails: 'signatures',
    rewards: false,
    maxSupportedTransactionVersion: MAX_TRANSACTION_VERSION,
  };
  const block = await ask<{ blockhash: string; parentSlot: number; signatures?: readonly string[] } | null>(
    provider,
    'getBlock',
    [first, options],
  );
  if (!block?.signatures) throw new ProviderFault('incapable', `does not list what is in the block of slot ${first}`);
  return { slot: first, parentSlot: block.parentSlot, hash: block.blockhash, signatures: new Set(block.signatures) };
}

interface RawAccount {
  readonly owner: string;
  readonly data: readonly [string, string];
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
  const options = { encoding: 'base64', commitment, dataSlice: { offset: 0, length: 72 } };
  const answer = await ask<{ context: { slot: number }; value: readonly (RawAccount | null)[] }>(
    provider,
    'getMultipleAccounts',
    [names, options],
  );
  const clock = answer.value[accounts.length];
  if (answer.value.length !== names.length || !clock)
    throw new ProviderFault('inconsistent', 'answered other accounts than were asked for');
  if (commitment === 'confirmed')
    for (const what of ['head', 'read'] as const) provider.report(what, answer.context.slot);
  const units = accounts.map((account, index) => unitsIn(answer.value[index] ?? null, account));
  return { units, slot: answer.context.slot, timeSec: Number(Buffer.from(clock.data[0], 'base64').readBigInt64LE(32)) };
}

/** Native balances of addresses, without their token accounts, in the newest final state. */
export async function finalLamports(provider: RpcProvider, addresses: readonly string[]): Promise<bigint[]> {
  const lamports: bigint[] = [];
  const options = { encoding: 'base64', commitment: 'finalized', dataSlice: { offset: 0, length: 0 } };
  for (let from = 0; from < addresses.length; from += ACCOUNTS_A_CALL) {
    const part = addresses.slice(from, from + ACCOUNTS_A_CALL);
    const { value } = await ask<{ value: readonly ({ readonly lamports: number } | null)[] }>(
      provider,
      'getMultipleAccounts',
      [part, options],
    );
    if (value.length !== part.length)
      throw new ProviderFault('inconsistent', 'answered other accounts than were asked for');
    lamports.push(...value.map((account) => BigInt(account?.lamports ?? 0)));
  }
  return lamports;
}

/** Mint, owner and amount are the first 72 bytes of a token account. */
function unitsIn(raw: RawAccount | null, { owner, token }: TokenAccount): bigint {
  if (raw === null || raw.owner !== TOKEN_PROGRAM) return 0n;
  const data = Buffer.from(raw.data[0], 'base64');
  if (data.length < 72 || base58(data.subarray(0, 32)) !== token.address || base58(data.subarray(32, 64)) !== owner)
    return 0n;
  return data.readBigUInt64LE(64);
}

/** The whole history down to `until`, newest first. */
export async function readHistory(
  provider: RpcProvider,
  account: string,
  options: HistoryOptions,
): Promise<HistoryEntry[]> {
  const { commitment, until, minSlot } = options;
  const entries: HistoryEntry[] = [];
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const before = entries.at(-1)?.txHash;
    const page = await ask<readonly { signature: string; slot: number; err: unknown }[]>(
      provider,
      'getSignaturesForAddress',
      [
        account,
        {
          commitment,
          limit: SIGNATURES_A_PAGE,
          ...(until && { until }),
          ...(before && { before }),
          ...(minSlot !== undefined && { minContextSlot: minSlot }),
        },
      ],
    );
    entries.push(...page.map(({ signature, slot, err }) => ({ txHash: signature, slot, failed: err !== null })));
    if (page.length < SIGNATURES_A_PAGE) return entries;
  }
  throw new ProviderFault('too-large', `${account} has over ${MAX_PAGES * SIGNATURES_A_PAGE} transactions`);
}

/** Null if the provider does not have it (yet). */
export async function readTransaction(
  provider: RpcProvider,
  txHash: string,
  commitment: Commitment,
): Promise<SolanaTransaction | null> {
  const options = { commitment, encoding: 'json', maxSupportedTransactionVersion: MAX_TRANSACTION_VERSION };
  const transaction = await ask<SolanaTransaction | null>(provider, 'getTransaction', [txHash, options]);
  if (transaction !== null && transaction.meta === null)
    throw new ProviderFault('incapable', `keeps no balances of ${txHash}`);
  return transaction;
}

/** Whether the provider has a status for the transaction anywhere in its history up to the slot. */
export async function hasStatus(provider: RpcProvider, txHash: string, slot = 0): Promise<boolean> {
  const answer = await ask<{ context: { slot: number }; value: readonly unknown[] }>(provider, 'getSignatureStatuses', [
    [txHash],
    { searchTransactionHistory: true },
  ]);
  if (answer.context.slot < slot) throw new ProviderFault('behind', `knows no status up to slot ${slot} yet`);
  return answer.value[0] !== null;
}
