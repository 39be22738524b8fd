import { payableTo, unappliedOf, type Posting } from '../../src/domain/money/ledger.ts';
import { amountOf, formatAmount, type Coin, least, most } from '../../src/domain/money/money.ts';
import { NETWORKS, type Network } from '../../src/domain/networks/networks.ts';
import { timeOf, type Booking } from './entry.ts';
import { pocketOf, takenFrom, withPocket, type SessionBooks } from './session-books.ts';
import { must } from '../../src/domain/values/must.ts';

/*
 * The money of a paid order: what is due, applied from the networks where it is final and on time. If the chain reverts
 * some of it, or an operator sets it aside, the order lacks it; as soon as there is enough again, from whichever
 * transfer, it is applied again.
 */

interface Moved {
  readonly books: SessionBooks;
  readonly postings: readonly Posting[];
}

/** Applies up to `units` of what is due from the networks where it arrived; the rest stays unapplied. */
export function payOrder(books: SessionBooks, due: string, units: bigint): Moved {
  const open: SessionBooks = { ...books, order: { due, applied: {} } };
  return takenFrom(books, books.coin, units).reduce<Moved>((moved, taken) => apply(moved, taken.network, taken.units), {
    books: open,
    postings: [],
  });
}

/** Adds the effect of a session's event on its paid order. */
export function withOrderMoney(booking: Booking): Booking {
  const { books, draft } = booking;
  if (books.order === undefined || draft === null) return booking;
  const lost = NETWORKS.reduce<Moved>((moved, network) => apply(moved, network, -lostOn(moved.books, network)), {
    books,
    postings: [],
  });
  const restored = NETWORKS.reduce<Moved>((moved, network) => apply(moved, network, freeOn(moved.books, network)), {
    ...lost,
    postings: [],
  });
  if (restored.books === books) return booking;
  return {
    books: restored.books,
    draft: { ...draft, postings: [...draft.postings, ...lost.postings] },
    ...(restored.postings.length > 0 && {
      further: [{ kind: 'payment_restored', postings: restored.postings, ...timeOf(draft) }],
    }),
  };
}

/** The part of the order from a network that is gone: reverted, or spent by a refund. */
function lostOn(books: SessionBooks, network: Network): bigint {
  const { payable, onTime } = pocketOf(books, network, books.coin);
  const lost = most(-ownUnapplied(books, network, books.coin), appliedOn(books, network) - onTime);
  return most(least(lost, payable), 0n);
}

/** What a network can contribute to an order that lacks money. */
function freeOn(books: SessionBooks, network: Network): bigint {
  const { onTime } = pocketOf(books, network, books.coin);
  const lacking = NETWORKS.reduce((left, each) => left - appliedOn(books, each), amountOf(must(books.order).due));
  return most(least(least(lacking, ownUnapplied(books, network, books.coin)), onTime - appliedOn(books, network)), 0n);
}

/** Moves money of a network to the order, or back. */
function apply({ books, postings }: Moved, network: Network, units: bigint): Moved {
  if (units === 0n) return { books, postings };
  const { coin, merchantId, order } = books;
  const pocket = pocketOf(books, network, coin);
  const after = withPocket(books, network, coin, {
    ...pocket,
    unapplied: pocket.unapplied - units,
    payable: pocket.payable + units,
  });
  const applied = { ...must(order).applied, [network]: formatAmount(appliedOn(books, network) + units, 0) };
  return {
    books: { ...after, order: { ...must(order), applied } },
    postings: [
      ...postings,
      { account: payableTo(merchantId), network, coin, units: -units },
      { account: unappliedOf(merchantId), network, coin, units },
    ],
  };
}

/**
 * Unapplied money without deposits that were set aside and then left the chain. Those are between the operator and the
 * inbox; neither the order nor a refund depends on them.
 */
export function ownUnapplied(books: Pick<SessionBooks, 'pockets'>, network: Network, coin: Coin): bigint {
  const { unapplied, lostAside } = pocketOf(books, network, coin);
  return unapplied + lostAside;
}

/** Whether a deposit can never pay the session's order. */
export const isOthers = ({ deposits, lateCredits }: SessionBooks, depositKey: string): boolean =>
  lateCredits?.[depositKey] !== undefined ||
  (deposits[depositKey] !== undefined && deposits[depositKey].kind !== 'on_time');

const appliedOn = ({ order }: SessionBooks, network: Network): bigint => amountOf(must(order).applied[network] ?? '0');
