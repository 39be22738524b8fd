import type { JournalPlace } from '../../domain/events/transaction-draft.ts';
import { formatAmount } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { SignedPayment, SignerRefusal } from '../../ports/outgoing/signer.ts';
import { bytesOf, refusal } from '../exclusive.ts';
import { placeOf, type JournalEntry, type SignedEntry } from './journal.ts';
import { indexOfPlace, placesOn } from './log-places.ts';
import { must } from '../../domain/values/must.ts';

/** What was signed on a network after the place of an event log, oldest first: what a restored event log lost. */
export function signedAfter(
  entries: readonly JournalEntry[],
  network: Network,
  logPlace: JournalPlace | null,
): { readonly payments: readonly SignedPayment[] } | SignerRefusal {
  const places = placesOn(entries, network);
  const at = logPlace === null ? -1 : indexOfPlace(places, network, logPlace);
  if (logPlace !== null && at < 0)
    return refusal(
      'stopped',
      'journal_disagrees',
      `the journal lacks entry ${logPlace.seq}, which the event log knows: it is a different journal or an older copy`,
    );
  return { payments: bytesOf(places.slice(at + 1)).map((entry) => paymentOf(entry, entries)) };
}

function paymentOf(entry: SignedEntry, entries: readonly JournalEntry[]): SignedPayment {
  const {
    purpose: kind,
    network,
    id,
    attempt,
    coin,
    units,
    fromAddress,
    toAddress,
    draft,
    takenFrom,
    txHash,
    signedBytes,
    atMs,
  } = entry;
  return {
    kind,
    network,
    id,
    attempt,
    coin,
    amount: formatAmount(BigInt(units)),
    fromAddress,
    toAddress,
    draft,
    txHash,
    signedBytes,
    depositKeys: takenFrom.map(({ depositKey }) => depositKey),
    merchantId: kind === 'settlement' ? settledMerchant(entry, entries) : null,
    journal: must(placeOf(entry)),
    signedAtSec: Math.floor(atMs / 1000),
  };
}

/** The merchant to whom the address belonged at the time of signing. */
const settledMerchant = ({ network, toAddress, seq }: SignedEntry, entries: readonly JournalEntry[]): string | null =>
  entries
    .filter((entry) => entry.kind === 'destination')
    .findLast((entry) => entry.seq < seq && entry.network === network && entry.address === toAddress)?.merchantId ??
  null;
