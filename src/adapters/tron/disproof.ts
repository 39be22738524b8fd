import type { DepositFacts } from '../../domain/events/session-events.ts';
import { formatAmount, fromTokenUnits } from '../../domain/money/money.ts';
import type { Disproof } from '../../ports/chain/chain.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { readTransfers, succeeded, type TokenAccounts, type TronTransactionInfo } from './receipt.ts';
import { assertSameBlock, completeReceiptsOf, mustHaveBlock, transactionInfo } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

/** Why one provider's chain cannot contain the transfer; null if it contains it, or does not prove its absence. */
export async function tronDisproofAt(
  provider: RpcProvider,
  tokens: TokenAccounts,
  deposit: DepositFacts,
): Promise<Disproof | null> {
  const block = await mustHaveBlock(provider, deposit.blockNumber);
  if (block.hash !== deposit.blockHash) {
    const info = await transactionInfo(provider, 'wallet', deposit.txHash);
    if (info === null) return 'reorg';
    assertSameBlock(await mustHaveBlock(provider, info.blockNumber), info);
    if (!succeeded(info)) return 'failed';
    return holds(info, tokens, deposit) ? null : 'reorg';
  }
  // Its block is in the chain: the transactions listed by the block, and exactly their receipts, are conclusive.
  const receipts = await completeReceiptsOf(provider, block);
  const own = receipts.find(({ id }) => id === deposit.txHash);
  if (own === undefined) return 'not_in_block';
  if (!succeeded(own)) return 'failed';
  return holds(own, tokens, deposit) ? null : 'not_in_block';
}

function holds(info: TronTransactionInfo, tokens: TokenAccounts, deposit: DepositFacts): boolean {
  return readTransfers(info, tokens, (to) => to === deposit.toAddress).some(
    ({ tokenAddress, tokenUnits, fromAddress, logIndex }) =>
      logIndex === deposit.logIndex &&
      tokenAddress === deposit.tokenAddress &&
      fromAddress === deposit.fromAddress &&
      formatAmount(fromTokenUnits(tokenUnits, must(tokens.tokenOf(tokenAddress)).decimals)) === deposit.amount,
  );
}
