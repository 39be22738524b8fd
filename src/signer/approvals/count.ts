import { sameName } from '../../domain/values/names.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { ApproverKey } from '../../ports/signer/approvals.ts';
import type { PayoutRules } from '../../ports/signer/protocol.ts';
import { refusal } from '../exclusive.ts';
import type { JournalEntry } from '../journal/journal.ts';

export const APPROVALS_NEEDED = 2;

/**
 * Each person once, in the order of their approvals. Those by keys that are no longer listed do not count: whoever stole
 * one may have approved in advance.
 */
export function approversOf(
  entries: readonly JournalEntry[],
  terms: readonly string[],
  proposedBy: string,
  listed: readonly ApproverKey[],
): string[] {
  const keys = new Set(listed.map(({ publicKey }) => publicKey));
  return (
    entries
      .flatMap((entry) =>
        entry.kind === 'approved' &&
        terms.includes(entry.terms) &&
        entry.proposedBy === proposedBy &&
        keys.has(entry.key)
          ? [entry.approver]
          : [],
      )
      // The settings may write a name in another way than they did at an earlier approval.
      .filter((name, index, all) => all.findIndex((other) => sameName(other, name)) === index)
  );
}

/** The largest number of people who approved one of the terms with the same proposer. */
export function agreedTo(
  entries: readonly JournalEntry[],
  terms: readonly string[],
  listed: readonly ApproverKey[],
): number {
  const proposers = new Set(
    entries.flatMap((entry) => (entry.kind === 'approved' && terms.includes(entry.terms) ? [entry.proposedBy] : [])),
  );
  return Math.max(0, ...[...proposers].map((proposedBy) => approversOf(entries, terms, proposedBy, listed).length));
}

/** Null once enough people approved one of the terms. `what` describes what is approved, for the message. */
export function missingApprovals(
  entries: readonly JournalEntry[],
  terms: readonly string[],
  what: string,
  { approvers }: Pick<PayoutRules, 'approvers'>,
): SignerRefusal | null {
  const agreed = agreedTo(entries, terms, approvers);
  return agreed >= APPROVALS_NEEDED ? null : refusal('later', 'approval', `${agreed} of ${APPROVALS_NEEDED} ${what}`);
}
