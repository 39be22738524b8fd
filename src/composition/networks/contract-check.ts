import { createEvmContractCheck } from '../../adapters/evm/contract-check.ts';
import { createRpcPool } from '../../adapters/rpc/pool.ts';
import { createSolanaContractCheck } from '../../adapters/solana/contract-check.ts';
import { createTronContractCheck } from '../../adapters/tron/contract-check.ts';
import type { ContractCheck } from '../../ports/chain/senders.ts';
import { reached, type NetworkAccess } from '../../settings/network-access.ts';

/** Tells on a network whether code or a key controls an address. */
export function contractCheck(access: NetworkAccess): ContractCheck {
  const { settings } = access;
  if (settings.network === 'solana') return createSolanaContractCheck({ settings });
  const pool = createRpcPool(reached(access));
  return settings.network === 'tron'
    ? createTronContractCheck({ settings, pool })
    : createEvmContractCheck({ settings, pool });
}
