import type { JournalPlace } from '../domain/events/transaction-draft.ts';
import { NETWORKS, type Network } from '../domain/networks.ts';
import type { LedgerPlace } from '../ports/approvals.ts';
import { placeOf, type JournalEntry, type SignedEntry } from './journal.ts';

type PlaceEntry = SignedEntry | Extract<JournalEntry, { kind: 'resumed' }>;

/*
 * Where a ledger may be in this journal: at what was signed last on a network, or where two people let the network
 * begin anew after its journal was lost.
 */

export const placesOn = (entries: readonly JournalEntry[], network: Network): PlaceEntry[] =>
  entries.filter(
    (entry): entry is PlaceEntry =>
      (entry.kind === 'signed' && entry.network === network) ||
      (entry.kind === 'resumed' && replacedBy(entry, network) !== undefined),
  );

/** Which of them the ledger's place is; one that was lost counts as the entry by which its network began anew. */
export const indexOfPlace = (places: readonly PlaceEntry[], network: Network, { hash }: JournalPlace): number =>
  places.findLastIndex(
    (entry) => entry.hash === hash || (entry.kind === 'resumed' && replacedBy(entry, network)?.hash === hash),
  );

/** False where this is not the journal of that ledger, or a copy that is older than it. */
export const holdsPlace = (entries: readonly JournalEntry[], network: Network, place: JournalPlace): boolean =>
  indexOfPlace(placesOn(entries, network), network, place) >= 0;

export const lostPlaces = (entries: readonly JournalEntry[], ledger: readonly LedgerPlace[]): LedgerPlace[] =>
  ledger.filter(({ network, place }) => !holdsPlace(entries, network, place));

/** The newest of each network. */
export const newestPlaces = (entries: readonly JournalEntry[]): Partial<Record<Network, JournalPlace>> =>
  Object.fromEntries(
    NETWORKS.flatMap((network) => {
      const place = placeOf(placesOn(entries, network).at(-1));
      return place ? [[network, place]] : [];
    }),
  );

const replacedBy = ({ anew }: Extract<JournalEntry, { kind: 'resumed' }>, network: Network): JournalPlace | undefined =>
  anew?.find((ledger) => ledger.network === network)?.place;
