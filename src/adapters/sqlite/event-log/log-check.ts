import type { Anchor } from './anchor.ts';
import type { EventReader } from './event-reader.ts';
import type { LogSeals } from './log-seals.ts';

/** The start verifies everything since the last checkpoint, within these limits. */
const FEWEST_AT_START = 256;
const MOST_AT_START = 20_000;

/** The log was altered or damaged. It is not opened for writing; `openSqliteEventStoreReader` can still read it. */
export class LogDamaged extends Error {
  override readonly name = 'LogDamaged';
}

/**
 * Throws `LogDamaged` if the end of the log fails verification, is not sealed, or contradicts its anchor. The rest of
 * the history, which the seal covers by its chain, is verified by the audit (`log-walker.ts`).
 */
export function assertUndamaged(reader: EventReader, anchor: Anchor, dataDir: string, seals: LogSeals | null): void {
  const sinceCheckpoint = reader.sinceLast('CheckpointSigned', MOST_AT_START);
  const check = reader.verifyTail(Math.max(FEWEST_AT_START, sinceCheckpoint));
  if (!check.ok)
    throw new LogDamaged(`the log in ${dataDir} is damaged at position ${check.position}: ${check.reason}`);
  const unsealed = seals?.faultOfEnd(reader) ?? null;
  if (unsealed)
    throw new LogDamaged(`the log in ${dataDir} is damaged at position ${unsealed.position}: ${unsealed.reason}`);
  const anchored = anchor.read();
  if (anchored === null || reader.chainAt(anchored.position) === anchored.chain) return;
  const { position } = reader.tail();
  const what = position < anchored.position ? `ends at position ${position}` : 'holds other events';
  throw new LogDamaged(
    `the log in ${dataDir} ${what}, but it had reached position ${anchored.position} with another chain: ` +
      `events were lost or an old copy was put in place. If that is intended, remove ${anchor.path}.`,
  );
}
