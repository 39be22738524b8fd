import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Migration marker, written into a data directory once its event log was migrated and the copy proven equal. */
export const MOVED_FILE = 'moved.json';

/** The event log lives elsewhere: continuing here would create a second one, and refunds could be paid twice. */
class EventLogMoved extends Error {
  override readonly name = 'EventLogMoved';
}

/** Throws `EventLogMoved`. */
export function assertNotMoved(dataDir: string): void {
  const note = join(dataDir, MOVED_FILE);
  if (!existsSync(note)) return;
  throw new EventLogMoved(
    `the event log in ${dataDir} was moved to an EventStoreDB cluster. Two services on two copies would pay the same refund twice. ` +
      `To go back before the cluster has accepted any request, remove ${note}.`,
  );
}
