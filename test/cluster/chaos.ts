import { Redis } from 'ioredis';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { Cluster, type ClusterNode, networksNamed, type NodeName } from './cluster.ts';
import { Load, type Merchant } from './load.ts';
import { LOOK_UP_ROUNDS, type Round } from './look-up-rounds.ts';
import { verify } from './verify.ts';

/*
 * `npm run test:chaos [round ...]`: faults in a loaded cluster, and after each the question whether anything was lost,
 * doubled or left undone. `CHAOS_SECONDS` (default 60) is how long something stays frozen or cut off, `CHAOS_EVERY_MS`
 * (default 500) the pace of new orders,
 * `CHAOS_NETWORKS` (default `ethereum,bsc`) where they are paid.
 */

const HURT_MS = Number(process.env['CHAOS_SECONDS'] ?? 60) * 1000;
const EVERY_MS = Number(process.env['CHAOS_EVERY_MS'] ?? 500);
const BEFORE_MS = 4_000;
const AFTER_MS = 6_000;
const DOWN_MS = 3_000;

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

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

const ROUNDS: readonly Round[] = [
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
      cluster.restartStore({ unanswered: 12, downMs: DOWN_MS });
      await wait(DOWN_MS + 4_000);
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

const SAMPLES = 200;

/** From the answer of one node to the moment the other one lists the session, in ms. */
async function listingDelays(load: Load, one: string, other: string): Promise<number[]> {
  const delays: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const body = { amount: '3.00', currency: 'USDT', order_id: `listed-${sample}` };
    const created = await load.call('POST', '/api/v1/checkout/sessions/create', body, undefined, one);
    const beganMs = performance.now();
    for (;;) {
      const list = await load.call('GET', '/v1/payment/sessions?page_size=5', undefined, undefined, other);
      if ((list?.json['data'] as { id: string }[] | undefined)?.some(({ id }) => id === created?.json['id'])) break;
      await wait(5);
    }
    delays.push(performance.now() - beganMs);
  }
  return delays.sort((first, second) => first - second);
}

const asked = process.argv.slice(2);
const rounds = ROUNDS.filter(({ name }) => asked.length === 0 || asked.some((part) => name.includes(part)));
const cluster = await Cluster.start({
  networks: networksNamed((process.env['CHAOS_NETWORKS'] ?? '').split(',').filter(Boolean)),
  namespace: true,
  logLevel: 'info',
  env: { SWEEP_FROM: '1.00', AUDIT_CHECKPOINT_SECONDS: '5' },
});
const inbox = await startWebhookReceiver();
let violations = 0;
try {
  const paidOn = cluster.chains.chains.map(({ settings }) => settings.network).join(', ');
  console.log(
    `The store is ${cluster.target}; orders are paid on ${paidOn}. New orders every ${EVERY_MS} ms; three of four are paid, a third of those refunded, all swept.`,
  );
  console.log(`Cuts from Redis are ${cluster.cuts}.\n`);
  console.log(
    '| fault under load | sessions | payments | refunds | notifications | delivered again | longest wait for an answer | violations |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  for (const round of rounds) {
    const merchant = (await cluster.admin(
      'merchant.create',
      { name: 'Shop', mode: 'test', webhookUrl: inbox.url },
      'api-2',
    )) as Merchant;
    const seenBefore = inbox.received.length;
    const load = new Load(cluster, merchant, { everyMs: EVERY_MS });
    load.begin();
    if (round === ROUNDS[0]) {
      const delays = await listingDelays(load, cluster.node('api-1').baseUrl, cluster.node('api-2').baseUrl);
      const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => delays[Math.ceil(share * SAMPLES) - 1]!.toFixed(0));
      console.error(
        `created on one node, listed on the other: p50 ${p50} ms, p99 ${p99} ms, longest ${longest} ms (${SAMPLES} sessions)`,
      );
    }
    await wait(BEFORE_MS);
    await round.hurt(cluster, load);
    await wait(AFTER_MS);
    await load.end();
    const verdict = await verify(cluster, load, () => inbox.received.slice(seenBefore));
    violations += verdict.violations.length;
    const { sessions, payments, refunds, webhooks, duplicateDeliveries } = verdict;
    const figures = [
      sessions,
      payments,
      refunds,
      webhooks,
      duplicateDeliveries,
      `${(load.longestMs / 1000).toFixed(1)} s`,
      verdict.violations.length,
    ];
    console.log(`| ${round.name} | ${figures.join(' | ')} |`);
    for (const violation of verdict.violations.slice(0, 10)) console.log(`  VIOLATION ${violation}`);
    console.error(`${round.name}: ${JSON.stringify(Object.fromEntries(load.statuses))}`);
  }
} finally {
  await inbox.close();
  if (violations === 0 || process.env['KEEP'] === undefined) await cluster.close();
}
console.log(violations === 0 ? '\nNo violation.' : `\n${violations} VIOLATIONS.`);
process.exit(violations === 0 ? 0 : 1);
