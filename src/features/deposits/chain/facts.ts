import type { DepositFacts } from '../../../domain/events/session-events.ts';
import type { Heights } from '../../../domain/finality.ts';
import { formatAmount, fromTokenUnits } from '../../../domain/money.ts';
import type { Network, NetworkSettings } from '../../../domain/networks.ts';
import type { Transfer } from '../../../ports/chain.ts';

/** One transfer, once: rescans, overlaps and reorganisations meet under this name. */
export const depositKeyOf = (network: Network, txHash: string, logIndex: number): string =>
  `${network}:${txHash}:${logIndex}`;

/** A transfer in the words of the ledger. The adapter reports tokens of the settings only, so another one is a bug. */
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
    toAddress: transfer.toAddress,
    txHash: transfer.txHash,
    logIndex: transfer.logIndex,
    blockNumber: transfer.block.number,
    blockHash: transfer.block.hash,
    blockTimeSec: transfer.block.timeSec,
  };
}

/**
 * Whether it is the same money, wherever in the chain it is now. Log indexes are counted per block and may name another
 * transfer after a move.
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

/** A chain as one look sees it. */
export interface ChainView extends Heights {
  /** Number of the look: what is asked again within it proves nothing more. */
  readonly look: number;
  /** Whether all blocks up to the head were read: only then is a transfer that moved known where it is now. */
  readonly isReadToHead: boolean;
}
