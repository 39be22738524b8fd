import type { DepositFacts, DepositKind } from '../../src/domain/events/session-events.ts';
import type { Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { RowChange, Table } from '../../src/ports/read-model/read-model.ts';

/*
 * The rows of the inbox. Keys of waiting transfers are ordered by block, oldest first; keys of finished ones by their
 * end, newest first.
 */

export const INBOX_TABLE: Table<InboxRow> = 'inbox@1';
/** The inbox key of each transfer, by deposit key. */
export const INBOX_PLACES_TABLE: Table<InboxPlaceRow> = 'inbox-places@1';
/** The state of a session that tells which of its deposits pay nothing. */
export const INBOX_SESSIONS_TABLE: Table<InboxSessionRow> = 'inbox-sessions@1';
/** Decisions in progress, by deposit key. */
export const INBOX_TRANSIT_TABLE: Table<InboxTransitRow> = 'inbox-transit@1';

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

/** Why it pays nothing: how it counts for its session, or that it has none. */
export type InboxKind = Exclude<DepositKind, 'dust' | 'on_time' | 'own'> | 'insufficient' | 'no_session' | 'treasury';

/** The state of the transfer's own stream; `open` also before its first event. */
export type InboxState = 'open' | 'attaching' | 'attached' | 'detaching' | 'returning' | 'cancelling' | 'returned';

export type InboxRow = InboxFacts & {
  readonly kind: InboxKind;
  readonly state: InboxState;
  /** The session whose address received it; null if there is none. */
  readonly sessionId: SessionId | null;
  /** Null until a decision about money of a session; its session has the mode. */
  readonly mode: Mode | null;
  /** The last decision; null before the first. */
  readonly decision: {
    readonly actor: string;
    readonly reason: string;
    readonly decidedAtSec: number;
    /** The session to which it is attached, or the move that pays it back. */
    readonly target: string | null;
    /** Why the decision is void; null while it holds. */
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

/** By block time while it waits or moves, by the time of its end afterwards. */
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
