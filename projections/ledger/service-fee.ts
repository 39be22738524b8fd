import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import { payableTo, SERVICE_FEES, type Posting } from '../../src/domain/money/ledger.ts';
import { amountOf, formatAmount, SCALE } from '../../src/domain/money/money.ts';
import { NETWORKS, type Network } from '../../src/domain/networks/networks.ts';
import { timeOf, type Booking } from './entry.ts';
import { pocketOf, takenFrom, type BookedServiceFee, type SessionBooks } from './session-books.ts';

/*
 * The operator's share of an order: charged when the order is paid, given back when the payment is reverted, and
 * charged again when it returns. It moves no coin, only the ownership of coin in the treasury.
 */

type Shares = Readonly<Partial<Record<Network, string>>>;

const WHOLE_IN_BASIS_POINTS = 10_000n;

/** Adds the effect of a session's event on its service fee. */
export function withServiceFee(booking: Booking, event: SessionEvent['type'], entry: string): Booking {
  const before = booking.books.serviceFee;
  if (before === undefined) return booking;
  const fee = event === 'SessionPaid' ? { ...before, isPaid: true } : before;
  const isOwed = fee.isPaid && isEnough(booking.books, fee);
  if (isOwed && fee.charged === null) return charge(booking, fee, entry);
  if (!isOwed && fee.charged !== null) return giveBack(booking, fee, fee.charged);
  return fee === before ? booking : { ...booking, books: { ...booking.books, serviceFee: fee } };
}

function charge({ books, draft, further = [] }: Booking, fee: BookedServiceFee, entry: string): Booking {
  const shares = sharesOf(books, fee);
  const postings = postingsOf(books, shares, 1n);
  return {
    books: { ...books, serviceFee: { ...fee, charged: { entry, shares } } },
    draft,
    further: postings.length === 0 ? further : [...further, { kind: 'service_fee', postings, ...timeOf(draft) }],
  };
}

function giveBack(
  { books, draft, further = [] }: Booking,
  fee: BookedServiceFee,
  { entry, shares }: NonNullable<BookedServiceFee['charged']>,
): Booking {
  const postings = postingsOf(books, shares, -1n);
  return {
    books: { ...books, serviceFee: { ...fee, charged: null } },
    draft,
    further:
      postings.length === 0
        ? further
        : [...further, { kind: 'service_fee_reversed', postings, ...timeOf(draft), reverses: entry }],
  };
}

/** The lines that charge the shares (`sign` 1) or give them back (-1). */
function postingsOf({ merchantId, coin }: SessionBooks, shares: Shares, sign: 1n | -1n): Posting[] {
  return NETWORKS.flatMap((network) => {
    const share = shares[network];
    if (share === undefined) return [];
    const units = sign * amountOf(share);
    return [
      { account: payableTo(merchantId), network, coin, units },
      { account: SERVICE_FEES, network, coin, units: -units },
    ];
  });
}

/** Whether the money that is final now pays the session, by the session's own rule. */
function isEnough(books: SessionBooks, { due, tolerance }: BookedServiceFee): boolean {
  const received = NETWORKS.reduce((sum, network) => sum + pocketOf(books, network, books.coin).onTime, 0n);
  return received > 0n && received >= amountOf(due) - amountOf(tolerance);
}

/**
 * The fee on what pays the order, by network. Every share is rounded down, and the remainder is taken where most of the
 * money is, so no share exceeds what the payment brought there.
 */
function sharesOf(books: SessionBooks, { basisPoints, due, decimals }: BookedServiceFee): Shares {
  const sources = takenFrom(books, books.coin, amountOf(due));
  const feeOn = (units: bigint): bigint => roundedDown((units * BigInt(basisPoints)) / WHOLE_IN_BASIS_POINTS, decimals);
  const rest = feeOn(sumOf(sources.map(({ units }) => units))) - sumOf(sources.map(({ units }) => feeOn(units)));
  const { network: largest } = sources.reduce((one, other) => (other.units > one.units ? other : one));
  const shares = sources.map(
    ({ network, units }) => [network, feeOn(units) + (network === largest ? rest : 0n)] as const,
  );
  return Object.fromEntries(
    shares.filter(([, units]) => units > 0n).map(([network, units]) => [network, formatAmount(units, 0)]),
  );
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, units) => sum + units, 0n);

function roundedDown(units: bigint, decimals: number): bigint {
  return units - (units % 10n ** BigInt(SCALE - decimals));
}
