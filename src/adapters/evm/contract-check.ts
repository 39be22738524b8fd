import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { ProviderFault, type RpcPool } from '../../ports/chain/rpc-pool.ts';
import { agreedContract } from '../rpc/agreed-contract.ts';
import type { ContractCheck } from '../../ports/chain/senders.ts';

/** An account with delegated code can still receive and send (EIP-7702: 0xef0100 followed by the code's address). */
const DELEGATED = /^0xef0100[0-9a-f]{40}$/i;
const CODE = /^0x(?:[0-9a-f]{2})*$/i;

export function createEvmContractCheck({
  settings,
  pool,
}: {
  settings: NetworkSettings;
  pool: RpcPool;
}): ContractCheck {
  return {
    network: settings.network,
    mode: settings.mode,
    isContract: (address) =>
      agreedContract(settings.network, pool, async (provider) => {
        const code = await provider.call('eth_getCode', [address, 'latest']);
        if (typeof code !== 'string' || !CODE.test(code)) throw new ProviderFault('inconsistent', 'answered no code');
        return code !== '0x' && !DELEGATED.test(code);
      }),
    close: () => pool.close(),
  };
}
