import { Interface } from 'ethers';
import type { Token } from '../../domain/networks/networks.ts';
import { TransferImpossible } from '../../ports/outgoing/transaction.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from '../rpc/dialects.ts';
import { wideQuantity } from './rpc.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

/** Gas of a plain transfer to an account without code. */
export const NATIVE_GAS = 21_000n;

const TOKEN = new Interface([
  'function decimals() view returns (uint8)',
  'function transfer(address to, uint256 value)',
  'function balanceOf(address) view returns (uint256)',
  'function isBlackListed(address) view returns (bool)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
]);

const WORD = /^0x[0-9a-f]{64}$/i;

/** One word of the contract's answer; null if it refuses, or if the provider has the contract and it says nothing. */
async function view(
  provider: RpcProvider,
  token: Token,
  name: string,
  args: readonly unknown[],
): Promise<bigint | null> {
  const answer = await answerOf(provider, token, name, args);
  if (answer === 'reverted') return null;
  if (answer !== '0x') return BigInt(answer);
  // A node that lacks the contract answers nothing, too, and its word would pass for "not paused".
  const decimals = await answerOf(provider, token, 'decimals', []);
  if (WORD.test(decimals) && (await answerOf(provider, token, name, args)) === '0x') return null;
  throw new ProviderFault('inconsistent', `answers nothing for ${name}() of ${token.coin}`);
}

async function answerOf(provider: RpcProvider, token: Token, name: string, args: readonly unknown[]): Promise<string> {
  try {
    const call = { to: token.address, data: TOKEN.encodeFunctionData(name, args) };
    const answer = await provider.call('eth_call', [call, 'latest']);
    if (typeof answer === 'string' && (answer === '0x' || WORD.test(answer))) return answer;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (error.means === 'reverted') return 'reverted';
    throw faultOf(error, `${name}()`);
  }
  throw new ProviderFault('inconsistent', `answered ${name}() of ${token.coin} in an unknown form`);
}

/** Base units. */
export async function balanceOf(provider: RpcProvider, token: Token, address: string): Promise<bigint> {
  const units = await view(provider, token, 'balanceOf', [address]);
  if (units === null) throw new ProviderFault('incapable', `does not say what an account holds of ${token.coin}`);
  return units;
}

const flag = async (provider: RpcProvider, token: Token, name: string, args: readonly unknown[]): Promise<boolean> =>
  ((await view(provider, token, name, args)) ?? 0n) !== 0n;

export const isPaused = (provider: RpcProvider, token: Token): Promise<boolean> => flag(provider, token, 'paused', []);

/** Tether and Circle name the function differently. */
export const isFrozen = async (provider: RpcProvider, token: Token, address: string): Promise<boolean> =>
  (await flag(provider, token, 'isBlackListed', [address])) || flag(provider, token, 'isBlacklisted', [address]);

/** Gas of the transfer. Throws `TransferImpossible` if the token refuses it although the sender holds enough. */
export async function gasOfTransfer(
  provider: RpcProvider,
  token: Token,
  { from, to, units }: { readonly from: string; readonly to: string; readonly units: bigint },
): Promise<bigint> {
  const data = TOKEN.encodeFunctionData('transfer', [to, units]);
  try {
    return await estimatedGas(provider, { from, to: token.address, data });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (error.means !== 'reverted') throw faultOf(error, 'eth_estimateGas');
    // A lagging provider may not know the sender's balance yet.
    if ((await balanceOf(provider, token, from)) < units)
      throw new ProviderFault('behind', `knows too little of ${token.coin} at the sender`);
    throw new TransferImpossible('transfer_rejected', `the token refuses the transfer: ${messageOf(error)}`);
  }
}

/** No transaction takes less than a plain transfer; an estimate below it is none. */
export async function estimatedGas(provider: RpcProvider, call: Readonly<Record<string, string>>): Promise<bigint> {
  const gas = wideQuantity(await provider.call('eth_estimateGas', [call]), 'gas');
  if (gas < NATIVE_GAS) throw new ProviderFault('inconsistent', `estimates ${gas} gas`);
  return gas;
}
