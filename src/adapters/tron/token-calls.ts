import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { accountOf } from './address.ts';
import { ask, type TronView } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

const simulated = z.object({ constant_result: z.array(z.string()).nullish(), energy_used: z.number().nullish() });
const account = z.object({ balance: z.number().nullish() });
const parameters = z.object({
  chainParameter: z.array(z.object({ key: z.string(), value: z.number().nullish() })).nullish(),
});
const resources = z.object({ EnergyLimit: z.number().nullish(), EnergyUsed: z.number().nullish() });

/** A payee without a balance of the token costs twice the energy, and dynamic energy varies between calls. */
const FEE_MARGIN = 2;
const MIN_FEE_LIMIT_SUN = 15_000_000;
const MAX_FEE_LIMIT_SUN = 120_000_000;

const hexOf = (address: string): string => `41${accountOf(address)}`;
const word = (address: string): string => must(accountOf(address)).padStart(64, '0');

/** Null if the contract lacks the function. */
export async function callToken(
  provider: RpcProvider,
  token: Token,
  selector: string,
  parameter: string,
): Promise<bigint | null> {
  const call = {
    owner_address: hexOf(token.address),
    contract_address: hexOf(token.address),
    function_selector: selector,
    parameter,
  };
  const answer = await ask(provider, simulated, 'wallet', 'triggerconstantcontract', call);
  const result = answer.constant_result?.[0] ?? '';
  return /^[0-9a-f]{64}$/i.test(result) ? BigInt(`0x${result}`) : null;
}

const flag = async (provider: RpcProvider, token: Token, selector: string, parameter: string): Promise<boolean> =>
  ((await callToken(provider, token, selector, parameter)) ?? 0n) !== 0n;

export const isPaused = (provider: RpcProvider, token: Token): Promise<boolean> =>
  flag(provider, token, 'paused()', '');

/** Tether and Circle name the function differently. */
export const isFrozen = async (provider: RpcProvider, token: Token, address: string): Promise<boolean> =>
  (await flag(provider, token, 'isBlackListed(address)', word(address))) ||
  flag(provider, token, 'isBlacklisted(address)', word(address));

/** Token base units; null if the contract does not answer. */
export const unitsOf = (provider: RpcProvider, token: Token, address: string): Promise<bigint | null> =>
  callToken(provider, token, 'balanceOf(address)', word(address));

export const sunOf = async (provider: RpcProvider, address: string, view: TronView = 'wallet'): Promise<number> =>
  (await ask(provider, account, view, 'getaccount', { address: hexOf(address) })).balance ?? 0;

/** Sun that a transfer may burn beyond the sender's staked resources, and the fee limit to set. */
export async function costOfTransfer(
  provider: RpcProvider,
  token: Token,
  { from, to, units }: { readonly from: string; readonly to: string; readonly units: bigint },
): Promise<{ readonly burntSun: number; readonly feeLimit: number }> {
  const call = {
    owner_address: hexOf(from),
    contract_address: hexOf(token.address),
    function_selector: 'transfer(address,uint256)',
    parameter: word(to) + units.toString(16).padStart(64, '0'),
  };
  const estimate = await ask(provider, simulated, 'wallet', 'triggerconstantcontract', call);
  const { chainParameter } = await ask(provider, parameters, 'wallet', 'getchainparameters', {});
  const price = chainParameter?.find(({ key }) => key === 'getEnergyFee')?.value ?? 100;
  const own = await ask(provider, resources, 'wallet', 'getaccountresource', { address: hexOf(from) });
  const staked = Math.max(0, (own.EnergyLimit ?? 0) - (own.EnergyUsed ?? 0));
  const energy = estimate.energy_used ?? 0;
  const feeLimit = Math.min(MAX_FEE_LIMIT_SUN, Math.max(MIN_FEE_LIMIT_SUN, energy * price * FEE_MARGIN));
  return { burntSun: Math.min(feeLimit, Math.max(0, energy - staked) * price), feeLimit };
}
