import type { DepositFacts } from '../../domain/events/session-events.ts';
import { formatAmount, fromTokenUnits } from '../../domain/money/money.ts';
import type { Disproof } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from '../rpc/dialects.ts';
import { fromQuantity, mustReadHeader, readBlockReceipts, readReceipt, type Header, type RawReceipt } from './rpc.ts';
import { createTransferBloom } from './logs-bloom.ts';
import { receiptsRootOf } from './receipts-root.ts';
import { isOurTransfer, toTransfer, type TokensByAddress } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

/** Why one provider's chain cannot contain the transfer; null if it contains it, or does not prove its absence. */
export async function disproofAt(
  provider: RpcProvider,
  tokens: TokensByAddress,
  deposit: DepositFacts,
): Promise<Disproof | null> {
  const header = await mustReadHeader(provider, deposit.blockNumber);
  if (header.block.hash === deposit.blockHash) return disproofInBlock(provider, header, tokens, deposit);
  const receipt = await readReceipt(provider, deposit.txHash);
  if (receipt === null) return 'reorg';
  const { block } = await mustReadHeader(provider, fromQuantity(receipt.blockNumber, 'block number'));
  if (block.hash !== receipt.blockHash)
    throw new ProviderFault('inconsistent', 'the receipt is of a block that left the chain');
  if (receipt.status !== '0x1') return 'failed';
  return holds(receipt, tokens, deposit) ? null : 'reorg';
}

/** The transfer's block is in the chain, so only what that block commits to counts. */
async function disproofInBlock(
  provider: RpcProvider,
  header: Header,
  tokens: TokensByAddress,
  deposit: DepositFacts,
): Promise<Disproof | null> {
  const mayHold = createTransferBloom(deposit.tokenAddress, deposit.fromAddress, deposit.toAddress);
  if (header.logsBloom !== null && !mayHold(header.logsBloom)) return 'not_in_block';
  const receipts = await provenReceipts(provider, header);
  if (receipts === null) return null;
  const own = receipts.find(({ transactionHash }) => transactionHash === deposit.txHash);
  if (own === undefined) return 'not_in_block';
  if (own.status !== '0x1') return 'failed';
  return holds(own, tokens, deposit) ? null : 'not_in_block';
}

/**
 * All receipts of a block, proven complete and unaltered by the root in its header. Null if the provider does not serve
 * them, or omits fields of the root. Throws `ProviderFault` if they do not match the header.
 */
export async function provenReceipts(
  provider: RpcProvider,
  { block, receiptsRoot }: Header,
): Promise<readonly RawReceipt[] | null> {
  let receipts: readonly RawReceipt[];
  try {
    receipts = await readBlockReceipts(provider, block.number);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (['cannot', 'not-kept', 'unknown', 'too-wide'].includes(error.means)) return null;
    throw faultOf(error, 'eth_getBlockReceipts');
  }
  const root = receiptsRootOf(receipts);
  if (root === null || receiptsRoot === null) return null;
  const foreign = receipts.some(({ blockHash }) => blockHash !== block.hash);
  if (foreign || root !== receiptsRoot)
    throw new ProviderFault(
      'inconsistent',
      `answered other receipts of block ${block.number} than its header commits to`,
    );
  return receipts;
}

function holds(receipt: RawReceipt, tokens: TokensByAddress, deposit: DepositFacts): boolean {
  if (receipt.status !== '0x1') return false;
  const log = receipt.logs.find((candidate) => fromQuantity(candidate.logIndex, 'log index') === deposit.logIndex);
  if (!log || !isOurTransfer(log, tokens, () => true)) return false;
  const { decimals } = must(tokens.get(log.address));
  const { tokenAddress, tokenUnits, fromAddress, toAddress } = toTransfer(log, tokens, {
    number: deposit.blockNumber,
    hash: deposit.blockHash,
    parentHash: '',
    timeSec: deposit.blockTimeSec,
  });
  return (
    tokenAddress === deposit.tokenAddress &&
    formatAmount(fromTokenUnits(tokenUnits, decimals)) === deposit.amount &&
    fromAddress === deposit.fromAddress &&
    toAddress === deposit.toAddress
  );
}
