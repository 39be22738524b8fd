import type { DomainEvent, EventOf } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { TreasuryEvent } from '../../src/domain/events/treasury-events.ts';
import type { Mode, SessionId } from '../../src/domain/values/ids.ts';
import { DEPOSIT_WALLETS } from '../../src/domain/money/ledger.ts';
import { rememberingLast } from '../../src/domain/values/memoized.ts';
import { signedAmountOf } from '../../src/domain/money/money.ts';
import type { AdjustmentEvent } from '../../src/domain/events/adjustment-events.ts';
import {
  ADJUSTMENTS_PREFIX,
  sessionOfStream,
  TRANSFER_PREFIX,
  TREASURY_PREFIX,
} from '../../src/domain/values/streams.ts';
import { ofRows, type Projection, type RowReader, type RowRef } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import { accumulate, rowsOf, type OwnedDraft } from './accumulate.ts';
import { bookAdjustment } from './adjustment-postings.ts';
import { bookSessionEvent } from './postings.ts';
import {
  addressKey,
  balanceKey,
  EMPTY_MODE,
  LEDGER_ADDRESSES_TABLE,
  LEDGER_BALANCES_TABLE,
  LEDGER_BOOKS_TABLE,
  LEDGER_COUNTS_TABLE,
  LEDGER_DAYS_TABLE,
  LEDGER_ENTRIES_TABLE,
  LEDGER_NEWEST_BLOCKS_TABLE,
  LEDGER_PERIODS_TABLE,
  LEDGER_PLACES_TABLE,
  LEDGER_SUMS_TABLE,
  periodKey,
  sealOf,
  type ModeRow,
  type PeriodRow,
  LEDGER_MODES_TABLE,
} from './rows.ts';
import { bookTreasuryEvent, placesOf, type AddressAndCoin } from './treasury-postings.ts';
import { bookTransferEvent } from './transfer-postings.ts';
import {
  LEDGER_DEPOSITS_TABLE,
  LEDGER_SESSIONS_TABLE,
  namedDeposits,
  type BookedDeposit,
  type SessionBooksRow,
} from './session-books.ts';
import { isOfAdjustments, isOfSession, isOfTransfer, isOfTreasury } from '../../src/domain/events/of-streams.ts';
import { must } from '../../src/domain/values/must.ts';

/**
 * Double-entry books over the events: numbered entries, balances, changes per day by two clocks, and sealed periods.
 * `docs/ledger.md` has the chart of accounts and the posting rules.
 */
export const ledger: Projection = {
  name: 'ledger',
  version: 1,
  streamPrefixes: ['session-', TREASURY_PREFIX, TRANSFER_PREFIX, ADJUSTMENTS_PREFIX, 'ledger-periods-'],
  tables: [
    LEDGER_SESSIONS_TABLE,
    LEDGER_DEPOSITS_TABLE,
    LEDGER_ENTRIES_TABLE,
    LEDGER_PLACES_TABLE,
    LEDGER_BOOKS_TABLE,
    LEDGER_BALANCES_TABLE,
    LEDGER_DAYS_TABLE,
    LEDGER_COUNTS_TABLE,
    LEDGER_ADDRESSES_TABLE,
    LEDGER_SUMS_TABLE,
    LEDGER_NEWEST_BLOCKS_TABLE,
    LEDGER_PERIODS_TABLE,
  ],
  lists: [],
  archived: ofRows(LEDGER_ENTRIES_TABLE, ({ recordedAtMs }) => {
    const recordedSec = Math.floor(recordedAtMs / 1_000);
    return { beganSec: recordedSec, endedSec: recordedSec };
  }),
  needs,
  needsThen,
  apply,
};

const modeRef = (mode: Mode): RowRef => ({ table: LEDGER_BOOKS_TABLE, key: mode });
// A session's mode is known only from its row, and both rows are always in memory.
const MODE_REFS: readonly RowRef[] = [modeRef('test'), modeRef('live')];
const modeRow = (mode: Mode, read: RowReader): ModeRow => read(LEDGER_MODES_TABLE, mode) ?? EMPTY_MODE;

function needs(stored: StoredEvent<DomainEvent>): readonly RowRef[] {
  const sessionId = sessionOfStream(stored.stream);
  if (sessionId !== null) {
    const ref: RowRef = { table: LEDGER_SESSIONS_TABLE, key: sessionId };
    if (stored.event.type === 'SessionCreated') return [{ ...ref, isNew: true }, ...MODE_REFS];
    return [ref, ...(isOfSession(stored) ? namedDeposits(stored.event) : []).map(ofSession(sessionId)), ...MODE_REFS];
  }
  return isOfTreasury(stored) ? [...MODE_REFS, ...placesOf(stored.event).map(addressRef)] : MODE_REFS;
}

const ofSession =
  (sessionId: SessionId) =>
  (depositKey: string): { readonly table: Table<BookedDeposit>; readonly key: string } => ({
    table: LEDGER_DEPOSITS_TABLE,
    key: `${sessionId}/${depositKey}`,
  });

const addressRef = ({ mode, network, coin, address }: AddressAndCoin) => ({
  table: LEDGER_ADDRESSES_TABLE,
  key: addressKey(balanceKey(mode, DEPOSIT_WALLETS, network, coin), address),
});

