import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import type { SentTransaction } from '../../ports/outgoing/transaction.ts';
import {
  finalBlock,
  fromQuantity,
  isNotKnown,
  mustReadHeader,
  readBlockReceipts,
  toQuantity,
  type RawReceipt,
} from './rpc.ts';
import { readTransferLogs, topicOf } from './transfer-log.ts';

/* Transactions whose hashes a node has forgotten, while it keeps their blocks: geth knows 2,350,000 blocks by hash. */

/** Blocks of one question for logs, and of all of them: 5 days of Ethereum. */
const [RANGE, MOST_BLOCKS] = [2_000, 40_000];

export interface Sought {
  /** What shares the nonce, oldest first. */
  readonly sent: readonly SentTransaction[];
  readonly from: string;
  readonly nonce: number;
  /** Null for native coin, which shows in no log. */
  readonly expected: { readonly tokenAddress: string; readonly from: string; readonly to: string } | null;
}

/**
 * The receipt of the one that used the nonce, from its block. `foreign`: none of them is in the block that used it.
 * Null if the node does not tell which block that is.
 */
export async function forgottenReceipt(provider: RpcProvider, sought: Sought): Promise<RawReceipt | 'foreign' | null> {
  const isOurs = ({ transactionHash }: { readonly transactionHash: string }): boolean =>
    sought.sent.some(({ txHash }) => txHash.toLowerCase() === transactionHash);
  const byNonce = await blockOfNonce(provider, sought);
  const number = byNonce ?? (await blockOfTransfer(provider, sought, isOurs));
  const receipts = number === null ? null : await readBlockReceipts(provider, number).catch(ifNotTold);
  if (receipts === null) return null;
  return receipts.find(isOurs) ?? (byNonce === null ? null : 'foreign');
}

/** By halving. Only a node that keeps old states can tell. */
async function blockOfNonce(provider: RpcProvider, { from, nonce }: Sought): Promise<number | null> {
  let [before, after] = [-1, (await finalBlock(provider))?.number ?? -1];
  while (after - before > 1) {
    const middle = (before + after) >> 1;
    const count = await provider.call('eth_getTransactionCount', [from, toQuantity(middle)]).catch(ifNotTold);
    if (count === null) return null;
    if (fromQuantity(count, 'transaction count') > nonce) after = middle;
    else before = middle;
  }
  return after < 0 ? null : after;
}

/** By the logs of its transfer from the time of its signature on. */
async function blockOfTransfer(
  provider: RpcProvider,
  { sent, expected }: Sought,
  isOurs: (log: { readonly transactionHash: string }) => boolean,
): Promise<number | null> {
  const [signedAtSec] = sent.flatMap((one) => one.signedAtSec ?? []);
  const last = await finalBlock(provider);
  if (expected === null || signedAtSec === undefined || last === null) return null;
  const begin = await lastBefore(provider, signedAtSec, last.number);
  const end = Math.min(last.number, begin + MOST_BLOCKS);
  for (let from = begin; from <= end; from += RANGE) {
    const range = { fromBlock: toQuantity(from), toBlock: toQuantity(Math.min(end, from + RANGE - 1)) };
    const parties = [topicOf(expected.from), topicOf(expected.to)];
    const logs = await readTransferLogs(provider, { ...range, address: expected.tokenAddress }, parties).catch(
      ifNotTold,
    );
    if (logs === null) return null;
    const own = logs.find(isOurs);
    if (own) return fromQuantity(own.blockNumber, 'block number');
  }
  return null;
}

/** The last block before a time, or the first. */
async function lastBefore(provider: RpcProvider, timeSec: number, newest: number): Promise<number> {
  let [low, high] = [0, newest];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((await mustReadHeader(provider, middle)).block.timeSec < timeSec) low = middle;
    else high = middle;
  }
  return low;
}

/** What a node refuses or does not have tells nothing; a node that is away has not answered at all. */
function ifNotTold(error: unknown): null {
  if (isNotKnown(error) || (error instanceof RpcError && error.means !== 'slow-down')) return null;
  if (error instanceof ProviderFault && error.kind === 'behind') return null;
  throw error;
}
