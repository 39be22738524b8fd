import type { MerchantId } from './ids.ts';
import { NATIVE_COIN, type Network } from './networks.ts';
import type { Coin } from './money.ts';
import { oneOf } from './one-of.ts';

/*
 * The words of the books. Every amount in them belongs to one coin on one network, since a coin on one chain can never
 * pay a debt on another; debits are positive and credits negative, so whatever balances adds up to zero.
 */

/** By which time a fact is put into a day: when the chain took it, or when it was recorded here. */
export const LEDGER_CLOCKS = ['recorded', 'chain'] as const;
export type LedgerClock = (typeof LEDGER_CLOCKS)[number];

/** A stablecoin, or the coin that a network takes its fees in. */
export type BookedCoin = Coin | (typeof NATIVE_COIN)[Network];
export const BOOKED_COINS: readonly string[] = ['USDT', 'USDC', ...Object.values(NATIVE_COIN)];

/** What is on the addresses that payers paid to. */
export const DEPOSIT_WALLETS = 'assets:deposit-wallets';
/** What is on the operator's own accounts that pay refunds and fees. */
export const TREASURY = 'assets:treasury';
/** What was withdrawn to the operator's cold addresses. */
export const COLD_STORAGE = 'assets:cold-storage';
/** What the operator put into the treasury from outside. */
export const OPERATOR_FUNDING = 'equity:operator-funding';
/** What left our addresses by a transaction that nobody here ordered, once an operator acknowledged it. */
export const UNKNOWN_OUTFLOWS = 'expenses:unknown-outflows';
/** Unmatched transfers that are in nobody's account: not in a session's, not yet attached, not yet paid back. */
export const UNMATCHED = 'liabilities:unmatched';
/** Native coin that came to collection addresses and that nobody here sent, until it is known whose it is. */
export const SUSPENSE = 'liabilities:suspense';
/** Fees that the networks took. */
export const NETWORK_FEES = 'expenses:network-fees';
/** What the operator keeps of paid orders of merchants for whom it set a service fee. */
export const SERVICE_FEES = 'income:service-fees';
/** Of entries that people post by hand. */
const OTHER_INCOME = 'income:other';
const OTHER_EXPENSES = 'expenses:other';

/** Paid orders: what the merchant may have. */
export const payableTo = (merchant: MerchantId): string => `liabilities:merchants:${merchant}:payable`;
/** Money that pays no order: not yet enough, too much, late, or of another coin. It can go back to who paid it. */
export const unappliedOf = (merchant: MerchantId): string => `liabilities:merchants:${merchant}:unapplied`;
/** Refunds that were accepted and are not paid out yet. */
export const refundsReservedOf = (merchant: MerchantId): string => `liabilities:merchants:${merchant}:refunds-reserved`;

export const MERCHANT_ACCOUNTS = ['payable', 'unapplied', 'refunds-reserved'] as const;
export type MerchantAccount = (typeof MERCHANT_ACCOUNTS)[number];

const MERCHANT_PREFIX = 'liabilities:merchants:';

/** What the names of all accounts of a merchant begin with. */
export const merchantAccounts = (merchant: MerchantId): string => `${MERCHANT_PREFIX}${merchant}:`;

/** The merchant and the part of its account, or null for an account of the operator. */
export function merchantAccountOf(account: string): { readonly merchantId: MerchantId; readonly part: string } | null {
  if (!account.startsWith(MERCHANT_PREFIX)) return null;
  const end = account.indexOf(':', MERCHANT_PREFIX.length);
  return { merchantId: account.slice(MERCHANT_PREFIX.length, end) as MerchantId, part: account.slice(end + 1) };
}

/**
 * A balance or amount of a merchant's account as the merchant reads it: what the books owe it is a credit there, below
 * zero, and above zero here.
 */
