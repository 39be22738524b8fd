import type { MoveDraft } from '../domain/events/payout-draft.ts';
import type { PayoutRefusal } from '../ports/payouts.ts';
import type { JournalEntry, MovedEntry, SignedEntry } from './payout-journal.ts';

/*
 * Which transactions can never land both, by a rule of their chain that is in the bytes that are signed (ADR 0027). What is not
 * proven to exclude another counts as if it had landed.
 */

type Entry = SignedEntry | MovedEntry;

export const refusal = (kind: PayoutRefusal['kind'], code: string, message: string): PayoutRefusal => ({ ok: false, kind, code, message });

/** Everything with bytes that may be on chain, in the order it was signed. */
export const bytesOf = (entries: readonly JournalEntry[]): Entry[] =>
  entries.filter((entry): entry is Entry => entry.kind === 'signed' || entry.kind === 'moved');

/** Whether the chain itself lets one of the two land at most; both are of one account on one network. */
export function excludeEachOther(one: MoveDraft, other: MoveDraft): boolean {
  if (isEvm(one)) return isEvm(other) && one.chainId === other.chainId && one.nonce === other.nonce;
  if (one.kind === 'solana') return other.kind === 'solana' && one.nonceIndex === other.nonceIndex && one.nonce === other.nonce;
  return one.kind === 'solana-nonce-account' && other.kind === one.kind && one.nonceIndex === other.nonceIndex;
}

export const isEvm = (draft: MoveDraft): draft is Extract<MoveDraft, { kind: 'evm' | 'evm-native' | 'evm-cancel' }> =>
  draft.kind === 'evm' || draft.kind === 'evm-native' || draft.kind === 'evm-cancel';

/**
 * What may have moved money, once each: a payload was signed after another of the same name only where both can never land, so the newest
 * stands for all of them, and for the moment at which it was signed.
 */
export function standing(entries: readonly JournalEntry[]): Entry[] {
  return [...new Map(bytesOf(entries).map((entry) => [entry.legId, entry])).values()];
}

/** The journal without what was signed under one name, which a replacement takes the place of. */
export const without = (entries: readonly JournalEntry[], legId: string): JournalEntry[] =>
  entries.filter((entry) => (entry.kind !== 'signed' && entry.kind !== 'moved') || entry.legId !== legId);

/** Why the sequence that a first transaction names is another's; null when it is free. `ofNetwork` are the entries of its network. */
export function sequenceRefusal(ofNetwork: readonly Entry[], draft: MoveDraft, fromAddress: string, treasury: string): PayoutRefusal | null {
  // On Solana sweeps, too, take their nonces from the treasury's accounts.
  const senderOf = (entry: Entry): string => (draft.kind !== 'solana' && entry.kind === 'moved' ? entry.fromAddress : treasury);
  const sender = draft.kind === 'solana' ? treasury : fromAddress;
  if (draft.kind === 'solana-nonce-account') return null;
  if (!ofNetwork.some((entry) => senderOf(entry) === sender && excludeEachOther(entry.draft, draft))) return null;
  if (draft.kind === 'solana') return refusal('later', 'sequence_busy', 'the nonce belongs to another payout');
  // A provider that lags may name a collection address's last nonce again; the next look gets it right.
  return fromAddress === treasury
    ? refusal('stopped', 'sequence_taken', 'the nonce belongs to another payout')
    : refusal('later', 'sequence_taken', 'the nonce belongs to another sweep');
}
