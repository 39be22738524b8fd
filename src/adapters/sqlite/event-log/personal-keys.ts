import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import type { MadeSalt, PersonalKeys } from '../../../ports/event-log/personal-keys.ts';
import type { Random } from '../../../ports/random.ts';
import { PersonalKeysFile, type SubjectSalt } from './personal-keys-file.ts';

const SALT_BYTES = 32;
const TRUNCATE_ATTEMPTS = 200;
const TRUNCATE_PAUSE_MS = 25;

export interface SqlitePersonalKeys extends PersonalKeys {
  /** Stored together with its event, so that the retry of a forgotten session leaves no salt behind. */
  create(subject: string): Promise<MadeSalt>;
  /** Every salt that was not erased, oldest first. */
  all(): Iterable<SubjectSalt>;
  count(): number;
  close(): Promise<void>;
}

/** Opens the salts of a data directory whose log is open. The log commits new ones just before their event. */
export function openSqlitePersonalKeys({
  dataDir,
  random,
}: {
  readonly dataDir: string;
  readonly random: Random;
}): SqlitePersonalKeys {
  const file = new PersonalKeysFile(dataDir);
  return {
    create: async (subject) => {
      const salt = random.bytes(SALT_BYTES);
      return { salt, coCommit: { kind: 'personal-key', values: [subject, salt] } };
    },
    all: () => file.all(),
    count: () => file.count(),
    get: async (subject) => file.get(subject),
    erase: async (subject) => {
      file.remove(subject);
      await truncateWal(file);
    },
    close: async () => file.close(),
  };
}

/** The WAL still contains old pages; it cannot be truncated during a commit. */
async function truncateWal(file: PersonalKeysFile): Promise<void> {
  for (let attempt = 0; attempt < TRUNCATE_ATTEMPTS; attempt += 1) {
    if (file.truncateWal()) return;
    await pause(TRUNCATE_PAUSE_MS);
  }
  throw new StoreUnavailable(
    'the salt is removed, but the write-ahead log that still holds it could not be cut; erase it again',
  );
}
