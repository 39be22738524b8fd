import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { mustReadHeader, toQuantity, wideQuantity } from './rpc.ts';
import { adviceOf } from './limit-hints.ts';
import { TRANSFER_TOPIC } from './transfer-log.ts';
import { able } from '../rpc/able.ts';

/** First four bytes of Keccak-256 of `decimals()`. */
const DECIMALS_CALL = '0x313ce567';
const NO_TRANSACTION = `0x${'00'.repeat(32)}`;

/**
 * Verifies that a provider serves this chain with these tokens and answers every method that the adapter needs; public
 * endpoints may answer `eth_blockNumber` and refuse logs or receipts. Throws `ProviderFault`.
 */
export async function verifyProvider(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  const chainId = wideQuantity(await able(() => provider.call('eth_chainId', [])), 'chain id');
  if (chainId !== BigInt(settings.chainId))
    throw new ProviderFault('wrong-chain', `serves chain ${chainId} instead of ${settings.chainId}`);
  const { block } = await able(() => mustReadHeader(provider, 'latest'));
  await Promise.all([
    ...settings.tokens.map((token) => verifyToken(provider, token.coin, token.address, token.decimals)),
    able(() => mustReadHeader(provider, 'finalized')),
    able(() => provider.call('eth_getTransactionReceipt', [NO_TRANSACTION])),
    verifyLogs(provider, settings, block.number),
  ]);
}

async function verifyToken(provider: RpcProvider, coin: string, address: string, decimals: number): Promise<void> {
  const answer = await able(() => provider.call('eth_call', [{ to: address, data: DECIMALS_CALL }, 'latest']));
  if (typeof answer !== 'string' || !/^0x[0-9a-f]{64}$/i.test(answer))
    throw new ProviderFault('wrong-chain', `has no ${coin} at ${address}`);
  if (BigInt(answer) !== BigInt(decimals))
    throw new ProviderFault(
      'wrong-chain',
      `${coin} at ${address} has ${BigInt(answer)} decimals instead of ${decimals}`,
    );
}

async function verifyLogs(provider: RpcProvider, settings: NetworkSettings, number: number): Promise<void> {
  const filter = {
    address: settings.tokens.map((token) => token.address),
    topics: [TRANSFER_TOPIC],
    fromBlock: toQuantity(number),
    toBlock: toQuantity(number),
  };
  try {
    await provider.call('eth_getLogs', [filter]);
  } catch (error) {
    // Too many logs in one block is a valid answer; block receipts are used then.
    if (error instanceof RpcError && adviceOf(error, number, number).kind !== 'give-up') return;
    if (error instanceof RpcError) throw new ProviderFault('incapable', `does not serve eth_getLogs (${error.code})`);
    throw error;
  }
}
