import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDataDir, removeDatabase } from '../adapters/sqlite/database.ts';
import { readModelFile } from '../adapters/sqlite/read-model/schema.ts';
import { contentsOf } from '../adapters/sqlite/read-model/shared-copy.ts';
import { HEARD } from '../features/webhooks/delivery-progress.ts';
import type { EventStore } from '../ports/event-log/event-store.ts';
import { isLater, type LogSource } from './followed-log.ts';

export interface OtherLogDeps {
  readonly dataDir: string;
  readonly log: LogSource;
  readonly store: Pick<EventStore, 'readAll' | 'head'>;
}

export interface NotedLog {
  readonly forgotten: string | null;
  readonly taken: () => void;
  readonly noted: () => Promise<void>;
}

/** The id of the first event of the log from which the look-ups next to it were built. */
const MADE_OF = 'read-model.log';

/**
 * Removes look-ups that were built from another event log than the one on the servers, or from more of it than exists,
 * and reports it. Call `taken` whenever events were processed: the log's identity is recorded with its first event, and
 * `noted` resolves once that has happened.
 */
export async function forgetOtherLog({ dataDir, log, store }: OtherLogDeps): Promise<NotedLog> {
  createDataDir(dataDir);
  const [noteFile, rowsFile] = [join(dataDir, MADE_OF), readModelFile(dataDir)];
  const idOfLog = async (): Promise<string | null> => (await store.readAll({ after: null, limit: 1 }))[0]?.id ?? null;
  let id = await idOfLog();
  let noting = Promise.resolve();
  const noted = existsSync(noteFile) ? readFileSync(noteFile, 'utf8') : null;
  const isOther = existsSync(rowsFile) && (noted === null || noted !== id);
  const isBeyond = !isOther && existsSync(rowsFile) && (await isBeyondEnd());
  if (isOther || isBeyond) removeDatabase(rowsFile);
  if (id !== null) writeFileSync(noteFile, id, { mode: 0o600 });
  const why = isBeyond
    ? 'of more of the event log than there is on the servers: events were lost, or an older copy was put there'
    : 'of another event log';
  return {
    forgotten: isOther || isBeyond ? `the look-ups in ${rowsFile} were made ${why}; they are made anew` : null,
    taken: () => {
      if (id !== null) return;
      id = '';
      noting = note().catch(() => {
        // The next events retry.
        id = null;
      });
    },
    noted: () => noting,
  };

  async function note(): Promise<void> {
    const found = await idOfLog();
    if (found !== null) writeFileSync(noteFile, found, { mode: 0o600 });
    id = found;
  }

  async function isBeyondEnd(): Promise<boolean> {
    const head = await store.head();
    const stands = Object.entries(contentsOf(rowsFile)?.checkpoints ?? {});
    // Rows that are only begun, to be served later, have no position yet.
    return stands.some(
      ([name, position]) => name !== HEARD && position !== '' && (head === null || isLater(log, position, head)),
    );
  }
}
