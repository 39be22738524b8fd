import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { TransferEvent } from '../../src/domain/events/transfer-events.ts';
import type { Mode } from '../../src/domain/values/ids.ts';
import {
  DEPOSIT_WALLETS,
  OPERATOR_FUNDING,
  UNMATCHED,
  unappliedOf,
  type Posting,
} from '../../src/domain/money/ledger.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import type { Booking, EntryDraft } from './entry.ts';
import {
  pocketOf,
  withDeposit,
  withPocket,
  type BookedDeposit,
  type PocketUnits,
  type SessionBooks,
} from './session-books.ts';

/*
 * Unmatched transfers in the books: money that leaves a session goes through `liabilities:unmatched`, and from there to
 * another session or back to the sender. Each step is an entry of its own event, so the sums are zero between two
 * steps, too.
 */

type Data<Type extends 'DepositSetAside' | 'DepositPutBack' | 'TransferCredited' | 'TransferCreditReversed'> =
  EventOf<Type>['data'];

const at = ({ network, coin }: Pick<BookedDeposit, 'network' | 'coin'>, account: string, units: bigint): Posting => ({
  account,
  network,
  coin,
  units,
});

const lookUp = ({ network, txHash, logIndex }: Pick<BookedDeposit, 'network' | 'txHash' | 'logIndex'>) => ({
  network,
  txHash,
  logIndex,
});

export function setAside(books: SessionBooks, { depositKey }: Data<'DepositSetAside'>, entry: string): Booking {
  const deposit = depositIn(books, depositKey);
  const { network, coin, amount, kind } = deposit;
  const units = amountOf(amount);
  const after = withPocket(
    books,
    network,
    coin,
    movedBy(pocketOf(books, network, coin), -units, kind === 'on_time' ? -units : 0n),
  );
  return {
    books: withDeposit(after, depositKey, { ...deposit, aside: { entry, coin, amount } }),
    draft: {
      kind: 'transfer_set_aside',
      postings: [at(deposit, unappliedOf(books.merchantId), units), at(deposit, UNMATCHED, -units)],
      evidence: lookUp(deposit),
    },
  };
}

/** Reverses what was set aside, even if a reorganisation has replaced the transfer since. */
export function putBack(books: SessionBooks, { depositKey }: Data<'DepositPutBack'>): Booking {
  const { aside, ...deposit } = depositIn(books, depositKey);
  if (aside === undefined) throw new Error(`deposit ${depositKey} was never set aside`);
  const { network, coin } = deposit;
  const units = amountOf(aside.amount);
  const money = { network, coin: aside.coin };
  const canPay = deposit.kind === 'on_time' && deposit.entry !== null;
  const unapplied = withPocket(books, network, aside.coin, movedBy(pocketOf(books, network, aside.coin), units, 0n));
  const after = withPocket(
    unapplied,
    network,
    coin,
    movedBy(pocketOf(unapplied, network, coin), 0n, canPay ? amountOf(deposit.amount) : 0n),
  );
  return {
    books: withDeposit(after, depositKey, deposit),
    draft: {
      kind: 'transfer_put_back',
      postings: [at(money, UNMATCHED, units), at(money, unappliedOf(books.merchantId), -units)],
      evidence: lookUp(deposit),
      reverses: aside.entry,
    },
  };
}

const movedBy = (pocket: PocketUnits, unapplied: bigint, onTime: bigint): PocketUnits => ({
  ...pocket,
  unapplied: pocket.unapplied + unapplied,
  onTime: pocket.onTime + onTime,
});

