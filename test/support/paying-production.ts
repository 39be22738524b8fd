import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { createClient, type Quittance } from '../../packages/client/src/client.ts';
import { until } from '../crash/running-service.ts';
import { ENDS_WITH_PARENT } from './ends-with-parent.ts';
import type { TokenChain } from './tokens.ts';
import { freePort } from './free-port.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const START_MS = 60_000;
const MASTER_KEY = randomBytes(32).toString('hex');
export const MNEMONIC = 'test test test test test test test test test test test junk';

/**
 * `quittance serve` as an operator runs it, test mode on one Ethereum chain of the test's own, in a process that may be
 * killed. `release` is the folder of a checkout or of a built release.
 */
export class RunningProduction {
  readonly client: Quittance;
  readonly dataDir: string;
  readonly opsUrl: string;
  readonly #child: ChildProcess;
  readonly #logFile: string;

  private constructor(
    child: ChildProcess,
    directory: string,
    port: number,
    opsPort: number,
    merchant: { apiKey: string; apiSecret: string },
  ) {
    this.#child = child;
    this.dataDir = join(directory, 'data');
    this.#logFile = join(directory, 'service.log');
    this.opsUrl = `http://127.0.0.1:${opsPort}`;
    this.client = createClient({ baseUrl: `http://127.0.0.1:${port}`, ...merchant });
  }

  static async start(
    directory: string,
    chain: TokenChain,
    env: Readonly<Record<string, string>>,
    release = CHECKOUT,
  ): Promise<RunningProduction> {
    const [port, opsPort] = [await freePort(), await freePort()];
    const dataDir = join(directory, 'data');
    mkdirSync(dataDir, { recursive: true });
    const { chainId, tokens } = chain.settings;
    const limits = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };
    const logFile = join(directory, 'service.log');
    const out = openSync(logFile, 'a');
    const settings = {
      ...{ HOST: '127.0.0.1', PORT: String(port), OPS_PORT: String(opsPort), DATA_DIR: dataDir },
      ...{ PUBLIC_URL: 'https://pay.example', MASTER_KEY },
      ...{ RATE_PROVIDERS: 'coinbase', RATE_COINBASE_URL: 'http://127.0.0.1:9' },
      TEST_ETHEREUM_RPC_URLS: chain.url,
      TEST_NETWORKS: JSON.stringify({ ethereum: { chain_id: chainId, tokens } }),
      TEST_WALLET_MNEMONIC: MNEMONIC,
      SIGNER_JOURNAL_DIR: join(directory, 'journal'),
      PAYOUT_LIMITS: JSON.stringify({ USDT: limits }),
    };
    const given = { ...ENDS_WITH_PARENT, PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings, ...env };
    const child = spawn(process.execPath, [join(release, 'bin/quittance.mjs'), 'serve'], {
      env: given,
      stdio: ['ignore', out, out],
    });
    closeSync(out);
    try {
      const merchant = await until('the service starts', START_MS, async () => {
        if (child.exitCode !== null) return 'ended' as const;
        return (await fetch(`http://127.0.0.1:${opsPort}/startupz`)).ok && (await merchantOf(directory));
      });
      if (merchant === 'ended') throw new Error('the service ended while it started');
      return new RunningProduction(child, directory, port, opsPort, merchant);
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`${(error as Error).message}\n${readFileSync(logFile, 'utf8').slice(-2_000)}`, { cause: error });
    }
  }

  get log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** The sum of every series that matches. */
  async metric(series: RegExp): Promise<number> {
    const text = await (await fetch(`${this.opsUrl}/metrics`)).text();
    const found = text.split('\n').filter((line) => series.test(line));
    return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill(signal);
    await gone;
  }
}

/** The same merchant at every start. */
async function merchantOf(directory: string): Promise<{ apiKey: string; apiSecret: string }> {
  const file = join(directory, 'merchant.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { apiKey: string; apiSecret: string };
  } catch {
    const created = await callAdmin(join(directory, 'data'), 'merchant.create', { name: 'Shop', mode: 'test' });
    const { api_key: apiKey, api_secret: apiSecret } = created as { api_key: string; api_secret: string };
    writeFileSync(file, JSON.stringify({ apiKey, apiSecret }));
    return { apiKey, apiSecret };
  }
}
