import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { copyDatabase, noteEndOfCopy } from '../adapters/sqlite/database-copy.ts';
import { LAST_BACKUP } from '../runtime/files/backup-mark.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import { writePrivate } from '../runtime/files/private-file.ts';
import { digestOf, MANIFEST, OF_SIGNER, SIGNER_FOLDER, type FileDigests, type Manifest } from './manifest.ts';
import { syncPath } from '../runtime/files/sync-path.ts';
import { codeOf } from '../runtime/util/code-of.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

/** Copied first: what its events need (salts, stream names) is then included in the later copies. */
const FIRST = 'events.db';
/** Derived from the event log, or specific to the running process. */
export const LEFT_OUT = /^(read-model|lock)\.db/;
/** Sealed, hashed or needed next to the databases. Sockets, logs and output of the sandbox are left out. */
const FILES = ['operators.json', 'master.key', 'demo-merchant.json'];

export type BackupPart = 'data' | 'signer';

export interface BackupPlaces {
  readonly dataDir: string;
  readonly signerDirectory: string;
  /** The signer is another user's, with a directory of its own. */
  readonly isSignerElsewhere: boolean;
}

export interface BackupMade extends Pick<Manifest, 'made_at'> {
  readonly folder: string;
  readonly events: number | null;
  readonly last_event_at: string | null;
  readonly files: number;
  /** Why the signer's files are missing; null if they are included. */
  readonly without_signer: string | null;
}

/** Copies everything that cannot be derived, with or without a running service. Throws `CommandRefused`. */
export async function makeBackup(
  places: BackupPlaces,
  to: string,
  only: BackupPart | undefined,
  nowMs: number,
): Promise<BackupMade> {
  const folder = resolve(to);
  if (only !== 'signer' && !existsSync(join(places.dataDir, FIRST)))
    throw new CommandRefused(`${places.dataDir} holds no event log (${FIRST})`);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new CommandRefused(`--to: ${folder} is not empty`);
  makeFolder(folder);
  const madeAt = new Date(nowMs).toISOString();
  const data = only === 'signer' ? null : await copyData(places.dataDir, folder);
  // The event log first: a signer signs nothing with a journal that lacks signatures from the event log.
  const signer =
    only === 'data' ? 'it was not requested' : copySigner(places.signerDirectory, join(folder, SIGNER_FOLDER));
  if (typeof signer === 'string' && only === 'signer') throw new CommandRefused(signer);
  const manifest: Manifest = {
    format: 1,
    made_at: madeAt,
    data,
    signer: typeof signer === 'string' ? null : { files: signer },
  };
  writePrivate(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  syncPath(folder);
  const note = (directory: string, more: object): void =>
    writePrivate(join(directory, LAST_BACKUP), `${JSON.stringify({ made_at: madeAt, ...more })}\n`);
  if (data) note(places.dataDir, { events: data.events });
  if (manifest.signer) note(places.signerDirectory, {});
  return {
    ...{ folder, made_at: madeAt, events: data?.events ?? null, last_event_at: data?.last_event_at ?? null },
    files: Object.keys(data?.files ?? {}).length + Object.keys(manifest.signer?.files ?? {}).length,
    without_signer:
      typeof signer === 'string' ? signer : places.isSignerElsewhere && only !== 'signer' ? SIGNER_ELSEWHERE : null,
  };
}

const SIGNER_ELSEWHERE =
  'the signer is another user (SIGNER_SOCKET): run "quittance backup --only signer" as that user, too';

async function copyData(dataDir: string, folder: string): Promise<NonNullable<Manifest['data']>> {
  const databases = readdirSync(dataDir).filter((name) => name.endsWith('.db') && !LEFT_OUT.test(name));
  const ordered = databases.toSorted((left, right) => Number(right === FIRST) - Number(left === FIRST));
  for (const name of ordered) {
    await copyDatabase(join(dataDir, name), join(folder, name));
    chmodSync(join(folder, name), 0o600);
  }
  for (const name of FILES.filter((file) => existsSync(join(dataDir, file))))
    copyPrivately(join(dataDir, name), join(folder, name));
  return describeData(folder);
}

/** The manifest entry for copied files of a data directory, after recording the end of its log in the anchor. */
export async function describeData(folder: string): Promise<NonNullable<Manifest['data']>> {
  const { events, chain, lastEventAtMs } = await noteEndOfCopy(folder);
  return {
    ...{ events, chain, last_event_at: lastEventAtMs === null ? null : new Date(lastEventAtMs).toISOString() },
    files: digestsIn(folder),
  };
}

/** Digests of the files directly in a folder. */
export function digestsIn(folder: string): FileDigests {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ name }) => [name, digestOf(join(folder, name))]));
}

/** The digests of the copied files, or why nothing could be copied. */
function copySigner(directory: string, folder: string): FileDigests | string {
  if (!existsSync(directory))
    return `there is no ${directory} (SIGNER_JOURNAL_DIR): the signer has stored nothing there`;
  try {
    const names = readdirSync(directory).filter((name) => OF_SIGNER.test(name));
    makeFolder(folder);
    for (const name of names) copyPrivately(join(directory, name), join(folder, name));
    return digestsIn(folder);
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
    return `${directory} (SIGNER_JOURNAL_DIR) belongs to another user: run "quittance backup --only signer" as that user, too`;
  }
}

function copyPrivately(from: string, to: string): void {
  const content = readFileSync(from);
  // A journal's last line may be incomplete; it has not been acknowledged to anybody.
  const whole = from.endsWith('.jsonl') ? content.subarray(0, content.lastIndexOf('\n') + 1) : content;
  writeFileSync(to, whole, { mode: 0o600 });
  syncPath(to);
}
