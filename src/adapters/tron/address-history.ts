import type { NetworkSettings } from '../../domain/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { accountOf } from './address.ts';
import { ask } from './rpc.ts';

/** Addresses queried concurrently; TronGrid suspends keys with more than 15 requests a second. */
const AT_A_TIME = 2;

/** The addresses that hold one of the tokens or were activated. A token transfer alone does not activate an address. */
export async function usedTronAddresses(
  provider: RpcProvider,
  settings: NetworkSettings,
  addresses: readonly string[],
): Promise<Set<string>> {
  const used = new Set<string>();
  for (let from = 0; from < addresses.length; from += AT_A_TIME) {
    const part = addresses.slice(from, from + AT_A_TIME);
    const answers = await Promise.all(part.map((address) => isUsed(provider, settings, address)));
    part.filter((_, index) => answers[index]).forEach((address) => used.add(address));
  }
  return used;
}

async function isUsed(provider: RpcProvider, settings: NetworkSettings, address: string): Promise<boolean> {
  const account = `41${accountOf(address)}`;
  const { address: known } = await ask<{ readonly address?: string }>(provider, 'wallet', 'getaccount', {
    address: account,
  });
  if (known !== undefined) return true;
  for (const token of settings.tokens) {
    const call = {
      owner_address: account,
      contract_address: `41${accountOf(token.address)}`,
      function_selector: 'balanceOf(address)',
      parameter: account.slice(2).padStart(64, '0'),
    };
    const answer = await ask<{ readonly constant_result?: readonly string[] }>(
      provider,
      'wallet',
      'triggerconstantcontract',
      call,
    );
    const word = answer.constant_result?.[0] ?? '';
    if (!/^[0-9a-f]{64}$/i.test(word)) throw new ProviderFault('inconsistent', `answered no ${token.coin} balance`);
    if (BigInt(`0x${word}`) > 0n) return true;
  }
  return false;
}
