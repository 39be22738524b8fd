import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';

/** First four bytes of Keccak-256 of `balanceOf(address)`. */
const BALANCE_CALL = '0x70a08231';

/** The addresses that hold one of the tokens or have sent a transaction (a spent address has a nonce). */
export async function usedEvmAddresses(
  provider: RpcProvider,
  settings: NetworkSettings,
  addresses: readonly string[],
): Promise<Set<string>> {
  const used = await Promise.all(
    addresses.map(async (address) => {
      const data = `${BALANCE_CALL}${address.slice(2).toLowerCase().padStart(64, '0')}`;
      const answers = await Promise.all([
        provider.call('eth_getTransactionCount', [address, 'latest']),
        ...settings.tokens.map((token) => provider.call('eth_call', [{ to: token.address, data }, 'latest'])),
      ]);
      return answers.some((answer) => numberOf(answer) > 0n);
    }),
  );
  return new Set(addresses.filter((_, index) => used[index]));
}

function numberOf(answer: unknown): bigint {
  if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(answer))
    throw new ProviderFault('inconsistent', 'answered no number');
  return BigInt(answer);
}
