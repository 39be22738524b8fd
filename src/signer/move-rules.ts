import { amountOf, formatAmount, isCoin } from '../domain/money.ts';
import { addressFamilyOf, NATIVE_COIN } from '../domain/networks.ts';
import type { MoveOrder } from '../ports/moves.ts';
import type { PayoutRefusal } from '../ports/payouts.ts';
import type { PayoutRules } from '../ports/signer-protocol.ts';
import { NONCE_ACCOUNTS, nonceAccountOf } from '../runtime/util/solana-nonce.ts';
import { agreedTo, APPROVALS_NEEDED } from './approval-count.ts';
import { destinationsOf, hashOf, moveTerms } from './approval-text.ts';
import type { JournalEntry, MovedEntry } from './payout-journal.ts';
import { refusal, standing } from './exclusive.ts';
import { limitsRefusal } from './payout-rules.ts';
import { returnedDeposit } from './return-rules.ts';
import type { SigningWallet } from './signing-wallet.ts';

const DAY_MS = 86_400_000;
/** Four times what such an account needs today. */
const MAX_RENT = '0.006';
const MAX_MAKINGS_A_DAY = 32;

export const movedOf = (entries: readonly JournalEntry[]): MovedEntry[] => entries.filter((entry): entry is MovedEntry => entry.kind === 'moved');

/**
 * Why a move may not be signed, from wallet, rules and journal alone; null when nothing stands in the way. `nowMs` is the
 * journal's own time, which never falls.
 */
export function moveRefusal(
  order: MoveOrder,
  parts: {
    readonly wallet: SigningWallet;
    /** Without what was signed for the move itself, and with it. */
    readonly entries: readonly JournalEntry[];
    readonly all: readonly JournalEntry[];
    readonly rules: PayoutRules;
    readonly nowMs: number;
  },
): PayoutRefusal | null {
  if (amountOf(order.amount) <= 0n) return refusal('denied', 'nothing_to_move', 'the amount is zero');
  switch (order.kind) {
    case 'sweep':
      return sweepRefusal(order, parts.wallet);
    case 'gas_top_up':
      return topUpRefusal(order, parts.wallet);
    case 'withdrawal':
    case 'settlement':
      return outwardRefusal(order, parts);
    case 'return':
      return returnRefusal(order, parts);
    case 'nonce_account':
      return nonceAccountRefusal(order, parts);
  }
}

/** The sender is the collection address at the place named, the receiver the treasury: both derived here. */
function sweepRefusal(order: MoveOrder, wallet: SigningWallet): PayoutRefusal | null {
  const family = addressFamilyOf(order.network);
  if (order.derivationIndex === null || wallet.collectionAddress(family, order.derivationIndex) !== order.fromAddress)
    return refusal('denied', 'not_our_address', 'a sweep starts at one of our collection addresses');
  if (order.toAddress !== wallet.treasury[family]) return refusal('denied', 'not_the_treasury', 'a sweep ends in the treasury of this wallet');
  return isCoin(order.coin) ? null : refusal('denied', 'other_coin', 'a sweep moves stablecoins only');
}

function topUpRefusal(order: MoveOrder, wallet: SigningWallet): PayoutRefusal | null {
  const family = addressFamilyOf(order.network);
  const fault = treasuryFault(order, wallet);
  if (fault) return fault;
  if (order.derivationIndex === null || wallet.collectionAddress(family, order.derivationIndex) !== order.toAddress)
    return refusal('denied', 'not_our_address', 'gas goes to our own collection addresses only');
  return order.coin === NATIVE_COIN[order.network]
    ? null
    : refusal('denied', 'other_coin', `gas on ${order.network} is ${NATIVE_COIN[order.network]}`);
}

