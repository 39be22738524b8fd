import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OutflowFacts } from '../../domain/events/treasury-move-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Approval, ApprovalAct, ApprovalTerms, ApprovalVerdict } from '../../ports/signer/approvals.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { PayoutRules } from '../../ports/signer/protocol.ts';
import type { AccountTurns } from '../account-turns.ts';
import type { LedgerAccounts } from '../journal/ledger-accounts.ts';
import { approversOf, APPROVALS_NEEDED } from './count.ts';
import { checkApprovers, personOf, prove } from './proof.ts';
import {
  destinationsOf,
  hashOf,
  MERCHANT,
  modeOf,
  openOutflows,
  partiesOf,
  proposerOf,
  termsOf,
  textOf,
} from './text.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { lostPlaces } from '../journal/log-places.ts';
import { refusal } from '../exclusive.ts';
import type { SignerAccount } from '../keys/signer-account.ts';

const VALID_MS = 10 * 60_000;
const WINDOW_MS = 60_000;
/** A person mistypes a few times; an attacker does so all the time. */
const MAX_WRONG_IN_WINDOW = 10;
/** No approver has this name. */
const UNKNOWN = '';
/** More than one comparison finds; a single one already stops the network. */
const MAX_OPEN_OUTFLOWS = 1_000;

interface ApprovalsParts {
  readonly rules: PayoutRules;
  readonly nowMs: () => number;
  readonly accounts: AccountTurns;
  readonly ledger: LedgerAccounts;
  /** Called for every invalid approval. */
  readonly onWrong: (why: string) => void;
}

/** Counts approvals: people with keys of their own, each once, for exact terms, without the proposer. */
export class Approvals {
  readonly #parts: ApprovalsParts;
  /** Lost with the process, and with it every unused number. */
  readonly #numberKey = randomBytes(32);
  #wrong = 0;
  /** By person, so that nobody can lock out others. All unknown names count as one person. */
  readonly #wrongAtMs = new Map<string, readonly number[]>();

  /** Throws `ApproversRefused`. */
  constructor(parts: ApprovalsParts) {
    this.#parts = parts;
    checkApprovers(parts.rules.approvers, MERCHANT);
  }

  /** Number of invalid approvals since the start. */
  get wrong(): number {
    return this.#wrong;
  }

