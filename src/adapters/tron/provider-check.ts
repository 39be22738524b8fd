import type { NetworkSettings, Token } from '../../domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { isUnknownPath, mustHaveBlock, newestBlock, receiptsOfBlock, type TronView } from './rpc.ts';
import { callToken } from './token-calls.ts';

/** A node whose newest block is older still reads the chain from its beginning. */
const CATCHING_UP_SEC = 3_600;

/**
 * Verifies that a provider serves this chain with these tokens and answers every call that the adapter needs. The chain
 * id is the last four bytes of the first block's id. Throws `ProviderFault`.
 */
export async function verifyTronProvider(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  const genesis = await served('wallet', () => mustHaveBlock(provider, 0));
  const chainId = BigInt(`0x${genesis.hash.slice(-8)}`).toString();
  if (chainId !== settings.chainId)
    throw new ProviderFault('wrong-chain', `serves chain ${chainId} instead of ${settings.chainId}`);
  const head = await newestBlock(provider, 'wallet');
  const solid = await served('walletsolidity', () => newestBlock(provider, 'walletsolidity'));
  const isCurrent = Date.now() / 1000 - head.timeSec < CATCHING_UP_SEC;
  await Promise.all([
    receiptsOfBlock(provider, solid.number),
    ...settings.tokens.map((token) => verifyToken(provider, token, isCurrent)),
  ]);
}

/** A node of one's own serves the two on ports of their own. */
async function served<Value>(view: TronView, task: () => Promise<Value>): Promise<Value> {
  try {
    return await task();
  } catch (error) {
    if (!isUnknownPath(error)) throw error;
    const advice = 'put both ports of the node behind one address (docs/operations.md, "A node of your own")';
    throw new ProviderFault('incapable', `does not serve /${view}: ${advice}`);
  }
}

async function verifyToken(provider: RpcProvider, token: Token, isCurrent: boolean): Promise<void> {
  const decimals = await callToken(provider, token, 'decimals()', '').catch((error: unknown) => {
    const isAbsent = error instanceof ProviderFault && error.kind === 'behind';
    throw isAbsent && isCurrent ? new ProviderFault('wrong-chain', error.message) : error;
  });
  if (decimals === BigInt(token.decimals)) return;
  throw new ProviderFault(
    'wrong-chain',
    `${token.coin} at ${token.address} has ${decimals ?? 'no'} decimals instead of ${token.decimals}`,
  );
}
