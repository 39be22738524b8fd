import type { Anchor } from './anchor.ts';
import type { EventReader } from './event-reader.ts';

const VERIFIED_AT_START = 256;

/** The log is not what it once was. It is not opened for writing; `openSqliteEventStoreReader` still reads it. */
export class LogDamaged extends Error {
  override readonly name = 'LogDamaged';
}

/** Throws `LogDamaged` when the end of the log does not verify, or does not hold what its anchor says it held. */
export function assertUndamaged(reader: EventReader, anchor: Anchor, dataDir: string): void {
  const check = reader.verifyTail(VERIFIED_AT_START);
  if (!check.ok) throw new LogDamaged(`the log in ${dataDir} is damaged at position ${check.position}: ${check.reason}`);
  const anchored = anchor.read();
  if (anchored === null || reader.chainAt(anchored.position) === anchored.chain) return;
  const { position } = reader.tail();
  const what = position < anchored.position ? `ends at position ${position}` : 'holds other events';
  throw new LogDamaged(
    `the log in ${dataDir} ${what}, but it had reached position ${anchored.position} with another chain: ` +
      `events were lost or an old copy was put in place. If that is intended, remove ${anchor.path}.`,
  );
}
