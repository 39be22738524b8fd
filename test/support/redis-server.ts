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

const HERE: ServerPlace = { host: '127.0.0.1', command: [] };

/** A real redis-server of its own on a free port, without persistence unless asked for; it dies with the test. */
export class RedisServer {
  readonly url: string;
  readonly #port: number;
  readonly #dir: string;
  readonly #appendOnly: boolean;
  readonly #place: ServerPlace;
  #child: ChildProcess | null = null;

  private constructor(port: number, appendOnly: boolean, place: ServerPlace) {
    this.#port = port;
    this.#appendOnly = appendOnly;
    this.#place = place;
    this.url = `redis://${place.host}:${port}`;
    this.#dir = mkdtempSync(join(tmpdir(), 'quittance-redis-'));
    process.once('exit', this.#killNow);
  }

  static async start({ appendOnly = false, place = HERE } = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), appendOnly, place);
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
    const words = [...command, 'redis-server', '--port', String(this.#port), ...where, '--dir', this.#dir, '--save', '', ...persistence];
    const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('Ready to accept connections')) break;
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
