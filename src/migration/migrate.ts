import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isConnectionString } from '../adapters/esdb/client/settings.ts';
import { openEsdbEventStore } from '../adapters/esdb/event-store.ts';
import { OtherSalt } from '../adapters/esdb/personal-keys.ts';
import { openSqliteReadModel } from '../adapters/sqlite/read-model/read-model.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../adapters/sqlite/event-log/event-store.ts';
import { DamagedEvent, type EventStore, StoreUnavailable } from '../ports/event-log/event-store.ts';
import type { KeyList } from '../runtime/cryptography/sealing.ts';
import { CopyRefused, copyRest, type LogReader, type Standing, standingOf } from '../runtime/event-log/log-copy.ts';
import { differingStreams, digestOf, type LogDigest } from '../runtime/event-log/log-digest.ts';
import { type ProjectionDigest, projectionDigests } from '../runtime/projections/digest.ts';
import { openSaltsMove, type SaltsMove } from './salts.ts';
import { MOVED_FILE } from './marker.ts';
import { PROJECTIONS } from '../look-ups/projections.ts';
import { must } from '../domain/values/must.ts';

export type MigrationStage =
  | 'checking the source'
  | 'comparing the target'
  | 'copying keys of personal data'
  | 'copying'
  | 'proving the logs equal'
  | 'proving the keys equal'
  | 'comparing the look-ups';

export interface MigrationOptions {
  /** Data directory of the embedded profile. */
  readonly from: string;
  /** Those under which its event log is sealed. */
  readonly sealKeys: KeyList;
  /** Connection string of the EventStoreDB cluster. */
  readonly to: string;
  readonly onProgress: (stage: MigrationStage, done: number, total: number) => void;
}

/** The results for `--json`. Digests are SHA-256 in hex and equal in source and target. */
export type MigrationReport = {
  readonly events: number;
  readonly streams: number;
  /** Number of events copied by an earlier run. */
  readonly already_there: number;
  readonly copied_now: number;
  /** Number of keys of personal data that were not erased. */
  readonly personal_keys: number;
  /** Over the hashes of all events, in order. */
  readonly log_digest: string;
  /** Over the last hash of every stream. */
  readonly streams_digest: string;
  /** Look-ups replayed from both logs. */
  readonly projections: readonly {
    readonly name: string;
    readonly rows: number;
    readonly parked: number;
    readonly digest: string;
  }[];
};

/** The migration cannot start or continue; the message says why and what to do. */
class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

/** A cluster's fail-over takes seconds and must not end a copy of hours. */
const CALL_MS = 60_000;
const FIRST_CALL_MS = 5_000;
const NAMED_STREAMS = 5;

/**
 * Copies the event log of a stopped embedded service into an EventStoreDB cluster and proves that the copy is equal.
 * Can be interrupted at any moment and run again: it continues where it stopped. Rejects with `MigrationRefused`,
 * `DataDirInUse` or `LogDamaged`. Changes nothing in the source except for the marker of a finished migration.
 */
export async function migrate({ from, sealKeys, to, onProgress }: MigrationOptions): Promise<MigrationReport> {
  const dataDir = resolve(from);
  if (!isConnectionString(to))
    throw new MigrationRefused(
      '--to is the connection string of the target: esdb://host:2113,... or esdb+discover://host:2113',
    );
  if (!existsSync(join(dataDir, 'events.db')))
    throw new MigrationRefused(
      `there is no event log in ${dataDir}: --from is the data directory of the embedded service`,
    );
  const source = await openSqliteEventStore({ dataDir, sealKeys });
  try {
    const total = checkedLength(source, onProgress);
    const target = await openTarget(to);
    const salts = openSaltsMove({ dataDir, connectionString: to, totalMs: CALL_MS });
    try {
      const report = await explained(() => move({ source, target, salts, total, onProgress }));
      writeFileSync(
        join(dataDir, MOVED_FILE),
        `${JSON.stringify({ events: report.events, log_digest: report.log_digest })}\n`,
        { mode: 0o600 },
      );
      return report;
    } finally {
      await salts.close();
      await target.close();
    }
  } finally {
    await source.close();
  }
}

interface Move {
  readonly source: SqliteEventStore;
  readonly target: EventStore;
  readonly salts: SaltsMove;
  readonly total: number;
  readonly onProgress: MigrationOptions['onProgress'];
}

