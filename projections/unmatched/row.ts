import type { DepositFacts, DepositKind } from '../../src/domain/events/session-events.ts';
import type { Mode } from '../../src/domain/ids.ts';
import type { RowChange, Table } from '../../src/ports/read-model.ts';

/*
 * The rows of the inbox. Transfers that wait have keys in the order of their blocks, oldest first; those that are done
 * have keys in the order of their end, newest first.
 */

export const INBOX_TABLE: Table<InboxRow> = 'inbox@2';
/** Where each transfer is in the table of the inbox, by deposit key. */
export const INBOX_PLACES_TABLE: Table<InboxPlaceRow> = 'inbox-places@2';
/** What must be remembered of a session to tell which of its deposits pay nothing. */
export const INBOX_SESSIONS_TABLE: Table<InboxSessionRow> = 'inbox-sessions@2';
/** Decisions that are being carried out, by deposit key. */
export const INBOX_TRANSIT_TABLE: Table<InboxTransitRow> = 'inbox-transit@2';

export type InboxFacts = Pick<
  DepositFacts,
  | 'depositKey'
  | 'network'
  | 'coin'
  | 'amount'
  | 'fromAddress'
  | 'toAddress'
  | 'txHash'
  | 'logIndex'
  | 'blockNumber'
  | 'blockTimeSec'
>;

/** Why it pays nothing: how it stands against its session, or that it has none. */
export type InboxKind = Exclude<DepositKind, 'dust' | 'on_time'> | 'insufficient' | 'no_session' | 'treasury';

/** Where the transfer's own stream stands; `open` also before it began. */
export type InboxState = 'open' | 'attaching' | 'attached' | 'detaching' | 'returning' | 'cancelling' | 'returned';

export type InboxRow = InboxFacts & {
  readonly kind: InboxKind;
  readonly state: InboxState;
  /** The session whose address it came to; null when there is none. */
  readonly sessionId: string | null;
  /** Null until something was decided about money of a session: the session says it. */
  readonly mode: Mode | null;
  /** The last decision; null before the first. */
  readonly decision: {
    readonly actor: string;
    readonly reason: string;
    readonly decidedAtSec: number;
    /** The session it is attached to, or the move that pays it back. */
    readonly target: string | null;
    /** Why the decision does not hold; null while it does. */
    readonly because: string | null;
    readonly txHash: string | null;
  } | null;
};

export type InboxPlaceRow = {
  readonly key: string;
  readonly state: InboxRow['state'];
  readonly sessionId: InboxRow['sessionId'];
};

export interface InboxDeposit {
  readonly facts: InboxFacts;
  readonly kind: DepositKind;
  readonly final: boolean;
  /** The legs of refunds that name it and did not fail. */
  readonly legs: readonly string[];
}

export type InboxSessionRow = {
  /** Ended without being paid. */
  readonly closed: boolean;
  readonly deposits: Readonly<Record<string, InboxDeposit>>;
};

export type InboxTransitRow = { readonly depositKey: string; readonly mode: Mode };

export const UNRESOLVED = 'unresolved/';
export const RESOLVED = 'resolved/';
const DIGITS = 12;
const LAST = 10 ** DIGITS - 1;
const padded = (number: number): string => String(number).padStart(DIGITS, '0');

/** By age of the money while it waits or moves, by the moment of its end afterwards. */
export function inboxKey({ state, depositKey, blockTimeSec }: InboxRow, atSec: number): string {
  const isDone = state === 'attached' || state === 'returned';
  return isDone
    ? `${RESOLVED}${padded(LAST - atSec)}/${depositKey}`
    : `${UNRESOLVED}${padded(blockTimeSec)}/${depositKey}`;
}

export const unlisted = (depositKey: string, { key }: InboxPlaceRow): RowChange[] => [
  { op: 'delete', table: INBOX_TABLE, key },
  { op: 'delete', table: INBOX_PLACES_TABLE, key: depositKey },
];
