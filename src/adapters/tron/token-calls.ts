import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { TransferImpossible } from '../../ports/outgoing/transaction.ts';
import { accountOf } from './address.ts';
import { ask, orNothing, textOf, type TronView } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

const said = (words: RegExp) => z.string().refine((message) => words.test(textOf(message)));

/** What refused is marked here too, beside its message. */
const notFailed = z.object({ ret: z.array(z.object({ ret: z.undefined().optional() })) }).optional();
/**
 * The outcomes of a call that a node computed to its end: what the contract returned, that it refused, or that the
 * chain has no such contract. Everything else is no answer, such as OTHER_ERROR of a node that ran out of time.
 */
const simulated = z.union([
  z
    .object({
      result: z.object({ result: z.literal(true), message: z.undefined().optional() }),
      constant_result: z.tuple([z.string()]),
      energy_used: z.number(),
      transaction: notFailed,
    })
    .transform(
      ({ constant_result: [returned], energy_used: energy }) => ({ kind: 'returned', returned, energy }) as const,
    ),
  z
    .object({ result: z.object({ result: z.literal(true), message: said(/^REVERT opcode executed/) }) })
    .transform(() => ({ kind: 'reverted' }) as const),
  z
    .object({
      result: z.object({ code: z.literal('CONTRACT_VALIDATE_ERROR'), message: said(/contract is not exist/i) }),
    })
    .transform(() => ({ kind: 'absent' }) as const),
]);
const account = orNothing(z.object({ address: z.string(), balance: z.number().default(0) }));
const parameters = z.object({ chainParameter: z.array(z.object({ key: z.string(), value: z.number().optional() })) });
const resources = orNothing(
  z.object({ TotalEnergyLimit: z.number(), EnergyLimit: z.number().default(0), EnergyUsed: z.number().default(0) }),
);

/**
 * A payee who holds the token may have given it away when the transfer runs. Writing a balance where none was costs
 * four times as much, which makes the whole transfer up to 2.2 times as dear.
 */
const FIRST_BALANCE_FACTOR = 2.2;
/** The energy of a contract in demand rises by a fifth at a time. */
const FEE_MARGIN = 1.5;
const MIN_FEE_LIMIT_SUN = 15_000_000;
const MAX_FEE_LIMIT_SUN = 120_000_000;

const hexOf = (address: string): string => `41${accountOf(address)}`;
const word = (address: string): string => must(accountOf(address)).padStart(64, '0');

interface Call {
  readonly from: string;
  readonly selector: string;
  readonly parameter: string;
}

/** Throws `ProviderFault` for a node that did not compute the call, or lacks the contract. */
async function simulate(provider: RpcProvider, token: Token, { from, selector, parameter }: Call) {
  const call = {
    owner_address: hexOf(from),
    contract_address: hexOf(token.address),
    function_selector: selector,
    parameter,
  };
  const outcome = await ask(provider, simulated, 'wallet', 'triggerconstantcontract', call);
  if (outcome.kind === 'absent') throw new ProviderFault('behind', `has no ${token.coin} at ${token.address}`);
  return outcome;
}

/** Null if the contract lacks the function. Throws `ProviderFault` as long as no node says so. */
export async function callToken(
  provider: RpcProvider,
  token: Token,
  selector: string,
  parameter: string,
): Promise<bigint | null> {
  const outcome = await simulate(provider, token, { from: token.address, selector, parameter });
  if (outcome.kind === 'reverted' || outcome.returned === '') return null;
  if (!/^[0-9a-f]{64}$/i.test(outcome.returned))
    throw new ProviderFault('inconsistent', `answered ${selector} of ${token.coin} in an unknown form`);
  return BigInt(`0x${outcome.returned}`);
}

const flag = async (provider: RpcProvider, token: Token, selector: string, parameter: string): Promise<boolean> =>
  ((await callToken(provider, token, selector, parameter)) ?? 0n) !== 0n;

export const isPaused = (provider: RpcProvider, token: Token): Promise<boolean> =>
  flag(provider, token, 'paused()', '');

/** Tether and Circle name the function differently. */
export const isFrozen = async (provider: RpcProvider, token: Token, address: string): Promise<boolean> =>
  (await flag(provider, token, 'isBlackListed(address)', word(address))) ||
  flag(provider, token, 'isBlacklisted(address)', word(address));

/** Token base units. */
export async function unitsOf(provider: RpcProvider, token: Token, address: string): Promise<bigint> {
  const units = await callToken(provider, token, 'balanceOf(address)', word(address));
  if (units === null) throw new ProviderFault('incapable', `does not say what an account holds of ${token.coin}`);
  return units;
}

/** An account that was never activated holds nothing. */
export const sunOf = async (provider: RpcProvider, address: string, view: TronView = 'wallet'): Promise<number> =>
  (await ask(provider, account, view, 'getaccount', { address: hexOf(address) }))?.balance ?? 0;

/** In sun, beyond the sender's staked resources. */
interface TransferCost {
  readonly burnt: number;
  /** If the payee gives away what it holds of the token before the transfer runs. */
  readonly mostBurnt: number;
  readonly feeLimit: number;
  /** The limit may be too low, so the transfer would fail and burn it. */
  readonly isTooDear: boolean;
}

/** What a transfer costs. Throws `TransferImpossible` if the token refuses it although the sender holds enough. */
export async function costOfTransfer(
  provider: RpcProvider,
  token: Token,
  { from, to, units }: { readonly from: string; readonly to: string; readonly units: bigint },
): Promise<TransferCost> {
  const parameter = word(to) + units.toString(16).padStart(64, '0');
  const estimate = await simulate(provider, token, { from, selector: 'transfer(address,uint256)', parameter });
  if (estimate.kind === 'reverted') {
    // A lagging provider may not know the sender's balance yet.
    if ((await unitsOf(provider, token, from)) < units)
      throw new ProviderFault('behind', `knows too little of ${token.coin} at the sender`);
    throw new TransferImpossible('transfer_rejected', `${token.coin} refuses the transfer to ${to}`);
  }
  const { energy } = estimate;
  const price = await energyPriceOf(provider);
  const own = await ask(provider, resources, 'wallet', 'getaccountresource', { address: hexOf(from) });
  const staked = own === null ? 0 : Math.max(0, own.EnergyLimit - own.EnergyUsed);
  const mayLose = (await unitsOf(provider, token, to)) > 0n;
  const mostEnergy = Math.ceil(energy * (mayLose ? FIRST_BALANCE_FACTOR : 1));
  const feeLimit = Math.min(MAX_FEE_LIMIT_SUN, Math.max(MIN_FEE_LIMIT_SUN, Math.ceil(mostEnergy * price * FEE_MARGIN)));
  return {
    burnt: Math.max(0, energy - staked) * price,
    mostBurnt: Math.max(0, mostEnergy - staked) * price,
    feeLimit,
    isTooDear: mostEnergy * price > feeLimit,
  };
}

async function energyPriceOf(provider: RpcProvider): Promise<number> {
  const { chainParameter } = await ask(provider, parameters, 'wallet', 'getchainparameters', {});
  const price = chainParameter.find(({ key }) => key === 'getEnergyFee')?.value ?? 0;
  if (price <= 0) throw new ProviderFault('inconsistent', 'getchainparameters names no price of energy');
  return price;
}
