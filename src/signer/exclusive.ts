import type { TransactionDraft } from '../domain/events/transaction-draft.ts';
import type { SignerRefusal } from '../ports/outgoing-signer.ts';
import type { JournalEntry, SignedEntry } from './journal.ts';

/*
 * Which transactions can never land both, by a rule of their chain that is in the bytes that are signed (ADR 0022).
 * What is not proven to exclude another counts as if it had landed.
 */

export const refusal = (kind: SignerRefusal['kind'], code: string, message: string): SignerRefusal => ({
  ok: false,
  kind,
  code,
  message,
});

/** Everything with bytes that may be on chain, in the order it was signed. */
export const bytesOf = (entries: readonly JournalEntry[]): SignedEntry[] =>
  entries.filter((entry): entry is SignedEntry => entry.kind === 'signed');

/** Whether the chain itself lets one of the two land at most; both are of one account on one network. */
export function excludeEachOther(one: TransactionDraft, other: TransactionDraft): boolean {
  if (isEvm(one)) return isEvm(other) && one.chainId === other.chainId && one.nonce === other.nonce;
  if (one.kind === 'solana')
    return other.kind === 'solana' && one.nonceIndex === other.nonceIndex && one.nonce === other.nonce;
  return one.kind === 'solana-nonce-account' && other.kind === one.kind && one.nonceIndex === other.nonceIndex;
}

export const isEvm = (
  draft: TransactionDraft,
): draft is Extract<TransactionDraft, { kind: 'evm' | 'evm-native' | 'evm-cancel' }> =>
  draft.kind === 'evm' || draft.kind === 'evm-native' || draft.kind === 'evm-cancel';

/**
 * What may have moved money, once each: a payload was signed after another of the same name only where both can never
 * land, so the newest stands for all of them, and for the moment at which it was signed.
 */
export function standing(entries: readonly JournalEntry[]): SignedEntry[] {
  return [...new Map(bytesOf(entries).map((entry) => [entry.id, entry])).values()];
}

/** The journal without what was signed under one name, which a replacement takes the place of. */
export const without = (entries: readonly JournalEntry[], id: string): JournalEntry[] =>
  entries.filter((entry) => entry.kind !== 'signed' || entry.id !== id);

/**
 * Why the sequence that a first transaction names is another's; null when it is free. `ofNetwork` are the entries of
 * its network.
 */
export function sequenceRefusal(
  ofNetwork: readonly SignedEntry[],
  draft: TransactionDraft,
  fromAddress: string,
  treasury: string,
): SignerRefusal | null {
  if (draft.kind === 'solana-nonce-account') return null;
  // On Solana sweeps, too, take their nonces from the treasury's accounts.
  const isOfSameSequence = (entry: SignedEntry): boolean =>
    draft.kind === 'solana' || entry.fromAddress === fromAddress;
  if (!ofNetwork.some((entry) => isOfSameSequence(entry) && excludeEachOther(entry.draft, draft))) return null;
  if (draft.kind === 'solana') return refusal('later', 'sequence_busy', 'the nonce belongs to another transaction');
  // A provider that lags may name a collection address's last nonce again; the next look gets it right.
  return fromAddress === treasury
    ? refusal('stopped', 'sequence_taken', 'the nonce belongs to another transaction')
    : refusal('later', 'sequence_taken', 'the nonce belongs to another sweep');
}
