import { openEsdbEventStore } from '../../adapters/esdb/event-store.ts';
import { connectRedis } from '../../adapters/redis/connection.ts';
import type { Config } from '../../config.ts';
import { fault, ok, warning, type Finding } from './finding.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

const ANSWER_MS = 2_000;

/** The servers of the distributed profile. */
export async function storeFindings({ EVENTSTORE_URL: eventStoreUrl, REDIS_URL: redisUrl }: Config): Promise<Finding[]> {
  const found = await Promise.all([eventStoreUrl ? eventStore(eventStoreUrl) : null, redisUrl ? redis(redisUrl) : null]);
  return found.flatMap((finding) => finding ?? []);
}

async function eventStore(connectionString: string): Promise<Finding> {
  try {
    const store = await openEsdbEventStore({ connectionString, namespace: '', attemptMs: ANSWER_MS, totalMs: ANSWER_MS });
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

async function redis(address: string): Promise<Finding> {
  try {
    const client = await connectRedis({ url: address });
    try {
      const answer: unknown = await client.config('GET', 'maxmemory-policy').catch(() => null);
      const policy = Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : undefined;
      return policy === undefined || policy === 'noeviction'
        ? ok('redis', 'answers')
        : warning('redis', `maxmemory-policy is ${policy}: an evicted nonce could be used again`, 'set maxmemory-policy noeviction');
    } finally {
      client.disconnect();
    }
  } catch (error) {
    return fault('redis', messageOf(error), 'check REDIS_URL and whether the server runs');
  }
}
