import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ENDS_WITH_PARENT } from './ends-with-parent.ts';
import { eventually } from './running-sandbox.ts';
import { freePort } from './free-port.ts';

/** Several start at once on a busy machine. */
const READY_MS = 120_000;
const run = promisify(execFile);
const entry = resolve(import.meta.dirname, '../../bin/quittance.mjs');
/** Published with every wallet library: worth nothing. */
export const TEST_WORDS = 'test test test test test test test test test test test junk';

export interface RunningProduction {
  readonly baseUrl: string;
  /** Everything it printed so far. */
  output(): string;
  cli(...args: string[]): Promise<unknown>;
  stop(): Promise<void>;
}

/** `quittance serve` with a fresh data directory, over whatever providers `env` names for test mode. */
export async function startRunningProduction(env: Readonly<Record<string, string>>): Promise<RunningProduction> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-serve-'));
  const dataDir = join(folder, 'data');
  const logFile = join(folder, 'output.log');
  const [port, opsPort] = await Promise.all([freePort(), freePort()]);
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, [entry, 'serve'], {
    env: {
      ...process.env,
      ...ENDS_WITH_PARENT,
      PORT: String(port),
      OPS_PORT: String(opsPort),
      DATA_DIR: dataDir,
      MASTER_KEY: randomBytes(32).toString('hex'),
      PUBLIC_URL: 'https://pay.example',
      RATE_PROVIDERS: 'kraken',
      // Nobody listens there: orders in the coin itself need no rate.
      RATE_KRAKEN_URL: 'http://127.0.0.1:9',
      TEST_WALLET_MNEMONIC: TEST_WORDS,
      ...env,
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const output = (): string => readFileSync(logFile, 'utf8');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(late);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const begins = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(output());
      return (await fetch(`http://127.0.0.1:${opsPort}/healthz`).catch(() => null))?.ok === true;
    };
    await eventually('the service', begins, READY_MS);
  } catch (error) {
    const text = output().slice(-4_000);
    await stop();
    throw new Error(text, { cause: error });
  }
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    output,
    cli: async (...args) =>
      JSON.parse(
        (await run(process.execPath, [entry, ...args, '--json'], { env: { ...process.env, DATA_DIR: dataDir } }))
          .stdout,
      ),
    stop,
  };
}
