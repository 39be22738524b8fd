import { amountOf, least, most, toTokenUnits } from '../../domain/money/money.ts';
import type { Token } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import { RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { readBaseFee, wideQuantity } from './rpc.ts';
import { faultOf } from '../rpc/dialects.ts';
import { estimatedGas, gasOfTransfer, NATIVE_GAS } from './token-calls.ts';

/* What a transaction takes of gas, and what gas costs. */

/** More than token transfers need, including first-time receivers and fee-on-transfer code. */
export const GAS_FLOOR = 90_000n;
const HUNDRED = 100n;
/** Margin for token code that behaves differently in another block. */
const GAS_MARGIN = 150n;
/** A sweep pays with its top-up, so its margin is smaller. */
const SWEEP_GAS_MARGIN = 125n;

/** Current fees of the network in wei per gas; with `least` a transaction gets into one of the next blocks. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly least: bigint;
  readonly tip: bigint;
}

export interface TipLimits {
  /** The most of the fee that goes to the block's producer. */
  readonly maxPriorityFeePerGas: bigint;
  /** Tip in wei if the network suggests none. */
  readonly fallbackTip: bigint;
}

export async function feesNow(provider: RpcProvider, { fallbackTip, maxPriorityFeePerGas }: TipLimits): Promise<Fees> {
  const base = await readBaseFee(provider);
  const tip = least(await suggestedTip(provider, fallbackTip), maxPriorityFeePerGas);
  return { maxFeePerGas: base * 2n + tip, least: (base * 5n) / 4n + tip, tip };
}

export const textOf = ({ maxFeePerGas, tip }: Omit<Fees, 'least'>) => ({
  maxFeePerGas: maxFeePerGas.toString(),
  maxPriorityFeePerGas: tip.toString(),
});

export async function gasLimitOf(
  provider: RpcProvider,
  token: Token,
  { kind, amount, fromAddress: from, toAddress: to }: OutgoingTransaction,
): Promise<bigint> {
  const gas = await gasOfTransfer(provider, token, { from, to, units: toTokenUnits(amountOf(amount), token.decimals) });
  return kind === 'sweep' ? (gas * SWEEP_GAS_MARGIN) / HUNDRED : most((gas * GAS_MARGIN) / HUNDRED, GAS_FLOOR);
}

/** Our own addresses have no code. The payee of a return may have some, which then runs. */
export async function nativeGasOf(
  provider: RpcProvider,
  { kind, amount, fromAddress: from, toAddress: to }: OutgoingTransaction,
): Promise<bigint> {
  if (kind !== 'native_return') return NATIVE_GAS;
  try {
    const call = { from, to, value: `0x${amountOf(amount).toString(16)}` };
    const gas = await estimatedGas(provider, call);
    return gas === NATIVE_GAS ? NATIVE_GAS : (gas * GAS_MARGIN) / HUNDRED;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // The sender lacks the money; the caller reports that in the right words.
    if (error.means === 'no-funds' || error.means === 'reverted') return NATIVE_GAS;
    throw faultOf(error, 'eth_estimateGas');
  }
}

async function suggestedTip(provider: RpcProvider, fallback: bigint): Promise<bigint> {
  try {
    return wideQuantity(await provider.call('eth_maxPriorityFeePerGas', []), 'priority fee');
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // Some nodes suggest none.
    if (error.means === 'cannot' || error.means === 'unknown') return fallback;
    throw faultOf(error, 'eth_maxPriorityFeePerGas');
  }
}
