import { claimText, type OrderedClaim } from '../../domain/claims.ts';
import { amountOf, formatAmount, isCoin } from '../../domain/money/money.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import { isSignedByWallet } from '../../chain-formats/wallet-signature.ts';
import { missingApprovals } from '../approvals/count.ts';
import { hashOf, transactionTerms } from '../approvals/text.ts';
import type { FoundDeposit } from '../chains/chain-view.ts';
import { bytesOf, refusal } from '../exclusive.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { PolicyParts } from './policy.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Refunds to another payee than the payer. A signature of the paying key is verified here, against the sender that the
 * chain names. What only people can judge needs two approvers for the exact terms, including the payee.
 */

/** Why a claim may not be paid, from rules and journal alone; null if there is no claim or no objection. */
export function claimRefusal(
  order: OutgoingTransaction,
  { rules, others }: Pick<PolicyParts, 'rules' | 'others'>,
): SignerRefusal | null {
  const claim = order.refund?.claim;
  if (!claim) return null;
  const { kind } = claim.evidence;
  if (!(rules.claims ?? []).includes(kind))
    return refusal('later', 'claims_off', `the signer's REFUND_CLAIMS does not include ${kind}`);
  const needed = kind === 'test_payment' ? 2 : 1;
  if (order.deposits.length !== needed || order.deposits.some(({ amount }) => amountOf(amount) <= 0n))
    return refusal('denied', 'other_deposits', `a claim with ${kind} as evidence is paid from ${needed} deposits`);
  if (claim.evidence.kind === 'signature') return isUsed(claim.evidence.number, order, others) ? USED : null;
  const what = `approvals for ${order.amount} ${order.coin} to a payee who did not pay`;
  return missingApprovals(others, hashOf(transactionTerms(order)), what);
}

const USED = refusal('denied', 'evidence_used', 'the signature was already used for another payout');

/** Transactions without effect did not use the number. */
function isUsed(number: string, { id }: OutgoingTransaction, others: readonly JournalEntry[]): boolean {
  const released = new Set(others.flatMap((entry) => (entry.kind === 'released' ? [entry.id] : [])));
  return bytesOf(others).some((entry) => entry.evidence === number && entry.id !== id && !released.has(entry.id));
}

/** Why the deposits on chain do not prove the claim; null if they do. */
export async function evidenceRefusal(
  claim: OrderedClaim,
  order: OutgoingTransaction,
  found: readonly FoundDeposit[],
): Promise<SignerRefusal | null> {
  const { evidence } = claim;
  const [first] = found;
  switch (evidence.kind) {
    case 'no_sender':
      return must(first).payer === null
        ? null
        : refusal('denied', 'has_sender', 'the deposit has a sender, so its evidence must prove that sender');
    case 'test_payment': {
      const isOne = must(first).payer !== null && found.every(({ payer }) => payer === must(first).payer);
      if (!isOne || must(found[1]).depositKey === must(first).depositKey)
        return refusal('denied', 'not_the_payer', 'the test payment came from another sender');
      return must(first).units === amountOf(evidence.amount)
        ? null
        : refusal('denied', 'other_amount', `the test payment is not ${evidence.amount}`);
    }
    case 'signature':
      return (await isSigned(evidence, order, must(first)))
        ? null
        : refusal('denied', 'not_the_payer', 'the paying key did not sign these terms');
  }
}

/** The text is composed from what the signer itself found, so a signature for anything else is invalid. */
async function isSigned(
  { number, signature }: { readonly number: string; readonly signature: string },
  { network, mode, toAddress, refund, coin }: OutgoingTransaction,
  { payer, depositKey, units }: FoundDeposit,
): Promise<boolean> {
  if (payer === null || !isCoin(coin)) return false;
  const { sessionId } = must(refund);
  const text = claimText({
    sessionId,
    mode,
    network,
    depositKey,
    coin,
    amount: formatAmount(units),
    payee: toAddress,
    number,
  });
  return isSignedByWallet(network, payer, text, signature);
}
