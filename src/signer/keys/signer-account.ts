import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Mode } from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';
import type { PayoutRules } from '../../ports/signer/protocol.ts';
import { Journal } from '../journal/journal.ts';
import { limitsOf, stricter, withLimits, type Limits } from '../policies/limits-in-force.ts';
import type { SigningWallet } from './signing-wallet.ts';

export interface SignerAccount {
  readonly wallet: SigningWallet;
  readonly journal: Journal;
  /** The configured limits. */
  readonly wanted: Limits;
  /** The limits in force; stricter while a looser configuration is not approved. */
  readonly limits: Limits;
  /** With the limits in force. */
  readonly rules: PayoutRules;
}

/** A limit that is new to the journal or stricter than before applies at once. */
export function openAccount(rules: PayoutRules, mode: Mode, wallet: SigningWallet, nowMs: number): SignerAccount {
  const journal = Journal.open(journalPath(rules, mode, wallet));
  const wanted = limitsOf(rules, mode);
  const approved = (): Limits | undefined => journal.entries.findLast((entry) => entry.kind === 'limits')?.limits;
  const before = approved();
  const inForce = before ? stricter(before, wanted) : wanted;
  if (JSON.stringify(before) !== JSON.stringify(inForce))
    journal.append({ kind: 'limits', limits: inForce, approvers: [] }, nowMs);
  return {
    ...{ wallet, journal, wanted },
    get limits() {
      return stricter(must(approved()), wanted);
    },
    get rules() {
      return withLimits(rules, mode, this.limits);
    },
  };
}

/** One journal per wallet, whichever data directory is used with it. */
function journalPath(rules: PayoutRules, mode: Mode, wallet: SigningWallet): string {
  return join(
    rules.journalDirectory,
    `payouts-${mode}-${hash('sha256', wallet.treasury.evm, 'hex').slice(0, 16)}.jsonl`,
  );
}
