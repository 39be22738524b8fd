import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { readModelFile } from '../../src/adapters/sqlite/read-model/schema.ts';
import type { Cluster, ClusterNode, NodeName } from './cluster.ts';
import type { Load } from './load.ts';

/*
 * Faults around look-ups: nodes that die while they copy, take or rebuild them, an upgrade of all nodes at once, and a
 * file that somebody changed.
 */

export interface Round {
  readonly name: string;
  /** Resolves to why, where the fault cannot be caused: the round then says nothing. */
  readonly hurt: (cluster: Cluster, load: Load) => Promise<string | void>;
}

const NOTICED_MS = 180_000;
/** So soon is a node in the middle of it. */
const INTO_MS = [60, 200, 500];

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** As a build that keeps other look-ups finds them, and as a new node does. */
const forgetLookUps = ({ dataDir }: ClusterNode): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(readModelFile(dataDir) + end, { force: true });
  rmSync(join(dataDir, 'read-model.log'), { force: true });
};

const beganWithSnapshot = ({ logFile }: ClusterNode): number =>
  readFileSync(logFile, 'utf8').split('look-ups start from a snapshot').length - 1;

async function begunAgain(node: ClusterNode): Promise<void> {
  node.begin();
  await node.ready();
}

const whileAsked = (name: NodeName, command: string, what: string): Round => ({
  name: `kill -9 ${name} ${what}`,
  hurt: async (cluster) => {
    for (const intoMs of INTO_MS) {
      const asked = cluster.admin(command, {}, name).catch(() => null);
      await wait(intoMs);
      await cluster.node(name).kill('SIGKILL');
      await asked;
      await begunAgain(cluster.node(name));
    }
  },
});

/** Fails the run when the node did not do what the round is about. */
const expectSnapshot = (node: ClusterNode, before: number): void => {
  if (beganWithSnapshot(node) <= before) throw new Error(`${node.name} did not begin with a snapshot`);
};

export const LOOK_UP_ROUNDS: readonly Round[] = [
  whileAsked('api-2', 'projection.snapshot', 'while it makes a snapshot'),
  whileAsked('worker-1', 'projection.rebuild', 'while it rebuilds its look-ups'),
  {
    name: 'kill -9 api-2 while it begins with a snapshot',
    hurt: async (cluster) => {
      await cluster.admin('projection.snapshot', {}, 'api-1');
      const node = cluster.node('api-2');
      for (const intoMs of [1_500, 2_500, 4_000]) {
        await node.kill('SIGKILL');
        forgetLookUps(node);
        node.begin();
        await wait(intoMs);
      }
      await node.kill('SIGKILL');
      forgetLookUps(node);
      const before = beganWithSnapshot(node);
      await begunAgain(node);
      expectSnapshot(node, before);
    },
  },
  {
    name: 'upgrade of every node at once, half of them killed meanwhile',
    hurt: async (cluster) => {
      // Each role begins with the look-ups that it keeps.
      for (const name of ['api-1', 'worker-1'] as const) await cluster.admin('projection.snapshot', {}, name);
      const nodes = [...cluster.nodes.values()];
      await Promise.all(nodes.map((node) => node.kill('SIGTERM')));
      for (const node of nodes) forgetLookUps(node);
      for (const node of nodes) node.begin();
      await wait(3_000);
      const struck = nodes.filter((_, index) => index % 2 === 0);
      for (const node of struck) await node.kill('SIGKILL');
      for (const node of struck) forgetLookUps(node);
      const before = struck.map(beganWithSnapshot);
      for (const node of struck) node.begin();
      await Promise.all(nodes.map((node) => node.ready()));
      for (const [index, node] of struck.entries()) if (node.name !== 'signer') expectSnapshot(node, before[index]!);
    },
  },
  {
    name: 'look-ups changed in the file of api-2',
    hurt: async (cluster) => {
      const node = cluster.node('api-2');
      await node.kill('SIGTERM');
      const file = new DatabaseSync(readModelFile(node.dataDir));
      const { id } = file.prepare('SELECT id FROM row_tables WHERE name = ?').get(SESSIONS_TABLE) as { id: number };
      // Only a row that an event changes is read again, so all are changed: those of orders on their way are among them.
      file.exec(`UPDATE rows_${id} SET row = json_set(row, '$.taxAmount', '7.77')`);
      file.close();
      node.begin();
      const untilMs = Date.now() + NOTICED_MS;
      while (!(await isOut(node))) {
        if (Date.now() > untilMs) throw new Error('api-2 did not take itself out');
        await wait(500);
      }
      if (await isOut(cluster.node('api-1'))) throw new Error('api-1 took itself out, too');
      await cluster.admin('projection.rebuild', {}, 'api-2');
      await node.ready();
    },
  },
  {
    name: 'FLUSHALL ten times, lists read all the time',
    hurt: async (cluster, load) => {
      const redis = new Redis(cluster.redis.url);
      const faults: string[] = [];
      let isDone = false;
      const reading = Promise.all(
        (['api-1', 'api-2'] as const).map((name) => readLists(cluster.node(name), load, () => isDone, faults)),
      );
      for (let time = 0; time < 10; time += 1) {
        await redis.flushall();
        await wait(700);
      }
      isDone = true;
      const reads = await reading;
      redis.disconnect();
      if (faults.length > 0) throw new Error(faults.join('\n'));
      console.error(`lists read during FLUSHALL: ${reads.join(' and ')}, none shorter than before`);
    },
  },
];

async function isOut({ opsUrl }: ClusterNode): Promise<boolean> {
  try {
    const { checks } = (await (await fetch(`${opsUrl}/readyz`)).json()) as {
      checks: readonly { name: string; state: string }[];
    };
    return checks.some(({ name, state }) => name === 'look-ups-agree' && state === 'down');
  } catch {
    return false;
  }
}

/** Answers how often; no answer may be refused or shorter than one before. */
async function readLists(node: ClusterNode, load: Load, isDone: () => boolean, faults: string[]): Promise<number> {
  let [longest, reads] = [0, 0];
  for (; !isDone(); reads += 1) {
    const list = await load.call('GET', '/v1/payment/sessions?page_size=100', undefined, undefined, node.baseUrl);
    const length = (list?.json['data'] as unknown[] | undefined)?.length ?? -1;
    if (list?.status !== 200 || length < longest)
      faults.push(`${node.name} answered ${list?.status} with ${length} sessions after ${longest}`);
    longest = Math.max(longest, length);
    await wait(50);
  }
  return reads;
}
