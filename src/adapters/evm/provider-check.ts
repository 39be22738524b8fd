import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { mustReadHeader, readReceipt, toQuantity, wideQuantity, type Header } from './rpc.ts';
import { provenReceipts } from './disproof.ts';
import { adviceOf } from './limit-hints.ts';
import { TRANSFER_TOPIC } from './transfer-log.ts';
import { able } from '../rpc/able.ts';

/** First four bytes of Keccak-256 of `decimals()`. */
const DECIMALS_CALL = '0x313ce567';
const NO_TRANSACTION = `0x${'00'.repeat(32)}`;

/**
 * Verifies that a provider serves this chain with these tokens and answers every method that the adapter needs; public
 * endpoints may answer `eth_blockNumber` and refuse logs or receipts. Throws `ProviderFault`, of kind `behind` for one
 * that cannot answer yet.
 */
export async function verifyProvider(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  const chainId = wideQuantity(await able(() => provider.call('eth_chainId', [])), 'chain id');
  if (chainId !== BigInt(settings.chainId))
    throw new ProviderFault('wrong-chain', `serves chain ${chainId} instead of ${settings.chainId}`);
  const header = await able(() => mustReadHeader(provider, 'latest'));
  await Promise.all([
    ...settings.tokens.map((token) => verifyToken(provider, token.coin, token.address, token.decimals)),
    able(() => mustReadHeader(provider, 'finalized')),
    verifyReceipts(provider),
    verifyLogs(provider, settings, header),
  ]);
}

/** While it builds its index of transactions, a node serves everything else. */
async function verifyReceipts(provider: RpcProvider): Promise<void> {
  await able(() =>
    readReceipt(provider, NO_TRANSACTION).catch((error: unknown) => {
      if (!(error instanceof RpcError && error.means === 'not-ready')) throw error;
    }),
  );
}

async function verifyToken(provider: RpcProvider, coin: string, address: string, decimals: number): Promise<void> {
  const answer = await readDecimals(provider, coin, address);
  if (answer !== BigInt(decimals))
    throw new ProviderFault('wrong-chain', `${coin} at ${address} has ${answer} decimals instead of ${decimals}`);
}

/** An empty answer is asked for again: a node that is not synchronised, or one of many behind a name, gives it, too. */
async function readDecimals(provider: RpcProvider, coin: string, address: string): Promise<bigint> {
  for (let times = 0; times < 2; times += 1) {
    const answer = await able(() => provider.call('eth_call', [{ to: address, data: DECIMALS_CALL }, 'latest']));
    if (answer !== '0x') return wideQuantity(answer, `the decimals of ${coin}`);
  }
  const code = await able(() => provider.call('eth_getCode', [address, 'latest']));
  if (code !== '0x') throw new ProviderFault('inconsistent', `does not say the decimals of ${coin} at ${address}`);
  if ((await able(() => provider.call('eth_syncing', []))) !== false)
    throw new ProviderFault('behind', `is synchronising and does not have ${coin} at ${address} yet`);
  throw new ProviderFault('wrong-chain', `has no ${coin} at ${address}`);
}

/** One that refuses the logs even of one block must serve its receipts. */
async function verifyLogs(provider: RpcProvider, settings: NetworkSettings, header: Header): Promise<void> {
  const { number } = header.block;
  const filter = {
    address: settings.tokens.map((token) => token.address),
    topics: [TRANSFER_TOPIC],
    fromBlock: toQuantity(number),
    toBlock: toQuantity(number),
  };
  await able(async () => {
    const logs = await provider.call('eth_getLogs', [filter]).catch(async (error: unknown) => {
      if (!(error instanceof RpcError) || adviceOf(error, number, number).kind === 'refused') throw error;
      if ((await provenReceipts(provider, header)) !== null) return [];
      throw new ProviderFault('incapable', `serves neither logs nor receipts (${error.code}: ${error.message})`);
    });
    if (!Array.isArray(logs)) throw new ProviderFault('inconsistent', 'eth_getLogs did not answer a list');
  });
}
