import { Interface } from 'ethers';
import type { Token } from '../../domain/networks/networks.ts';
import { TransferImpossible } from '../../ports/outgoing/transaction.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { wideQuantity } from './rpc.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

const TOKEN = new Interface([
  'function transfer(address to, uint256 value)',
  'function balanceOf(address) view returns (uint256)',
  'function isBlackListed(address) view returns (bool)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
]);

/** A node that ran out of time says "execution aborted", too, but nothing about the contract. */
const isRevert = (error: unknown): boolean =>
  error instanceof RpcError &&
  /revert|invalid opcode|execution/i.test(error.message) &&
  !/abort|time(d )?out/i.test(error.message);

/** Null if the contract lacks the function or refuses to answer. */
export async function view(
  provider: RpcProvider,
  token: Token,
  name: string,
  args: readonly unknown[],
): Promise<string | null> {
  try {
    const answer = await provider.call('eth_call', [
      { to: token.address, data: TOKEN.encodeFunctionData(name, args) },
      'latest',
    ]);
    return typeof answer === 'string' && /^0x[0-9a-f]{64}$/i.test(answer) ? answer : null;
  } catch (error) {
    if (isRevert(error)) return null;
    if (error instanceof RpcError) throw new ProviderFault('incapable', `does not answer eth_call (${error.code})`);
    throw error;
  }
}

const flag = async (provider: RpcProvider, token: Token, name: string, args: readonly unknown[]): Promise<boolean> =>
  BigInt((await view(provider, token, name, args)) ?? '0x0') !== 0n;

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
    return wideQuantity(await provider.call('eth_estimateGas', [{ from, to: token.address, data }]), 'gas');
  } catch (error) {
    if (!isRevert(error)) throw error;
    // A lagging provider may not know the sender's balance yet.
    if (BigInt((await view(provider, token, 'balanceOf', [from])) ?? '0x0') < units)
      throw new ProviderFault('behind', `knows too little of ${token.coin} at the sender`);
    throw new TransferImpossible('transfer_rejected', `the token refuses the transfer: ${messageOf(error)}`);
  }
}
