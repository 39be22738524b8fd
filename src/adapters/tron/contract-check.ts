import { z } from 'zod';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { RpcPool } from '../../ports/chain/rpc-pool.ts';
import type { ContractCheck } from '../../ports/chain/senders.ts';
import { accountOf } from './address.ts';
import { ask } from './rpc.ts';

const contract = z.object({ contract_address: z.string().optional() });

export function createTronContractCheck({
  settings,
  pool,
}: {
  settings: NetworkSettings;
  pool: RpcPool;
}): ContractCheck {
  return {
    network: settings.network,
    mode: settings.mode,
    isContract: async (address) => {
      // `{}` for an address without code.
      const value = `41${accountOf(address)}`;
      const found = await pool.run((provider) => ask(provider, contract, 'wallet', 'getcontract', { value }));
      return found.value.contract_address !== undefined;
    },
    close: () => pool.close(),
  };
}
