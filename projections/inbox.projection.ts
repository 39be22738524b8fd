import type { DomainEvent } from '../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../src/domain/events/envelope.ts';
import type { SessionEvent } from '../src/domain/events/session-events.ts';
import type { TransferEvent } from '../src/domain/events/transfer-events.ts';
import { sessionOfStream, TRANSFER_PREFIX } from '../src/domain/streams.ts';
import type { Projection, RowReader, RowRef } from '../src/ports/projection.ts';
import type { Change, Row } from '../src/ports/read-model.ts';
import {
  INBOX_PLACES_TABLE,
  INBOX_SESSIONS_TABLE,
  INBOX_TABLE,
  INBOX_TRANSIT_TABLE,
  inboxKey,
  type InboxDeposit,
  type InboxFacts,
  type InboxKind,
  type InboxPlaceRow,
  type InboxRow,
  type InboxSessionRow,
} from './inbox-row.ts';
import { transferChanges } from './inbox-transfer.ts';

/** Final money at our addresses that pays no order, until somebody attached it, gave it back or refunded it. */
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

const EMPTY: InboxSessionRow = { closed: false, deposits: {} };
const CONCERNED: ReadonlySet<string> = new Set([
  ...['DepositDetected', 'DepositConfirmed', 'DepositReverted', 'SessionPaid', 'SessionExpired', 'SessionFailed', 'SessionCancelled'],
  ...['RefundRequested', 'RefundPayoutFailed'],
]);

const placeRef = (key: string): RowRef => ({ table: INBOX_PLACES_TABLE, key });

function needs({ stream, event }: StoredEvent<DomainEvent>): RowRef[] {
  const id = sessionOfStream(stream);
  if (id === null) return stream.startsWith(TRANSFER_PREFIX) ? [placeRef((event as TransferEvent).data.depositKey)] : [];
  return CONCERNED.has(event.type) ? [{ table: INBOX_SESSIONS_TABLE, key: id }] : [];
}

function needsThen({ stream, event }: StoredEvent<DomainEvent>, read: RowReader): RowRef[] {
  const id = sessionOfStream(stream);
  if (id === null) {
    const place = read(INBOX_PLACES_TABLE, (event as TransferEvent).data.depositKey) as InboxPlaceRow | null;
    return place ? [{ table: INBOX_TABLE, key: place.key }] : [];
  }
  if (!CONCERNED.has(event.type)) return [];
  const known = read(INBOX_SESSIONS_TABLE, id) as unknown as InboxSessionRow | null;
  return Object.keys(known?.deposits ?? {}).map(placeRef);
}

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): readonly Change[] {
  const id = sessionOfStream(stored.stream);
  if (id === null) return transferChanges(stored, read);
  if (!CONCERNED.has(stored.event.type)) return [];
  const known = read(INBOX_SESSIONS_TABLE, id) as unknown as InboxSessionRow | null;
  const before = known ?? EMPTY;
  const after = fold(before, stored.event as SessionEvent);
  if (after === before) return [];
  const isEmpty = !after.closed && Object.keys(after.deposits).length === 0;
  const memory: Change[] = isEmpty
    ? known
      ? [{ op: 'delete', table: INBOX_SESSIONS_TABLE, key: id }]
      : []
    : [{ op: 'put', table: INBOX_SESSIONS_TABLE, key: id, row: after as unknown as Row }];
  const keys = Object.keys(before.deposits);
  return [...memory, ...keys.flatMap((key) => relisted(id, key, before, after, read))];
}

/** What the session's own event changes in what pays nothing. */
function fold(session: InboxSessionRow, event: SessionEvent): InboxSessionRow {
  switch (event.type) {
    case 'DepositDetected': {
      const { depositKey, network, coin, amount, fromAddress, toAddress, txHash, logIndex, blockNumber, blockTimeSec, kind } = event.data;
      const facts: InboxFacts = { depositKey, network, coin, amount, fromAddress, toAddress, txHash, logIndex, blockNumber, blockTimeSec };
      return { ...session, deposits: { ...session.deposits, [depositKey]: { facts, kind, final: false, legs: [] } } };
    }
    case 'DepositConfirmed': {
      const { depositKey, blockNumber, blockTimeSec } = event.data;
      return changed(session, depositKey, (deposit) => ({ ...deposit, final: true, facts: { ...deposit.facts, blockNumber, blockTimeSec } }));
    }
    case 'DepositReverted':
      return changed(session, event.data.depositKey, (deposit) => ({ ...deposit, final: false }));
    case 'SessionPaid':
      // What paid the order is no matter of the inbox; what came beside it still is.
      return { closed: false, deposits: Object.fromEntries(Object.entries(session.deposits).filter(([, { kind }]) => kind !== 'on_time')) };
    case 'SessionExpired':
    case 'SessionFailed':
    case 'SessionCancelled':
      return { ...session, closed: true };
    case 'RefundRequested':
      return event.data.legs.reduce(
        (folded, { legId, depositKeys }) =>
          depositKeys.reduce((each, key) => changed(each, key, (deposit) => ({ ...deposit, legs: [...deposit.legs, legId] })), folded),
        session,
      );
    case 'RefundPayoutFailed': {
      const { legId } = event.data;
      const named = Object.entries(session.deposits).filter(([, { legs }]) => legs.includes(legId));
      return named.reduce(
        (folded, [key]) => changed(folded, key, (deposit) => ({ ...deposit, legs: deposit.legs.filter((leg) => leg !== legId) })),
        session,
      );
    }
    default:
      return session;
  }
}

function changed(session: InboxSessionRow, key: string, change: (deposit: InboxDeposit) => InboxDeposit): InboxSessionRow {
  const deposit = session.deposits[key];
  return deposit ? { ...session, deposits: { ...session.deposits, [key]: change(deposit) } } : session;
}

/** A deposit that a refund names is in the merchant's hands. Dust is refundable and not worth anybody's time. */
function isListed(session: InboxSessionRow, deposit: InboxDeposit | undefined): deposit is InboxDeposit {
  if (!deposit?.final || deposit.kind === 'dust' || deposit.legs.length > 0) return false;
  return deposit.kind !== 'on_time' || session.closed;
}

/** What operators decided about goes its own way. */
function relisted(id: string, key: string, before: InboxSessionRow, after: InboxSessionRow, read: RowReader): Change[] {
  const place = read(INBOX_PLACES_TABLE, key) as InboxPlaceRow | null;
  const deposit = after.deposits[key];
  if (place && place.state !== 'open') return [];
  if (!isListed(after, deposit)) return place && isListed(before, before.deposits[key]) ? gone(key, place) : [];
  const row: InboxRow = { ...deposit.facts, kind: kindOf(deposit), state: 'open', sessionId: id, mode: null, decision: null };
  const at = inboxKey(row, 0);
  if (place?.key === at) return [];
  return [
    ...(place ? [{ op: 'delete', table: INBOX_TABLE, key: place.key } as const] : []),
    { op: 'put', table: INBOX_TABLE, key: at, row: row as unknown as Row },
    { op: 'put', table: INBOX_PLACES_TABLE, key, row: { key: at, state: 'open' } },
  ];
}

const kindOf = ({ kind }: InboxDeposit): InboxKind => (kind === 'on_time' || kind === 'dust' ? 'insufficient' : kind);

const gone = (key: string, place: InboxPlaceRow): Change[] => [
  { op: 'delete', table: INBOX_TABLE, key: place.key },
  { op: 'delete', table: INBOX_PLACES_TABLE, key },
];
