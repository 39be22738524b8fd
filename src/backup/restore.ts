import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSqliteEventStore } from '../adapters/sqlite/event-log/event-store.ts';
import { acquireWriterLock, type WriterLock } from '../adapters/sqlite/writer-lock.ts';
import { markIn, type KeptMark } from '../adapters/node/address-marks-file.ts';
import { nodeRandom } from '../adapters/node/random.ts';
import type { EventLogRestored } from '../domain/events/operations-events.ts';
import { OPERATOR_ACTS_STREAM } from '../domain/values/streams.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import { systemClock, toSec } from '../ports/clock.ts';
import { appendNext } from '../runtime/commands/append-next.ts';
import { keptAnchors, leaveOutAnchorsAbove } from '../signer/audit/signer.ts';
import { authenticationKeys } from '../settings/sealing-keys.ts';
import { Journal, JournalBroken, lockJournals } from '../signer/journal/journal.ts';
import { writePrivate } from '../runtime/files/private-file.ts';
import { lostPayments, PAYOUT_JOURNAL, type LostPayment } from './lost-payments.ts';
import type { KeyList, SealingKeys } from '../runtime/cryptography/sealing.ts';
import { syncPath } from '../runtime/files/sync-path.ts';
import type { BackupPart, BackupPlaces } from './make.ts';
import { MANIFEST, SIGNER_FOLDER } from './manifest.ts';
import { placeFiles, verifyBackup, type AddressReach, type BackupReport, type VerifiedBackup } from './verify.ts';
import { must } from '../domain/values/must.ts';
import { codeOf } from '../runtime/util/code-of.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

export interface RestoreRequest {
  readonly from: string;
  readonly only: BackupPart | undefined;
  /** Moves an existing event log aside instead of refusing the restore. */
  readonly moveAside: boolean;
  readonly actor: string;
  readonly sealingKeys: SealingKeys | null;
}

type Addresses = EventLogRestored['data']['addresses'];

export interface Restored {
  readonly backup: BackupReport;
  readonly data_dir: string | null;
  /** Where the files of the previous event log are. */
  readonly moved_aside: string | null;
  /**
   * Minimum number of lost events, which were signed and are not in the backup. Null if no more were signed than exist.
   */
  readonly lost_events: number | null;
  /** Where the signer's checkpoints of them are kept as evidence. */
  readonly kept_checkpoints: readonly string[];
  readonly addresses: Addresses;
  /** Null if unknown: the signer's journal could not be read, or was lost and is no newer than the backup. */
  readonly unknown_payments: readonly LostPayment[] | null;
  /** What could not be restored for the signer, and how to restore it. */
  readonly signer: string;
  readonly next: readonly string[];
}

/** Files of an event log. Excludes a data directory's own folders, which are a sandbox's wallet and chains. */
const OF_EVENT_LOG =
  /\.db(-wal|-shm)?$|^(events\.anchor|operators|demo-merchant|last-backup|backup)\.json$|^master\.key$/;
const EVENT_LOG = 'events.db';
const LOCK = /^lock\./;

/**
 * Restores a backup: verified first, then atomically, and never over an existing event log. Throws `CommandRefused`.
 */
export async function restoreBackup(places: BackupPlaces, request: RestoreRequest): Promise<Restored> {
  const backup = await verifyBackup(request.from, request.sealingKeys);
  if (!backup.report.ok) throw new CommandRefused(`nothing was restored: ${backup.report.faults.join('; ')}`);
  const { data } = backup.manifest;
  if (request.only !== 'signer' && !data)
    throw new CommandRefused(`${backup.folder} contains only the signer's files: use --only signer`);
  const sealKeys = request.only === 'signer' ? null : authenticationKeys(backup.sealingKeys);
  // Neither side is changed while one of them is in use.
  const target = request.only === 'signer' ? null : openTarget(places.dataDir, request.moveAside);
  let signer: SignerSide;
  try {
    signer =
      request.only === 'data'
        ? skipped('it was not requested')
        : restoreSigner(places.signerDirectory, backup, request.actor);
    if (target) placeEventLog(target, backup);
  } finally {
    target?.lock.release();
  }
  const addresses = backup.reach.map((reach) => reachWith(reach, signer.marks));
  if (target && data && sealKeys)
    await recordRestore(target.dataDir, sealKeys, {
      backupMadeAtSec: secOf(backup.manifest.made_at),
      events: data.events,
      lastEventAtSec: data.last_event_at === null ? null : secOf(data.last_event_at),
      unknownPayments:
        signer.lost?.map(({ mode, network, id, tx_hash: txHash }) => ({ mode, network, id, txHash })) ?? null,
      signedEvents: signer.signedEvents,
      addresses,
      actor: request.actor,
      restoredAtSec: toSec(systemClock.nowMs()),
    });
  return {
    ...{ backup: backup.report, data_dir: target && places.dataDir, moved_aside: target?.movedAside ?? null },
    lost_events: signer.signedEvents === null || !data ? null : signer.signedEvents - data.events,
    kept_checkpoints: signer.kept,
    addresses,
    unknown_payments: signer.lost,
    signer: signer.say,
    next: [...(places.isSignerElsewhere && target ? [SIGNER_FIRST] : []), ...nextSteps(signer)],
  };
}

