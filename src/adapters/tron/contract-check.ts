import { z } from 'zod';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { RpcPool } from '../../ports/chain/rpc-pool.ts';
import type { ContractCheck } from '../../ports/chain/senders.ts';
import { accountOf } from './address.ts';
import { ask, orNothing } from './rpc.ts';

/** `{}` for an address without code. */
const contract = orNothing(z.object({ contract_address: z.string() }));

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
      const value = `41${accountOf(address)}`;
      const found = await pool.run((provider) => ask(provider, contract, 'wallet', 'getcontract', { value }));
      return found.value !== null;
    },
    close: () => pool.close(),
  };
}
