import type { JournalPlace } from '../../domain/events/transaction-draft.ts';
import { NETWORKS, type Network } from '../../domain/networks/networks.ts';
import type { LogPlace } from '../../ports/signer/approvals.ts';
import { placeOf, type JournalEntry, type SignedEntry } from './journal.ts';

type PlaceEntry = SignedEntry | Extract<JournalEntry, { kind: 'resumed' }>;

/*
 * Possible places of an event log in this journal: the last signature on a network, or the entry with which two people
 * let the network start over after its journal was lost.
 */

export const placesOn = (entries: readonly JournalEntry[], network: Network): PlaceEntry[] =>
  entries.filter(
    (entry): entry is PlaceEntry =>
      (entry.kind === 'signed' && entry.network === network) ||
      (entry.kind === 'resumed' && replacedBy(entry, network) !== undefined),
  );

/** Index of the event log's place. A lost place counts as the entry with which its network started over. */
export const indexOfPlace = (places: readonly PlaceEntry[], network: Network, { hash }: JournalPlace): number =>
  places.findLastIndex(
    (entry) => entry.hash === hash || (entry.kind === 'resumed' && replacedBy(entry, network)?.hash === hash),
  );

/** False if this is not the journal of that event log, or an outdated copy of it. */
export const holdsPlace = (entries: readonly JournalEntry[], network: Network, place: JournalPlace): boolean =>
  indexOfPlace(placesOn(entries, network), network, place) >= 0;

export const lostPlaces = (entries: readonly JournalEntry[], places: readonly LogPlace[]): LogPlace[] =>
  places.filter(({ network, place }) => !holdsPlace(entries, network, place));

/** The newest place of each network. */
export const newestPlaces = (entries: readonly JournalEntry[]): Partial<Record<Network, JournalPlace>> =>
  Object.fromEntries(
    NETWORKS.flatMap((network) => {
      const place = placeOf(placesOn(entries, network).at(-1));
      return place ? [[network, place]] : [];
    }),
  );

const replacedBy = ({ anew }: Extract<JournalEntry, { kind: 'resumed' }>, network: Network): JournalPlace | undefined =>
  anew?.find((lost) => lost.network === network)?.place;
