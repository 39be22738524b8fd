import { openSqlitePersonalKeys } from '../../adapters/sqlite/event-log/personal-keys.ts';
import { SqliteDeliveryAnswers } from '../../adapters/sqlite/delivery-answers.ts';
import { openSqliteEventStore } from '../../adapters/sqlite/event-log/event-store.ts';
import { openSqliteReadModel } from '../../adapters/sqlite/read-model/read-model.ts';
import { openSqliteNonces } from '../../adapters/sqlite/nonces/nonces.ts';
import { addressFilterIn } from './address-filter.ts';
import { createMemorySharedStatus } from '../../adapters/memory/shared-status.ts';
import { createSingleProcessLeases } from '../../adapters/memory/leases.ts';
import { createTokenBucketLimiter } from '../../adapters/memory/token-bucket.ts';
import { assertNotMoved } from '../../migration/marker.ts';
import { ProjectionComparison } from '../../look-ups/compare.ts';
import { standingProjections } from './reading-service.ts';
import type { Follows } from '../../look-ups/messages.ts';
import { followsFiles, openProjectionThread } from '../../look-ups/thread.ts';
import type { StorageDeps, Storage } from './parts.ts';
import { caughtUpWithLog } from '../../runtime/projections/caught-up.ts';
import { authenticationKeys } from '../../settings/sealing-keys.ts';
import { must } from '../../domain/values/must.ts';

/** No other process could take over, however long this one stalls. */
const NOBODY_ELSE_MS = 3 * 86_400_000;

/**
 * Everything durable of the embedded profile: files in one data directory, owned by this process. Throws `DataDirInUse`
 * if another process owns it, `EventLogMoved` if its event log has moved elsewhere.
 */
export async function openEmbedded(
  dataDir: string,
  deps: Pick<StorageDeps, 'clock' | 'random' | 'log' | 'sealingKeys' | 'onFatal' | 'readDamaged'> &
    Pick<Follows, 'archiveAfterDays'>,
): Promise<Storage> {
  const { clock, random, log } = deps;
  assertNotMoved(dataDir);
  const store = await openSqliteEventStore({
    dataDir,
    sealKeys: authenticationKeys(deps.sealingKeys),
    onSubscriptionError: (name, error, attempt) =>
      log.error({ err: error, subscription: name, attempt }, 'a subscription failed and is retried'),
    onFatal: deps.onFatal,
    readDamaged: deps.readDamaged ?? false,
  });
  // The projection thread would open the log itself; a damaged one is not projected.
  const standing = store.refusal === null ? null : await openSqliteReadModel({ dataDir });
  const follows = followsFiles(dataDir, deps.archiveAfterDays);
  const thread = standing ? null : await openProjectionThread(dataDir, follows);
  const readModel = standing ?? must(thread).readModel;
  const projections = thread ?? (await standingProjections(readModel, follows));
  const nonces = openSqliteNonces({ dataDir, store, clock });
  const personalKeys = openSqlitePersonalKeys({ dataDir, random });
  const answers = new SqliteDeliveryAnswers({ dataDir, nowMs: () => clock.nowMs() });
  const leases = createSingleProcessLeases(clock);
  const sharedStatus = createMemorySharedStatus();
  const comparison = new ProjectionComparison(projections.follows);
  return {
    store,
    readModel,
    addressFilter: addressFilterIn(dataDir),
    projections,
    nonces,
    personalKeys,
    answers,
    leases,
    leaseTtlMs: NOBODY_ELSE_MS,
    sharedStatus,
    soleWriter: true,
    ownLog: store,
    comparison,
    sharedLog: null,
    ...{ positions: null, agreement: null, snapshots: null },
    rateLimiter: async (settings) => createTokenBucketLimiter(settings),
    caughtUp: async () => void (await caughtUpWithLog({ store, projections })),
    // The files belong to this process, which ends when they fail.
    health: () => [],
    close: async () => {
      await comparison.close();
      await nonces.close();
      await personalKeys.close();
      await answers.close();
      await readModel.close();
      await store.close();
    },
  };
}
