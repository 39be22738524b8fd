import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { sessionOfStream } from '../../src/domain/values/streams.ts';
import type { Projection, RowReader, RowRef } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';

/** Deposits by network and height, which a chain watcher loads after a restart. */
export const DEPOSITS_BY_BLOCK_TABLE: Table<DepositRow> = 'deposits-by-block@1';
/** Deposits that are not settled, by network and deposit key. None may be lost, however deep its block is. */
export const OPEN_DEPOSITS_TABLE: Table<DepositRow> = 'open-deposits@1';
/** Reverted deposits that did not return, by network and time. The chain may contain them after all. */
export const REVERTED_DEPOSITS_TABLE: Table<DepositRow> = 'reverted-deposits@1';
/** Location of a deposit's row, by deposit key. */
const PLACES_TABLE: Table<{ readonly at: string; readonly table?: string }> = 'deposit-places@1';

const BLOCK_DIGITS = 12;

export type DepositRow = {
  readonly sessionId: SessionId;
  readonly status: 'detected' | 'final' | 'reverted';
  /** When it was reverted; only for reverted deposits. */
  readonly revertedAtSec?: number;
  readonly facts: { readonly [Key in keyof DepositFacts]: DepositFacts[Key] };
};

/** Keys sort by network, then height; `depositKey` empty names the start of a block. */
export const depositPlace = (network: Network, blockNumber: number, depositKey: string): string =>
  `${network}/${String(blockNumber).padStart(BLOCK_DIGITS, '0')}/${depositKey}`;

/** Keys sort by network, then time; `depositKey` empty names the start of a second. */
export const revertedPlace = (network: Network, atSec: number, depositKey: string): string =>
  depositPlace(network, atSec, depositKey);

export const openKey = (network: Network, depositKey: string): string => `${network}/${depositKey}`;

export const depositsByBlock: Projection = {
  name: 'deposits-by-block',
  version: 1,
  streamPrefixes: ['session-'],
  tables: [DEPOSITS_BY_BLOCK_TABLE, OPEN_DEPOSITS_TABLE, REVERTED_DEPOSITS_TABLE, PLACES_TABLE],
  lists: [],
  needs,
  needsThen: (stored, read) => placedRow(stored, read),
  apply,
};

function depositKeyOf({ event }: StoredEvent<DomainEvent>): string | null {
  return event.type === 'DepositDetected' || event.type === 'DepositConfirmed' || event.type === 'DepositReverted'
    ? event.data.depositKey
    : null;
}

function needs(stored: StoredEvent<DomainEvent>): RowRef[] {
  const key = depositKeyOf(stored);
  return key === null ? [] : [{ table: PLACES_TABLE, key }];
}

function placedRow(stored: StoredEvent<DomainEvent>, read: RowReader): RowRef[] {
  const key = depositKeyOf(stored);
  const place = key === null ? null : read(PLACES_TABLE, key);
  return place ? [{ table: DEPOSITS_BY_BLOCK_TABLE, key: place.at }] : [];
}

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): RowChange[] {
  const { event, stream } = stored;
  const sessionId = sessionOfStream(stream);
  if (sessionId === null) return [];
  switch (event.type) {
    case 'DepositDetected': {
      const { kind: _kind, ...facts } = event.data;
      const row: DepositRow = { sessionId, status: 'detected', facts };
      const before = read(PLACES_TABLE, facts.depositKey);
      return [
        ...(before?.table === REVERTED_DEPOSITS_TABLE
          ? [{ op: 'delete' as const, table: REVERTED_DEPOSITS_TABLE, key: before.at }]
          : []),
        ...move(null, facts, row),
        putRow(OPEN_DEPOSITS_TABLE, openKey(facts.network, facts.depositKey), row),
      ];
    }
    case 'DepositConfirmed': {
      const at = read(PLACES_TABLE, event.data.depositKey)?.at;
      const row = at === undefined ? null : read(DEPOSITS_BY_BLOCK_TABLE, at);
      if (at === undefined || !row) return [];
      const { blockNumber, blockHash, blockTimeSec } = event.data;
      const facts = { ...row.facts, blockNumber, blockHash, blockTimeSec };
      return [
        ...move(at, facts, { sessionId, status: 'final', facts }),
        { op: 'delete', table: OPEN_DEPOSITS_TABLE, key: openKey(facts.network, facts.depositKey) },
      ];
    }
    case 'DepositReverted': {
      const { depositKey } = event.data;
      const at = read(PLACES_TABLE, depositKey)?.at;
      const row = at === undefined ? null : read(DEPOSITS_BY_BLOCK_TABLE, at);
      if (at === undefined || !row) return [];
      const { network } = row.facts;
      const revertedAtSec = Math.floor(stored.atMs / 1000);
      const revertedAt = revertedPlace(network, revertedAtSec, depositKey);
      const reverted: DepositRow = { ...row, status: 'reverted', revertedAtSec };
      return [
        { op: 'delete', table: DEPOSITS_BY_BLOCK_TABLE, key: at },
        { op: 'delete', table: OPEN_DEPOSITS_TABLE, key: openKey(network, depositKey) },
        putRow(REVERTED_DEPOSITS_TABLE, revertedAt, reverted),
        putRow(PLACES_TABLE, depositKey, { at: revertedAt, table: REVERTED_DEPOSITS_TABLE }),
      ];
    }
    default:
      return [];
  }
}

function move(from: string | null, facts: DepositFacts, row: DepositRow): RowChange[] {
  const at = depositPlace(facts.network, facts.blockNumber, facts.depositKey);
  const leave: RowChange[] =
    from === null || from === at ? [] : [{ op: 'delete', table: DEPOSITS_BY_BLOCK_TABLE, key: from }];
  return [...leave, putRow(DEPOSITS_BY_BLOCK_TABLE, at, row), putRow(PLACES_TABLE, facts.depositKey, { at })];
}
