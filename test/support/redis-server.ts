import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A real redis-server of its own on a free port, without persistence unless asked for; it dies with the test. */
export class RedisServer {
  readonly url: string;
  readonly #port: number;
  readonly #dir: string;
  readonly #appendOnly: boolean;
  #child: ChildProcess | null = null;

  private constructor(port: number, appendOnly: boolean) {
    this.#port = port;
    this.#appendOnly = appendOnly;
    this.url = `redis://127.0.0.1:${port}`;
    this.#dir = mkdtempSync(join(tmpdir(), 'quittance-redis-'));
    process.once('exit', this.#killNow);
  }

  static async start({ appendOnly = false } = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), appendOnly);
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
    const options = ['--port', String(this.#port), '--bind', '127.0.0.1', '--dir', this.#dir, '--save', '', ...persistence];
    const child = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'ignore'] });
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

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
