import type { NetworkSettings, Token } from '../../domain/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { accountOf } from './address.ts';
import { ask, mustHaveBlock, newestBlock, receiptsOfBlock } from './rpc.ts';

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
  const address = `41${accountOf(token.address)}`;
  const call = { owner_address: address, contract_address: address, function_selector: 'decimals()', parameter: '' };
  const answer = await ask<{ readonly constant_result?: readonly string[] }>(
    provider,
    'wallet',
    'triggerconstantcontract',
    call,
  );
  const word = answer.constant_result?.[0] ?? '';
  if (!/^[0-9a-f]{64}$/i.test(word)) throw new ProviderFault('wrong-chain', `has no ${token.coin} at ${token.address}`);
  if (BigInt(`0x${word}`) !== BigInt(token.decimals)) {
    throw new ProviderFault(
      'wrong-chain',
      `${token.coin} at ${token.address} has ${BigInt(`0x${word}`)} decimals instead of ${token.decimals}`,
    );
  }
}
