import { amountOf, formatAmount } from '../../domain/money/money.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { ChainView } from '../chains/chain-view.ts';
import { bytesOf, refusal } from '../exclusive.ts';
import type { PolicyParts } from './policy.ts';

/** Once the gas has been at the address for this long, fees have risen above it, and the sweep may get more. */
const AGAIN_AFTER_MS = 3_600_000;

/**
 * Why a top-up is refused: the signer itself must see tokens to sweep, grants no more than that sweep needs now, and
 * grants nothing while it cannot see that the previous top-up was spent or has long been too little. Null if there is
 * no objection. Throws `ViewUnavailable`.
 */
export async function topUpFault(
  order: OutgoingTransaction,
  { others, wallet, nowMs }: Pick<PolicyParts, 'others' | 'wallet' | 'nowMs'>,
  view: ChainView,
): Promise<SignerRefusal | null> {
  if (!(await mayHaveMore(order, { others, nowMs }, view)))
    return refusal('later', 'velocity', `${order.toAddress} received gas that no sweep has spent yet`);
  const gas = await view.sweepGas(order.toAddress, wallet.treasury[addressFamilyOf(order.network)]);
  if (gas === null)
    return refusal('denied', 'no_gas_needed', `the treasury itself pays for sweeps on ${order.network}`);
  // A lagging provider does not show recent deposits.
  if (gas.needed === 0n) return refusal('later', 'nothing_to_sweep', `${order.toAddress} holds nothing to sweep`);
  const room = gas.needed - gas.held;
  if (amountOf(order.amount) <= room) return null;
  return refusal(
    'denied',
    'more_than_needed',
    `a sweep of ${order.toAddress} needs ${formatAmount(room > 0n ? room : 0n)} ${order.coin} more, not ${order.amount}`,
  );
}

/**
 * The last top-up of the address failed permanently, a sweep signed after it is in the chain, or it has been in the
 * chain for long. What it brought counts as held, so a second one cannot be claimed before the first is seen.
 */
async function mayHaveMore(
  { network, toAddress }: OutgoingTransaction,
  { others, nowMs }: Pick<PolicyParts, 'others' | 'nowMs'>,
  view: ChainView,
): Promise<boolean> {
  const ofNetwork = bytesOf(others).filter((entry) => entry.network === network);
  const last = ofNetwork.findLast((entry) => entry.purpose === 'gas_top_up' && entry.toAddress === toAddress);
  if (!last) return true;
  const given = ofNetwork.filter(({ id }) => id === last.id);
  const sweeps = ofNetwork.filter(
    ({ purpose, fromAddress, seq }) => purpose === 'sweep' && fromAddress === toAddress && seq > last.seq,
  );
  const isOld = nowMs - last.atMs >= AGAIN_AFTER_MS;
  for (const signed of isOld ? [...sweeps, ...given] : sweeps) if (await view.hasLanded(signed)) return true;
  return view.hadNoEffect(given);
}
