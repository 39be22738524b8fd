import type { NetworkSettings, Token } from '../../domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { mustHaveBlock, newestBlock, receiptsOfBlock } from './rpc.ts';
import { callToken } from './token-calls.ts';

/**
 * Verifies that a provider serves this chain with these tokens and answers every call that the adapter needs. The chain
 * id is the last four bytes of the first block's id. Throws `ProviderFault`.
 */
export async function verifyTronProvider(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  const genesis = await mustHaveBlock(provider, 0);
  const chainId = BigInt(`0x${genesis.hash.slice(-8)}`).toString();
  if (chainId !== settings.chainId)
    throw new ProviderFault('wrong-chain', `serves chain ${chainId} instead of ${settings.chainId}`);
  const solid = await newestBlock(provider, 'walletsolidity');
  await Promise.all([
    newestBlock(provider, 'wallet'),
    receiptsOfBlock(provider, solid.number),
    ...settings.tokens.map((token) => verifyToken(provider, token)),
  ]);
}

async function verifyToken(provider: RpcProvider, token: Token): Promise<void> {
  const decimals = await callToken(provider, token, 'decimals()', '');
  if (decimals === null) throw new ProviderFault('wrong-chain', `has no ${token.coin} at ${token.address}`);
  if (decimals !== BigInt(token.decimals)) {
    throw new ProviderFault(
      'wrong-chain',
      `${token.coin} at ${token.address} has ${decimals} decimals instead of ${token.decimals}`,
    );
  }
}