export function credited(books: SessionBooks, data: Data<'TransferCredited'>, entry: string): Booking {
  const { depositKey, network, coin, amount, kind, creditedAtSec } = data;
  const units = amountOf(data.amount);
  const pocket = pocketOf(books, network, coin);
  const canPay = kind === 'on_time';
  const after = withPocket(books, network, coin, {
    ...{ ...pocket, unapplied: pocket.unapplied + units },
    onTime: canPay ? pocket.onTime + units : pocket.onTime,
    others: canPay ? pocket.others : pocket.others + units,
  });
  return {
    books: {
      ...after,
      credits: { ...books.credits, [depositKey]: entry },
      ...(!canPay && { lateCredits: { ...books.lateCredits, [depositKey]: { network, coin, amount } } }),
      // An operator's decision has no block time: what it pays is paid when it is made.
      onTimeAtSec: canPay ? Math.max(books.onTimeAtSec ?? 0, creditedAtSec) : books.onTimeAtSec,
    },
    draft: {
      kind: 'transfer_credited',
      postings: [at(data, UNMATCHED, units), at(data, unappliedOf(books.merchantId), -units)],
      evidence: lookUp(data),
    },
  };
}

export function creditReversed(
  books: SessionBooks,
  { depositKey, network, coin, amount, kind }: Data<'TransferCreditReversed'>,
): Booking {
  const { [depositKey]: entry, ...credits } = books.credits ?? {};
  const { [depositKey]: _, ...lateCredits } = books.lateCredits ?? {};
  if (entry === undefined) throw new Error(`transfer ${depositKey} was never credited`);
  const units = amountOf(amount);
  const pocket = pocketOf(books, network, coin);
  const canPay = kind === 'on_time';
  const [onTime, others] = canPay ? [pocket.onTime - units, pocket.others] : [pocket.onTime, pocket.others - units];
  return {
    books: {
      ...withPocket(books, network, coin, { ...pocket, unapplied: pocket.unapplied - units, onTime, others }),
      credits,
      lateCredits,
    },
    draft: {
      kind: 'transfer_credit_reversed',
      postings: [at({ network, coin }, unappliedOf(books.merchantId), units), at({ network, coin }, UNMATCHED, -units)],
      reverses: entry,
    },
  };
}

function depositIn(books: SessionBooks, key: string): BookedDeposit {
  const deposit = books.deposits[key];
  if (!deposit) throw new Error(`deposit ${key} was never seen`);
  return deposit;
}

/** The entry of an event in a transfer's own stream. */
export interface TransferBooking {
  readonly mode: Mode;
  readonly draft: EntryDraft;
}

type Rule<Type extends TransferEvent['type']> = (data: EventOf<Type>['data']) => TransferBooking | null;

const nothing = (): null => null;

/** The posting rule for each transfer event; an event without one does not compile. */
const RULES: { readonly [Type in TransferEvent['type']]: Rule<Type> } = {
  TransferRecorded: recorded,
  TransferAttachRequested: nothing,
  TransferAttached: nothing,
  TransferReturnRequested: nothing,
  TransferReturned: nothing,
  TransferUndoRequested: nothing,
  TransferUndoRefused: nothing,
  TransferReopened: nothing,
};

const ruleOf = <Type extends TransferEvent['type']>(type: Type): Rule<Type> => RULES[type];

export function bookTransferEvent(event: TransferEvent): TransferBooking | null {
  return ruleOf(event.type)(event.data);
}

/**
 * Money recorded by a session is already in its books. Money received by the treasury is booked as funding by the
 * reconciliation, before or after; here it changes its owner.
 */
function recorded(data: EventOf<'TransferRecorded'>['data']): TransferBooking | null {
  const { mode, origin, network, coin, amount, toAddress, txHash, logIndex, blockNumber, blockHash, blockTimeSec } =
    data;
  if (origin.kind === 'session') return null;
  const units = amountOf(amount);
  const line: Posting =
    origin.kind === 'address'
      ? { account: DEPOSIT_WALLETS, network, coin, units, address: toAddress }
      : { account: OPERATOR_FUNDING, network, coin, units };
  return {
    mode,
    draft: {
      kind: 'transfer_recorded',
      postings: [line, { account: UNMATCHED, network, coin, units: -units }],
      chainTimeSec: blockTimeSec,
      evidence: { network, txHash, logIndex, blockNumber, blockHash },
    },
  };
}
