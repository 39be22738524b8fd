import type { Token } from '../../domain/networks.ts';
import type { RpcProvider } from '../../ports/rpc-pool.ts';
import { accountOf } from './address.ts';
import { ask, type TronView } from './rpc.ts';
import { must } from '../../domain/must.ts';

interface Resources {
  readonly EnergyLimit?: number;
  readonly EnergyUsed?: number;
}

/** A payee without a balance of the token costs twice the energy, and dynamic energy varies between calls. */
const FEE_MARGIN = 2;
const MIN_FEE_LIMIT_SUN = 15_000_000;
const MAX_FEE_LIMIT_SUN = 120_000_000;

const hexOf = (address: string): string => `41${accountOf(address)}`;
const word = (address: string): string => must(accountOf(address)).padStart(64, '0');

/** Null if the contract lacks the function. */
async function view(provider: RpcProvider, token: Token, selector: string, parameter: string): Promise<bigint | null> {
  const call = {
    owner_address: hexOf(token.address),
    contract_address: hexOf(token.address),
    function_selector: selector,
    parameter,
  };
  const answer = await ask<{ readonly constant_result?: readonly string[] }>(
    provider,
    'wallet',
    'triggerconstantcontract',
    call,
  );
  const result = answer.constant_result?.[0] ?? '';
  return /^[0-9a-f]{64}$/i.test(result) ? BigInt(`0x${result}`) : null;
}

const flag = async (provider: RpcProvider, token: Token, selector: string, parameter: string): Promise<boolean> =>
  ((await view(provider, token, selector, parameter)) ?? 0n) !== 0n;

export const isPaused = (provider: RpcProvider, token: Token): Promise<boolean> =>
  flag(provider, token, 'paused()', '');

/** Tether and Circle name the function differently. */
export const isFrozen = async (provider: RpcProvider, token: Token, address: string): Promise<boolean> =>
  (await flag(provider, token, 'isBlackListed(address)', word(address))) ||
  flag(provider, token, 'isBlacklisted(address)', word(address));

/** Token base units; null if the contract does not answer. */
export const unitsOf = (provider: RpcProvider, token: Token, address: string): Promise<bigint | null> =>
  view(provider, token, 'balanceOf(address)', word(address));

export const sunOf = async (provider: RpcProvider, address: string, view: TronView = 'wallet'): Promise<number> =>
  (await ask<{ readonly balance?: number }>(provider, view, 'getaccount', { address: hexOf(address) })).balance ?? 0;

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
  const estimate = await ask<{ readonly energy_used?: number }>(provider, 'wallet', 'triggerconstantcontract', call);
  const { chainParameter = [] } = await ask<{ readonly chainParameter?: readonly { key: string; value?: number }[] }>(
    provider,
    'wallet',
    'getchainparameters',
    {},
  );
  const price = chainParameter.find(({ key }) => key === 'getEnergyFee')?.value ?? 100;
  const resources = await ask<Resources>(provider, 'wallet', 'getaccountresource', { address: hexOf(from) });
  const staked = Math.max(0, (resources.EnergyLimit ?? 0) - (resources.EnergyUsed ?? 0));
  const energy = estimate.energy_used ?? 0;
  const feeLimit = Math.min(MAX_FEE_LIMIT_SUN, Math.max(MIN_FEE_LIMIT_SUN, energy * price * FEE_MARGIN));
  return { burntSun: Math.min(feeLimit, Math.max(0, energy - staked) * price), feeLimit };
}
