import { z } from 'zod';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { accountOf } from './address.ts';
import { ask, orNothing } from './rpc.ts';
import { unitsOf } from './token-calls.ts';

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

const activated = orNothing(z.object({ address: z.string() }));

async function isUsed(provider: RpcProvider, settings: NetworkSettings, address: string): Promise<boolean> {
  const asked = { address: `41${accountOf(address)}` };
  if ((await ask(provider, activated, 'wallet', 'getaccount', asked)) !== null) return true;
  for (const token of settings.tokens) if ((await unitsOf(provider, token, address)) > 0n) return true;
  return false;
}
