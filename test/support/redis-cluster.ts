import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';

const SLOTS = 16_384;
const READY_MS = 60_000;

interface Node {
  readonly port: number;
  readonly busPort: number;
  readonly child: ChildProcess;
  readonly control: Redis;
}

/** A real Redis Cluster of `masters` and as many replicas as asked for, on free ports; it dies with the test. */
export class RedisCluster {
  readonly url: string;
  readonly #directory: string;
  readonly #masters: readonly Node[];
  readonly #replicas: readonly Node[];

  private constructor(directory: string, masters: readonly Node[], replicas: readonly Node[]) {
    this.#directory = directory;
    this.#masters = masters;
    this.#replicas = replicas;
    this.url = `redis+cluster://${[...masters, ...replicas].map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
    process.once('exit', this.#killNow);
  }

  /** The `n`th replica follows the `n`th master. */
  static async start({ masters = 3, replicas = 0 } = {}): Promise<RedisCluster> {
    const directory = mkdtempSync(join(tmpdir(), 'quittance-redis-cluster-'));
    const nodes: Node[] = [];
    for (let index = 0; index < masters + replicas; index += 1)
      nodes.push(await startNode(join(directory, String(index))));
    const cluster = new RedisCluster(directory, nodes.slice(0, masters), nodes.slice(masters));
    try {
      await cluster.#form();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Every key of every master. */
  async keys(): Promise<string[]> {
    return (await Promise.all(this.#masters.map(({ control }) => control.keys('*')))).flat();
  }

  /** How many masters keep at least one key. */
  async spread(): Promise<number> {
    const sizes = await Promise.all(this.#masters.map(({ control }) => control.dbsize()));
    return sizes.filter((size) => size > 0).length;
  }

  freezeMasters(): void {
    for (const { child } of this.#masters) child.kill('SIGSTOP');
  }

  thaw(): void {
    for (const { child } of this.#masters) child.kill('SIGCONT');
  }

  /** The replica of each master that has one takes its place, as after the master's death. */
  async failOver(): Promise<void> {
    for (const [index, { control }] of this.#replicas.entries()) {
      await until('the replica follows', async () =>
        (await control.info('replication')).includes('master_link_status:up'),
      );
      this.#masters[index]!.child.kill('SIGKILL');
      await control.cluster('FAILOVER', 'TAKEOVER');
    }
  }

  async stop(): Promise<void> {
    process.removeListener('exit', this.#killNow);
    for (const { child, control } of [...this.#masters, ...this.#replicas]) {
      control.disconnect();
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #form(): Promise<void> {
    const [first, ...others] = [...this.#masters, ...this.#replicas];
    const share = Math.ceil(SLOTS / this.#masters.length);
    for (const [index, { control }] of this.#masters.entries())
      await control.call('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min(SLOTS, (index + 1) * share) - 1);
    for (const { port, busPort } of others) await first!.control.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
    for (const { control } of [first!, ...others])
      await until('the nodes know each other', () => knows(control, others.length + 1));
    for (const [index, { control }] of this.#replicas.entries())
      await control.cluster('REPLICATE', await this.#masters[index]!.control.cluster('MYID'));
    for (const { control } of [first!, ...others]) {
      await until('the cluster is formed', async () => (await control.cluster('INFO')).includes('cluster_state:ok'));
      await until(
        'the roles are known',
        async () =>
          (await members(control)).filter((member) => /\bslave\b/.test(member)).length === this.#replicas.length,
      );
    }
  }

  readonly #killNow = (): void => [...this.#masters, ...this.#replicas].forEach(({ child }) => child.kill('SIGKILL'));
}

/** One line a node: https://redis.io/docs/latest/commands/cluster-nodes/ */
const members = async (control: Redis): Promise<string[]> =>
  String(await control.cluster('NODES'))
    .trim()
    .split('\n');

/** A node in handshake counts as known, but hears nothing for up to the node timeout when its handshake was lost. */
const knows = async (control: Redis, nodes: number): Promise<boolean> => {
  const found = await members(control);
  return (
    found.length === nodes &&
    found.every((member) => / connected\b/.test(member) && !/\bhandshake\b|\bnoaddr\b/.test(member))
  );
};

async function startNode(directory: string): Promise<Node> {
  mkdirSync(directory, { recursive: true });
  const [port, busPort] = [await freePort(), await freePort()];
  const options = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'cluster-node-timeout': 30_000,
    'repl-diskless-sync-delay': 0,
  };
  const child = spawn(
    'redis-server',
    Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  );
  const control = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 100, maxRetriesPerRequest: null });
  control.on('error', () => {});
  await control.ping();
  return { port, busPort, child, control };
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const untilMs = Date.now() + READY_MS; Date.now() < untilMs; await sleep(50)) if (await condition()) return;
  throw new Error(`Redis Cluster: ${what} did not come true`);
}
