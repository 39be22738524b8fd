import { Redis } from 'ioredis';
import type { ClusterNode, NodeName } from './cluster.ts';
import { LOOK_UP_ROUNDS, type Round } from './look-up-rounds.ts';

/* What the chaos rounds do to a loaded cluster. */

const HURT_MS = Number(process.env['CHAOS_SECONDS'] ?? 60) * 1000;
const DOWN_MS = 3_000;

export const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const killed = (name: NodeName): Round => ({
  name: `kill -9 ${name}`,
  hurt: async (cluster) => {
    await cluster.node(name).kill('SIGKILL');
    await wait(DOWN_MS);
    await startAgain(cluster.node(name));
  },
});

const startAgain = async (node: ClusterNode): Promise<void> => {
  node.begin();
  await node.ready();
};

const frozen = (name: NodeName): Round => ({
  name: `freeze ${name}`,
  hurt: async (cluster) => {
    cluster.node(name).freeze();
    await wait(HURT_MS);
    cluster.node(name).thaw();
  },
});

const cutOff = (name: NodeName): Round => ({
  name: `cut ${name} off from Redis`,
  hurt: async (cluster) => {
    cluster.node(name).redis.cut();
    await wait(HURT_MS / 2);
    cluster.node(name).redis.mend();
  },
});

export const ROUNDS: readonly Round[] = [
  { name: 'no fault', hurt: () => wait(2_000) },
  killed('api-1'),
  killed('worker-1'),
  killed('worker-2'),
  killed('signer'),
  {
    name: 'kill -9 every node at once',
    hurt: async ({ nodes }) => {
      await Promise.all([...nodes.values()].map((node) => node.kill('SIGKILL')));
      await wait(DOWN_MS);
      await Promise.all([...nodes.values()].map(startAgain));
    },
  },
  {
    // What a new version is rolled out by.
    name: 'SIGTERM to each node in turn',
    hurt: async ({ nodes }) => {
      for (const node of nodes.values()) {
        await node.kill('SIGTERM');
        await startAgain(node);
      }
    },
  },
  {
    name: 'kill -9 Redis, back empty',
    hurt: async ({ redis }) => {
      await redis.kill();
      await wait(DOWN_MS);
      await redis.restart();
    },
  },
  {
    name: 'FLUSHALL',
    hurt: async (cluster) => {
      const redis = new Redis(cluster.redis.url);
      await redis.flushall();
      redis.disconnect();
    },
  },
  {
    name: 'FLUSHALL ten times',
    hurt: async (cluster) => {
      const redis = new Redis(cluster.redis.url);
      // At times when the old holder of the projections' lease has not noticed yet, and when it has.
      for (const pauseMs of [100, 400, 900, 1_500, 2_200, 3_000, 300, 700, 4_000, 6_000]) {
        await redis.flushall();
        await wait(pauseMs);
      }
      redis.disconnect();
    },
  },
  {
    name: 'store restarts, appends stored and unanswered',
    hurt: async (cluster) => {
      if (!cluster.restartStore({ unanswered: 12, downMs: DOWN_MS })) return 'this store is not ours to restart';
      await wait(DOWN_MS + 4_000);
      return undefined;
    },
  },
  cutOff('worker-1'),
  frozen('worker-1'),
  frozen('signer'),
  frozen('api-2'),
  cutOff('worker-2'),
  frozen('worker-2'),
  cutOff('api-1'),
  ...LOOK_UP_ROUNDS,
];
