import { getAddress, isAddress } from 'ethers';
import { isSolanaPublicKey } from '../../adapters/wallet/address-format.ts';
import { accountOfBase58 } from '../../adapters/tron/address.ts';
import { addressFamilyOf, type Network } from '../../domain/networks/networks.ts';

/** An operator's address in the form for chain and signer; null if the network has no such address. */
export function givenAddress(network: Network, text: string): string | null {
  switch (addressFamilyOf(network)) {
    case 'evm':
      return isAddress(text) ? getAddress(text) : null;
    case 'tron':
      return accountOfBase58(text) === null ? null : text;
    case 'solana':
      return isSolanaPublicKey(text) ? text : null;
  }
}
