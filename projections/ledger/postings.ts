import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundLeg } from '../../src/domain/events/refund-events.ts';
import {
  DEPOSIT_WALLETS,
  NETWORK_FEES,
  OPERATOR_FUNDING,
  payableTo,
  refundsReservedOf,
  TREASURY,
  unappliedOf,
  type BookedCoin,
  type Posting,
} from '../../src/domain/money/ledger.ts';
import { amountOf, formatAmount, least, most } from '../../src/domain/money/money.ts';
import { NATIVE_COIN, type Network } from '../../src/domain/networks/networks.ts';
import type { Booking } from './entry.ts';
import { fiatValueOf } from './fiat-value.ts';
import { isOthers, ownUnapplied, payOrder, withOrderMoney } from './order-money.ts';
import { withServiceFee } from './service-fee.ts';
import { credited, creditReversed, putBack, setAside } from './transfer-postings.ts';
import {
  inCoin,
  legKey,
  openSessionBooks,
  pocketOf,
  withDeposit,
  withPocket,
  withUnapplied,
  type BookedDeposit,
  type BookedLeg,
  type SessionBooks,
} from './session-books.ts';

type Data<Type extends SessionEvent['type']> = EventOf<Type>['data'];
type Rule<Type extends SessionEvent['type']> = (books: SessionBooks, data: Data<Type>, entry: string) => Booking;

const nothing = (books: SessionBooks): Booking => ({ books, draft: null });

/**
 * The posting rule for each session event; an event without one does not compile. `docs/ledger.md` describes the rules
 * in words.
 */
const RULES: { readonly [Type in SessionEvent['type']]: Rule<Type> } = {
  SessionCreated: nothing,
  DepositDetected: seen,
  DepositConfirmed: confirmed,
  DepositReverted: reverted,
  DepositSetAside: setAside,
  DepositPutBack: putBack,
  TransferGivenUp: nothing,
  TransferCredited: credited,
  TransferCreditReversed: creditReversed,
  CoinChosen: (books, data) => nothing(inCoin(books, data)),
  SessionPaid: paid,
  SessionExpired: nothing,
  SessionFailed: nothing,
  SessionCancelled: nothing,
  SessionDeadlineMoved: nothing,
  RefundRequested: reserved,
  RefundPayoutSigned: signed,
  RefundPayoutReplaced: signed,
  RefundPayoutLanded: landed,
  RefundPayoutReverted: unlanded,
  RefundPayoutFailed: released,
  RefundCompleted: valued,
  RefundFailed: nothing,
};

const ruleOf = <Type extends SessionEvent['type']>(type: Type): Rule<Type> => RULES[type];

/** The entries of a session's event. `entry` is the event's id. Throws for an impossible history. */
export function bookSessionEvent(books: SessionBooks | null, event: SessionEvent, entry: string): Booking {
  if (event.type === 'SessionCreated') return nothing(openSessionBooks(event.data));
  if (!books) throw new Error('the session was never created');
  return withServiceFee(withOrderMoney(ruleOf(event.type)(books, event.data, entry)), event.type, entry);
}

const on =
  (network: Network, coin: BookedCoin) =>
  (account: string, units: bigint, address: string | null = null) =>
    ({ account, network, coin, units, ...(address !== null && { address }) }) satisfies Posting;

const evidenceOf = ({ network, txHash, logIndex }: BookedDeposit) => ({ network, txHash, logIndex });

function seen(books: SessionBooks, data: Data<'DepositDetected'>): Booking {
  const { depositKey, network, coin, amount, kind, toAddress, txHash, logIndex, blockNumber, blockHash, blockTimeSec } =
    data;
  // A transfer that returns after a reorganisation stays where an operator put it.
  const aside = books.deposits[depositKey]?.aside;
  const deposit: BookedDeposit = {
    network,
    coin,
    amount,
    kind,
    toAddress,
    txHash,
    logIndex,
    entry: null,
    ...(aside !== undefined && { aside }),
  };
  return {
    books: withDeposit(books, depositKey, deposit),
    draft: {
      kind: 'deposit_seen',
      postings: [],
      chainTimeSec: blockTimeSec,
      evidence: { network, txHash, logIndex, blockNumber, blockHash },
      memo: { network, coin, amount },
    },
  };
}

