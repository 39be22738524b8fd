import type { DepositProof } from '../../domain/networks/deposit-proof.ts';
import { amountOf, isCoin, least } from '../../domain/money/money.ts';
import { addressFamilyOf, type Network } from '../../domain/networks/networks.ts';
import { unknownPayerWords } from '../../domain/networks/unknown-payer.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import { agreedTo, APPROVALS_NEEDED } from '../approvals/count.ts';
import { BEYOND_ACCOUNT, hashOf, transactionTerms } from '../approvals/text.ts';
import type { ChainView, FoundDeposit } from '../chains/chain-view.ts';
import { DepositLookups } from '../chains/deposit-lookups.ts';
import { bytesOf, refusal } from '../exclusive.ts';
import type { SignedEntry } from '../journal/journal.ts';
import { limitsRefusal, takenByPlace } from './limits.ts';
import { treasuryFault, type Judged, type Policy, type PolicyParts } from './policy.ts';
import type { SigningWallet } from '../keys/signing-wallet.ts';
import { must } from '../../domain/values/must.ts';

/**
 * Refunds and returns: money goes back to the payer found on chain, within caps and with two approvers above a threshold. What was taken from a deposit before is no longer available.
 */
export const PAY_BACK: Policy = {
  refusal: (order, parts) => {
    const { wallet, others, rules, nowMs } = parts;
    const { coin, amount } = order;
    const fault = treasuryFault(order, wallet);
    if (fault) return fault;
    if (!isCoin(coin)) return refusal('denied', 'other_coin', 'only stablecoins are refunded');
    const terms = [transactionTerms(order), transactionTerms(order, BEYOND_ACCOUNT)].map(hashOf);
    const capped = limitsRefusal({ coin, amount }, terms, others, rules, nowMs);
    // The console and the API name the graver reason why people must approve.
    const graver = order.kind === 'refund' && capped?.code === 'approval' ? beyondAccount(order, parts) : null;
    return graver ?? capped ?? ownAddressRefusal(order, parts);
  },
  onChain: takeOfDeposits,
};

function ownAddressRefusal(
  { network, toAddress, deposits }: OutgoingTransaction,
  { wallet, own }: PolicyParts,
): SignerRefusal | null {
  const strange = deposits.find((deposit) => !isOurs(wallet, network, deposit));
  if (strange) return refusal('denied', 'not_our_address', `${strange.depositKey} names an address that is not ours`);
  const isOwn = own.isAddress(toAddress) || deposits.some((deposit) => deposit.toAddress === toAddress);
  return isOwn ? refusal('denied', 'own_address', 'the payee is one of our own addresses') : null;
}

/** Whether the address is the wallet's address at the index: a collection address, or the treasury for null. */
function isOurs(wallet: SigningWallet, network: Network, { toAddress, derivationIndex }: DepositProof): boolean {
  const family = addressFamilyOf(network);
  return (
    toAddress ===
    (derivationIndex === null ? wallet.treasury[family] : wallet.collectionAddress(family, derivationIndex))
  );
}

/** Takes the ordered amounts from each deposit, all found on chain and paid by the payee. */
async function takeOfDeposits(order: OutgoingTransaction, parts: PolicyParts, view: ChainView): Promise<Judged> {
  const taken = takenByPlace(parts.others);
  const { own } = parts;
  const takenFrom: SignedEntry['takenFrom'][number][] = [];
  let rest = amountOf(order.amount);
  const lookedUp = new DepositLookups(view, order.deposits);
  for (const [index, proof] of order.deposits.entries()) {
    if (rest === 0n) break;
    const found = await lookedUp.at(index);
    const fault = depositFault(found, order);
    if (fault) return fault;
    const { depositKey, place, txHash, units } = must(found);
    if (own.hasSigned(txHash)) return refusal('denied', 'own_transfer', `${txHash} moved our own money`);
    if (takenFrom.some((one) => one.place === place))
      return refusal('denied', 'named_twice', `${proof.depositKey} is named twice`);
    const share = least(least(units - (taken.get(place) ?? 0n), amountOf(proof.amount)), rest);
    if (share <= 0n) continue;
    rest -= share;
    takenFrom.push({ depositKey, place, units: share.toString() });
  }
  if (rest > 0n) return refusal('denied', 'exceeds_deposit', "more than what is left of the payer's money");
  return accountRefusal(order, parts) ?? { ok: true, takenFrom };
}

/**
 * Why the account in the books does not allow the payment: the merchant's, or that of unmatched transfers, so that a
 * return pays nothing that was settled. Beyond the account it needs two people who were told so. What was signed for it
 * once counts as paid, and its replacement costs no more.
 */
function accountRefusal(order: OutgoingTransaction, { ledger, others, all, rules }: PolicyParts): SignerRefusal | null {
  if (bytesOf(all).some(({ id }) => id === order.id)) return null;
  const refused = ledger.refusal(order, others);
  const isAgreed =
    refused?.code === 'exceeds_account' &&
    agreedTo(others, [hashOf(transactionTerms(order, BEYOND_ACCOUNT))], rules.approvers) >= APPROVALS_NEEDED;
  return isAgreed ? null : refused;
}

function beyondAccount(order: OutgoingTransaction, parts: PolicyParts): SignerRefusal | null {
  const refused = accountRefusal(order, parts);
  return refused?.code === 'exceeds_account' ? refused : null;
}

const NOT_FOUND =
  'no provider shows the deposit, by its hash or in its block: it left the chain, or is older than what they keep (quittance doctor tells how far that is)';

/** Why the deposit on chain does not allow a payout to this payee; null if it does. */
function depositFault(found: FoundDeposit | null, { coin, toAddress }: OutgoingTransaction): SignerRefusal | null {
  if (!found) return refusal('later', 'deposit_not_found', NOT_FOUND);
  if (found.coin !== coin) return refusal('denied', 'other_coin', `the payer paid ${found.coin}`);
  if (found.payer === null || found.payer !== toAddress) {
    const why = found.payer === null ? `nobody is known to have paid: ${unknownPayerWords(found.unknownPayer)}` : null;
    return refusal('denied', 'not_the_payer', why ?? 'the payee is not the payer');
  }
  return found.final ? null : refusal('later', 'deposit_not_final', 'the deposit is not final');
}