  terms(act: ApprovalAct): Promise<ApprovalTerms> {
    return this.#parts.accounts.inTurn(modeOf(act), async (account): Promise<ApprovalTerms> => {
      const found = this.#find(act, account);
      if (!found.ok || found.done) return found;
      const validUntilMs = this.#nowMs(account) + VALID_MS;
      const number = this.#numberFor(found.hash, found.proposedBy, validUntilMs, randomBytes(16).toString('base64url'));
      return { ok: true, done: false, number, text: textOf(found.terms, found.proposedBy, validUntilMs, number) };
    });
  }

  approve(act: ApprovalAct, approval: Approval): Promise<ApprovalVerdict> {
    return this.#parts.accounts.inTurn(modeOf(act), async (account): Promise<ApprovalVerdict> => {
      const { journal } = account;
      const found = this.#find(act, account);
      if (!found.ok) return found;
      if (found.done) return { ...found, counted: false };
      const keys = this.#parts.rules.approvers.filter(({ name }) => personOf(name) === personOf(approval.approver));
      const name = keys[0]?.name ?? approval.approver;
      const person = keys.length === 0 ? UNKNOWN : personOf(name);
      if (this.#isFlooded(person))
        return refusal('later', 'too_many_attempts', 'too many invalid approvals: wait a minute');
      if (keys.length === 0) return this.#wrongly(person, 'unknown_approver', `${name} is not an approver`);
      if (partiesOf(act).some((party) => personOf(party) === personOf(name)))
        return refusal('denied', 'own_proposal', `${name} proposed it and cannot approve it`);
      const validUntilMs = Number(approval.number.split('.')[0]);
      if (!this.#isNumberFor(found.hash, found.proposedBy, approval.number) || validUntilMs <= this.#nowMs(account))
        return this.#wrongly(
          person,
          'wrong_number',
          'the one-time number is not for these terms, or has expired: request the terms again',
        );
      if (journal.entries.some((entry) => entry.kind === 'approved' && entry.number === approval.number))
        return this.#wrongly(person, 'used_number', 'the one-time number was already used');
      const text = textOf(found.terms, found.proposedBy, validUntilMs, approval.number);
      const proven = await prove(keys, text, approval.proof, (credentialId) =>
        lastSignCount(journal.entries, credentialId),
      );
      if (!proven.ok) return this.#wrongly(person, 'wrong_signature', proven.why);
      // A stop or an outflow that came meanwhile has terms of its own.
      const now = this.#find(act, account);
      if (!now.ok || now.done || now.hash !== found.hash)
        return refusal('later', 'terms_changed', 'the terms changed meanwhile: request them again');
      const before = approversOf(journal.entries, [found.hash], found.proposedBy, this.#parts.rules.approvers);
      const counted = !before.some((other) => personOf(other) === personOf(name)) && before.length < APPROVALS_NEEDED;
      if (counted) {
        const { number, proof } = approval;
        const key = proven.publicKey;
        const passkey = proof.kind === 'webauthn' && {
          passkey: { credentialId: proof.response.id, signCount: proven.signCount ?? 0 },
        };
        journal.append(
          {
            kind: 'approved',
            terms: found.hash,
            proposedBy: found.proposedBy,
            approver: name,
            key,
            number,
            ...passkey,
          },
          this.#parts.nowMs(),
        );
      }
      const approvers = counted ? [...before, name] : before;
      const done = approvers.length >= APPROVALS_NEEDED;
      if (done) this.#carryOut(act, account, approvers, found.hash);
      return { ok: true, approvers, done, counted };
    });
  }

  reportOutflows(
    mode: Mode,
    network: Network,
    outflows: readonly OutflowFacts[],
  ): Promise<{ readonly ok: true } | SignerRefusal> {
    return this.#parts.accounts.atOnce(mode, ({ journal }) => {
      for (const { mode: _, ...facts } of outflows) {
        const isKnown = journal.entries.some(
          (entry) => entry.kind === 'outflow' && entry.network === network && entry.outflowKey === facts.outflowKey,
        );
        if (isKnown || openOutflows(journal.entries, network).length >= MAX_OPEN_OUTFLOWS) continue;
        journal.append({ kind: 'outflow', ...facts, network }, this.#parts.nowMs());
      }
      return { ok: true } as const;
    });
  }

  /** The action as the signer itself knows it. */
  #find(act: ApprovalAct, { journal, limits, wanted }: SignerAccount) {
    if (act.kind === 'acknowledge' && !isReported(act, journal.entries))
      return refusal('later', 'unknown_outflow', 'not all of these outflows are reported here yet: explain the others');
    const proposedBy = proposerOf(act);
    const { entries } = journal;
    const exceedsAccount = (order: OutgoingTransaction): boolean =>
      (order.kind === 'refund' || order.kind === 'return') &&
      this.#parts.ledger.refusal(order, entries)?.code === 'exceeds_account';
    const terms = termsOf(act, { entries, limits: { inForce: limits, wanted }, exceedsAccount });
    const agreed = alreadyDone(act, terms === null, journal.entries);
    if (terms === null || agreed) return { ok: true, done: true, approvers: agreed ?? [] } as const;
    const people = new Set(this.#parts.rules.approvers.map(({ name }) => personOf(name)));
    const parties = partiesOf(act);
    for (const party of parties) people.delete(personOf(party));
    if (people.size < APPROVALS_NEEDED)
      return refusal(
        'denied',
        'too_few_approvers',
        `this needs ${APPROVALS_NEEDED} approvers other than ${parties.join(' and ')}, and ${people.size} are configured: each creates a key with "quittance approver enroll" and adds the printed line to PAYOUT_APPROVERS`,
      );
    return { ok: true, done: false, terms, hash: hashOf(terms), proposedBy } as const;
  }

  /** Applies what takes effect in the signer itself with the second approval. */
  #carryOut(act: ApprovalAct, account: SignerAccount, approvers: readonly string[], terms: string): void {
    const nowMs = this.#parts.nowMs();
    switch (act.kind) {
      case 'transaction':
      case 'take_over':
        return;
      case 'adjustment':
        if (!account.journal.entries.some((entry) => entry.kind === 'agreed' && entry.terms === terms))
          account.journal.append({ kind: 'agreed', terms, approvers }, nowMs);
        return;
      case 'resume':
        account.journal.append(
          {
            kind: 'resumed',
            by: act.proposedBy,
            approvers,
            anew: lostPlaces(account.journal.entries, act.anew),
          },
          nowMs,
        );
        return;
      case 'acknowledge': {
        const { network, reason } = act;
        const outflowKeys = openOutflows(account.journal.entries, network).flatMap(({ outflowKey: key }) =>
          act.outflowKeys.includes(key) ? [key] : [],
        );
        account.journal.append({ kind: 'acknowledged', network, outflowKeys, reason, approvers }, nowMs);
        return;
      }
      case 'settlement_address': {
        const { network, merchantId, address } = act.destination;
        account.journal.append({ kind: 'destination', network, merchantId, address, approvers }, nowMs);
        return;
      }
      case 'limits':
        account.journal.append({ kind: 'limits', limits: account.wanted, approvers }, nowMs);
        return;
    }
  }

  #numberFor(terms: string, proposedBy: string, validUntilMs: number, once: string): string {
    const bound = JSON.stringify([terms, proposedBy, validUntilMs, once]);
    return `${validUntilMs}.${once}.${createHmac('sha256', this.#numberKey).update(bound).digest('base64url')}`;
  }

  #isNumberFor(terms: string, proposedBy: string, number: string): boolean {
    const [validUntilMs = '', once = ''] = number.split('.');
    const expected = Buffer.from(this.#numberFor(terms, proposedBy, Number(validUntilMs), once));
    const given = Buffer.from(number);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  #nowMs({ journal }: SignerAccount): number {
    return journal.timeMs(this.#parts.nowMs());
  }

  #isFlooded(person: string): boolean {
    return this.#recentlyWrong(person).length >= MAX_WRONG_IN_WINDOW;
  }

  #recentlyWrong(person: string): readonly number[] {
    return (this.#wrongAtMs.get(person) ?? []).filter((atMs) => atMs > performance.now() - WINDOW_MS);
  }

  #wrongly(person: string, code: string, why: string): SignerRefusal {
    this.#wrong += 1;
    this.#wrongAtMs.set(person, [...this.#recentlyWrong(person), performance.now()]);
    this.#parts.onWrong(why);
    return refusal('denied', code, why);
  }
}