function confirmed(
  books: SessionBooks,
  { depositKey, blockNumber, blockHash, blockTimeSec, kind: changed }: Data<'DepositConfirmed'>,
  entry: string,
): Booking {
  const deposit = depositIn(books, depositKey);
  const { network, coin, toAddress } = deposit;
  const units = amountOf(deposit.amount);
  const kind = changed ?? deposit.kind;
  const post = on(network, coin);
  return {
    books: {
      ...withDeposit(withUnapplied(books, { ...deposit, kind }, units), depositKey, { ...deposit, kind, entry }),
      onTimeAtSec: kind === 'on_time' ? Math.max(books.onTimeAtSec ?? 0, blockTimeSec) : books.onTimeAtSec,
    },
    draft: {
      kind: 'deposit',
      postings: [post(DEPOSIT_WALLETS, units, toAddress), post(ownerOf(books, kind), -units)],
      chainTimeSec: blockTimeSec,
      evidence: { ...evidenceOf(deposit), blockNumber, blockHash },
    },
  };
}

/** Our own money, which came to a collection address, is the operator's. */
const ownerOf = ({ merchantId }: SessionBooks, kind: BookedDeposit['kind']): string =>
  kind === 'own' ? OPERATOR_FUNDING : unappliedOf(merchantId);

/** A deposit that was only seen is undone by a memo; a booked one is reversed. */
function reverted(books: SessionBooks, { depositKey }: Data<'DepositReverted'>): Booking {
  const deposit = depositIn(books, depositKey);
  const { network, coin, amount, toAddress, entry } = deposit;
  const without = withDeposit(books, depositKey, { ...deposit, entry: null });
  if (entry === null) {
    return {
      books: without,
      draft: { kind: 'deposit_lost', postings: [], evidence: evidenceOf(deposit), memo: { network, coin, amount } },
    };
  }
  const units = amountOf(amount);
  const post = on(network, coin);
  return {
    books: withUnapplied(without, deposit, -units),
    draft: {
      kind: 'deposit_reversed',
      postings: [post(DEPOSIT_WALLETS, -units, toAddress), post(ownerOf(books, deposit.kind), units)],
      evidence: evidenceOf(deposit),
      reverses: entry,
    },
  };
}

function paid(books: SessionBooks, { due, received, valuation }: Data<'SessionPaid'>): Booking {
  const { books: after, postings } = payOrder(books, due, least(amountOf(due), amountOf(received)));
  const total = postings.reduce(
    (sum, { account, units }) => (account === payableTo(books.merchantId) ? sum - units : sum),
    0n,
  );
  const value = fiatValueOf(books, total, valuation);
  return {
    books: after,
    draft: {
      kind: 'payment',
      postings,
      ...(books.onTimeAtSec !== null && { chainTimeSec: books.onTimeAtSec }),
      ...(value && { value }),
    },
  };
}

/**
 * A refund takes the money of its deposits: those that cannot pay the order (late, another coin) from unapplied; of the
 * others first what exceeds the order, then at most what the order has. The session owes the remainder from unapplied.
 */
function reserved(books: SessionBooks, { refundId, legs }: Data<'RefundRequested'>): Booking {
  let after = books;
  const postings = legs.flatMap((leg) => {
    const reservation = reserveLeg(after, refundId, leg);
    after = reservation.books;
    return reservation.postings;
  });
  return { books: after, draft: { kind: 'refund_reserved', postings, refundId } };
}

function reserveLeg(books: SessionBooks, refundId: string, { legId, network, coin, amount, takenFrom }: RefundLeg) {
  const units = amountOf(amount);
  const pocket = pocketOf(books, network, coin);
  const fromOthers = takenFrom.reduce(
    (sum, part) => (isOthers(books, part.depositKey) ? sum + amountOf(part.amount) : sum),
    0n,
  );
  const over = most(ownUnapplied(books, network, coin) - most(pocket.others, 0n), 0n);
  const fromPayable = least(most(units - fromOthers - over, 0n), most(pocket.payable, 0n));
  const fromUnapplied = units - fromPayable;
  const leg: BookedLeg = {
    ...{ network, coin, amount, fromAddress: null, paid: null },
    ...{ fromUnapplied: formatAmount(fromUnapplied, 0), fromOthers: formatAmount(fromOthers, 0) },
  };
  const after = withPocket(books, network, coin, {
    ...pocket,
    unapplied: pocket.unapplied - fromUnapplied,
    payable: pocket.payable - fromPayable,
    others: pocket.others - fromOthers,
  });
  return { books: withLeg(after, refundId, legId, leg), postings: reservation(books, leg, 1n) };
}

