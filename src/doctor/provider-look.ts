import { keptTransactions } from '../adapters/evm/kept-transactions.ts';
import { verifyProvider } from '../adapters/evm/provider-check.ts';
import { createRpcPool } from '../adapters/rpc/pool.ts';
import { verifySolanaProvider } from '../adapters/solana/provider-check.ts';
import { keptSec } from '../adapters/solana/rpc.ts';
import { verifyTronProvider } from '../adapters/tron/provider-check.ts';
import { newestBlock } from '../adapters/tron/rpc.ts';
import type { NetworkSettings } from '../domain/networks/networks.ts';
import type { RpcObserver, RpcPool, RpcProvider } from '../ports/chain/rpc-pool.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { reached, type NetworkAccess } from '../settings/network-access.ts';

const TIMEOUT_MS = 8_000;
/** How far back a provider must go so that a node can catch up after a day. */
const HISTORY_BLOCKS = 10_000;

export interface ProviderLook {
  readonly head: number;
  readonly latencyMs: number;
  /** Why it cannot be used to catch up after an outage; null if it can. */
  readonly historyFault: string | null;
}

export interface Kept {
  /** How far back it knows transactions. */
  readonly sec: number;
  /** Whether it serves older blocks, in which deposits are still found. */
  readonly servesOlderBlocks: boolean;
}

/**
 * Whether one provider can be used: chain, tokens, finality and methods as at a start, and how far back it goes. Throws
 * the reason if not; the message contains no key.
 */
export async function lookAtProvider(
  access: NetworkAccess,
  url: string,
  observer: RpcObserver = {},
): Promise<ProviderLook> {
  const { settings } = access;
  const pool = createRpcPool({ ...reached(access), urls: [url], timeoutMs: TIMEOUT_MS, maxWaitMs: 0, observer });
  try {
    // First, since it says best why a provider cannot be used.
    await pool.run((provider) => verify(provider, settings));
    const startedMs = performance.now();
    const { value: head } = await pool.run((provider) => headOf(provider, settings.network));
    const latencyMs = performance.now() - startedMs;
    return { head, latencyMs, historyFault: await historyFault(pool, head, settings) };
  } finally {
    await pool.close();
  }
}

function verify(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  if (settings.network === 'solana') return verifySolanaProvider(provider, settings);
  return settings.network === 'tron' ? verifyTronProvider(provider, settings) : verifyProvider(provider, settings);
}

/** Null if it knows all transactions, does not say, or the network's nodes keep all. */
export async function lookAtHistory(access: NetworkAccess, url: string): Promise<Kept | null> {
  const pool = createRpcPool({ ...reached(access), urls: [url], timeoutMs: TIMEOUT_MS, maxWaitMs: 0 });
  try {
    return (await pool.run((provider) => keptBy(provider, access.settings.network))).value;
  } catch {
    return null;
  } finally {
    await pool.close();
  }
}

async function keptBy(provider: RpcProvider, network: NetworkSettings['network']): Promise<Kept | null> {
  if (network === 'tron') return null;
  if (network !== 'solana') {
    const { byHashSec, servesOlderBlocks } = await keptTransactions(provider);
    return byHashSec === null ? null : { sec: byHashSec, servesOlderBlocks };
  }
  const sec = await keptSec(provider);
  return sec === null ? null : { sec, servesOlderBlocks: false };
}

async function headOf(provider: RpcProvider, network: NetworkSettings['network']): Promise<number> {
  if (network === 'tron') return (await newestBlock(provider, 'wallet')).number;
  if (network === 'solana') return Number(await provider.call('getSlot', []));
  return Number(await provider.call('eth_blockNumber', []));
}

async function historyFault(pool: RpcPool, head: number, { network, tokens }: NetworkSettings): Promise<string | null> {
  if (network === 'tron' || network === 'solana') return null;
  const block = `0x${Math.max(0, head - HISTORY_BLOCKS).toString(16)}`;
  const filter = { address: tokens.map(({ address }) => address), fromBlock: block, toBlock: block };
  try {
    await pool.run((provider) => provider.call('eth_getLogs', [filter]));
    return null;
  } catch (error) {
    return `has no logs ${HISTORY_BLOCKS} blocks back: ${messageOf(error)}`;
  }
}