/**
 * Who approved something that is already in force, for callers that repeat the request after a crash; null if an
 * approval is still needed.
 */
function alreadyDone(
  act: ApprovalAct,
  nothingLeft: boolean,
  entries: readonly JournalEntry[],
): readonly string[] | null {
  if (act.kind === 'settlement_address') {
    const inForce = destinationsOf(entries, act.destination).at(-1);
    return inForce?.address === act.destination.address ? inForce.approvers : null;
  }
  if (act.kind === 'resume' && nothingLeft)
    return entries.findLast((entry) => entry.kind === 'resumed')?.approvers ?? null;
  if (act.kind !== 'acknowledge' || !nothingLeft) return null;
  const { network, outflowKeys } = act;
  return entries.flatMap((entry) =>
    entry.kind === 'acknowledged' &&
    entry.network === network &&
    entry.outflowKeys.some((key) => outflowKeys.includes(key))
      ? entry.approvers
      : [],
  );
}

const isReported = (
  { network, outflowKeys }: Extract<ApprovalAct, { kind: 'acknowledge' }>,
  entries: readonly JournalEntry[],
): boolean => {
  const reported = new Set(
    entries.flatMap((entry) => (entry.kind === 'outflow' && entry.network === network ? [entry.outflowKey] : [])),
  );
  return outflowKeys.every((key) => reported.has(key));
};

const lastSignCount = (entries: readonly JournalEntry[], credentialId: string): number =>
  Math.max(
    0,
    ...entries.flatMap((entry) =>
      entry.kind === 'approved' && entry.passkey?.credentialId === credentialId ? [entry.passkey.signCount] : [],
    ),
  );
