import type { MerchantId } from '../values/ids.ts';
import { NATIVE_COIN, type Network } from '../networks/networks.ts';
import type { Coin } from './money.ts';
import { oneOf } from '../values/one-of.ts';

/*
 * The vocabulary of the books. Every amount belongs to one coin on one network, since a coin on one chain can never pay
 * a debt on another. Debits are positive and credits negative, so balanced entries add up to zero.
 */

/** Which time decides the day of an entry: when the chain included the fact, or when it was recorded here. */
export const LEDGER_CLOCKS = ['recorded', 'chain'] as const;
export type LedgerClock = (typeof LEDGER_CLOCKS)[number];

/** A stablecoin, or the native coin of a network. */
export type BookedCoin = Coin | (typeof NATIVE_COIN)[Network];
export const BOOKED_COINS: readonly string[] = ['USDT', 'USDC', ...Object.values(NATIVE_COIN)];

/** Money on the addresses that payers paid to. */
export const DEPOSIT_WALLETS = 'assets:deposit-wallets';
/** Money on the operator's own accounts that pay refunds and fees. */
export const TREASURY = 'assets:treasury';
/** Money withdrawn to the operator's cold addresses. */
export const COLD_STORAGE = 'assets:cold-storage';
/** Money the operator put into the treasury from outside. */
export const OPERATOR_FUNDING = 'equity:operator-funding';
/** Money that left our addresses in a transaction nobody here ordered, once an operator acknowledged it. */
export const UNKNOWN_OUTFLOWS = 'expenses:unknown-outflows';
/** Unmatched transfers in nobody's account: not in a session's, not yet attached, not yet paid back. */
export const UNMATCHED = 'liabilities:unmatched';
/** Native coin that arrived at collection addresses and was not sent by us, until its owner is known. */
export const SUSPENSE = 'liabilities:suspense';
/** Fees paid to the networks. */
export const NETWORK_FEES = 'expenses:network-fees';
/** The operator's fee on paid orders of merchants with a service fee. */
export const SERVICE_FEES = 'income:service-fees';
/** For entries posted by hand. */
const OTHER_INCOME = 'income:other';
const OTHER_EXPENSES = 'expenses:other';

/** Paid orders: money that belongs to the merchant. */
export const payableTo = (merchant: MerchantId): string => `liabilities:merchants:${merchant}:payable`;
/** Money that pays no order: too little so far, too much, late, or in another coin. It can be returned to the payer. */
export const unappliedOf = (merchant: MerchantId): string => `liabilities:merchants:${merchant}:unapplied`;
/** Refunds that were accepted but not yet paid out. */
export const refundsReservedOf = (merchant: MerchantId): string => `liabilities:merchants:${merchant}:refunds-reserved`;

export const MERCHANT_ACCOUNTS = ['payable', 'unapplied', 'refunds-reserved'] as const;
export type MerchantAccount = (typeof MERCHANT_ACCOUNTS)[number];

const MERCHANT_PREFIX = 'liabilities:merchants:';

/** The common prefix of a merchant's accounts. */
export const merchantAccounts = (merchant: MerchantId): string => `${MERCHANT_PREFIX}${merchant}:`;

/** The merchant and the rest of the account name, or null for an account of the operator. */
export function merchantAccountOf(account: string): { readonly merchantId: MerchantId; readonly part: string } | null {
  if (!account.startsWith(MERCHANT_PREFIX)) return null;
  const end = account.indexOf(':', MERCHANT_PREFIX.length);
  return { merchantId: account.slice(MERCHANT_PREFIX.length, end) as MerchantId, part: account.slice(end + 1) };
}

/**
 * A balance or amount of a merchant's account from the merchant's point of view: a debt to the merchant is a credit in
 * the books, so below zero there, and above zero here.
 */
export function owedToMerchant(amount: string): string {
  if (/^-?0(\.0+)?$/.test(amount)) return amount;
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`;
}

const OPERATOR_ACCOUNTS: readonly string[] = [
  ...[DEPOSIT_WALLETS, TREASURY, COLD_STORAGE, OPERATOR_FUNDING, UNKNOWN_OUTFLOWS, NETWORK_FEES, UNMATCHED],
  ...[SERVICE_FEES, SUSPENSE, OTHER_INCOME, OTHER_EXPENSES],
];

/** Accounts that must agree with the chains and transfers. */
const NOT_BY_HAND: readonly string[] = [DEPOSIT_WALLETS, TREASURY, COLD_STORAGE, UNMATCHED];

/**
 * Whether people may post to the account. Of a merchant's accounts only the payable one: the others follow its orders.
 */
export function isAdjustable(name: string): boolean {
  const part = merchantAccountOf(name)?.part;
  return part === undefined ? OPERATOR_ACCOUNTS.includes(name) && !NOT_BY_HAND.includes(name) : part === 'payable';
}

/** Whether the account is in the chart of accounts, used or not. */
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
  /** The address that holds or held the money, for accounts that represent addresses on a chain. */
  readonly address?: string;
}

/** Debits less credits by network and coin; all zero for a correct entry. */
export function imbalanceOf(postings: readonly Posting[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { network, coin, units } of postings)
    sums.set(`${network}/${coin}`, (sums.get(`${network}/${coin}`) ?? 0n) + units);
  for (const [key, sum] of sums) if (sum === 0n) sums.delete(key);
  return sums;
}

/** What an entry of the journal records. */
export type EntryKind =
  /** A transfer was seen; a memo, since it may still vanish. */
  | 'deposit_seen'
  /** A transfer that was seen but not final has vanished; a memo. */
  | 'deposit_lost'
  | 'deposit'
  /** A final deposit left the chain after all; reverses its `deposit`. */
  | 'deposit_reversed'
  /** Money was applied to the order it paid. */
  | 'payment'
  /** A paid order that had lost money has it again. */
  | 'payment_restored'
  /** The operator's share of a paid order. */
  | 'service_fee'
  /** The payment left the chain; reverses its `service_fee`. */
  | 'service_fee_reversed'
  | 'refund_reserved'
  | 'refund_paid'
  /** A refund that had landed left the chain; reverses its `refund_paid`. */
  | 'refund_unpaid'
  | 'refund_released'
  /** A memo with the value of a completed refund at the quote of that moment. */
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
  /** Money unknown to any session arrived at one of our addresses. */
  | 'transfer_recorded'
  /** An operator took it out of the session it arrived at. */
  | 'transfer_set_aside'
  /** Reverses a `transfer_set_aside`. */
  | 'transfer_put_back'
  /** To the session that an operator attached it to. */
  | 'transfer_credited'
  /** Reverses a `transfer_credited`. */
  | 'transfer_credit_reversed'
  /** Paid back to the sender. */
  | 'transfer_returned'
  /** A transaction without effect that cost its fee. */
  | 'failed_move'
  | 'treasury_funded'
  /** Native coin at a collection address that was not sent by us. */
  | 'native_coin_found'
  /** Native coin paid back to the sender, less the fee. */
  | 'native_coin_returned'
  | 'outflow_written_off'
  /** Posted by hand. */
  | 'adjustment'
  /** A memo: the month's figures are sealed. */
  | 'period_closed';

/** Value in the merchant's currency, at the order's locked rate and at the quote of the moment of settlement. */
export interface FiatValue {
  readonly currency: string;
  readonly atLockedRate: string;
  /** Null when there was no quote. */
  readonly atSettlementQuote: string | null;
  /** The value at the settlement quote minus that at the locked rate: above zero is a gain. */
  readonly difference: string | null;
}
