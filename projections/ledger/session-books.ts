import { COIN_MAX_DECIMALS } from '../../src/domain/money/currencies.ts';
import type { CoinChosen } from '../../src/domain/events/coin-events.ts';
import type { DepositKind, SessionCreated, SessionEvent } from '../../src/domain/events/session-events.ts';
import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount, most, signedAmountOf, type Coin } from '../../src/domain/money/money.ts';
import { NETWORKS, type Network } from '../../src/domain/networks/networks.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

/* The state of a session that later postings need and that cannot be looked up elsewhere. */

export const LEDGER_SESSIONS_TABLE: Table<SessionBooksRow> = 'ledger-sessions@1';
/** Its deposits, by session and deposit key: an event reads and writes only those that it names. */
export const LEDGER_DEPOSITS_TABLE: Table<BookedDeposit> = 'ledger-deposits@1';

export interface BookedDeposit {
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  readonly kind: DepositKind;
  readonly toAddress: string;
  readonly txHash: string;
  readonly logIndex: number;
  /** The entry that booked it; null while it is only seen. */
  readonly entry: string | null;
  /** The entry with which an operator set it aside, and the amount, until it is put back. */
  readonly aside?: { readonly entry: string; readonly coin: Coin; readonly amount: string };
}

/** The session's money of one coin on one network. Text, because it is part of a row. */
export interface Pocket {
  readonly unapplied: string;
  readonly payable: string;
  /** Final money that can pay the order. */
  readonly onTime: string;
  /** Unapplied money of deposits that can never pay it, less what refunds took. Negative if refunded money was reverted. */
  readonly others: string;
  /** Money of deposits that were set aside and then left the chain. */
  readonly lostAside: string;
}

export interface BookedLeg {
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  /** The part taken from unapplied money; the rest came from payable money. */
  readonly fromUnapplied: string;
  /** The part from deposits that cannot pay an order, while it is reserved or paid. */
  readonly fromOthers: string;
  readonly fromAddress: string | null;
  /** The entry of its payout and its network fee, until the payout is reverted. */
  readonly paid: { readonly entry: string; readonly fee: string; readonly txHash: string } | null;
}

/** A paid order: what is due, and the session's money applied to it, by network. */
export interface BookedOrder {
  readonly due: string;
  readonly applied: Readonly<Partial<Record<Network, string>>>;
}

/** The operator's share of the order. */
export interface BookedServiceFee {
  readonly basisPoints: number;
  readonly due: string;
  readonly tolerance: string;
  /** The fewest decimals of the order's tokens and of the coin, so that every share can be paid out. */
  readonly decimals: number;
  readonly isPaid: boolean;
  /** The event that charged it, with its shares by network, until it is reversed. */
  readonly charged: { readonly entry: string; readonly shares: Readonly<Partial<Record<Network, string>>> } | null;
}

export interface SessionBooks {
  readonly sessionId: SessionId;
  readonly mode: Mode;
  readonly merchantId: MerchantId;
  readonly orderId: string;
  readonly currency: string;
  /** The locked rate; null if the currency is the coin. */
  readonly rate: string | null;
  readonly coin: Coin;
  /** At least those that the event names. */
  readonly deposits: Readonly<Record<string, BookedDeposit>>;
  /** By network and coin. */
  readonly pockets: Readonly<Record<string, Pocket>>;
  /** By refund and leg. */
  readonly legs: Readonly<Record<string, BookedLeg>>;
  /** By deposit key: the entries with which operators attached money from elsewhere. */
  readonly credits?: Readonly<Record<string, string>>;
  /** Those of them that cannot pay an order. */
  readonly lateCredits?: Readonly<Record<string, Pick<BookedDeposit, 'network' | 'coin' | 'amount'>>>;
  /** When the last money that can pay the order arrived. */
  readonly onTimeAtSec: number | null;
  /** Absent until the order is paid. */
  readonly order?: BookedOrder;
  /** Absent without a service fee. */
  readonly serviceFee?: BookedServiceFee;
}

export type SessionBooksRow = Omit<SessionBooks, 'deposits'>;

/** The deposits whose rows an event needs. */
export function namedDeposits({ type, data }: SessionEvent): readonly string[] {
  if ('depositKey' in data) return [data.depositKey];
  if (type !== 'RefundRequested') return [];
  return [...new Set(data.legs.flatMap(({ takenFrom }) => takenFrom.map(({ depositKey }) => depositKey)))];
}

export function openSessionBooks(data: SessionCreated['data']): SessionBooks {
  return {
    sessionId: data.sessionId,
    mode: data.mode,
    merchantId: data.merchantId,
    orderId: data.orderId,
    currency: data.currency,
    rate: data.rateLock?.rate ?? null,
    coin: data.dueCoin,
    deposits: {},
    pockets: {},
    legs: {},
    onTimeAtSec: null,
    ...openServiceFee(data),
  };
}

