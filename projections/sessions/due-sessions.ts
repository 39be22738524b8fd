import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { SessionRow } from './session-row.ts';
import { networksOf } from './session-fold.ts';

/** Sessions that can still expire, ordered by deadline, to scan from the start up to now. */
export const DUE_SESSIONS_TABLE: Table<DueSessionRow> = 'due-sessions@1';

export interface DueSessionRow extends Pick<SessionRow, 'sessionId' | 'mode' | 'merchantId' | 'expiresAtSec'> {
  readonly networks: readonly Network[];
}

const SECOND_DIGITS = 12;

export const dueKey = (expiresAtSec: number, sessionId: string): string =>
  `${String(expiresAtSec).padStart(SECOND_DIGITS, '0')}/${sessionId}`;

const isDue = (row: SessionRow | null): boolean => row?.status === 'open' || row?.status === 'processing';

/** A session is due from its creation until its own event ends it. */
export function dueChanges(before: SessionRow | null, after: SessionRow): RowChange[] {
  const { sessionId, mode, merchantId, expiresAtSec } = after;
  if (isDue(before) === isDue(after) && (!isDue(after) || before?.expiresAtSec === expiresAtSec)) return [];
  const gone: RowChange[] =
    before && isDue(before)
      ? [{ op: 'delete', table: DUE_SESSIONS_TABLE, key: dueKey(before.expiresAtSec, sessionId) }]
      : [];
  if (!isDue(after)) return gone;
  const row = { sessionId, mode, merchantId, networks: networksOf(after), expiresAtSec };
  return [...gone, putRow(DUE_SESSIONS_TABLE, dueKey(expiresAtSec, sessionId), row)];
}
