import { StoreCertificates } from '../../adapters/esdb/certificates.ts';
import { openEsdbEventStore } from '../../adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../adapters/esdb/personal-keys.ts';
import { openRedisDeliveryAnswers } from '../../adapters/redis/delivery-answers.ts';
import { openRedisLeases } from '../../adapters/redis/leases.ts';
import { openRedisNonces } from '../../adapters/redis/nonces.ts';
import { openRedisRateLimiter } from '../../adapters/redis/rate-limiter.ts';
import { openRedisSharedStatus } from '../../adapters/redis/shared-status.ts';
import { InvalidRedisUrl, parseRedisUrl, trustOf } from '../../adapters/redis/url.ts';
import { createDataDir } from '../../adapters/sqlite/database.ts';
import { acquireWriterLock } from '../../adapters/sqlite/writer-lock.ts';
import { InvalidConfig } from '../../config.ts';
import { projectionId } from '../../runtime/projections/batch.ts';
import { addressFilterIn } from './address-filter.ts';
import { guardedStore } from '../../runtime/event-log/guarded-store.ts';
import { LookUpAgreement } from '../../look-ups/agreement.ts';
import { nodeName } from '../../runtime/util/node-name.ts';
import { projectionsOf } from '../../look-ups/projections.ts';
import { SeenPositions } from '../../look-ups/seen-positions.ts';
import {
  LookUpSnapshots,
  type LookUpSnapshotsDeps,
  type SnapshotSettings,
} from '../../look-ups/snapshots/snapshots.ts';
import { takeSnapshot } from '../../look-ups/snapshots/take.ts';
import { StoreProbe } from '../../observability/store-probe.ts';
import type { StorageDeps, Storage, SharedLog } from './parts.ts';
import { isLater } from '../../look-ups/followed-log.ts';
import { ProjectionComparison } from '../../look-ups/compare.ts';
import { openProjectionThread, type ProjectionThread } from '../../look-ups/thread.ts';

export interface SharedServers {
  /** `esdb://...` */
  readonly eventStoreUrl: string;
  /** One of the forms of `parseRedisUrl`. */
  readonly redisUrl: string;
  readonly redisSurvivesRestarts: boolean;
  /** Null: missing look-ups are built from the event log. */
  readonly snapshots: SnapshotSettings | null;
  readonly archiveAfterDays?: number | undefined;
}

/** How long the others wait for a process that was killed; one that stalls for longer loses its work to them. */
const LEASE_TTL_MS = 8_000;

/**
 * Everything durable of the distributed profile: event log and personal keys on an EventStoreDB shared by all
 * processes, small expendable data in Redis, and look-ups in files of this process alone. Throws `DataDirInUse` if
 * another process uses them.
 */
