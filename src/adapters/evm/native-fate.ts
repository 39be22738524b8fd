import { formatAmount } from '../../domain/money.ts';
import type { PayoutFate, SentPayout } from '../../ports/payouts.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { outsideBlocks, receiptsOf } from './payout-fate.ts';
import { fromQuantity, mustReadHeader } from './rpc.ts';

/** What one provider shows about transfers of native coin signed at one nonce: a final receipt with status 1 is the transfer. */
export async function nativeFateAt(provider: RpcProvider, sent: readonly SentPayout[], from: string): Promise<PayoutFate> {
  const receipt = (await receiptsOf(provider, sent))[0];
  if (!receipt) return outsideBlocks(provider, { payouts: sent, treasury: from });
  const number = fromQuantity(receipt.blockNumber, 'block number');
  const { block } = await mustReadHeader(provider, number);
  if (block.hash !== receipt.blockHash.toLowerCase()) throw new ProviderFault('inconsistent', 'the receipt is of a block that left the chain');
  const finalized = await mustReadHeader(provider, 'finalized');
  if (number > finalized.block.number) return { kind: 'pending', inBlock: true };
  const txHash = receipt.transactionHash.toLowerCase();
  const networkFee = formatAmount(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice ?? '0x0'));
  if (receipt.status !== '0x1') return { kind: 'ineffective', txHash, networkFee };
  return { kind: 'landed', landed: { txHash, blockNumber: number, blockHash: block.hash, blockTimeSec: block.timeSec, networkFee }, final: true };
}
