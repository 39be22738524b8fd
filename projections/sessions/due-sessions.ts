import type { RowChange, Row } from '../../src/ports/read-model.ts';
import type { SessionRow } from './session-row.ts';
import { networksOf } from './session-fold.ts';

/** Sessions that can still expire, in the order of their deadline: scanned from the start up to now. */
export const DUE_SESSIONS_TABLE = 'due-sessions@3';

const SECOND_DIGITS = 12;

export const dueKey = (expiresAtSec: number, sessionId: string): string => `${String(expiresAtSec).padStart(SECOND_DIGITS, '0')}/${sessionId}`;

const isDue = (row: SessionRow | null): boolean => row?.status === 'open' || row?.status === 'processing';

/** A session is due from its creation until its own event ends it. */
export function dueChanges(before: SessionRow | null, after: SessionRow): RowChange[] {
  if (isDue(before) === isDue(after)) return [];
  const { sessionId, mode, merchantId } = after;
  const expiresAtSec = before?.expiresAtSec ?? after.expiresAtSec;
  const key = dueKey(expiresAtSec, sessionId);
  if (!isDue(after)) return [{ op: 'delete', table: DUE_SESSIONS_TABLE, key }];
  const row: Row = { sessionId, mode, merchantId, networks: networksOf(after), expiresAtSec };
  return [{ op: 'put', table: DUE_SESSIONS_TABLE, key, row }];
}
