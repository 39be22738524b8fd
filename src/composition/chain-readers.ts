import { createEvmChain } from '../adapters/evm/chain.ts';
import { createRpcPool } from '../adapters/rpc/pool.ts';
import { createSolanaChain } from '../adapters/solana/chain.ts';
import { createTronChain } from '../adapters/tron/chain.ts';
import type { NetworkSettings } from '../domain/networks.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AccountChain } from '../ports/account-chain.ts';
import type { AddressHistory } from '../ports/address-safety.ts';
import type { Chain } from '../ports/chain.ts';
import type { PayerTransactions } from '../ports/payer-transactions.ts';
import type { RpcObserver, RpcPool } from '../ports/rpc-pool.ts';
import type { PayoutNetworkAccess } from './payouts.ts';
import { loggedExclusions } from './providers.ts';

/** Everything that reads networks: the ones by their blocks, Solana by its accounts. */
export interface ChainReaders {
  readonly byBlocks: readonly (Chain & AddressHistory)[];
  readonly byAccounts: readonly (AccountChain & AddressHistory & PayerTransactions)[];
}

/** Slots are short: machines behind one balancer differ by several even when all is well. */
const SOLANA_MAX_LAG_SLOTS = 50;

export interface ReadingOptions {
  /** From which amount, in units of 10^-18, a second source must report a transfer and its finality; null, and by default: never. */
  readonly secondSourceFrom?: (settings: NetworkSettings) => bigint | null;
  readonly log?: Logger;
  readonly onServerTime?: RpcObserver['onServerTime'];
}

export function chainReaders(networks: readonly PayoutNetworkAccess[], metrics: Metrics, options: ReadingOptions = {}): ChainReaders {
  const optionsOf = (access: PayoutNetworkAccess) => {
    const { settings } = access;
    const pool = poolOf(access, metrics, options);
    const from = options.secondSourceFrom?.(settings) ?? null;
    metrics.chains.addProviders({ mode: settings.mode, network: settings.network, pool, needsSecond: from !== null });
    return { settings, pool, confirmWithSecond: (units: bigint) => from !== null && units >= from };
  };
  const isByAccounts = ({ settings }: PayoutNetworkAccess): boolean => settings.network === 'solana';
  return {
    byBlocks: networks
      .filter((access) => !isByAccounts(access))
      .map((access) => (access.settings.network === 'tron' ? createTronChain(optionsOf(access)) : createEvmChain(optionsOf(access)))),
    byAccounts: networks.filter(isByAccounts).map((access) => createSolanaChain(optionsOf(access))),
  };
}

function poolOf(
  { settings: { mode, network }, urls, headers }: PayoutNetworkAccess,
  { chains }: Metrics,
  { log, onServerTime }: ReadingOptions,
): RpcPool {
  const lag = network === 'solana' ? { maxLagBlocks: SOLANA_MAX_LAG_SLOTS } : {};
  const observed = { ...chains.rpcObserver(mode), ...(onServerTime && { onServerTime }) };
  const observer = log ? loggedExclusions(mode, observed, log) : observed;
  return createRpcPool({ network, urls, observer, ...(headers && { headers }), ...lag });
}
