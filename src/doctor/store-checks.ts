import { statSync } from 'node:fs';
import { openEsdbEventStore } from '../adapters/esdb/event-store.ts';
import { connectRedis } from '../adapters/redis/connection.ts';
import type { Config } from '../config.ts';
import { shippedIn } from '../backup/shipped-mark.ts';
import { shippingFaults, shippingPlace } from '../backup/shipping-place.ts';
import { fault, ok, warning, type Finding } from './finding.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { must } from '../domain/values/must.ts';
import { authenticationKeys, sealingKeysOrFault } from '../settings/sealing-keys.ts';

const ANSWER_MS = 2_000;

/** The servers of the distributed profile, and the shipping place of the embedded one. */
export async function storeFindings(config: Config): Promise<Finding[]> {
  const { EVENTSTORE_URL: eventStoreUrl, REDIS_URL: redisUrl } = config;
  const found = await Promise.all([
    eventStoreUrl ? eventStore(eventStoreUrl) : null,
    redisUrl ? redis(redisUrl) : null,
    shipping(config),
  ]);
  return found.flatMap((finding) => finding ?? []);
}

async function eventStore(connectionString: string): Promise<Finding> {
  try {
    const store = await openEsdbEventStore({
      connectionString,
      namespace: '',
      attemptMs: ANSWER_MS,
      totalMs: ANSWER_MS,
    });
    try {
      const head = await store.head();
      return ok('event-store', head === null ? 'answers and is empty' : 'answers');
    } finally {
      await store.close();
    }
  } catch (error) {
    return fault('event-store', messageOf(error), 'check EVENTSTORE_URL, its user and whether the server runs');
  }
}

/** Invalid settings are reported with the others. */
async function shipping(config: Config): Promise<Finding | null> {
  if (config.LOG_SHIPPING_TO === undefined || shippingFaults(config).length > 0) return null;
  try {
    const finding = folderFinding(config.LOG_SHIPPING_TO, config.DATA_DIR);
    if (finding) return finding;
    const shipped = await shippedIn(must(shippingPlace(config)), authenticationKeys(sealingKeysOrFault(config)));
    return ok(
      'log-shipping',
      shipped === null
        ? 'the place answers and holds nothing'
        : `${shipped.end.events} events are there, the last sent ${shipped.end.shipped_at}`,
    );
  } catch (error) {
    return fault(
      'log-shipping',
      messageOf(error),
      'check LOG_SHIPPING_TO, the credentials, and whether the destination is reachable',
    );
  }
}

/** A folder that is not writable, or would be lost together with the disk of the event log. */
function folderFinding(to: string, dataDir: string): Finding | null {
  if (to.startsWith('s3:')) return null;
  const place = statSync(to, { throwIfNoEntry: false });
  if (!place?.isDirectory())
    return fault('log-shipping', `LOG_SHIPPING_TO: ${to} is not a folder`, 'mount or create it');
  if (statSync(dataDir, { throwIfNoEntry: false })?.dev !== place.dev) return null;
  return warning(
    'log-shipping',
    `${to} is on the disk of DATA_DIR and would be lost with it`,
    'mount a folder of another machine there, or use a bucket',
  );
}

async function redis(address: string): Promise<Finding> {
  try {
    const client = await connectRedis({ url: address });
    try {
      const answer: unknown = await client.config('GET', 'maxmemory-policy').catch(() => null);
      const policy = Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : undefined;
      return policy === undefined || policy === 'noeviction'
        ? ok('redis', 'answers')
        : warning(
            'redis',
            `maxmemory-policy is ${policy}: an evicted nonce could be used again`,
            'set maxmemory-policy noeviction',
          );
    } finally {
      client.disconnect();
    }
  } catch (error) {
    return fault('redis', messageOf(error), 'check REDIS_URL and whether the server runs');
  }
}
