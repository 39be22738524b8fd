import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startSignerProcess } from '../../src/adapters/signer/process.ts';
import { callAdmin } from '../../src/cli/admin-client.ts';
import type { AdminArguments } from '../../src/operator/server/commands.ts';
import type { SandboxClusterFile } from '../../src/composition/sandbox-node.ts';
import { sandboxNamespace } from '../../src/sandbox/master-key.ts';
import { addressFamilyOf, isNetwork, type Network } from '../../src/domain/networks/networks.ts';
import { silentLog } from '../../src/ports/log.ts';
import type { TreasuryAddresses } from '../../src/ports/outgoing/signer.ts';
import { startSandboxChains, type SandboxChains } from '../../src/sandbox/chains.ts';
import { STARTERS } from '../../src/sandbox/starters.ts';
import { ENDS_WITH_PARENT } from '../support/ends-with-parent.ts';
import type { RestartRequest } from '../support/esdb-double/main.ts';
import { RedisServer } from '../support/redis-server.ts';
import { freePort } from '../support/free-port.ts';
import { RedisNetwork, type RedisLink } from './redis-network.ts';
import { TcpProxy } from './tcp-proxy.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const READY_MS = 240_000;
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Addresses for hours of orders, and what restarts of API nodes leave unused. */
const SOLANA_POOL = 5_000;

export type NodeName = 'api-1' | 'api-2' | 'worker-1' | 'worker-2' | 'signer';
const ROLES: Readonly<Record<NodeName, string>> = {
  'api-1': 'api',
  'api-2': 'api',
  'worker-1': 'worker',
  'worker-2': 'worker',
  signer: 'signer',
};
export const NODES = Object.keys(ROLES) as readonly NodeName[];

/** The networks that are named; without any, those that the least is needed for. Throws `RangeError`. */
export function networksNamed(names: readonly string[]): readonly Network[] {
  const foreign = names.find((name) => !isNetwork(name));
  if (foreign !== undefined) throw new RangeError(`${foreign} is no network`);
  return names.length === 0 ? ['ethereum', 'bsc'] : names.filter(isNetwork);
}

export interface ClusterOptions {
  readonly networks: readonly Network[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logLevel?: string;
  /** Redis in a network namespace, where the machine allows one; else the links are proxies. */
  readonly namespace?: boolean;
}

/** One process of the cluster, which may be killed, frozen and cut off. */
export class ClusterNode {
  readonly name: NodeName;
  readonly dataDir: string;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly redis: RedisLink;
  readonly #env: Readonly<Record<string, string>>;
  readonly #file: string;
  #child: ChildProcess | null = null;

  constructor(
    name: NodeName,
    parts: {
      dataDir: string;
      port: number;
      opsPort: number;
      redis: RedisLink;
      env: Readonly<Record<string, string>>;
      file: string;
    },
  ) {
    this.name = name;
    this.dataDir = parts.dataDir;
    this.baseUrl = `http://127.0.0.1:${parts.port}`;
    this.opsUrl = `http://127.0.0.1:${parts.opsPort}`;
    this.redis = parts.redis;
    this.#env = parts.env;
    this.#file = parts.file;
    mkdirSync(this.dataDir, { recursive: true });
  }

  get logFile(): string {
    return join(this.dataDir, 'output.log');
  }