function openServiceFee({
  policy,
  dueAmount,
  paymentOptions,
}: SessionCreated['data']): Pick<SessionBooks, 'serviceFee'> {
  const { serviceFeeBasisPoints: basisPoints = 0, tolerance } = policy;
  if (basisPoints === 0) return {};
  const decimals = Math.min(COIN_MAX_DECIMALS, ...paymentOptions.map((option) => option.decimals));
  return { serviceFee: { basisPoints, due: dueAmount, tolerance, decimals, isPaid: false, charged: null } };
}

/** Earlier money does not pay the order. */
export const inCoin = (
  books: SessionBooks,
  { coin, rate, dueAmount, tolerance }: CoinChosen['data'],
): SessionBooks => ({
  ...books,
  coin,
  rate,
  ...(books.serviceFee && { serviceFee: { ...books.serviceFee, due: dueAmount, tolerance } }),
});

const pocketKey = (network: Network, coin: Coin): string => `${network}/${coin}`;
export const legKey = (refundId: string, legId: string): string => `${refundId}/${legId}`;

const EMPTY: Pocket = { unapplied: '0', payable: '0', onTime: '0', others: '0', lostAside: '0' };

export type PocketUnits = { readonly [Part in keyof Pocket]: bigint };

export function pocketOf(books: Pick<SessionBooks, 'pockets'>, network: Network, coin: Coin): PocketUnits {
  const pocket = books.pockets[pocketKey(network, coin)] ?? EMPTY;
  return {
    unapplied: signedAmountOf(pocket.unapplied),
    payable: signedAmountOf(pocket.payable),
    onTime: signedAmountOf(pocket.onTime),
    others: signedAmountOf(pocket.others),
    lostAside: signedAmountOf(pocket.lostAside),
  };
}

export function withPocket(books: SessionBooks, network: Network, coin: Coin, pocket: PocketUnits): SessionBooks {
  const text: Pocket = {
    unapplied: formatAmount(pocket.unapplied, 0),
    payable: formatAmount(pocket.payable, 0),
    onTime: formatAmount(pocket.onTime, 0),
    others: formatAmount(pocket.others, 0),
    lostAside: formatAmount(pocket.lostAside, 0),
  };
  return { ...books, pockets: { ...books.pockets, [pocketKey(network, coin)]: text } };
}

/** The deposit as it is now, and the sums that follow from it. */
export function withDeposit(books: SessionBooks, depositKey: string, deposit: BookedDeposit): SessionBooks {
  const before = books.deposits[depositKey];
  const without = before ? counted(books, before, -1n) : books;
  return { ...counted(without, deposit, 1n), deposits: { ...books.deposits, [depositKey]: deposit } };
}

/** Adds what a deposit is to the sums (`sign` 1) or takes it out (-1). */
function counted(books: SessionBooks, deposit: BookedDeposit, sign: 1n | -1n): SessionBooks {
  const { network, coin, kind, entry, aside } = deposit;
  const units = amountOf(deposit.amount);
  if (aside === undefined) {
    if (entry === null || kind === 'on_time' || kind === 'own') return books;
    const pocket = pocketOf(books, network, coin);
    return withPocket(books, network, coin, { ...pocket, others: pocket.others + sign * units });
  }
  // A reorganisation may have replaced the transfer by another.
  const lost = most(amountOf(aside.amount) - (entry !== null && coin === aside.coin ? units : 0n), 0n);
  if (lost === 0n) return books;
  const pocket = pocketOf(books, network, aside.coin);
  return withPocket(books, network, aside.coin, { ...pocket, lostAside: pocket.lostAside + sign * lost });
}

/** Distributes an amount that pays the order over networks: one after another, each up to its final money. */
export function takenFrom(
  books: SessionBooks,
  coin: Coin,
  units: bigint,
): { readonly network: Network; readonly units: bigint }[] {
  let left = units;
  return NETWORKS.flatMap((network) => {
    const { onTime } = pocketOf(books, network, coin);
    const taken = left < onTime ? left : onTime;
    if (taken <= 0n) return [];
    left -= taken;
    return [{ network, units: taken }];
  });
}

/** A deposit comes or goes; our own money belongs to no session. */
export function withUnapplied(
  books: SessionBooks,
  { network, coin, kind, aside }: BookedDeposit,
  units: bigint,
): SessionBooks {
  if (kind === 'own') return books;
  const pocket = pocketOf(books, network, coin);
  const onTime = kind === 'on_time' && aside === undefined ? pocket.onTime + units : pocket.onTime;
  return withPocket(books, network, coin, { ...pocket, unapplied: pocket.unapplied + units, onTime });
}
