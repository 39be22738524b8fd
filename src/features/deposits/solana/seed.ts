import type { Mode } from '../../../domain/values/ids.ts';
import { rowPages } from '../../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../../ports/read-model/read-model.ts';
import { SESSIONS_TABLE, type SessionRow } from '../../../../projections/sessions/session-row.ts';
import { everyOptionOf } from '../../../../projections/sessions/session-fold.ts';
import type { WatchedOwners } from './owners.ts';

/**
 * Fills the list from the read model. Then apply the event log with `owners.apply` from the session projection's
 * checkpoint (`seedFrom`), so that nothing in between is missed; adding a session twice is harmless. `readToSec`: chain
 * time up to which an earlier run had read.
 */
export async function seedWatchedOwners(
  owners: WatchedOwners,
  mode: Mode,
  readModel: Pick<ReadModel, 'scan'>,
  readToSec: number,
): Promise<void> {
  for await (const page of rowPages(readModel, SESSIONS_TABLE))
    for (const { row } of page) addSession(owners, mode, row, readToSec);
}

function addSession(owners: WatchedOwners, mode: Mode, row: SessionRow, readToSec: number): void {
  const option = row.mode === mode ? everyOptionOf(row).find(({ network }) => network === 'solana') : undefined;
  if (!option) return;
  const isOpen = row.status === 'open' || row.status === 'processing';
  const { sessionId, createdAtSec, expiresAtSec } = row;
  const endedAtSec = isOpen ? null : (row.paidAtSec ?? expiresAtSec);
  owners.add({ owner: option.address, sessionId, createdAtSec, expiresAtSec, endedAtSec }, readToSec);
}