export async function openDistributed(
  { eventStoreUrl, redisUrl, redisSurvivesRestarts, snapshots: settings, archiveAfterDays }: SharedServers,
  deps: StorageDeps & { readonly dataDir: string },
): Promise<Storage> {
  const { log, roles, random, namespace, dataDir, clock } = deps;
  checkRedis(redisUrl, redisSurvivesRestarts);
  const opened: { close(): Promise<void> }[] = [];
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    opened.unshift(part);
    return part;
  };
  const closeAll = async (): Promise<void> => {
    for (const part of opened) await part.close();
  };
  const redis = redisOptions(redisUrl, deps);
  const esdb = { connectionString: eventStoreUrl, namespace };
  const source = { kind: 'servers', ...esdb } as const;
  const isAfter: SharedLog['isAfter'] = (one, other) => isLater(source, one, other);
  const kept = projectionsOf(roles);
  try {
    const store = keep(
      await openEsdbEventStore({
        ...esdb,
        onSubscriptionError: (name, error, attempt) =>
          log.warn({ err: error, subscription: name, attempt }, 'a subscription failed and is retried'),
      }),
    );
    const personalKeys = keep(openEsdbPersonalKeys({ ...esdb, random }));
    // If nothing was ever written, no nonce was ever accepted.
    const emptyMeans = (await store.head()) === null ? 'new' : 'lost';
    const nonces = keep(await openRedisNonces({ ...redis, emptyMeans, survivesRestarts: redisSurvivesRestarts }));
    const answers = keep(await openRedisDeliveryAnswers(redis));
    const leases = keep(await openRedisLeases(redis));
    const sharedStatus = keep(await openRedisSharedStatus(redis));
    keep(ownerOf(dataDir));
    const follows = { dataDir, log: source, projections: kept.map(projectionId), archiveAfterDays };
    if (settings) await takeSnapshot({ ...settings, follows, store, log });
    const projections = await openProjectionThread(dataDir, follows);
    const readModel = keep(projections.readModel);
    const comparison = keep(new ProjectionComparison(projections.follows));
    const agreement = keep(
      new LookUpAgreement({ follows: projections.follows, sharedStatus, readModel, comparison, log }),
    );
    const snapshots =
      settings && keep(snapshotsOf({ ...settings, follows, store, clock, log }, { projections, agreement }));
    const probe = keep(new StoreProbe({ store, sharedStatus }));
    const certificates = keep(new StoreCertificates(eventStoreUrl));
    const positions = new SeenPositions({ follows: projections.follows, readModel, projections, store });
    const { store: observed, guard } = guardedStore(positions.observe(store));
    return {
      ...{ store: observed, readModel, projections, nonces, personalKeys, answers, leases },
      addressFilter: addressFilterIn(dataDir),
      leaseTtlMs: LEASE_TTL_MS,
      sharedStatus,
      soleWriter: false,
      ownLog: null,
      ...{ positions, agreement, snapshots },
      comparison,
      sharedLog: { guard, isAfter, certificates: () => certificates.expiries() },
      rateLimiter: async (settings) => keep(await openRedisRateLimiter({ ...redis, ...settings })),
      caughtUp: async () => {
        if (positions.written !== null) await projections.caughtUpTo(positions.written);
      },
      health: () => probe.facts(),
      close: closeAll,
    };
  } catch (error) {
    await closeAll().catch(() => {});
    // The adapter's error for an invalid connection string.
    throw error instanceof TypeError ? new InvalidConfig(`EVENTSTORE_URL: ${error.message}`) : error;
  }
}

const redisOptions = (url: string, { namespace, log }: Pick<StorageDeps, 'namespace' | 'log'>) => ({
  url,
  prefix: namespace === '' ? 'quittance' : `quittance-${namespace}`,
  onError: (error: Error) => log.warn({ err: error }, 'the connection to Redis has a fault'),
});

/** Makes this process the only writer of its look-ups. */
function ownerOf(dataDir: string): { close(): Promise<void> } {
  createDataDir(dataDir);
  const lock = acquireWriterLock(dataDir);
  return { close: async () => lock.release() };
}

/** Only complete look-ups on which all processes agree are offered to others. */
function snapshotsOf(
  deps: Omit<LookUpSnapshotsDeps, 'node' | 'doubt'>,
  { projections, agreement }: { readonly projections: ProjectionThread; readonly agreement: LookUpAgreement },
): LookUpSnapshots {
  const doubt = (): string | null => {
    const behind = projections.status().filter(({ hasCaughtUp }) => !hasCaughtUp);
    if (behind.length > 0) return `they are being filled: ${behind.map(({ projection }) => projection).join(', ')}`;
    const { state, detail } = agreement.health();
    return state === 'ok' ? null : (detail ?? state);
  };
  return new LookUpSnapshots({ ...deps, node: nodeName(deps.follows.dataDir), doubt });
}

/** Throws `InvalidConfig`, which names the setting and shows no password. */
function checkRedis(redisUrl: string, survivesRestarts: boolean): void {
  try {
    const target = parseRedisUrl(redisUrl);
    const { kind } = target;
    trustOf(target);
    if (survivesRestarts && kind !== 'single')
      throw new InvalidConfig(
        'REDIS_SURVIVES_RESTARTS is for one server only: a replica that takes over may lack the last nonces',
      );
  } catch (error) {
    if (error instanceof InvalidRedisUrl) throw new InvalidConfig(`REDIS_URL ${error.message}`);
    throw error;
  }
}
