import type { MerchantId, Mode } from '../values/ids.ts';
import type { LedgerClock } from '../money/ledger.ts';

/* Files issued from the books. Anybody with a signed checkpoint can check such a file against the event log. */

/** The sum of a column over all rows of a coin on a network. */
export interface DocumentTotal {
  readonly column: string;
  /** Null where the rows name no network. */
  readonly network: string | null;
  readonly coin: string | null;
  readonly sum: string;
}

/** `ledger-documents-<mode>`: a file of the books was issued. */
export interface DocumentIssued {
  readonly type: 'DocumentIssued';
  readonly data: {
    readonly mode: Mode;
    /** The kind of document, such as `journal`. */
    readonly document: string;
    readonly format: string;
    /** Null for the whole service. */
    readonly merchantId: MerchantId | null;
    readonly clock: LedgerClock;
    /** Days of the books, both inclusive; null for no bound. */
    readonly from: string | null;
    readonly to: string | null;
    /** SHA-256 of the file's bytes, in hex. */
    readonly sha256: string;
    readonly bytes: number;
    readonly rows: number;
    readonly totals: readonly DocumentTotal[];
    /** The last entry of the books that the file could contain, and the id of its event: empty without entries. */
    readonly throughEntry: number;
    readonly throughEvent: string;
    readonly actor: string;
    readonly issuedAtSec: number;
  };
}

/** The movement of an account in the month; debits are positive, credits negative. */
export interface StatementAccount {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly opening: string;
  readonly debits: string;
  readonly credits: string;
  readonly closing: string;
}

/** The movement by kind of entry. */
export interface StatementKind {
  readonly kind: string;
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly lines: number;
  readonly debits: string;
  readonly credits: string;
}

/** `ledger-statements-<mode>-<month>`: the statement of a closed month, for a merchant or for the operator. */
export interface StatementIssued {
  readonly type: 'StatementIssued';
  readonly data: {
    readonly mode: Mode;
    readonly period: string;
    /** Null for the operator, whose statement adds up the accounts of all merchants. */
    readonly merchantId: MerchantId | null;
    /** Id of the `PeriodClosed` that sealed the month. */
    readonly closing: string;
    readonly throughEvent: string;
    readonly accounts: readonly StatementAccount[];
    readonly kinds: readonly StatementKind[];
    readonly lines: number;
    /** SHA-256 of all lines of the month, in the form that `docs/ledger.md` specifies. */
    readonly linesSha256: string;
    readonly actor: string;
    readonly issuedAtSec: number;
  };
}

export type DocumentEvent = DocumentIssued | StatementIssued;