  begin(): void {
    const log = openSync(this.logFile, 'a');
    this.#child = spawn(process.execPath, ['bin/quittance.mjs', 'sandbox', 'node', this.#file], {
      cwd: ROOT,
      env: { ...process.env, ...ENDS_WITH_PARENT, ...this.#env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
  }

  /** Begun, and neither ended nor killed since. */
  get isAlive(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async ready(): Promise<void> {
    const deadline = Date.now() + READY_MS;
    while (!(await isReady(this.opsUrl))) {
      if (this.#child?.exitCode !== null || Date.now() > deadline)
        throw new Error(`${this.name} did not begin:\n${readFileSync(this.logFile, 'utf8').slice(-3_000)}`);
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGCONT');
    child.kill(signal);
    await once(child, 'exit');
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  killNow(): void {
    this.#child?.kill('SIGKILL');
  }
}

/**
 * Two API nodes behind a proxy, two workers, a signer, a real Redis, local chains, and the store: the double unless
 * `EVENTSTORE_URL` names one.
 */
export class Cluster {
  readonly directory: string;
  readonly masterKey = randomBytes(32).toString('hex');
  readonly nodes = new Map<NodeName, ClusterNode>();
  readonly target: string;
  readonly storeUrl: string;
  readonly redis: RedisServer;
  readonly chains: SandboxChains;
  readonly #double: ChildProcess | null;
  readonly #network: RedisNetwork | { readonly reason: string };
  #balancer: Server | null = null;
  #turn = 0;
  treasury: TreasuryAddresses = { evm: '', tron: '', solana: '' };

  private constructor(parts: {
    directory: string;
    storeUrl: string;
    double: ChildProcess | null;
    redis: RedisServer;
    network: RedisNetwork | { readonly reason: string };
    chains: SandboxChains;
  }) {
    this.directory = parts.directory;
    this.storeUrl = parts.storeUrl;
    this.#double = parts.double;
    this.redis = parts.redis;
    this.#network = parts.network;
    this.chains = parts.chains;
    this.target = parts.double ? 'the wire-level DOUBLE, no real server' : 'a REAL server at EVENTSTORE_URL';
    process.once('exit', this.#killNow);
    // Without these a signal would end this process alone.
    for (const signal of ENDING) process.once(signal, this.#exitNow);
  }

  static async start({ networks, env = {}, logLevel = 'warn', namespace = false }: ClusterOptions): Promise<Cluster> {
    const directory = mkdtempSync(join(tmpdir(), 'quittance-cluster-'));
    const given = process.env['EVENTSTORE_URL'];
    const double =
      given === undefined
        ? fork(join(ROOT, 'test/support/esdb-double/main.ts'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
        : null;
    const network = namespace ? RedisNetwork.create() : { reason: 'not asked for' };
    const [redis, chains, storeUrl] = await Promise.all([
      RedisServer.start(network instanceof RedisNetwork ? { place: network.place } : {}),
      startSandboxChains({
        dataDir: directory,
        log: silentLog,
        starters: Object.fromEntries(networks.map((it) => [it, STARTERS[it]!])),
      }),
      given ?? firstLine(double!),
    ]);
    const [missing] = chains.unavailable;
    if (missing) throw new Error(`${missing.network}: ${missing.reason}`);
    const cluster = new Cluster({ directory, storeUrl, double, redis, network, chains });
    try {
      await cluster.#begin(env, logLevel);
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  /** What a cut between a node and Redis is. */
  get cuts(): string {
    return this.#network instanceof RedisNetwork
      ? 'links into the network namespace of Redis, taken down'
      : `proxies that swallow what is sent (no namespace: ${this.#network.reason})`;
  }

  get namespace(): string {
    return sandboxNamespace(this.masterKey);
  }

  /** What a load balancer would answer on. */
  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#balancer!.address() as AddressInfo).port}`;
  }

  node(name: NodeName): ClusterNode {
    return this.nodes.get(name)!;
  }

  /** `quittance merchant create` and the like, on a node. */
  admin(command: string, args: AdminArguments, node: NodeName = 'api-1'): Promise<unknown> {
    return callAdmin(this.node(node).dataDir, command, args);
  }

  /**
   * The store goes away in the middle of appends that it stored and did not answer. False where the store is not ours
   * to break.
   */
  restartStore(how: RestartRequest): boolean {
    return this.#double?.send(how) ?? false;
  }

  async close(): Promise<void> {
    process.removeListener('exit', this.#killNow);
    for (const signal of ENDING) process.removeListener(signal, this.#exitNow);
    await Promise.all([...this.nodes.values()].map((node) => node.kill('SIGTERM')));
    this.#balancer?.closeAllConnections();
    this.#balancer?.close();
    await Promise.all([...this.nodes.values()].map(({ redis }) => redis.close()));
    await Promise.all([this.chains.close(), this.redis.stop()]);
    if (this.#network instanceof RedisNetwork) this.#network.close();
    this.#double?.kill('SIGTERM');
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #begin(env: Readonly<Record<string, string>>, logLevel: string): Promise<void> {
    const file = join(this.directory, 'cluster.json');
    writeFileSync(file, JSON.stringify(await this.#facts()), { mode: 0o600 });
    this.#balancer = await this.#balance();
    const snapshots = join(this.directory, 'snapshots');
    mkdirSync(snapshots);
    for (const [index, name] of NODES.entries()) {
      const redis = await this.#link();
      const [nodePort, opsPort] = [await freePort(), await freePort()];
      const dataDir = join(this.directory, name);
      this.nodes.set(
        name,
        new ClusterNode(name, {
          dataDir,
          port: nodePort,
          opsPort,
          redis,
          file,
          env: {
            ROLES: ROLES[name],
            NODE_NUMBER: String(index + 1),
            DATA_DIR: dataDir,
            PORT: String(nodePort),
            OPS_PORT: String(opsPort),
            PUBLIC_URL: this.baseUrl,
            MASTER_KEY: this.masterKey,
            EVENTSTORE_URL: this.storeUrl,
            REDIS_URL: redis.url,
            SIGNER_JOURNAL_DIR: join(this.directory, `${name}-journal`),
            LOOK_UP_SNAPSHOT_DIR: snapshots,
            LOG_LEVEL: logLevel,
            ...env,
          },
        }),
      );
    }
    for (const node of this.nodes.values()) node.begin();
    await Promise.all([...this.nodes.values()].map((node) => node.ready()));
  }

  #link(): RedisLink | Promise<RedisLink> {
    const { hostname: host, port } = new URL(this.redis.url);
    return this.#network instanceof RedisNetwork
      ? this.#network.link(Number(port))
      : TcpProxy.start({ host, port: Number(port) });
  }

  /** The wallet is made once, by the same program that signs with it later. */
  async #facts(): Promise<SandboxClusterFile> {
    const walletDirectory = join(this.directory, 'wallet');
    const signer = await startSignerProcess({
      directory: this.directory,
      wallets: { test: { kind: 'sandbox', directory: walletDirectory } },
      log: silentLog,
    });
    try {
      const { evmXpub, tronXpub } = await signer.exportWatchOnly('test', 0);
      const solanaPool = await signer.exportSolanaKeys('test', 0, SOLANA_POOL);
      this.treasury = await signer.treasuryAddresses('test');
      const { chains } = this.chains;
      for (const chain of chains) await chain.fundTreasury?.(this.treasury[addressFamilyOf(chain.settings.network)]);
      const networks = chains.map(({ settings, rpcUrl }) => ({ settings, urls: [rpcUrl] }));
      return { networks, watchOnly: { evmXpub, tronXpub, solanaPool }, treasury: this.treasury, walletDirectory };
    } finally {
      await signer.close();
    }
  }

  /** By turns to the API nodes; a node that does not take the connection is passed over. */
  async #balance(): Promise<Server> {
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const nodes = [...this.nodes.values()].filter(({ name }) => ROLES[name] === 'api');
        this.#turn += 1;
        const order = nodes.map((_, index) => nodes[(this.#turn + index) % nodes.length]!);
        const forward = ([node, ...others]: readonly ClusterNode[]): void => {
          if (!node) return void outgoing.writeHead(502).end('{}');
          const passed = request(
            node.baseUrl + incoming.url!,
            { method: incoming.method, headers: incoming.headers, agent: false },
            (answer) => {
              outgoing.writeHead(answer.statusCode!, answer.headers);
              answer.pipe(outgoing);
            },
          );
          passed.on('error', () => (outgoing.headersSent ? outgoing.destroy() : forward(others)));
          passed.end(Buffer.concat(chunks));
        };
        forward(order);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  readonly #exitNow = (): void => process.exit(1);

  readonly #killNow = (): void => {
    for (const node of this.nodes.values()) node.killNow();
    this.#double?.kill('SIGKILL');
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [bytes] = (await once(child.stdout!, 'data')) as [Buffer];
  child.stdout!.resume();
  return bytes.toString().trim();
}

async function isReady(opsUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}
