import { amountOf, formatAmount, isCoin } from '../../domain/money/money.ts';
import { addressFamilyOf, NATIVE_COIN } from '../../domain/networks/networks.ts';
import type { OutgoingKind, OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { PayoutRules } from '../../ports/signer/protocol.ts';
import { NONCE_ACCOUNTS, nonceAccountOf } from '../../chain-formats/solana-nonce.ts';
import { missingApprovals } from '../approvals/count.ts';
import { destinationsOf, hashOf, transactionTerms } from '../approvals/text.ts';
import { PAY_BACK } from './deposits.ts';
import { bytesOf, isReleased, refusal, standing } from '../exclusive.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { DAY_MS } from './limits.ts';
import { NATIVE_RETURN } from './native-return.ts';
import type { OwnMoney } from './own-money.ts';
import { coveredRefusal, treasuryFault, type Policy, type PolicyParts } from './policy.ts';
import type { SigningWallet } from '../keys/signing-wallet.ts';
import { topUpFault } from './top-ups.ts';

/** Four times what such an account needs today. */
const MAX_RENT = '0.006';
const MAX_MAKINGS_A_DAY = 32;

/**
 * Sweeps end in the treasury and top-ups go to our own addresses, both derived here; withdrawals and settlements go to
 * an allow-listed address.
 */
export const POLICIES: Readonly<Record<OutgoingKind, Policy>> = {
  refund: PAY_BACK,
  return: PAY_BACK,
  native_return: NATIVE_RETURN,
  sweep: { refusal: (order, { wallet }) => sweepRefusal(order, wallet) },
  gas_top_up: {
    refusal: (order, { wallet }) => topUpRefusal(order, wallet),
    onChain: async (order, parts, view) => (await topUpFault(order, parts, view)) ?? { ok: true, takenFrom: [] },
  },
  withdrawal: { refusal: outwardRefusal },
  settlement: { refusal: (order, parts) => coveredRefusal(outwardRefusal(order, parts), order, parts) },
  nonce_account: { refusal: nonceAccountRefusal },
};

/** The sender must be the collection address at the given index, the receiver the treasury; both are derived here. */
function sweepRefusal(order: OutgoingTransaction, wallet: SigningWallet): SignerRefusal | null {
  const family = addressFamilyOf(order.network);
  if (order.derivationIndex === null || wallet.collectionAddress(family, order.derivationIndex) !== order.fromAddress)
    return refusal('denied', 'not_our_address', 'a sweep starts at one of our collection addresses');
  if (order.toAddress !== wallet.treasury[family])
    return refusal('denied', 'not_the_treasury', 'a sweep ends in the treasury of this wallet');
  return isCoin(order.coin) ? null : refusal('denied', 'other_coin', 'a sweep moves stablecoins only');
}

function topUpRefusal(order: OutgoingTransaction, wallet: SigningWallet): SignerRefusal | null {
  const family = addressFamilyOf(order.network);
  const fault = treasuryFault(order, wallet);
  if (fault) return fault;
  if (order.derivationIndex === null || wallet.collectionAddress(family, order.derivationIndex) !== order.toAddress)
    return refusal('denied', 'not_our_address', 'gas goes to our own collection addresses only');
  return order.coin === NATIVE_COIN[order.network]
    ? null
    : refusal('denied', 'other_coin', `gas on ${order.network} is ${NATIVE_COIN[order.network]}`);
}

/**
 * The rent of accounts that the treasury itself derives. There are few, and the chain lets each be created only once.
 */
function nonceAccountRefusal(order: OutgoingTransaction, { wallet, all, nowMs }: PolicyParts): SignerRefusal | null {
  const { derivationIndex: index, coin, toAddress, network } = order;
  const fault = treasuryFault(order, wallet);
  if (fault) return fault;
  if (network !== 'solana' || coin !== NATIVE_COIN.solana)
    return refusal('denied', 'other_coin', 'nonce accounts are paid in SOL');
  if (index === null || index >= NONCE_ACCOUNTS || toAddress !== nonceAccountOf(wallet.treasury.solana, index))
    return refusal('denied', 'not_our_address', 'not a nonce account of this treasury');
  if (amountOf(order.amount) > amountOf(MAX_RENT))
    return refusal('later', 'per_transaction_cap', `more than ${MAX_RENT} SOL for one account`);
  // One that failed made nothing; its fee counts towards the caps on native coin.
  const today = bytesOf(all).filter(
    (entry) => entry.purpose === 'nonce_account' && entry.atMs > nowMs - DAY_MS && !isReleased(all, entry.id),
  );
  return today.length < MAX_MAKINGS_A_DAY
    ? null
    : refusal('later', 'velocity', `${today.length} transactions that create nonce accounts within a day`);
}

/** Allow-list, caps and approvals. */
function outwardRefusal(
  order: OutgoingTransaction,
  { wallet, others, rules, nowMs, own }: PolicyParts,
): SignerRefusal | null {
  const fault = treasuryFault(order, wallet) ?? destinationFault(order, own, others, rules);
  if (fault) return fault;
  const limits = isCoin(order.coin) ? rules.treasuryLimits?.[order.coin] : undefined;
  if (!limits)
    return refusal('later', 'no_policy', `no limits are set for ${order.coin}, so it cannot leave the treasury`);
  const units = amountOf(order.amount);
  if (units > amountOf(limits.perTransaction))
    return refusal('later', 'per_transaction_cap', `more than ${limits.perTransaction} ${order.coin} in one transfer`);
  const used = standing(others)
    .filter(({ purpose, coin, atMs }) => isOutward(purpose) && coin === order.coin && atMs > nowMs - DAY_MS)
    .reduce((total, entry) => total + BigInt(entry.units), 0n);
  if (used + units > amountOf(limits.perDay))
    return refusal('later', 'daily_cap', `${formatAmount(used)} of ${limits.perDay} ${order.coin} are used`);
  const terms = [hashOf(transactionTerms(order))];
  return missingApprovals(others, terms, `approvers approved ${order.amount} ${order.coin}`, rules);
}

const isOutward = (purpose: OutgoingKind): boolean => purpose === 'withdrawal' || purpose === 'settlement';

function destinationFault(
  order: OutgoingTransaction,
  own: OwnMoney,
  entries: readonly JournalEntry[],
  rules: PayoutRules,
): SignerRefusal | null {
  if (own.isAddress(order.toAddress))
    return refusal('denied', 'own_address', 'the money would go to an address of our own');
  if (order.kind === 'withdrawal') {
    const allowed = rules.withdrawalAddresses?.[order.mode]?.[order.network] ?? [];
    return allowed.includes(order.toAddress)
      ? null
      : refusal('denied', 'not_on_allow_list', `${order.toAddress} is not one of WITHDRAWAL_ADDRESSES`);
  }
  if (order.merchantId === null) return refusal('denied', 'no_merchant', 'a settlement must name its merchant');
  const inForce = destinationsOf(entries, order).at(-1)?.address;
  return inForce === order.toAddress
    ? null
    : refusal('denied', 'not_on_allow_list', `${order.toAddress} is not the settlement address of ${order.merchantId}`);
}
