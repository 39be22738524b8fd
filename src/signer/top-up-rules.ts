import { amountOf, formatAmount } from '../domain/money.ts';
import { addressFamilyOf } from '../domain/networks.ts';
import type { MoveOrder } from '../ports/moves.ts';
import type { PayoutRefusal } from '../ports/payouts.ts';
import type { ChainView } from './chain-view.ts';
import { movedOf } from './move-rules.ts';
import type { JournalEntry } from './payout-journal.ts';
import { refusal } from './exclusive.ts';
import type { SigningWallet } from './signing-wallet.ts';

/**
 * Why gas is not given: the signer itself must see tokens to sweep, gives no more than that sweep takes now, and gives nothing
 * while it cannot see that what it gave before was spent. Null when nothing stands in the way. Throws `ViewUnavailable`.
 */
export async function topUpFault(
  order: MoveOrder,
  { wallet, journal }: { readonly wallet: SigningWallet; readonly journal: { readonly entries: readonly JournalEntry[] } },
  view: ChainView,
): Promise<PayoutRefusal | null> {
  if (!(await isSpent(order, journal.entries, view)))
    return refusal('later', 'velocity', `${order.toAddress} was given gas that no sweep has spent yet`);
  const gas = await view.sweepGas(order.toAddress, wallet.treasury[addressFamilyOf(order.network)]);
  if (gas === null) return refusal('denied', 'no_gas_needed', `the treasury itself pays for sweeps on ${order.network}`);
  if (gas.needed === 0n) return refusal('denied', 'nothing_to_sweep', `${order.toAddress} holds nothing to sweep`);
  const room = gas.needed - gas.held;
  if (amountOf(order.amount) <= room) return null;
  return refusal(
    'denied',
    'more_than_needed',
    `a sweep of ${order.toAddress} needs ${formatAmount(room > 0n ? room : 0n)} ${order.coin} more, not ${order.amount}`,
  );
}

/** The last top-up of the address came to nothing for good, or a sweep that was signed after it is in the chain. */
async function isSpent({ network, toAddress }: MoveOrder, entries: readonly JournalEntry[], view: ChainView): Promise<boolean> {
  const ofNetwork = movedOf(entries).filter((entry) => entry.network === network);
  const last = ofNetwork.findLast((entry) => entry.move === 'gas_top_up' && entry.toAddress === toAddress);
  if (!last) return true;
  const sweeps = ofNetwork.filter(({ move, fromAddress, seq }) => move === 'sweep' && fromAddress === toAddress && seq > last.seq);
  for (const sweep of sweeps) if (await view.hasLanded(sweep.txHash)) return true;
  return view.hadNoEffect(ofNetwork.filter(({ legId }) => legId === last.legId));
}