async function move({ source, target, salts, total, onProgress }: Move): Promise<MigrationReport> {
  const standing: Standing = await standingOf(source, target, (done) =>
    onProgress('comparing the target', done, total),
  );
  const personalKeys = await salts.copy((done, all) => onProgress('copying keys of personal data', done, all));
  await copyRest(source, target, standing, (done) => onProgress('copying', done, total));
  const original = await digestOf(source, (done) => onProgress('proving the logs equal', done, 2 * total));
  const copy = await digestOf(target, (done) => onProgress('proving the logs equal', total + done, 2 * total));
  assertSameLog(original, copy);
  const unequal = await salts.differing((done, all) => onProgress('proving the keys equal', done, all));
  if (unequal.length > 0)
    throw new MigrationRefused(
      `${unequal.length} keys of personal data did not arrive, for example of ${must(unequal[0])}`,
    );
  const wanted = await lookUpsOf(source, (done) => onProgress('comparing the look-ups', done, 2 * total));
  const found = await lookUpsOf(target, (done) => onProgress('comparing the look-ups', total + done, 2 * total));
  assertSameLookUps(wanted, found);
  return {
    events: copy.events,
    streams: copy.streams,
    already_there: standing.copied,
    copied_now: copy.events - standing.copied,
    personal_keys: personalKeys,
    log_digest: copy.log,
    streams_digest: copy.heads,
    projections: found.map(({ projection, rows, parked, digest }) => ({ name: projection, rows, parked, digest })),
  };
}

/** Verifies every hash and the chain over the whole log, whose end was verified when it was opened. */
function checkedLength(source: SqliteEventStore, onProgress: MigrationOptions['onProgress']): number {
  onProgress('checking the source', 0, 1);
  const check = source.verifyTail(Number.MAX_SAFE_INTEGER);
  if (!check.ok)
    throw new MigrationRefused(
      `the event log is damaged at position ${check.position}: ${check.reason}; a damaged event log is not copied`,
    );
  onProgress('checking the source', 1, 1);
  return check.checked;
}

async function openTarget(connectionString: string): Promise<EventStore> {
  try {
    // First with a short timeout, so that a wrong address shows within seconds.
    const first = await openEsdbEventStore({ connectionString, totalMs: FIRST_CALL_MS });
    await first.close();
    return await openEsdbEventStore({ connectionString, totalMs: CALL_MS });
  } catch (error) {
    if (error instanceof StoreUnavailable)
      throw new MigrationRefused(`the target ${withoutUser(connectionString)} does not respond: ${error.message}`);
    if (error instanceof TypeError) throw new MigrationRefused(`--to: ${error.message}`);
    throw error;
  }
}

/** Turns expected errors into instructions for the operator; anything else is a bug and keeps its stack. */
async function explained<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OtherSalt)
      throw new MigrationRefused(`the target contains data of another event log: ${error.message}`);
    if (error instanceof CopyRefused) throw new MigrationRefused(error.message);
    if (error instanceof DamagedEvent)
      throw new MigrationRefused(
        `the target contains data of another event log: ${error.message}; it must be empty or contain an earlier copy`,
      );
    if (error instanceof StoreUnavailable)
      throw new MigrationRefused(
        `the target stopped responding: ${error.message}; run the same command again to continue`,
      );
    throw error;
  }
}

function assertSameLog(original: LogDigest, copy: LogDigest): void {
  if (original.events === copy.events && original.log === copy.log && original.heads === copy.heads) return;
  const streams = differingStreams(original, copy, NAMED_STREAMS);
  throw new MigrationRefused(
    `the copy is not equal: ${original.events} events in ${original.streams} streams became ${copy.events} in ${copy.streams}` +
      (streams.length > 0 ? `; first streams that differ: ${streams.join(', ')}` : '; the order differs'),
  );
}

function assertSameLookUps(wanted: readonly ProjectionDigest[], found: readonly ProjectionDigest[]): void {
  const differing = wanted.filter(
    ({ digest, parked }, index) => must(found[index]).digest !== digest || must(found[index]).parked !== parked,
  );
  if (differing.length > 0)
    throw new MigrationRefused(`the look-ups differ: ${differing.map(({ projection }) => projection).join(', ')}`);
}

/** In a temporary folder, so that neither side's look-ups are touched. */
async function lookUpsOf(store: LogReader, onProgress: (done: number) => void): Promise<ProjectionDigest[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quittance-move-'));
  const readModel = await openSqliteReadModel({ dataDir });
  try {
    return await projectionDigests(store, readModel, PROJECTIONS, onProgress);
  } finally {
    await readModel.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const withoutUser = (connectionString: string): string => connectionString.replace(/\/\/[^@/?]*@/, '//');