/** The lines that reserve a leg's money (`sign` 1) or release it (-1). */
function reservation({ merchantId }: SessionBooks, leg: BookedLeg, sign: 1n | -1n): Posting[] {
  const units = amountOf(leg.amount);
  const fromUnapplied = amountOf(leg.fromUnapplied);
  const fromPayable = units - fromUnapplied;
  const post = on(leg.network, leg.coin);
  return [
    ...(fromUnapplied > 0n ? [post(unappliedOf(merchantId), sign * fromUnapplied)] : []),
    ...(fromPayable > 0n ? [post(payableTo(merchantId), sign * fromPayable)] : []),
    post(refundsReservedOf(merchantId), -sign * units),
  ];
}

function signed(books: SessionBooks, { refundId, legId, fromAddress }: Data<'RefundPayoutSigned'>): Booking {
  return nothing(withLeg(books, refundId, legId, { ...legIn(books, refundId, legId), fromAddress }));
}

function landed(books: SessionBooks, data: Data<'RefundPayoutLanded'>, entry: string): Booking {
  const { refundId, legId, txHash, blockNumber, blockHash, blockTimeSec, networkFee } = data;
  const leg = legIn(books, refundId, legId);
  return {
    books: withLeg(books, refundId, legId, { ...leg, paid: { entry, fee: networkFee, txHash } }),
    draft: {
      kind: 'refund_paid',
      postings: [...payout(books, leg, 1n), ...fee(leg, networkFee, 1n)],
      refundId,
      chainTimeSec: blockTimeSec,
      evidence: { network: leg.network, txHash, blockNumber, blockHash },
    },
  };
}

function unlanded(books: SessionBooks, { refundId, legId, txHash }: Data<'RefundPayoutReverted'>): Booking {
  const leg = legIn(books, refundId, legId);
  if (!leg.paid) throw new Error(`refund ${refundId} was never paid`);
  return {
    books: withLeg(books, refundId, legId, { ...leg, paid: null }),
    draft: {
      kind: 'refund_unpaid',
      postings: [...payout(books, leg, -1n), ...fee(leg, leg.paid.fee, -1n)],
      refundId,
      evidence: { network: leg.network, txHash },
      reverses: leg.paid.entry,
    },
  };
}

function released(books: SessionBooks, { refundId, legId, networkFee }: Data<'RefundPayoutFailed'>): Booking {
  const leg = legIn(books, refundId, legId);
  const { network, coin } = leg;
  const pocket = pocketOf(books, network, coin);
  const fromUnapplied = amountOf(leg.fromUnapplied);
  const fromPayable = amountOf(leg.amount) - fromUnapplied;
  const after = withPocket(books, network, coin, {
    ...pocket,
    unapplied: pocket.unapplied + fromUnapplied,
    payable: pocket.payable + fromPayable,
    others: pocket.others + amountOf(leg.fromOthers),
  });
  return {
    books: withLeg(after, refundId, legId, { ...leg, fromOthers: '0' }),
    draft: {
      kind: 'refund_released',
      postings: [...reservation(books, leg, -1n), ...fee(leg, networkFee ?? '0', 1n)],
      refundId,
    },
  };
}

function valued(books: SessionBooks, { refundId, coin, amount, valuation }: Data<'RefundCompleted'>): Booking {
  const value = coin === books.coin ? fiatValueOf(books, -amountOf(amount), valuation) : null;
  return {
    books,
    draft: {
      kind: 'refund_valued',
      postings: [],
      refundId,
      memo: { network: null, coin, amount },
      ...(value && { value }),
    },
  };
}

function payout({ merchantId }: SessionBooks, leg: BookedLeg, sign: 1n | -1n): Posting[] {
  const units = sign * amountOf(leg.amount);
  const post = on(leg.network, leg.coin);
  return [post(refundsReservedOf(merchantId), units), post(TREASURY, -units, leg.fromAddress)];
}

/** Network fees are paid from the operator's account, never by the payer. */
function fee(leg: BookedLeg, amount: string, sign: 1n | -1n): Posting[] {
  const units = sign * amountOf(amount);
  const post = on(leg.network, NATIVE_COIN[leg.network]);
  return units === 0n ? [] : [post(NETWORK_FEES, units), post(TREASURY, -units, leg.fromAddress)];
}

function depositIn(books: SessionBooks, key: string): BookedDeposit {
  const deposit = books.deposits[key];
  if (!deposit) throw new Error(`deposit ${key} was never seen`);
  return deposit;
}

function legIn(books: SessionBooks, refundId: string, legId: string): BookedLeg {
  const leg = books.legs[legKey(refundId, legId)];
  if (!leg) throw new Error(`leg ${legId} of refund ${refundId} was never requested`);
  return leg;
}

const withLeg = (books: SessionBooks, refundId: string, legId: string, leg: BookedLeg): SessionBooks => ({
  ...books,
  legs: { ...books.legs, [legKey(refundId, legId)]: leg },
});
