import type { NativeLimits } from '../../domain/networks/native-limits.ts';
import type { PayoutNetwork } from '../../ports/signer/protocol.ts';
import type { ChainView } from './chain-view.ts';
import { EvmView } from './evm-view.ts';
import { SolanaView } from './solana-view.ts';
import { TronView } from './tron-view.ts';

/** The signer's own view of a network. */
export function viewOf(network: PayoutNetwork, limits: NativeLimits): ChainView {
  switch (network.network) {
    case 'ethereum':
    case 'bsc':
      return new EvmView(network, limits);
    case 'tron':
      return new TronView(network);
    case 'solana':
      return new SolanaView(network);
  }
}