const NEXT = [
  'start the service with the previous keys, wallet and provider settings; it skips addresses that may already be assigned',
  'quittance inbox search --record --actor <your name> --reason <why>: finds money at addresses that the lost events had given out',
  'ask merchants to resend their orders since last_event_at: the same order_id gives the same session id',
];

/** What it signed after the backup stays unknown to the restored event log otherwise, and the start is read-only. */
const SIGNER_FIRST =
  'the signer is another user (SIGNER_SOCKET): stop it, and before you start either, run "quittance restore --only signer" as that user with a copy of the same backup; it names the payments that are missing here';

/** Payments that may have left come first. */
const nextSteps = ({ lost, stopped }: SignerSide): readonly string[] => [
  ...(lost?.length
    ? [
        `the signer signed ${lost.length} payments that this event log does not know (unknown_payments): it stops signing on those networks, so that none is paid twice. ` +
          'Restore a newer event log if there is one; docs/runbook.md, "Payments that the restored event log does not have"',
      ]
    : []),
  ...(stopped.length > 0
    ? [
        `payouts are stopped (${stopped.join(', ')}): payments after the backup are in neither event log nor journal, and would be made twice. ` +
          'Compare with the chains before you resume them: docs/runbook.md, "A journal that comes from the backup"',
      ]
    : []),
  ...NEXT,
];

interface SignerSide {
  readonly lost: readonly LostPayment[] | null;
  readonly signedEvents: number | null;
  readonly marks: readonly KeptMark[];
  readonly kept: readonly string[];
  readonly say: string;
  /** Journals restored from the backup. */
  readonly stopped: readonly string[];
}

const skipped = (say: string): SignerSide => ({
  lost: null,
  signedEvents: null,
  marks: [],
  kept: [],
  say,
  stopped: [],
});

/**
 * The signer's existing files are newer than any copy and stay. Only checkpoints of more events than exist now are put
 * aside.
 */
