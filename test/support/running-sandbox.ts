import { spawn, type SpawnOptions } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ENDS_WITH_PARENT } from './ends-with-parent.ts';
import { freePort } from './free-port.ts';

export interface SandboxFacts {
  readonly base_url: string;
  readonly ops_url: string;
  readonly webhook_inbox: string;
  readonly merchant: {
    readonly id: string;
    readonly api_key: string;
    readonly api_secret: string;
    readonly webhook_secret: string;
  };
  readonly networks: Record<
    string,
    { readonly rpc_url: string; readonly chain_id: number | string; readonly tokens: Record<string, string> }
  >;
}

export interface RunningSandbox {
  readonly facts: SandboxFacts;
  readonly dataDir: string;
  /** Everything it printed so far. */
  output(): string;
  /** Ends it in order; SIGKILL ends the whole group at once, as a power cut would. Rejects when it printed a secret. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

const READY_MS = 90_000;
const STOP_MS = 15_000;
const repository = resolve(import.meta.dirname, '../..');
/** Shorter ones are a test's own words, such as a wrong secret. */
const SHORTEST_SECRET = 16;
const SECRET_FILES = ['master.key', 'wallet/test.key', 'chains/payers.key'];
const SECRET_FORMS =
  /\bsks?_(?:test|live)_[A-Za-z0-9]{10}|\bwhs_(?:test|live)_[A-Za-z0-9]{10}|\b[xt]prv[1-9A-HJ-NP-Za-km-z]{20}/;
/** Every key and secret that requests were signed with, in this file of tests. */
const secretsUsed = new Set<string>();

/**
 * Starts what `npm start` starts, and in a `directory` of its own runs npm itself, as a user would. The same `dataDir`
 * continues where the last run ended.
 */
export async function startRunningSandbox(
  options: { readonly directory?: string; readonly dataDir?: string; readonly env?: Record<string, string> } = {},
): Promise<RunningSandbox> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'quittance-sandbox-'));
  const file = join(dataDir, 'sandbox.json');
  rmSync(file, { force: true });
  const logFile = join(dataDir, 'output.log');
  const [port, opsPort] = await Promise.all([freePort(), freePort()]);
  const log = openSync(logFile, 'a');
  const own = { ...ENDS_WITH_PARENT, PORT: String(port), OPS_PORT: String(opsPort), DATA_DIR: dataDir };
  const spawning: SpawnOptions = {
    cwd: options.directory ?? repository,
    env: { ...process.env, ...own, ...options.env },
    stdio: ['ignore', log, log],
    detached: true,
  };
  const child =
    options.directory === undefined
      ? spawn(process.execPath, ['bin/quittance.mjs', 'sandbox', 'start'], spawning)
      : spawn('npm', ['start'], spawning);
  closeSync(log);
  const output = (): string => readFileSync(logFile, 'utf8');
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  let hasStopped = false;
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    // The system may have given the group's number to another process.
    if (hasStopped) return;
    signalGroup(child.pid!, signal);
    const late = setTimeout(() => signalGroup(child.pid!, 'SIGKILL'), STOP_MS);
    await ended;
    // npm ends at once; the service it started ends in order.
    while (groupLives(child.pid!)) await new Promise((wait) => setTimeout(wait, 50));
    clearTimeout(late);
    hasStopped = true;
    expectNothingSecret(output(), dataDir);
  };
  const deadline = Date.now() + READY_MS;
  while (!existsSync(file)) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop('SIGKILL');
      throw new Error(`the sandbox did not start:\n${output().slice(-4_000)}`);
    }
    await new Promise((wait) => setTimeout(wait, 50));
  }
  const facts = JSON.parse(readFileSync(file, 'utf8')) as SandboxFacts;
  secretsUsed.add(facts.merchant.webhook_secret);
  return { facts, dataDir, output, stop };
}

/** What it printed holds no secret that it made, was given or could have read. Throws without repeating the secret. */
function expectNothingSecret(printed: string, dataDir: string): void {
  const files = SECRET_FILES.map((name) => join(dataDir, name)).filter((path) => existsSync(path));
  const secrets = [...secretsUsed, ...files.map((path) => readFileSync(path, 'utf8').trim())].filter(
    (secret) => secret.length >= SHORTEST_SECRET,
  );
  const line = printed
    .split('\n')
    .find((text) => SECRET_FORMS.test(text) || secrets.some((secret) => text.includes(secret)));
  if (line !== undefined)
    throw new Error(`the sandbox printed a secret, in a line that begins with ${line.slice(0, 60)}`);
}

function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

function groupLives(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

export interface ApiAnswer {
  readonly status: number;
  readonly json: Record<string, unknown> & {
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly param?: string;
      readonly request_id: string;
    };
  };
  /** How far in the event log it is; null where one process answers. */
  readonly position: string | null;
}

type Keys = Pick<SandboxFacts['merchant'], 'api_key' | 'api_secret'>;

/** A merchant's call as the specification describes it, sharing no code with the service. */
export async function signedCall(
  base: string,
  keys: Keys,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  secretsUsed.add(keys.api_key).add(keys.api_secret);
  const raw = body === undefined ? '' : JSON.stringify(body);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = randomUUID();
  const signature = createHmac('sha256', keys.api_secret).update(`${timestamp}.${nonce}.${raw}`).digest('hex');
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }),
      Authorization: `Bearer ${keys.api_key}`,
      'X-Service-Timestamp': timestamp,
      'X-Service-Nonce': nonce,
      'X-Service-Signature': signature,
      ...headers,
    },
    ...(raw !== '' && { body: raw }),
    signal: AbortSignal.timeout(15_000),
  });
  return {
    status: response.status,
    json: (await response.json()) as ApiAnswer['json'],
    position: response.headers.get('quittance-position'),
  };
}

/** Asks again until the answer is there. */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | null | undefined | false>,
  timeoutMs = 30_000,
): Promise<Value> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await ask();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what} did not happen within ${timeoutMs} ms`);
    await new Promise((wait) => setTimeout(wait, 100));
  }
}
