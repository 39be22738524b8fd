import type { TransactionDraft } from '../domain/events/transaction-draft.ts';
import { amountOf } from '../domain/money/money.ts';
import type { OutgoingTransaction } from '../ports/outgoing/transaction.ts';
import type { SignerRefusal, SigningRequest } from '../ports/outgoing/signer.ts';
import type { JournalEntry, SignedEntry } from './journal/journal.ts';

/*
 * Which transactions can never both land, because of a chain rule applied to their signed bytes (ADR 0022). Without
 * proof of exclusion a transaction counts as landed.
 */

export const refusal = (kind: SignerRefusal['kind'], code: string, message: string): SignerRefusal => ({
  ok: false,
  kind,
  code,
  message,
});

/** Entries with bytes that may be on chain, in signing order. */
export const bytesOf = (entries: readonly JournalEntry[]): SignedEntry[] =>
  entries.filter((entry): entry is SignedEntry => entry.kind === 'signed');

/** Whether the chain lets at most one of the two land; both belong to one account on one network. */
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
 * Entries that may have moved money, one per id: a transaction was signed after another with the same id only if both
 * can never land, so the newest stands for all of them and determines the time.
 */
export function standing(entries: readonly JournalEntry[]): SignedEntry[] {
  return [...new Map(bytesOf(entries).map((entry) => [entry.id, entry])).values()];
}

/** The journal without the entries of one id, which a replacement supersedes. */
export const without = (entries: readonly JournalEntry[], id: string): JournalEntry[] =>
  entries.filter((entry) => entry.kind !== 'signed' || entry.id !== id);

/**
 * Why the sequence of a first transaction is already taken; null if it is free. `ofNetwork` are the entries of its
 * network.
 */
export function sequenceRefusal(
  ofNetwork: readonly SignedEntry[],
  draft: TransactionDraft,
  fromAddress: string,
  treasury: string,
): SignerRefusal | null {
  if (draft.kind === 'solana-nonce-account') return null;
  // On Solana, sweeps also take their nonces from the treasury's accounts.
  const isOfSameSequence = (entry: SignedEntry): boolean =>
    draft.kind === 'solana' || entry.fromAddress === fromAddress;
  if (!ofNetwork.some((entry) => isOfSameSequence(entry) && excludeEachOther(entry.draft, draft))) return null;
  if (draft.kind === 'solana') return refusal('later', 'sequence_busy', 'the nonce belongs to another transaction');
  // A lagging provider may name a collection address's last nonce again; the next attempt corrects it.
  return fromAddress === treasury
    ? refusal('stopped', 'sequence_taken', 'the nonce belongs to another transaction')
    : refusal('later', 'sequence_taken', 'the nonce belongs to another sweep');
}

export const isReleased = (entries: readonly JournalEntry[], id: string): boolean =>
  entries.some((entry) => entry.kind === 'released' && entry.id === id);

export const sameTerms = (
  entry: SignedEntry,
  { kind, fromAddress, toAddress, coin, amount }: OutgoingTransaction,
): boolean =>
  JSON.stringify([entry.purpose, entry.fromAddress, entry.toAddress, entry.coin, entry.units]) ===
  JSON.stringify([kind, fromAddress, toAddress, coin, amountOf(amount).toString()]);

export const sameRequest = (entry: SignedEntry, { order, draft }: SigningRequest): boolean =>
  sameTerms(entry, order) && JSON.stringify(entry.draft) === JSON.stringify(draft);
