import type { Block, Transfer } from '../../ports/chain/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import type { LoggedBlocks } from './logged-blocks.ts';
import { askedTransfer, readTransfers } from './receipt.ts';
import type { TokenAccounts, TransferLog, TronListedTransaction, TronTransactionInfo } from './receipt.ts';
import { assertComplete, assertSameBlock, mustHaveBlock, receiptsOfBlock, transactionsOf } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

export interface TronScanRange {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly isOurs: (address: string) => boolean;
  /** Number of blocks read concurrently. */
  readonly concurrency: number;
  /**
   * Whether receipts must match the transactions that each block lists, and contain the transfers that those requested.
   */
  readonly compareWithBlocks: boolean;
  readonly head?: Block | undefined;
  /** Where given, only blocks are read in which the provider's logs show a transfer to us, and the last one. */
  readonly logged?: LoggedBlocks;
}

/**
 * Reads the receipts of every block of the range, in any order, and returns the transfers in chain order. The end's
 * header is read before any receipt: if the chain switches during the scan, the returned hash is the old one, the next
 * block's parent does not match it, and the range is read again.
 */
export async function scanBlocks(
  provider: RpcProvider,
  tokens: TokenAccounts,
  range: TronScanRange,
): Promise<{ transfers: Transfer[]; lastBlock: Block; headers: Block[] }> {
  const { head, toBlock } = range;
  const lastBlock = head?.number === toBlock ? head : await mustHaveBlock(provider, toBlock);
  const numbers = await blocksToRead(provider, tokens, range);
  const found: { block: Block; transfers: Transfer[] }[] = [];
  let next = 0;
  const reader = async (): Promise<void> => {
    while (next < numbers.length) {
      const result = await scanBlock(provider, tokens, must(numbers[next++]), lastBlock, range);
      if (result !== null) found.push(result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(range.concurrency, numbers.length) }, reader));
  found.sort((a, b) => a.block.number - b.block.number);
  const headers = found.map(({ block }) => block).filter((block) => block.number !== lastBlock.number);
  return { transfers: found.flatMap(({ transfers }) => transfers), lastBlock, headers: [...headers, lastBlock] };
}

async function blocksToRead(provider: RpcProvider, tokens: TokenAccounts, range: TronScanRange): Promise<number[]> {
  const { fromBlock, toBlock, logged } = range;
  const all = Array.from({ length: toBlock - fromBlock + 1 }, (_, offset) => fromBlock + offset);
  const found = (await logged?.find(provider, range)) ?? null;
  if (found === null) return all;
  // An index that is behind, or was begun late, leaves out what is newest.
  const receipts = await receiptsOfBlock(provider, toBlock);
  const shown = receipts.flatMap((receipt) => readTransfers(receipt, tokens, () => true)).length;
  if (shown === found.inLastBlock) return all.filter((number) => number === toBlock || found.blocks.has(number));
  logged?.distrust(provider);
  return all;
}

async function scanBlock(
  provider: RpcProvider,
  tokens: TokenAccounts,
  number: number,
  lastBlock: Block,
  { isOurs, compareWithBlocks }: TronScanRange,
): Promise<{ block: Block; transfers: Transfer[] } | null> {
  if (number === 0) return null;
  const receipts = await receiptsOfBlock(provider, number);
  if (number === lastBlock.number) assertSameBlock(lastBlock, receipts[0]);
  if (compareWithBlocks) {
    const compared = number === lastBlock.number ? lastBlock : await mustHaveBlock(provider, number);
    refuseLeftOut(compared, receipts, await transactionsOf(provider, compared), tokens, isOurs);
  }
  const logs = receipts.flatMap((receipt) =>
    readTransfers(receipt, tokens, isOurs)
      .filter(movesMoney)
      .map((log) => ({ receipt, log })),
  );
  if (logs.length === 0) return null;
  const block = number === lastBlock.number ? lastBlock : await mustHaveBlock(provider, number);
  assertSameBlock(block, receipts[0]);
  return { block, transfers: logs.map(({ receipt, log }) => toTransfer(receipt, log, block)) };
}

/** A successful transfer that a transaction requested directly from a token must be among the logs of its receipt. */
function refuseLeftOut(
  block: Block,
  receipts: readonly TronTransactionInfo[],
  listed: readonly TronListedTransaction[],
  tokens: TokenAccounts,
  isOurs: (address: string) => boolean,
): void {
  assertComplete(block, receipts, listed);
  for (const transaction of listed) {
    const asked = askedTransfer(transaction, tokens);
    if (asked === null || !isOurs(asked.toAddress)) continue;
    const receipt = must(receipts.find(({ id }) => id === transaction.txID));
    if (readTransfers(receipt, tokens, (to) => to === asked.toAddress).length === 0)
      throw new ProviderFault('inconsistent', `left out what ${transaction.txID} moved in block ${block.number}`);
  }
}

/** Anyone can log a zero transfer in anyone's name (address poisoning). */
export const movesMoney = ({ tokenUnits }: TransferLog): boolean => tokenUnits > 0n;

export const toTransfer = (receipt: TronTransactionInfo, log: TransferLog, block: Block): Transfer => ({
  ...log,
  txHash: receipt.id,
  block,
});
