import { addressFamilyOf, type Network } from './networks.ts';

/** All zeros but for the last bytes: burn addresses, and addresses that networks reserve. */
export function isNobodys(network: Network, address: string): boolean {
  switch (addressFamilyOf(network)) {
    case 'evm':
      return /^0x0{36}/.test(address);
    case 'tron':
      return address === 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb';
    case 'solana':
      return address === '1'.repeat(32);
  }
}
