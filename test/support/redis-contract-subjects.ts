import { randomUUID } from 'node:crypto';
import { openRedisLeases } from '../../src/adapters/redis/leases.ts';
import { openRedisNonces } from '../../src/adapters/redis/nonces.ts';

/* What the contract suites are run on, each under a prefix of its own, on one server as on a cluster. */

export async function redisNoncesSubject(url: string) {
  const options = { url, prefix: randomUUID(), emptyMeans: 'new' } as const;
  let nonces = await openRedisNonces(options);
  return {
    nonces,
    restart: async () => {
      await nonces.close();
      return (nonces = await openRedisNonces(options));
    },
    commit: () => Promise.reject(new Error('Redis gives no coCommits')),
    dispose: () => nonces.close(),
  };
}

export async function redisLeasesSubject(url: string) {
  const options = { url, prefix: randomUUID() };
  const [mine, theirs] = [await openRedisLeases(options), await openRedisLeases(options)];
  return {
    mine,
    theirs,
    pass: (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms)),
    dispose: async () => void (await Promise.all([mine.close(), theirs.close()])),
  };
}
