import type { Anchor } from './anchor.ts';
import type { EventReader } from './event-reader.ts';

/** Everything since the last checkpoint is verified at the start, but no less and no more than this many events. */
const FEWEST_AT_START = 256;
const MOST_AT_START = 20_000;

/** The log is not what it once was. It is not opened for writing; `openSqliteEventStoreReader` still reads it. */
export class LogDamaged extends Error {
  override readonly name = 'LogDamaged';
}

/**
 * Throws `LogDamaged` when the end of the log does not verify, or does not hold what its anchor says it held. What lies
 * before the last checkpoint is checked in the background (`log-walker.ts`).
 */
export function assertUndamaged(reader: EventReader, anchor: Anchor, dataDir: string): void {
  const sinceCheckpoint = reader.sinceLast('CheckpointSigned', MOST_AT_START);
  const check = reader.verifyTail(Math.max(FEWEST_AT_START, sinceCheckpoint));
  if (!check.ok)
    throw new LogDamaged(`the log in ${dataDir} is damaged at position ${check.position}: ${check.reason}`);
  const anchored = anchor.read();
  if (anchored === null || reader.chainAt(anchored.position) === anchored.chain) return;
  const { position } = reader.tail();
  const what = position < anchored.position ? `ends at position ${position}` : 'holds other events';
  throw new LogDamaged(
    `the log in ${dataDir} ${what}, but it had reached position ${anchored.position} with another chain: ` +
      `events were lost or an old copy was put in place. If that is intended, remove ${anchor.path}.`,
  );
}
