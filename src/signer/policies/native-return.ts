import { nativeTransferKey } from '../../domain/networks/deposit-proof.ts';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { amountOf, formatAmount } from '../../domain/money/money.ts';
import { mostNative } from '../../domain/networks/native-cost.ts';
import { addressFamilyOf, NATIVE_COIN } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import { missingApprovals } from '../approvals/count.ts';
import { hashOf, transactionTerms } from '../approvals/text.ts';
import type { ChainView } from '../chains/chain-view.ts';
import { refusal } from '../exclusive.ts';
import { takenByPlace } from './limits.ts';
import { coveredRefusal, treasuryFault, type Judged, type Policy, type PolicyParts } from './policy.ts';
import { must } from '../../domain/values/must.ts';

/**
 * Returns native coin to the sender found on chain: once per transfer, no more than its amount less the fee of the
 * return, and only from what the books hold for unknown senders. The treasury pays, so the caps on native coin apply.
 */
export const NATIVE_RETURN: Policy = {
  refusal: (order, parts) => {
    const what = `approvers approved the return of ${order.amount} ${order.coin}`;
    const fault = treasuryFault(order, parts.wallet) ?? transferFault(order, parts);
    const terms = [hashOf(transactionTerms(order))];
    return coveredRefusal(fault ?? missingApprovals(parts.others, terms, what, parts.rules), order, parts);
  },
  onChain: takeTransfer,
};

function transferFault(
  { network, coin, toAddress, transfer }: OutgoingTransaction,
  { wallet, own }: PolicyParts,
): SignerRefusal | null {
  const family = addressFamilyOf(network);
  if (coin !== NATIVE_COIN[network])
    return refusal('denied', 'other_coin', `the native coin of ${network} is ${NATIVE_COIN[network]}`);
  if (!transfer || wallet.collectionAddress(family, transfer.derivationIndex) !== transfer.toAddress)
    return refusal('denied', 'not_our_address', 'the transfer names an address that is not ours');
  if (own.hasSigned(transfer.txHash))
    return refusal('denied', 'own_transfer', `${transfer.txHash} moved our own money`);
  return own.isAddress(toAddress) || toAddress === transfer.toAddress
    ? refusal('denied', 'own_address', 'the sender is one of our own addresses')
    : null;
}

async function takeTransfer(order: OutgoingTransaction, { others }: PolicyParts, view: ChainView): Promise<Judged> {
  const transfer = must(order.transfer);
  const depositKey = `${order.network}:${nativeTransferKey(transfer)}`;
  if (takenByPlace(others).has(depositKey))
    return refusal('denied', 'already_returned', `${transfer.txHash} was already returned`);
  const found = await view.findNativeTransfer(transfer);
  if (!found)
    return refusal(
      'later',
      'deposit_not_found',
      `no transfer of ${order.coin} to ${transfer.toAddress} is in the chain under this hash`,
    );
  if (found.fromAddress === null || found.fromAddress !== order.toAddress)
    return refusal('denied', 'not_the_payer', 'the payee is not the sender');
  if (!found.final) return refusal('later', 'deposit_not_final', 'the transfer is not final');
  if (amountOf(order.amount) >= found.units)
    return refusal(
      'denied',
      'exceeds_deposit',
      `${formatAmount(found.units)} ${order.coin} came, and the fee is deducted from it`,
    );
  return { ok: true, takenFrom: [{ depositKey, place: depositKey, units: found.units.toString() }] };
}

/** The operator adds nothing: amount and maximum fee are no more than what arrived. Null for every other kind. */
export function feeOfReturnRefusal(
  draft: TransactionDraft,
  { kind, coin }: OutgoingTransaction,
  judged: Judged,
): SignerRefusal | null {
  if (kind !== 'native_return' || !judged.ok) return null;
  const came = judged.takenFrom.reduce((total, { units }) => total + BigInt(units), 0n);
  const most = mostNative(draft);
  if (most <= came) return null;
  return refusal(
    'later',
    'network_fee_too_high',
    `${formatAmount(most)} ${coin} could be spent, fee included, but only ${formatAmount(came)} came`,
  );
}
