import type { BookedCoin, EntryKind, FiatValue, Posting } from '../../src/domain/money/ledger.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { SessionBooks } from './session-books.ts';

/** Where a fact can be found on a chain. */
export interface Evidence {
  readonly network: Network;
  readonly txHash: string;
  readonly logIndex?: number;
  readonly blockNumber?: number;
  readonly blockHash?: string;
}

/** An entry before it is numbered and dated. */
export interface EntryDraft {
  readonly kind: EntryKind;
  readonly postings: readonly Posting[];
  readonly refundId?: string;
  /** Block time; absent for facts that are not on a chain. */
  readonly chainTimeSec?: number;
  readonly evidence?: Evidence;
  /** Id of the entry that this one reverses. */
  readonly reverses?: string;
  /** An amount that changes no account. */
  readonly memo?: { readonly network: Network | null; readonly coin: BookedCoin; readonly amount: string };
  readonly value?: FiatValue;
}

export interface Booking {
  readonly books: SessionBooks;
  /** Null for an event that moves no money. */
  readonly draft: EntryDraft | null;
  /** Additional entries of the same event, such as a service fee that is charged or given back. */
  readonly further?: readonly EntryDraft[];
}

/** An additional entry has the time of the first one. */
export const timeOf = (draft: EntryDraft | null): Pick<EntryDraft, 'chainTimeSec'> =>
  draft?.chainTimeSec === undefined ? {} : { chainTimeSec: draft.chainTimeSec };