function restoreSigner(
  directory: string,
  { folder, manifest, signed: known }: VerifiedBackup,
  actor: string,
): SignerSide {
  try {
    makeFolder(directory);
    const lock = lockJournals(directory);
    try {
      // For a restored mark it is unknown how far the addresses were leased since.
      const marks = readdirSync(directory).flatMap((name) => markIn(directory, name) ?? []);
      const copied = manifest.signer?.files ?? {};
      const missing = Object.fromEntries(Object.entries(copied).filter(([name]) => !existsSync(join(directory, name))));
      const stopped = Object.keys(missing).filter((name) => name.endsWith('.jsonl'));
      // The signer's own files alone say nothing about an event log. Read before anything is placed, because a damaged
      // journal ends the restore.
      const lost = manifest.data ? lostOf(directory, join(folder, SIGNER_FOLDER), stopped, known) : null;
      for (const name of stopped) placeStopped(join(folder, SIGNER_FOLDER, name), join(directory, name), actor);
      placeFiles(
        join(folder, SIGNER_FOLDER),
        directory,
        Object.fromEntries(Object.entries(missing).filter(([name]) => !stopped.includes(name))),
      );
      const events = manifest.data?.events ?? Infinity;
      const signed = keptAnchors(directory).at(-1)?.size ?? 0;
      const kept = signed > events ? leaveOutAnchorsAbove(directory, events, stampNow()) : [];
      const [placed, stayed] = [Object.keys(missing).length, Object.keys(copied).length - Object.keys(missing).length];
      const say = `${placed} files of the backup were copied to ${directory}, ${stayed} existed and stay unchanged`;
      return { lost, signedEvents: signed > events ? signed : null, marks, kept, say, stopped };
    } finally {
      lock.release();
    }
  } catch (error) {
    if (error instanceof JournalBroken)
      throw new CommandRefused(
        `nothing of the signer was restored: ${error.message} (${directory}; stop a signer that uses it first)`,
      );
    if (!['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
    return skipped(
      `${directory} belongs to another user: run "quittance restore --only signer" with the same backup as that user before you start`,
    );
  }
}

/**
 * Null if the list would be empty without proving anything: a journal no newer than the backup knows nothing of the
 * time after it, nor does one that an earlier restore placed and no signer has written to since (it has no head).
 */
function lostOf(
  directory: string,
  backup: string,
  copied: readonly string[],
  known: ReadonlySet<string>,
): readonly LostPayment[] | null {
  const lost = [...lostPayments(directory, known), ...lostPayments(backup, known, copied)];
  const own = readdirSync(directory).filter((name) => PAYOUT_JOURNAL.test(name));
  const outlived = own.length > 0 && own.every((name) => existsSync(join(directory, `${name}.head`)));
  return (copied.length === 0 && outlived) || lost.length > 0 ? lost : null;
}

/**
 * A restored journal lacks what was signed after it, like the event log, so neither would notice a second payment. It
 * is stopped before a signer can use it, until people have compared the chains with the event log and resume it.
 */
function placeStopped(from: string, to: string, actor: string): void {
  const draft = `${to}.restoring`;
  copyFileSync(from, draft);
  chmodSync(draft, 0o600);
  const journal = Journal.open(draft);
  journal.append({ kind: 'stopped', by: actor }, systemClock.nowMs());
  journal.close();
  rmSync(`${draft}.head`, { force: true });
  renameSync(draft, to);
  syncPath(dirname(to));
}

function reachWith(
  { mode, family, unusedFrom, leasedBelow }: AddressReach,
  marks: readonly KeptMark[],
): Addresses[number] {
  const marked = marks.filter((mark) => mark.mode === mode && mark.family === family).map(({ next }) => next);
  return { mode, family, unusedFrom, leasedBelow: Math.max(leasedBelow, ...marked), isKnown: marked.length > 0 };
}

interface Target {
  readonly dataDir: string;
  readonly lock: WriterLock;
  /** Files of an existing event log. */
  readonly there: readonly string[];
  /** Where they are moved; null if there are none. */
  readonly movedAside: string | null;
}

/** Throws `CommandRefused` or `DataDirInUse` without having changed anything. */
function openTarget(dataDir: string, moveAside: boolean): Target {
  makeFolder(dataDir);
  const lock = acquireWriterLock(dataDir);
  const there = readdirSync(dataDir).filter((name) => OF_EVENT_LOG.test(name) && !LOCK.test(name));
  if (!there.includes(EVENT_LOG) || moveAside)
    return {
      dataDir,
      lock,
      there,
      movedAside: there.length === 0 ? null : join(dataDir, `before-restore-${stampNow()}`),
    };
  lock.release();
  throw new CommandRefused(
    `${dataDir} contains an event log: use --move-aside to keep its files beside the restored ones, or set DATA_DIR to another folder`,
  );
}

function placeEventLog({ dataDir, there, movedAside }: Target, { folder, manifest }: VerifiedBackup): void {
  if (movedAside !== null) mkdirSync(movedAside, { mode: 0o700 });
  for (const name of there) renameSync(join(dataDir, name), join(must(movedAside), name));
  const { [EVENT_LOG]: eventLog, ...others } = must(manifest.data).files;
  placeFiles(folder, dataDir, others);
  // A start then skips the addresses that may have been assigned since.
  writePrivate(join(dataDir, MANIFEST), readFileSync(join(folder, MANIFEST), 'utf8'));
  // Last and atomically: an interrupted restore leaves no event log that looks complete.
  placeFiles(folder, dataDir, { [EVENT_LOG]: must(eventLog) });
}

async function recordRestore(dataDir: string, sealKeys: KeyList, data: EventLogRestored['data']): Promise<void> {
  const store = await openSqliteEventStore({ dataDir, sealKeys });
  try {
    const last = await store.lastOfStream(OPERATOR_ACTS_STREAM);
    const event: EventLogRestored = { type: 'EventLogRestored', data };
    await appendNext(
      { store, clock: systemClock, random: nodeRandom },
      { stream: OPERATOR_ACTS_STREAM, last, event, actor: data.actor },
    );
  } finally {
    await store.close();
  }
}

const secOf = (iso: string): number => Math.floor(Date.parse(iso) / 1000);
const stampNow = (): string => new Date(systemClock.nowMs()).toISOString().replace(/[:.]/g, '-');
