import type { BookedCoin, EntryKind, FiatValue, Posting } from '../../src/domain/ledger.ts';
import type { Network } from '../../src/domain/networks.ts';
import type { SessionBooks } from './session-books.ts';

/** Where on a chain a fact can be looked up. */
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
  /** Block time of the fact; absent when the fact is not one of a chain. */
  readonly chainTimeSec?: number;
  readonly evidence?: Evidence;
  /** Id of the entry that this one takes back. */
  readonly reverses?: string;
  /** An amount that moves no account. */
  readonly memo?: { readonly network: Network | null; readonly coin: BookedCoin; readonly amount: string };
  readonly value?: FiatValue;
}

export interface Booking {
  readonly books: SessionBooks;
  /** Null for an event that moves no money. */
  readonly draft: EntryDraft | null;
  /** Further entries of the same event: a paid order has money again, its service fee is charged or given back. */
  readonly further?: readonly EntryDraft[];
}

/** A further entry belongs to the moment of the first one. */
export const timeOf = (draft: EntryDraft | null): Pick<EntryDraft, 'chainTimeSec'> =>
  draft?.chainTimeSec === undefined ? {} : { chainTimeSec: draft.chainTimeSec };
