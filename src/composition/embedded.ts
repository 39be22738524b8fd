import { openSqlitePersonalKeys, type SqlitePersonalKeys } from '../adapters/sqlite/sqlite-personal-keys.ts';
import { SqliteDeliveryAnswers } from '../adapters/sqlite/delivery-answers.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../adapters/sqlite/sqlite-event-store.ts';
import { openSqliteNonces } from '../adapters/sqlite/sqlite-nonces.ts';
import type { Clock } from '../ports/clock.ts';
import type { Nonces } from '../ports/nonces.ts';
import type { Random } from '../ports/random.ts';
import type { ReadModel } from '../ports/read-model.ts';
import type { Logger } from '../ops/logger.ts';
import { assertNotMoved } from './moved.ts';
import { openProjectionThread, type ProjectionThread } from './projection-thread.ts';

/** Everything durable of the embedded profile: files under one data directory, owned by this process. */
export interface EmbeddedStorage {
  readonly store: SqliteEventStore;
  readonly readModel: ReadModel;
  /** Not started; stop it before `close`. */
  readonly projections: ProjectionThread;
  readonly nonces: Nonces;
  readonly personalKeys: SqlitePersonalKeys;
  readonly answers: SqliteDeliveryAnswers;
  close(): Promise<void>;
}

/** Opens the data directory. Throws `DataDirInUse` when another process owns it, `LedgerMoved` when its ledger lives elsewhere now. */
export async function openEmbedded(
  dataDir: string,
  deps: { clock: Clock; random: Random; log: Logger; onFatal: (error: Error) => void; readDamaged?: boolean },
): Promise<EmbeddedStorage> {
  const { clock, random, log } = deps;
  assertNotMoved(dataDir);
  const store = await openSqliteEventStore({
    dataDir,
    onSubscriptionError: (name, error, attempt) => log.error({ err: error, subscription: name, attempt }, 'a subscription failed and is repeated'),
    onFatal: deps.onFatal,
    readDamaged: deps.readDamaged ?? false,
  });
  const projections = await openProjectionThread(dataDir);
  const { readModel } = projections;
  const nonces = openSqliteNonces({ dataDir, store, clock });
  const personalKeys = openSqlitePersonalKeys({ dataDir, random });
  const answers = new SqliteDeliveryAnswers({ dataDir, nowMs: () => clock.nowMs() });
  return {
    store,
    readModel,
    projections,
    nonces,
    personalKeys,
    answers,
    close: async () => {
      await nonces.close();
      await personalKeys.close();
      await answers.close();
      await readModel.close();
      await store.close();
    },
  };
}
