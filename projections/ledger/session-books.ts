import { COIN_MAX_DECIMALS } from '../../src/domain/currencies.ts';
import type { CoinChosen } from '../../src/domain/events/coin-events.ts';
import type { DepositKind, SessionCreated } from '../../src/domain/events/session-events.ts';
import type { MerchantId, Mode, SessionId } from '../../src/domain/ids.ts';
import { formatAmount, signedAmountOf, type Coin } from '../../src/domain/money.ts';
import { NETWORKS, type Network } from '../../src/domain/networks.ts';
import type { Table } from '../../src/ports/read-model.ts';

/* What the books must remember of a session to post its later events: nothing that can be looked up elsewhere. */

export const LEDGER_SESSIONS_TABLE: Table<SessionBooks> = 'ledger-sessions@4';

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
  /** The entry by which an operator set it aside, and how much, until it is put back. */
  readonly aside?: { readonly entry: string; readonly coin: Coin; readonly amount: string };
}

/** The session's money of one coin on one network. Text, since it is a row. */
export interface Pocket {
  readonly unapplied: string;
  readonly payable: string;
  /** Final money that can pay the order. */
  readonly onTime: string;
}

export interface BookedLeg {
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  /** How much of it was taken from unapplied money; the rest came from what is payable. */
  readonly fromUnapplied: string;
  /** How much of it is of deposits that can pay no order, while it is reserved or paid. */
  readonly fromOthers: string;
  readonly fromAddress: string | null;
  /** The entry that booked its payout, with what the network took, until the payout is reverted. */
  readonly paid: { readonly entry: string; readonly fee: string; readonly txHash: string } | null;
}

/** A paid order: what is due, and what of the session's money is applied to it, by network. */
export interface BookedOrder {
  readonly due: string;
  readonly applied: Readonly<Partial<Record<Network, string>>>;
}

/** The operator's part of the order. */
export interface BookedServiceFee {
  readonly basisPoints: number;
  readonly due: string;
  readonly tolerance: string;
  /** The fewest that a token of the order has, so that every share can be paid out; never more than a coin shows. */
  readonly decimals: number;
  readonly isPaid: boolean;
  /** The event that charged it, with its share by network, until it is reversed. */
  readonly charged: { readonly entry: string; readonly shares: Readonly<Partial<Record<Network, string>>> } | null;
}

export interface SessionBooks {
  readonly sessionId: SessionId;
  readonly mode: Mode;
  readonly merchantId: MerchantId;
  readonly orderId: string;
  readonly currency: string;
  /** The locked rate; null when the currency is the coin. */
  readonly rate: string | null;
  readonly coin: Coin;
  readonly deposits: Readonly<Record<string, BookedDeposit>>;
  /** By network and coin. */
  readonly pockets: Readonly<Record<string, Pocket>>;
  /** By refund and leg. */
  readonly legs: Readonly<Record<string, BookedLeg>>;
  /** By deposit key: the entries by which operators attached money that came elsewhere. */
  readonly credits?: Readonly<Record<string, string>>;
  /** Those of them that can pay no order. */
  readonly lateCredits?: Readonly<Record<string, Pick<BookedDeposit, 'network' | 'coin' | 'amount'>>>;
  /** When the last money that can pay the order came. */
  readonly onTimeAtSec: number | null;
  /** Absent until the order is paid. */
  readonly order?: BookedOrder;
  /** Absent without a service fee. */
  readonly serviceFee?: BookedServiceFee;
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

/** What came before is no money that pays the order. */
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

const EMPTY: Pocket = { unapplied: '0', payable: '0', onTime: '0' };

export interface PocketUnits {
  readonly unapplied: bigint;
  readonly payable: bigint;
  readonly onTime: bigint;
}

export function pocketOf(books: SessionBooks, network: Network, coin: Coin): PocketUnits {
  const { unapplied, payable, onTime } = books.pockets[pocketKey(network, coin)] ?? EMPTY;
  return { unapplied: signedAmountOf(unapplied), payable: signedAmountOf(payable), onTime: signedAmountOf(onTime) };
}

export function withPocket(books: SessionBooks, network: Network, coin: Coin, pocket: PocketUnits): SessionBooks {
  const text: Pocket = {
    unapplied: formatAmount(pocket.unapplied, 0),
    payable: formatAmount(pocket.payable, 0),
    onTime: formatAmount(pocket.onTime, 0),
  };
  return { ...books, pockets: { ...books.pockets, [pocketKey(network, coin)]: text } };
}

/**
 * From which networks an amount that pays the order is taken: one after another, each up to the final money that came
 * there.
 */
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
