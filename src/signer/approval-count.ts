import type { SignerRefusal } from '../ports/outgoing-signer.ts';
import { refusal } from './exclusive.ts';
import type { JournalEntry } from './journal.ts';

export const APPROVALS_NEEDED = 2;

/** Each once, in the order in which they agreed. */
export const approversOf = (entries: readonly JournalEntry[], terms: string, proposedBy: string): string[] => [
  ...new Set(
    entries.flatMap((entry) =>
      entry.kind === 'approved' && entry.terms === terms && entry.proposedBy === proposedBy ? [entry.approver] : [],
    ),
  ),
];

/** The most people that agreed to the terms as one and the same person proposed them. */
export function agreedTo(entries: readonly JournalEntry[], terms: string): number {
  const proposers = new Set(
    entries.flatMap((entry) => (entry.kind === 'approved' && entry.terms === terms ? [entry.proposedBy] : [])),
  );
  return Math.max(0, ...[...proposers].map((proposedBy) => approversOf(entries, terms, proposedBy).length));
}

/** Null once enough people agreed to the terms; `what`: approvals, or approvers who agreed, to what. */
export function missingApprovals(entries: readonly JournalEntry[], terms: string, what: string): SignerRefusal | null {
  const agreed = agreedTo(entries, terms);
  return agreed >= APPROVALS_NEEDED ? null : refusal('later', 'approval', `${agreed} of ${APPROVALS_NEEDED} ${what}`);
}
