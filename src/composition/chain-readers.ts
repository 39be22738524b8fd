import { createEvmChain } from '../adapters/evm/chain.ts';
import { createRpcPool } from '../adapters/rpc/pool.ts';
import { createSolanaChain } from '../adapters/solana/chain.ts';
import { createTronChain } from '../adapters/tron/chain.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AccountChain } from '../ports/account-chain.ts';
import type { AddressHistory } from '../ports/address-safety.ts';
import type { Chain } from '../ports/chain.ts';
import type { PayerTransactions } from '../ports/payer-transactions.ts';
import type { RpcPool } from '../ports/rpc-pool.ts';
import type { PayoutNetworkAccess } from './payouts.ts';

/** Everything that reads networks: the ones by their blocks, Solana by its accounts. */
export interface ChainReaders {
  readonly byBlocks: readonly (Chain & AddressHistory)[];
  readonly byAccounts: readonly (AccountChain & AddressHistory & PayerTransactions)[];
}

/** Slots are short: machines behind one balancer differ by several even when all is well. */
const SOLANA_MAX_LAG_SLOTS = 50;

/** `confirmWithSecond` tells from which amount, in units, a second provider must report the same transfer; default: never. */
export function chainReaders(
  networks: readonly PayoutNetworkAccess[],
  metrics: Metrics,
  confirmWithSecond: (units: bigint) => boolean = () => false,
): ChainReaders {
  const optionsOf = (access: PayoutNetworkAccess) => ({ settings: access.settings, pool: poolOf(access, metrics), confirmWithSecond });
  const isByAccounts = ({ settings }: PayoutNetworkAccess): boolean => settings.network === 'solana';
  return {
    byBlocks: networks
      .filter((access) => !isByAccounts(access))
      .map((access) => (access.settings.network === 'tron' ? createTronChain(optionsOf(access)) : createEvmChain(optionsOf(access)))),
    byAccounts: networks.filter(isByAccounts).map((access) => createSolanaChain(optionsOf(access))),
  };
}

function poolOf({ settings: { mode, network }, urls, headers }: PayoutNetworkAccess, { chains }: Metrics): RpcPool {
  const lag = network === 'solana' ? { maxLagBlocks: SOLANA_MAX_LAG_SLOTS } : {};
  return createRpcPool({ network, urls, observer: chains.rpcObserver(mode), ...(headers && { headers }), ...lag });
}
