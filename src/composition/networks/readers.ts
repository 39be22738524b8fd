import { createEvmChain } from '../../adapters/evm/chain.ts';
import { createRpcPool } from '../../adapters/rpc/pool.ts';
import { createSolanaChain } from '../../adapters/solana/chain.ts';
import { createTronChain } from '../../adapters/tron/chain.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import type { AccountChain } from '../../ports/chain/account-chain.ts';
import type { AddressHistory } from '../../ports/chain/address-safety.ts';
import type { Chain } from '../../ports/chain/chain.ts';
import type { PayerTransactions } from '../../ports/chain/payer-transactions.ts';
import type { RpcObserver, RpcPool } from '../../ports/chain/rpc-pool.ts';
import { reached, type NetworkAccess } from '../../settings/network-access.ts';
import { loggedProviders } from '../../settings/providers.ts';

/** Readers of all networks: by blocks, or on Solana by accounts. */
export interface ChainReaders {
  readonly byBlocks: readonly (Chain & AddressHistory)[];
  readonly byAccounts: readonly (AccountChain & AddressHistory & PayerTransactions)[];
}

/** Slots are short: machines behind one load balancer normally differ by several. */
const SOLANA_MAX_LAG_SLOTS = 50;

export interface ReadingOptions {
  /**
   * Amount in units of 10^-18 from which a second source must report a transfer and its finality; null, and by default:
   * never.
   */
  readonly secondSourceFrom?: (access: NetworkAccess) => bigint | null;
  readonly log?: Logger;
  readonly onServerTime?: RpcObserver['onServerTime'];
}

export function chainReaders(
  networks: readonly NetworkAccess[],
  metrics: Metrics,
  options: ReadingOptions = {},
): ChainReaders {
  const optionsOf = (access: NetworkAccess) => {
    const { settings } = access;
    const pool = poolOf(access, metrics, options);
    // Evaluated each time, because the list of providers may change.
    const from = (): bigint | null => options.secondSourceFrom?.(access) ?? null;
    metrics.chains.addProviders({
      mode: settings.mode,
      network: settings.network,
      pool,
      needsSecond: () => from() !== null,
    });
    const confirmWithSecond = (units: bigint): boolean => {
      const least = from();
      return least !== null && units >= least;
    };
    return { settings, pool, confirmWithSecond };
  };
  const isByAccounts = ({ settings }: NetworkAccess): boolean => settings.network === 'solana';
  return {
    byBlocks: networks
      .filter((access) => !isByAccounts(access))
      .map((access) =>
        access.settings.network === 'tron' ? createTronChain(optionsOf(access)) : createEvmChain(optionsOf(access)),
      ),
    byAccounts: networks.filter(isByAccounts).map((access) => createSolanaChain(optionsOf(access))),
  };
}

function poolOf(access: NetworkAccess, { chains }: Metrics, { log, onServerTime }: ReadingOptions): RpcPool {
  const { mode, network } = access.settings;
  const lag = network === 'solana' ? { maxLagBlocks: SOLANA_MAX_LAG_SLOTS } : {};
  const observed = { ...chains.rpcObserver(mode), ...(onServerTime && { onServerTime }) };
  const observer = log ? loggedProviders(mode, observed, log) : observed;
  return createRpcPool({ ...reached(access), observer, ...lag });
}
