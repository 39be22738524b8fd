import type { DepositFacts } from '../../../domain/events/session-events.ts';
import type { Heights } from '../../../domain/networks/finality.ts';
import { formatAmount, fromTokenUnits } from '../../../domain/money/money.ts';
import type { Network, NetworkSettings } from '../../../domain/networks/networks.ts';
import type { Transfer } from '../../../ports/chain/chain.ts';

/** Identifies a transfer, so that rescans, overlaps and reorganisations apply it once. */
export const depositKeyOf = (network: Network, txHash: string, logIndex: number): string =>
  `${network}:${txHash}:${logIndex}`;

/** Translates a transfer into domain terms. Adapters report only configured tokens, so any other token is a bug. */
export function depositFactsOf(transfer: Transfer, settings: NetworkSettings): DepositFacts {
  const token = settings.tokens.find((candidate) => candidate.address === transfer.tokenAddress);
  if (!token) throw new Error(`a transfer of ${transfer.tokenAddress}, which is not a token of ${settings.network}`);
  return {
    depositKey: depositKeyOf(settings.network, transfer.txHash, transfer.logIndex),
    network: settings.network,
    coin: token.coin,
    tokenAddress: transfer.tokenAddress,
    amount: formatAmount(fromTokenUnits(transfer.tokenUnits, token.decimals)),
    fromAddress: transfer.fromAddress,
    ...(transfer.unknownPayer && { unknownPayer: transfer.unknownPayer }),
    toAddress: transfer.toAddress,
    txHash: transfer.txHash,
    logIndex: transfer.logIndex,
    blockNumber: transfer.block.number,
    blockHash: transfer.block.hash,
    blockTimeSec: transfer.block.timeSec,
  };
}

/**
 * Whether it is the same transfer, regardless of its block. Log indexes are counted per block, so after a move an index
 * may identify another transfer.
 */
export function isSameMoney(a: DepositFacts, b: DepositFacts): boolean {
  return (
    a.depositKey === b.depositKey &&
    a.tokenAddress === b.tokenAddress &&
    a.amount === b.amount &&
    a.toAddress === b.toAddress &&
    a.fromAddress === b.fromAddress
  );
}

/** The chain as seen by one look. */
export interface ChainView extends Heights {
  /** Number of the look. Asking again within the same look proves nothing new. */
  readonly look: number;
  /** Whether all blocks up to the head were read. Only then is the new block of a moved transfer known. */
  readonly isReadToHead: boolean;
}
