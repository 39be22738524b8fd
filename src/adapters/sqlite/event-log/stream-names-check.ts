import type { DatabaseSync } from 'node:sqlite';
import type { RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { openDatabase } from '../database.ts';
import { EventReader } from './event-reader.ts';
import { eventsFile } from './event-schema.ts';
import { StreamNamesFile } from './stream-names-file.ts';

/**
 * Whether `stream-names.db` finds every stream where it begins. A stream that it does not find would seem not to exist.
 */
export class StreamNamesCheck {
  readonly #log: DatabaseSync;
  readonly #names: StreamNamesFile | null;
  readonly #through: number;

  constructor(dataDir: string) {
    this.#log = openDatabase(eventsFile(dataDir), { synchronous: 'FULL', readOnly: true });
    const reader = new EventReader(this.#log);
    this.#names = StreamNamesFile.openToRead(dataDir, (number) => reader.streamAt(number));
    // A log that was not opened for writing may have more; what is searched there is then searched in the log.
    this.#through = this.#names?.progress().position ?? 0;
  }

  faultOf({ stream, revision, position }: RecordedEvent): string | null {
    if (revision !== 0 || Number(position) > this.#through || this.#names?.numberOf(stream) === Number(position))
      return null;
    return 'stream-names.db does not find its stream; stop the service and remove that file with its -wal and -shm: it is made again';
  }

  close(): void {
    this.#names?.close();
    this.#log.close();
  }
}