function needsThen(stored: StoredEvent<DomainEvent>, read: RowReader): RowRef[] {
  if (stored.event.type === 'PeriodClosed') {
    const { mode, period } = stored.event.data;
    return rowsOf({ mode, draft: SEAL }, stored.atMs, { ...modeRow(mode, read), closedThrough: period });
  }
  const booking = bookingOf(stored, read);
  return booking?.entries.flatMap((entry) => rowsOf(entry, stored.atMs, modeRow(entry.mode, read))) ?? [];
}

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): readonly RowChange[] {
  if (stored.event.type === 'PeriodClosed') return closed(stored, stored.event, read);
  const booking = bookingOf(stored, read);
  if (!booking) return [];
  const { entries, memory } = booking;
  const [first] = entries;
  return first ? [...memory, ...accumulate(entries, stored, modeRow(first.mode, read), read)] : memory;
}

interface Booking {
  readonly entries: readonly OwnedDraft[];
  readonly memory: readonly RowChange[];
}

/** `needsThen` and `apply` ask for the same event consecutively. */
const bookedOf = rememberingLast(
  (row: SessionBooksRow | null, event: SessionEvent, entry: string, ...deposits: readonly (BookedDeposit | null)[]) => {
    const known = namedDeposits(event).flatMap((key, at) => (deposits[at] ? [[key, deposits[at]] as const] : []));
    const before = row && { ...row, deposits: Object.fromEntries(known) };
    const booked = bookSessionEvent(before, event, entry);
    return { ...booked, isChanged: booked.books !== before };
  },
);

/** The entries of an event and the session state to remember. Null for an event without money. */
function bookingOf(stored: StoredEvent<DomainEvent>, read: RowReader): Booking | null {
  if (isOfSession(stored)) return sessionBookingOf(stored, read);
  if (isOfAdjustments(stored)) return adjustmentBookingOf(stored.event);
  if (isOfTransfer(stored)) return { entries: given(bookTransferEvent(stored.event)), memory: [] };
  return isOfTreasury(stored) ? treasuryBookingOf(stored.event, read) : null;
}

function sessionBookingOf(stored: StoredEvent<SessionEvent>, read: RowReader): Booking {
  const { event } = stored;
  const id = must(sessionOfStream(stored.stream));
  const refs = namedDeposits(event).map(ofSession(id));
  const known = refs.map(({ table, key }) => read(table, key));
  const { books, draft, further, isChanged } = bookedOf(read(LEDGER_SESSIONS_TABLE, id), event, stored.id, ...known);
  const { deposits, ...row } = books;
  const { mode, merchantId, sessionId, orderId } = row;
  const changed = namedDeposits(event).flatMap((depositKey, at) => {
    const deposit = deposits[depositKey];
    return deposit && deposit !== known[at] ? [putRow(LEDGER_DEPOSITS_TABLE, must(refs[at]).key, deposit)] : [];
  });
  return {
    entries: [...given(draft), ...(further ?? [])].map((each) => ({
      mode,
      merchantId,
      sessionId,
      orderId,
      draft: each,
    })),
    memory: isChanged ? [putRow(LEDGER_SESSIONS_TABLE, id, row), ...changed] : [],
  };
}

function adjustmentBookingOf(event: AdjustmentEvent): Booking {
  const draft = bookAdjustment(event);
  if (event.type !== 'AdjustmentPosted' || !draft) return { entries: [], memory: [] };
  return { entries: [{ mode: event.data.mode, moveId: event.data.adjustmentId, draft }], memory: [] };
}

function treasuryBookingOf(event: TreasuryEvent, read: RowReader): Booking {
  const heldAt = (place: AddressAndCoin): bigint | null => {
    const { table, key } = addressRef(place);
    const row = read(table, key);
    return row === null ? null : signedAmountOf(row.balance);
  };
  const booking = bookTreasuryEvent(event, heldAt);
  if (!booking) return { entries: [], memory: [] };
  const { before, draft, ...owner } = booking;
  return { entries: [...given(before), draft].map((each) => ({ ...owner, draft: each })), memory: [] };
}

const SEAL = { kind: 'period_closed', postings: [] } as const;

const given = <Entry>(entry: Entry | null | undefined): Entry[] => (entry ? [entry] : []);

/**
 * Seals a period if the figures in the event match the books at this position in the event log. A closing overtaken by
 * a late fact seals nothing, and is repeated.
 */
function closed(stored: StoredEvent<DomainEvent>, { data }: EventOf<'PeriodClosed'>, read: RowReader): RowChange[] {
  const { mode, period, throughPosition, balances, actor } = data;
  const before = modeRow(mode, read);
  if (before.closedThrough !== null && period <= before.closedThrough) return [];
  if (throughPosition !== sealOf(before, period)) return [];
  const row: PeriodRow = { period, closedAtSec: Math.floor(stored.atMs / 1000), actor, entry: stored.id, balances };
  const touched = Object.fromEntries(Object.entries(before.touched).filter(([month]) => month > period));
  const after: ModeRow = { ...before, closedThrough: period, touched };
  return [
    putRow(LEDGER_PERIODS_TABLE, periodKey(mode, period), row),
    ...accumulate([{ mode, draft: SEAL }], stored, after, read),
  ];
}