export function owedToMerchant(amount: string): string {
  if (/^-?0(\.0+)?$/.test(amount)) return amount;
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`;
}

const OPERATOR_ACCOUNTS: readonly string[] = [
  ...[DEPOSIT_WALLETS, TREASURY, COLD_STORAGE, OPERATOR_FUNDING, UNKNOWN_OUTFLOWS, NETWORK_FEES, UNMATCHED],
  ...[SERVICE_FEES, SUSPENSE, OTHER_INCOME, OTHER_EXPENSES],
];

/** Accounts that must be what chains and transfers say. */
const NOT_BY_HAND: readonly string[] = [DEPOSIT_WALLETS, TREASURY, COLD_STORAGE, UNMATCHED];

/**
 * Whether people may post to the account: of a merchant's only what it is owed, since the others are those of its
 * orders.
 */
export function isAdjustable(name: string): boolean {
  const part = merchantAccountOf(name)?.part;
  return part === undefined ? OPERATOR_ACCOUNTS.includes(name) && !NOT_BY_HAND.includes(name) : part === 'payable';
}

/** Whether the chart of accounts has the account; it need not have been used. */
export function isAccount(name: string): boolean {
  const part = merchantAccountOf(name)?.part;
  return part === undefined ? OPERATOR_ACCOUNTS.includes(name) : oneOf(MERCHANT_ACCOUNTS)(part);
}

/** One line of an entry. */
export interface Posting {
  readonly account: string;
  readonly network: Network;
  readonly coin: BookedCoin;
  /** 10^-18 units of the coin; above zero a debit, below zero a credit. */
  readonly units: bigint;
  /** Where the money is or was, for accounts that stand for addresses on a chain. */
  readonly address?: string;
}

/** Debits less credits by network and coin; a correct entry has none that is not zero. */
export function imbalanceOf(postings: readonly Posting[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { network, coin, units } of postings)
    sums.set(`${network}/${coin}`, (sums.get(`${network}/${coin}`) ?? 0n) + units);
  for (const [key, sum] of sums) if (sum === 0n) sums.delete(key);
  return sums;
}

/** What an entry of the journal says happened. */
export type EntryKind =
  /** A transfer was seen; a memo, since it may still vanish. */
  | 'deposit_seen'
  /** A transfer that was only seen vanished; a memo. */
  | 'deposit_lost'
  | 'deposit'
  /** A final deposit left the chain after all; reverses its `deposit`. */
  | 'deposit_reversed'
  /** Money was applied to the order that it paid. */
  | 'payment'
  /** A paid order that lacked money has it again. */
  | 'payment_restored'
  /** The operator's part of an order that is paid. */
  | 'service_fee'
  /** The chain took the payment back; reverses its `service_fee`. */
  | 'service_fee_reversed'
  | 'refund_reserved'
  | 'refund_paid'
  /** A refund that had landed left the chain; reverses its `refund_paid`. */
  | 'refund_unpaid'
  | 'refund_released'
  /** A memo with the value of a completed refund at the quote of the moment. */
  | 'refund_valued'
  /** From collection addresses to the treasury. */
  | 'sweep'
  /** Native coin for the fee of a sweep. */
  | 'gas_top_up'
  /** Rent of an account that the treasury's transactions on Solana need. */
  | 'nonce_account'
  /** To a cold address of the operator. */
  | 'withdrawal'
  /** To the merchant. */
  | 'settlement'
  /** Money that no session knows came to one of our addresses. */
  | 'transfer_recorded'
  /** Out of the session that it came to, by an operator. */
  | 'transfer_set_aside'
  /** Takes back a `transfer_set_aside`. */
  | 'transfer_put_back'
  /** To the session that an operator attached it to. */
  | 'transfer_credited'
  /** Takes back a `transfer_credited`. */
  | 'transfer_credit_reversed'
  /** Paid back to who sent it. */
  | 'transfer_returned'
  /** A transaction without effect, which cost its fee. */
  | 'failed_move'
  | 'treasury_funded'
  /** Native coin at a collection address that nobody here sent. */
  | 'native_coin_found'
  /** Native coin paid back to who sent it, less the fee. */
  | 'native_coin_returned'
  | 'outflow_written_off'
  /** Posted by hand. */
  | 'adjustment'
  /** A memo: the figures of a month are sealed. */
  | 'period_closed';

/**
 * Money in the merchant's currency, at the rate the order was locked at and at the quote of the moment it was settled.
 */
export interface FiatValue {
  readonly currency: string;
  readonly atLockedRate: string;
  /** Null when there was no quote. */
  readonly atSettlementQuote: string | null;
  /** At the settlement quote less at the locked rate: above zero a gain. */
  readonly difference: string | null;
}
