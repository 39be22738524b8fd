import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Quittance } from '../../packages/client/src/client.ts';
import { ENDS_WITH_PARENT } from '../support/ends-with-parent.ts';

const ENTRY = join(import.meta.dirname, '../../bin/quittance.mjs');
const START_MS = 120_000;
const POLL_MS = 200;

export interface SandboxFacts {
  readonly base_url: string;
  readonly merchant: { readonly id: string; readonly api_key: string; readonly api_secret: string };
  readonly networks: Readonly<
    Record<
      string,
      { readonly rpc_url: string; readonly treasury: string; readonly tokens: Readonly<Record<string, string>> }
    >
  >;
}

/** Polls until `probe` gives something. */
export async function until<Value>(
  what: string,
  ms: number,
  probe: () => Promise<Value | null | undefined | false> | Value | null | undefined | false,
): Promise<Value> {
  const endMs = Date.now() + ms;
  let last = '';
  while (Date.now() < endMs) {
    try {
      const value = await probe();
      if (value) return value;
    } catch (error) {
      last = String(error);
    }
    await sleep(POLL_MS);
  }
  throw new Error(`${what}: not within ${ms} ms ${last}`);
}

/** The sandbox as a user runs it, in a process that may be killed. */
export class RunningService {
  readonly facts: SandboxFacts;
  readonly client: Quittance;
  readonly #child: ChildProcess;
  readonly #output: () => string;

  private constructor(child: ChildProcess, output: () => string, facts: SandboxFacts) {
    this.#child = child;
    this.#output = output;
    this.facts = facts;
    this.client = createClient({
      baseUrl: facts.base_url,
      apiKey: facts.merchant.api_key,
      apiSecret: facts.merchant.api_secret,
      maxRetries: 0,
    });
  }

  /** Rejects with the end of what it printed when the process ended before it was ready. */
  static async start(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<RunningService> {
    const service = await RunningService.startUnlessKilled(dataDir, env);
    if (service === null) throw new Error(`the service ended while it started\n${endOf(`${dataDir}.log`)}`);
    return service;
  }

  /** Null when the process ended before it was ready, as it does when it is killed while it recovers. */
  static async startUnlessKilled(
    dataDir: string,
    env: Readonly<Record<string, string>>,
  ): Promise<RunningService | null> {
    const factsFile = join(dataDir, 'sandbox.json');
    const logFile = `${dataDir}.log`;
    rmSync(factsFile, { force: true });
    const before = existsSync(logFile) ? statSync(logFile).size : 0;
    const output = (): string => readFileSync(logFile).subarray(before).toString('utf8');
    const out = openSync(logFile, 'a');
    const given = {
      ...process.env,
      ...ENDS_WITH_PARENT,
      HOST: '127.0.0.1',
      PORT: '0',
      OPS_PORT: '0',
      RATE_LIMIT_PER_KEY: '0',
      DATA_DIR: dataDir,
      ...env,
    };
    const child = spawn(process.execPath, [ENTRY, 'sandbox', 'start'], { env: given, stdio: ['ignore', out, out] });
    closeSync(out);
    try {
      const facts = await until('the service starts', START_MS, () =>
        hasEnded(child) || lostItsSigner(output())
          ? 'ended'
          : existsSync(factsFile) && (JSON.parse(readFileSync(factsFile, 'utf8')) as SandboxFacts),
      );
      if (facts !== 'ended') return new RunningService(child, output, facts);
      child.kill('SIGKILL');
      if (!hasEnded(child)) await once(child, 'exit');
      return null;
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`${(error as Error).message}\n${endOf(logFile)}`, { cause: error });
    }
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  /** The signer has a process of its own, which may be killed alone. */
  get hasLostItsSigner(): boolean {
    return lostItsSigner(this.#output());
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (hasEnded(this.#child)) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill(signal);
    await gone;
  }
}

const lostItsSigner = (output: string): boolean => output.includes('the signer ended');

const endOf = (logFile: string): string => readFileSync(logFile, 'utf8').slice(-2_000);

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;
