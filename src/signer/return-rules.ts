import type { DepositProof } from '../domain/deposit-proof.ts';
import { amountOf } from '../domain/money.ts';
import { addressFamilyOf } from '../domain/networks.ts';
import type { MoveOrder } from '../ports/moves.ts';
import type { PayoutRefusal } from '../ports/payouts.ts';
import type { FoundDeposit } from './chain-view.ts';
import type { JournalEntry } from './payout-journal.ts';
import { refusal } from './exclusive.ts';
import { takenByDeposit } from './payout-rules.ts';
import type { SigningWallet } from './signing-wallet.ts';

export type Taken = readonly { readonly depositKey: string; readonly units: string }[];

/** Whether the address is the one that the wallet has at the place: a collection address, or with null the treasury. */
export function isOurs(wallet: SigningWallet, network: MoveOrder['network'], { toAddress, derivationIndex }: DepositProof): boolean {
  const family = addressFamilyOf(network);
  return toAddress === (derivationIndex === null ? wallet.treasury[family] : wallet.collectionAddress(family, derivationIndex));
}

/** Why the deposit does not allow a payout to this payee, as the chain shows it; null when it does. */
export function depositFault(found: FoundDeposit | null, order: { readonly coin: string; readonly toAddress: string }): PayoutRefusal | null {
  if (!found) return refusal('later', 'deposit_not_found', 'the deposit is not in the chain');
  if (found.coin !== order.coin) return refusal('denied', 'other_coin', `the payer paid ${found.coin}`);
  if (found.payer === null || found.payer !== order.toAddress) return refusal('denied', 'not_the_payer', 'the payee is not who paid');
  return found.final ? null : refusal('later', 'deposit_not_final', 'the deposit is not final');
}

/** The rules of a return that need no chain; the proof, or why there is none. */
export function returnedDeposit(order: MoveOrder, wallet: SigningWallet): DepositProof | PayoutRefusal {
  const { deposit, network, fromAddress, toAddress } = order;
  if (fromAddress !== wallet.treasury[addressFamilyOf(network)])
    return refusal('denied', 'other_treasury', 'the treasury is not the account of this wallet');
  if (!deposit) return refusal('denied', 'no_deposit', 'a return names the transfer that it pays back');
  if (!isOurs(wallet, network, deposit))
    return refusal('denied', 'not_our_address', `${deposit.depositKey} is said to have come to an address that is not ours`);
  if (toAddress === deposit.toAddress || Object.values(wallet.treasury).includes(toAddress))
    return refusal('denied', 'own_address', 'the payer is one of our own addresses');
  return deposit;
}

/** Takes all of the amount from the one deposit; what refunds and returns took of it before is not there any more. */
export function takeFrom(found: FoundDeposit, order: MoveOrder, entries: readonly JournalEntry[]): { readonly takenFrom: Taken } | PayoutRefusal {
  const units = amountOf(order.amount);
  const left = found.units - (takenByDeposit(entries).get(found.depositKey) ?? 0n);
  return units <= left
    ? { takenFrom: [{ depositKey: found.depositKey, units: units.toString() }] }
    : refusal('denied', 'exceeds_deposit', 'more than is left of what the payer paid');
}
