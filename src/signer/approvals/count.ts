import { sameName } from '../../domain/values/names.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import { refusal } from '../exclusive.ts';
import type { JournalEntry } from '../journal/journal.ts';

export const APPROVALS_NEEDED = 2;

/** Each person once, in the order of their approvals. */
export const approversOf = (entries: readonly JournalEntry[], terms: readonly string[], proposedBy: string): string[] =>
  entries
    .flatMap((entry) =>
      entry.kind === 'approved' && terms.includes(entry.terms) && entry.proposedBy === proposedBy
        ? [entry.approver]
        : [],
    )
    // The settings may write a name in another way than they did at an earlier approval.
    .filter((name, index, all) => all.findIndex((other) => sameName(other, name)) === index);

/** The largest number of people who approved one of the terms with the same proposer. */
export function agreedTo(entries: readonly JournalEntry[], ...terms: readonly string[]): number {
  const proposers = new Set(
    entries.flatMap((entry) => (entry.kind === 'approved' && terms.includes(entry.terms) ? [entry.proposedBy] : [])),
  );
  return Math.max(0, ...[...proposers].map((proposedBy) => approversOf(entries, terms, proposedBy).length));
}

/** Null once enough people approved one of the terms. `what` describes what is approved, for the message. */
export function missingApprovals(
  entries: readonly JournalEntry[],
  terms: string | readonly string[],
  what: string,
): SignerRefusal | null {
  const agreed = agreedTo(entries, ...[terms].flat());
  return agreed >= APPROVALS_NEEDED ? null : refusal('later', 'approval', `${agreed} of ${APPROVALS_NEEDED} ${what}`);
}
