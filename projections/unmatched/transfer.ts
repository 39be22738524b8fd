import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { UnmatchedTransfer, TransferEvent } from '../../src/domain/events/transfer-events.ts';
import type { Mode } from '../../src/domain/values/ids.ts';
import { TRANSFER_PREFIX } from '../../src/domain/values/streams.ts';
import type { RowReader } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange } from '../../src/ports/read-model/read-model.ts';
import {
  INBOX_PLACES_TABLE,
  INBOX_SESSIONS_TABLE,
  INBOX_TABLE,
  INBOX_TRANSIT_TABLE,
  inboxKey,
  unlisted,
  type InboxKind,
  type InboxPlaceRow,
  type InboxRow,
} from './row.ts';
import { isUnmatched, unmatchedKind } from './session.ts';

const KINDS = { session: 'late', address: 'no_session', treasury: 'treasury' } as const satisfies Record<
  UnmatchedTransfer['origin']['kind'],
  InboxKind
>;

/** The inbox changes of a decision, or of its completion. */
export function transferChanges(stored: StoredEvent<TransferEvent>, read: RowReader): RowChange[] {
  const { event } = stored;
  const { depositKey } = event.data;
  const place = read(INBOX_PLACES_TABLE, depositKey);
  const before = place && read(INBOX_TABLE, place.key);
  const mode: Mode = stored.stream.startsWith(`${TRANSFER_PREFIX}live-`) ? 'live' : 'test';
  if (event.type === 'TransferRecorded') return placed(recorded(event.data, before), place, stored, mode);
  if (!place || !before) return [];
  const after = turned(before, event);
  const row = after.state === 'open' ? asItsSessionHasIt(after, read) : after;
  return row
    ? placed(row, place, stored, mode)
    : [...unlisted(depositKey, place), { op: 'delete', table: INBOX_TRANSIT_TABLE, key: depositKey }];
}

function placed(
  row: InboxRow,
  place: InboxPlaceRow | null,
  { atMs }: StoredEvent<TransferEvent>,
  mode: Mode,
): RowChange[] {
  const { depositKey, state, sessionId } = row;
  const key = inboxKey(row, Math.floor(atMs / 1000));
  const isMoving = state !== 'open' && state !== 'attached' && state !== 'returned';
  return [
    ...(place && place.key !== key ? [{ op: 'delete', table: INBOX_TABLE, key: place.key } as const] : []),
    putRow(INBOX_TABLE, key, row),
    putRow(INBOX_PLACES_TABLE, depositKey, { key, state, sessionId }),
    isMoving
      ? putRow(INBOX_TRANSIT_TABLE, depositKey, { depositKey, mode })
      : { op: 'delete', table: INBOX_TRANSIT_TABLE, key: depositKey },
  ];
}

/**
 * The transfer as its session has it now. Null if, since the decision, it has paid the session, or a reorganisation
 * changed or removed it.
 */
function asItsSessionHasIt(row: InboxRow, read: RowReader): InboxRow | null {
  if (row.sessionId === null) return row;
  const session = read(INBOX_SESSIONS_TABLE, row.sessionId);
  const deposit = session?.deposits[row.depositKey];
  return session && isUnmatched(session, deposit) ? { ...row, ...deposit.facts, kind: unmatchedKind(deposit) } : null;
}

function recorded(data: EventOf<'TransferRecorded'>['data'], before: InboxRow | null): InboxRow {
  const {
    depositKey,
    network,
    coin,
    amount,
    fromAddress,
    toAddress,
    txHash,
    logIndex,
    blockNumber,
    blockTimeSec,
    mode,
    origin,
  } = data;
  return {
    ...{ depositKey, network, coin, amount, fromAddress, toAddress, txHash, logIndex, blockNumber, blockTimeSec, mode },
    state: 'open',
    kind: before?.kind ?? KINDS[origin.kind],
    sessionId: origin.kind === 'session' ? origin.sessionId : null,
    decision:
      origin.kind === 'session'
        ? null
        : {
            ...{ actor: data.actor, reason: data.reason, decidedAtSec: data.recordedAtSec },
            target: null,
            because: null,
            txHash: null,
          },
  };
}

function turned(row: InboxRow, event: Exclude<TransferEvent, { type: 'TransferRecorded' }>): InboxRow {
  switch (event.type) {
    case 'TransferAttachRequested':
      return { ...row, state: 'attaching', decision: decided(event.data, event.data.sessionId) };
    case 'TransferReturnRequested':
      return { ...row, state: 'returning', decision: decided(event.data, event.data.moveId) };
    case 'TransferAttached':
      return { ...row, state: 'attached' };
    case 'TransferReturned':
      return { ...row, state: 'returned', decision: row.decision && { ...row.decision, txHash: event.data.txHash } };
    case 'TransferUndoRequested':
      return {
        ...row,
        state: row.state === 'attached' ? 'detaching' : 'cancelling',
        decision: decided(event.data, row.decision?.target ?? null),
      };
    case 'TransferUndoRefused':
      return {
        ...row,
        state: row.state === 'detaching' ? 'attached' : 'returning',
        decision: row.decision && { ...row.decision, because: event.data.because },
      };
    case 'TransferReopened':
      return { ...row, state: 'open', decision: row.decision && { ...row.decision, because: event.data.because } };
  }
}

const decided = (
  {
    actor,
    reason,
    requestedAtSec,
  }: { readonly actor: string; readonly reason: string; readonly requestedAtSec: number },
  target: string | null,
): InboxRow['decision'] => ({ actor, reason, decidedAtSec: requestedAtSec, target, because: null, txHash: null });
