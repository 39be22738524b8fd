import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';

/** Where a server runs, and the words before its command line. */
export interface ServerPlace {
  readonly host: string;
  readonly command: readonly string[];
}

/** As `ops/docker/secure.yml` starts it: no port without TLS, a password, no certificates asked of clients. */
export interface RedisTls {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly password: string;
}

const tlsWords = ({ certFile, keyFile, caFile, password }: RedisTls, port: number): string[] => [
  ...['--port', '0', '--tls-port', String(port), '--tls-cert-file', certFile, '--tls-key-file', keyFile],
  ...['--tls-ca-cert-file', caFile, '--tls-auth-clients', 'no', '--requirepass', password],
];

const HERE: ServerPlace = { host: '127.0.0.1', command: [] };

/** A real redis-server of its own on a free port, without persistence unless asked for; it dies with the test. */
export class RedisServer {
  readonly url: string;
  readonly #port: number;
  readonly #dir: string;
  readonly #appendOnly: boolean;
  readonly #place: ServerPlace;
  readonly #tls: RedisTls | null;
  #child: ChildProcess | null = null;

  private constructor(port: number, appendOnly: boolean, place: ServerPlace, tls: RedisTls | null) {
    this.#port = port;
    this.#tls = tls;
    this.#appendOnly = appendOnly;
    this.#place = place;
    this.url = tls ? `rediss://:${tls.password}@localhost:${port}` : `redis://${place.host}:${port}`;
    this.#dir = mkdtempSync(join(tmpdir(), 'quittance-redis-'));
    process.once('exit', this.#killNow);
  }

  static async start({ appendOnly = false, place = HERE, tls = null as RedisTls | null } = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), appendOnly, place, tls);
    await server.restart();
    return server;
  }

  /** SIGKILL; what was not on disk is lost. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async restart(): Promise<void> {
    await this.kill();
    const persistence = this.#appendOnly ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
    const { host, command } = this.#place;
    // A namespace of its own is reached over the links into it only; the server takes them all.
    const where = command.length === 0 ? ['--bind', host] : ['--bind', '0.0.0.0', '--protected-mode', 'no'];
    const port = this.#tls ? tlsWords(this.#tls, this.#port) : ['--port', String(this.#port)];
    const words = [...command, 'redis-server', ...port, ...where, '--dir', this.#dir, '--save', '', ...persistence];
    const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout }))
      if (line.includes('Ready to accept connections')) break;
    child.stdout.resume();
  }

  /** Stops answering without closing anything, as a stalled machine does. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    process.removeListener('exit', this.#killNow);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  readonly #killNow = (): void => void this.#child?.kill('SIGKILL');
}
