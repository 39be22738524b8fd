import { type Config, InvalidConfig } from '../../config.ts';
import type { Storage, StorageDeps } from './parts.ts';

/** Opens the storage named by the settings: servers shared by several processes, or files of this one. */
export async function openStorage(config: Config, deps: StorageDeps): Promise<Storage> {
  const { EVENTSTORE_URL: eventStoreUrl, REDIS_URL: redisUrl, LOOK_UP_ARCHIVE_AFTER_DAYS: archiveAfterDays } = config;
  if (eventStoreUrl !== undefined && redisUrl !== undefined) {
    const [{ openDistributed }, { snapshotSettings }] = await Promise.all([
      import('./distributed.ts'),
      import('../../look-ups/snapshots/snapshots.ts'),
    ]);
    const servers = {
      eventStoreUrl,
      redisUrl,
      redisSurvivesRestarts: config.REDIS_SURVIVES_RESTARTS,
      snapshots: snapshotSettings(config),
      archiveAfterDays,
    };
    return openDistributed(servers, { ...deps, dataDir: config.DATA_DIR });
  }
  if (eventStoreUrl !== undefined || redisUrl !== undefined)
    throw new InvalidConfig(
      'EVENTSTORE_URL and REDIS_URL belong together: set both, or neither for the embedded store',
    );
  const { openEmbedded } = await import('./embedded.ts');
  return openEmbedded(config.DATA_DIR, { ...deps, archiveAfterDays });
}
