import { openEsdbEventStore } from '../adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../adapters/esdb/personal-keys.ts';
import { isAfter, parsePosition } from '../adapters/esdb/position.ts';
import { openRedisChainStatus } from '../adapters/redis/chain-status.ts';
import { openRedisDeliveryAnswers } from '../adapters/redis/delivery-answers.ts';
import { openRedisLeases } from '../adapters/redis/leases.ts';
import { openRedisNonces } from '../adapters/redis/nonces.ts';
import { openRedisRateLimiter } from '../adapters/redis/rate-limiter.ts';
import { openRedisReadModel } from '../adapters/redis/read-model.ts';
import { InvalidRedisUrl, parseRedisUrl } from '../adapters/redis/url.ts';
import { InvalidConfig } from '../config.ts';
import { guardedStore } from './guarded-store.ts';
import { ProjectionComparison } from './workers/projection-compare.ts';
import { SharedProjections } from './shared-projections.ts';
import { StoreProbe } from './store-probe.ts';
import type { StorageDeps, Storage } from './storage-parts.ts';

export interface SharedServers {
  /** `esdb://...` */
  readonly eventStoreUrl: string;
  /** One of the forms of `parseRedisUrl`. */
  readonly redisUrl: string;
  readonly redisSurvivesRestarts: boolean;
}

/** How long the others wait for a process that was killed; one that stalls for longer loses its work to them. */
const LEASE_TTL_MS = 8_000;

/**
 * Everything that outlives a process, on servers that all processes share: the ledger and the personal keys in EventStoreDB, what may be
 * lost in Redis.
 */
export async function openDistributed(
  { eventStoreUrl, redisUrl, redisSurvivesRestarts }: SharedServers,
  deps: StorageDeps & { readonly dataDir: string },
): Promise<Storage> {
  const { log, roles, clock, random, namespace, dataDir } = deps;
  checkRedis(redisUrl, redisSurvivesRestarts);
  const opened: { close(): Promise<void> }[] = [];
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    opened.unshift(part);
    return part;
  };
  const closeAll = async (): Promise<void> => {
    for (const part of opened) await part.close();
  };
  const redis = {
    url: redisUrl,
    prefix: namespace === '' ? 'quittance' : `quittance-${namespace}`,
    onError: (error: Error) => log.warn({ err: error }, 'the connection to Redis has a fault'),
  };
  const esdb = { connectionString: eventStoreUrl, namespace };
  try {
    const store = keep(
      await openEsdbEventStore({
        ...esdb,
        onSubscriptionError: (name, error, attempt) => log.warn({ err: error, subscription: name, attempt }, 'a subscription failed and is repeated'),
      }),
    );
    const personalKeys = keep(openEsdbPersonalKeys({ ...esdb, random }));
    // Where nothing was ever written, no nonce was ever accepted.
    const emptyMeans = (await store.head()) === null ? 'new' : 'lost';
    const nonces = keep(await openRedisNonces({ ...redis, emptyMeans, survivesRestarts: redisSurvivesRestarts }));
    const readModel = keep(await openRedisReadModel(redis));
    // Whoever writes has an instance of its own: it knows what it wrote last.
    const projectedModel = keep(await openRedisReadModel(redis));
    const writtenModel = keep(await openRedisReadModel(redis));
    const answers = keep(await openRedisDeliveryAnswers(redis));
    const leases = keep(await openRedisLeases(redis));
    const chainStatus = keep(await openRedisChainStatus(redis));
    const projections = new SharedProjections({ store, projectedModel, readModel, leases, ttlMs: LEASE_TTL_MS, clock, log, runs: roles.worker });
    const servers = { eventStoreUrl, namespace, redis: { url: redisUrl, prefix: redis.prefix } };
    const comparison = keep(new ProjectionComparison({ kind: 'servers', dataDir, ...servers }));
    const probe = keep(new StoreProbe({ store, readModel }));
    const guarded = guardedStore(projections.observe(store));
    return {
      store: guarded.store,
      readModel,
      writtenModel,
      projections,
      nonces,
      personalKeys,
      answers,
      leases,
      leaseTtlMs: LEASE_TTL_MS,
      chainStatus,
      soleWriter: false,
      ownLog: null,
      comparison,
      sharedLog: { guard: guarded.guard, isAfter: (one, other) => isAfter(parsePosition(one), parsePosition(other)) },
      rateLimiter: async (settings) => keep(await openRedisRateLimiter({ ...redis, ...settings })),
      caughtUp: () => projections.caughtUp(),
      health: () => probe.facts(),
      close: closeAll,
    };
  } catch (error) {
    await closeAll().catch(() => {});
    // The adapter's word for a connection string that no client can be made of.
    throw error instanceof TypeError ? new InvalidConfig(`EVENTSTORE_URL: ${error.message}`) : error;
  }
}

/** Throws `InvalidConfig`, which names the setting and shows no password. */
function checkRedis(redisUrl: string, survivesRestarts: boolean): void {
  try {
    const { kind } = parseRedisUrl(redisUrl);
    if (survivesRestarts && kind !== 'single')
      throw new InvalidConfig('REDIS_SURVIVES_RESTARTS is for one server only: a replica that takes over may lack the last nonces');
  } catch (error) {
    if (error instanceof InvalidRedisUrl) throw new InvalidConfig(`REDIS_URL ${error.message}`);
    throw error;
  }
}