/** The rent of accounts that the treasury itself derives; their number is small, and the chain lets each be made once. */
function nonceAccountRefusal(order: MoveOrder, { wallet, all, nowMs }: Parameters<typeof moveRefusal>[1]): PayoutRefusal | null {
  const { derivationIndex: index, coin, toAddress, network } = order;
  const fault = treasuryFault(order, wallet);
  if (fault) return fault;
  if (network !== 'solana' || coin !== NATIVE_COIN.solana) return refusal('denied', 'other_coin', 'nonce accounts are paid in SOL');
  if (index === null || index >= NONCE_ACCOUNTS || toAddress !== nonceAccountOf(wallet.treasury.solana, index))
    return refusal('denied', 'not_our_address', 'not a nonce account of this treasury');
  if (amountOf(order.amount) > amountOf(MAX_RENT)) return refusal('later', 'per_transaction_cap', `more than ${MAX_RENT} SOL for one account`);
  // What fails costs its fee all the same.
  const today = movedOf(all).filter(({ move, atMs }) => move === 'nonce_account' && atMs > nowMs - DAY_MS);
  return today.length < MAX_MAKINGS_A_DAY ? null : refusal('later', 'velocity', `${today.length} transactions that make nonce accounts within a day`);
}

/** The caps and the four eyes of refunds, which it counts among: the deposit itself is looked up on chain afterwards. */
function returnRefusal(order: MoveOrder, { wallet, entries, rules, nowMs }: Parameters<typeof moveRefusal>[1]): PayoutRefusal | null {
  const { coin, amount } = order;
  if (!isCoin(coin)) return refusal('denied', 'other_coin', 'a return pays stablecoins back');
  const deposit = returnedDeposit(order, wallet);
  return 'ok' in deposit ? deposit : limitsRefusal({ coin, amount }, hashOf(moveTerms(order)), entries, rules, nowMs);
}

/** Allow-list, caps and four eyes. */
function outwardRefusal(order: MoveOrder, { wallet, entries, rules, nowMs }: Parameters<typeof moveRefusal>[1]): PayoutRefusal | null {
  const fault = treasuryFault(order, wallet) ?? destinationFault(order, wallet, entries, rules);
  if (fault) return fault;
  const limits = isCoin(order.coin) ? rules.treasuryLimits?.[order.coin] : undefined;
  if (!limits) return refusal('later', 'no_policy', `no limits are set for ${order.coin}, so none of it leaves the treasury`);
  const units = amountOf(order.amount);
  if (units > amountOf(limits.perTransaction))
    return refusal('later', 'per_transaction_cap', `more than ${limits.perTransaction} ${order.coin} in one transfer`);
  const used = movedOf(standing(entries))
    .filter(({ move, coin, atMs }) => isOutward(move) && coin === order.coin && atMs > nowMs - DAY_MS)
    .reduce((total, entry) => total + BigInt(entry.units), 0n);
  if (used + units > amountOf(limits.perDay))
    return refusal('later', 'daily_cap', `${formatAmount(used)} of ${limits.perDay} ${order.coin} are used`);
  const agreed = agreedTo(entries, hashOf(moveTerms(order)));
  return agreed >= APPROVALS_NEEDED
    ? null
    : refusal('later', 'approval', `${agreed} of ${APPROVALS_NEEDED} approvers agreed to ${order.amount} ${order.coin}`);
}

const isOutward = (move: MovedEntry['move']): boolean => move === 'withdrawal' || move === 'settlement';

function destinationFault(order: MoveOrder, wallet: SigningWallet, entries: readonly JournalEntry[], rules: PayoutRules): PayoutRefusal | null {
  if (Object.values(wallet.treasury).includes(order.toAddress)) return refusal('denied', 'own_address', 'the money would stay where it is');
  if (order.kind === 'withdrawal') {
    const allowed = rules.withdrawalAddresses?.[order.mode]?.[order.network] ?? [];
    return allowed.includes(order.toAddress) ? null : refusal('denied', 'not_on_allow_list', `${order.toAddress} is not one of WITHDRAWAL_ADDRESSES`);
  }
  if (order.merchantId === null) return refusal('denied', 'no_merchant', 'a settlement names its merchant');
  const inForce = destinationsOf(entries, order).at(-1)?.address;
  return inForce === order.toAddress
    ? null
    : refusal('denied', 'not_on_allow_list', `${order.toAddress} is not the settlement address of ${order.merchantId}`);
}

function treasuryFault(order: MoveOrder, wallet: SigningWallet): PayoutRefusal | null {
  const own = order.fromAddress === wallet.treasury[addressFamilyOf(order.network)];
  return own ? null : refusal('denied', 'other_treasury', 'the treasury is not the account of this wallet');
}
