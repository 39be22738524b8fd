import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { ContractCheck } from '../../ports/chain/senders.ts';

/** An owner off the curve has no private key: a program signs for it. Determined without a provider. */
export function createSolanaContractCheck({ settings }: { settings: NetworkSettings }): ContractCheck {
  return {
    network: settings.network,
    mode: settings.mode,
    isContract: async (address) => {
      const { PublicKey } = await import('@solana/web3.js');
      return !PublicKey.isOnCurve(new PublicKey(address).toBytes());
    },
    close: () => Promise.resolve(),
  };
}
