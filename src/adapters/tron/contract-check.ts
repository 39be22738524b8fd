import { z } from 'zod';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { RpcPool } from '../../ports/chain/rpc-pool.ts';
import type { ContractCheck } from '../../ports/chain/senders.ts';
import { agreedContract } from '../rpc/agreed-contract.ts';
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
    isContract: (address) =>
      agreedContract(settings.network, pool, async (provider) => {
        const value = `41${accountOf(address)}`;
        return (await ask(provider, contract, 'wallet', 'getcontract', { value })) !== null;
      }),
    close: () => pool.close(),
  };
}
