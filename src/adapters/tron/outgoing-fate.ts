import { formatAmount } from '../../domain/money/money.ts';
import type { Fate, SentTransaction } from '../../ports/outgoing/transaction.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import { readTransfers, tokenAccounts, type TronTransactionInfo } from './receipt.ts';
import { blockAt, newestBlock, transactionInfo } from './rpc.ts';
import type { Token } from '../../domain/networks/networks.ts';
import { isListedBetween } from './window.ts';
import { must } from '../../domain/values/must.ts';

export const SUN = 10n ** 12n;
/** Receipt and block may come from different machines of a provider, which are assumed to lag less than this. */
const BALANCER_LAG_MS = 60_000;

interface Asked {
  readonly sent: readonly SentTransaction[];
  /** The token transfer that the receipt must contain; null for TRX. */
  readonly expected: {
    readonly token: Token;
    readonly from: string;
    readonly to: string;
    readonly units: bigint;
  } | null;
  readonly lifetimeMs: number;
}

/** One provider's view of everything signed for one order, of which at most one can land. */
export async function fateAt(provider: RpcProvider, { sent, expected, lifetimeMs }: Asked): Promise<Fate> {
  // The block is read first: anything missing afterwards was in no block up to it.
  const solid = await newestBlock(provider, 'walletsolidity');
  let failed: Extract<Fate, { kind: 'ineffective' }> | null = null;
  for (const { txHash } of sent) {
    const info = await transactionInfo(provider, 'walletsolidity', txHash);
    if (!info) continue;
    const networkFee = formatAmount(BigInt(info.fee ?? 0) * SUN);
    const outcome = OUTCOMES[expected ? 'tron' : 'tron-native'](info);
    if (outcome === 'unclear') throw new ProviderFault('incapable', 'answered a receipt without a result');
    if (outcome === 'nothing') {
      failed = { kind: 'ineffective', txHash, networkFee };
      continue;
    }
    if (expected && !hasMoved(info, expected))
      return { kind: 'alarm', detail: `${txHash} succeeded without the transfer it was signed for` };
    const block = await blockAt(provider, info.blockNumber);
    if (!block) throw new ProviderFault('behind', 'does not have the block of its own receipt');
    const landed = {
      txHash,
      blockNumber: block.number,
      blockHash: block.hash,
      blockTimeSec: block.timeSec,
      networkFee,
    };
    return { kind: 'landed', landed, final: true };
  }
  const last = must(sent.at(-1));
  if (failed?.txHash === last.txHash) return failed;
  if (last.validity.kind !== 'tron-expiration') throw new Error('not a transaction of this chain');
  const { expirationMs } = last.validity;
  if ((await transactionInfo(provider, 'wallet', last.txHash)) !== null) return { kind: 'pending', inBlock: true };
  if (solid.timeSec * 1000 >= expirationMs + BALANCER_LAG_MS) {
    // A missing receipt proves nothing, so the blocks that could hold an expired transaction must not list it.
    const lifetime = { fromMs: expirationMs - lifetimeMs, toMs: expirationMs + BALANCER_LAG_MS };
    const isListed = await isListedBetween(provider, solid, last.txHash, lifetime);
    return isListed ? { kind: 'pending', inBlock: true } : { kind: 'never' };
  }
  const head = await newestBlock(provider, 'wallet');
  return head.timeSec * 1000 >= expirationMs ? { kind: 'pending', inBlock: false } : { kind: 'absent' };
}

const hasMoved = (info: TronTransactionInfo, { token, from, to, units }: NonNullable<Asked['expected']>): boolean =>
  readTransfers(info, tokenAccounts([token]), (address) => address === to).some(
    (transfer) =>
      transfer.fromAddress === from && transfer.tokenUnits === units && transfer.tokenAddress === token.address,
  );
