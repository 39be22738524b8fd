import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { sessionOfStream, TRANSFER_PREFIX } from '../../src/domain/values/streams.ts';
import type { Projection, RowReader, RowRef } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange } from '../../src/ports/read-model/read-model.ts';
import {
  INBOX_PLACES_TABLE,
  INBOX_SESSIONS_TABLE,
  INBOX_TABLE,
  INBOX_TRANSIT_TABLE,
  inboxKey,
  unlisted,
  type InboxRow,
  type InboxSessionRow,
} from './row.ts';
import { EMPTY_SESSION, foldSession, isUnmatched, unmatchedKind } from './session.ts';
import { transferChanges } from './transfer.ts';
import { isOfSession, isOfTransfer } from '../../src/domain/events/of-streams.ts';

/** Final money at our addresses that pays no order, until it is attached, returned or refunded. */
export const inbox: Projection = {
  name: 'inbox',
  version: 1,
  streamPrefixes: ['session-', TRANSFER_PREFIX],
  tables: [INBOX_TABLE, INBOX_PLACES_TABLE, INBOX_SESSIONS_TABLE, INBOX_TRANSIT_TABLE],
  lists: [],
  needs,
  needsThen,
  apply,
};

const CONCERNED: ReadonlySet<string> = new Set([
  ...[
    'DepositDetected',
    'DepositConfirmed',
    'DepositReverted',
    'SessionPaid',
    'SessionExpired',
    'SessionFailed',
    'SessionCancelled',
  ],
  ...['RefundRequested', 'RefundPayoutFailed'],
]);

const placeRef = (key: string): RowRef => ({ table: INBOX_PLACES_TABLE, key });

function needs(stored: StoredEvent<DomainEvent>): RowRef[] {
  if (isOfTransfer(stored)) return [placeRef(stored.event.data.depositKey)];
  const id = sessionOfStream(stored.stream);
  return id !== null && CONCERNED.has(stored.event.type) ? [{ table: INBOX_SESSIONS_TABLE, key: id }] : [];
}

function needsThen(stored: StoredEvent<DomainEvent>, read: RowReader): RowRef[] {
  if (isOfTransfer(stored)) {
    const place = read(INBOX_PLACES_TABLE, stored.event.data.depositKey);
    if (!place) return [];
    return [
      { table: INBOX_TABLE, key: place.key },
      ...(place.sessionId === null ? [] : [{ table: INBOX_SESSIONS_TABLE, key: place.sessionId }]),
    ];
  }
  const id = sessionOfStream(stored.stream);
  if (id === null || !CONCERNED.has(stored.event.type)) return [];
  return concernedKeys(stored, read(INBOX_SESSIONS_TABLE, id)).map(placeRef);
}

/** An event of a deposit concerns no other. */
const concernedKeys = ({ event }: StoredEvent<DomainEvent>, session: InboxSessionRow | null): string[] =>
  'depositKey' in event.data ? [event.data.depositKey] : Object.keys(session?.deposits ?? {});

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): readonly RowChange[] {
  if (isOfTransfer(stored)) return transferChanges(stored, read);
  const id = sessionOfStream(stored.stream);
  if (id === null || !isOfSession(stored) || !CONCERNED.has(stored.event.type)) return [];
  const known = read(INBOX_SESSIONS_TABLE, id);
  const before = known ?? EMPTY_SESSION;
  const after = foldSession(before, stored.event);
  if (after === before) return [];
  const isEmpty = !after.closed && Object.keys(after.deposits).length === 0;
  const memory: RowChange[] = isEmpty
    ? known
      ? [{ op: 'delete', table: INBOX_SESSIONS_TABLE, key: id }]
      : []
    : [putRow(INBOX_SESSIONS_TABLE, id, after)];
  const keys = concernedKeys(stored, before);
  return [...memory, ...keys.flatMap((key) => relisted(id, key, before, after, read))];
}

/** A transfer with a decision is listed by its own events. */
function relisted(
  id: SessionId,
  key: string,
  before: InboxSessionRow,
  after: InboxSessionRow,
  read: RowReader,
): RowChange[] {
  const place = read(INBOX_PLACES_TABLE, key);
  const deposit = after.deposits[key];
  if (place && place.state !== 'open') return [];
  if (!isUnmatched(after, deposit))
    return place && isUnmatched(before, before.deposits[key]) ? unlisted(key, place) : [];
  const row: InboxRow = {
    ...deposit.facts,
    kind: unmatchedKind(deposit),
    state: 'open',
    sessionId: id,
    mode: null,
    decision: null,
  };
  const at = inboxKey(row, 0);
  if (place?.key === at) return [];
  return [
    ...(place ? [{ op: 'delete', table: INBOX_TABLE, key: place.key } as const] : []),
    putRow(INBOX_TABLE, at, row),
    putRow(INBOX_PLACES_TABLE, key, { key: at, state: 'open', sessionId: id }),
  ];
}
