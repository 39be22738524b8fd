import { StoreUnavailable, type EventStore } from '../../../ports/event-log/event-store.ts';
import { openSqliteEventStoreReader } from './event-store-reader.ts';
import { Housekeeping } from './housekeeping.ts';
import { LogDamaged } from './log-check.ts';
import type { WriterLock } from '../writer-lock.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';

/**
 * The readable part of a log that cannot be opened for writing: refuses every append and every subscription. Throws
 * `LogDamaged` if nothing in the file can be read.
 */
export async function openDamagedEventStore(dataDir: string, cause: unknown, lock: WriterLock) {
  const reason =
    cause instanceof LogDamaged
      ? cause.message
      : `the log in ${dataDir} is damaged: the file events.db cannot be used: ${messageOf(cause)}`;
  const refused = (): StoreUnavailable => new StoreUnavailable(`nothing is written: ${reason}`);
  const reader = await openSqliteEventStoreReader({ dataDir }).catch(() => {
    throw new LogDamaged(`${reason}. Nothing of it can be read: restore the newest backup.`);
  });
  const housekeeping = new Housekeeping(dataDir);
  return {
    readStream: (...given: Parameters<EventStore['readStream']>) => reader.readStream(...given),
    lastOfStream: (...given: Parameters<EventStore['lastOfStream']>) => reader.lastOfStream(...given),
    readAll: (...given: Parameters<EventStore['readAll']>) => reader.readAll(...given),
    head: () => reader.head(),
    append: () => Promise.reject(refused()),
    subscribe: () => {
      throw refused();
    },
    checkpoints: housekeeping,
    verifyTail: (count: number) => reader.verifyTail(count),
    refusal: reason,
    refuseAppends: () => undefined,
    commandNonces: () => [],
    close: async () => {
      await Promise.all([reader.close(), housekeeping.close()]);
      lock.release();
    },
  };
}
