import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { startHelper } from './processes.ts';
import type { Merchant } from './shop.ts';

/** Whatever takes payments: a process, where it listens, and who may use it. */
export interface Candidate {
  readonly child: ChildProcess;
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly merchants: readonly Merchant[];
  readonly webhookSecrets: Readonly<Record<string, string>>;
  /** Where its metrics are; null without any. */
  readonly opsUrl: string | null;
}

/** The same steps by the least code (`lean.process.ts`). */
export async function startLean(
  folder: string,
  chains: readonly AttachedChain[],
  receiverUrl: string,
  merchantCount: number,
): Promise<Candidate> {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const merchants = Array.from({ length: merchantCount }, (_, index) => {
    const [apiKey, apiSecret, webhookSecret] = [16, 32, 32].map((bytes) => randomBytes(bytes).toString('hex'));
    return {
      apiKey: apiKey!,
      apiSecret: apiSecret!,
      webhookSecret: webhookSecret!,
      webhookUrl: `${receiverUrl}/merchant-${index}`,
    };
  });
  const { child, url } = await startHelper('lean', [], { BENCH_LEAN: JSON.stringify({ dataDir, chains, merchants }) });
  const webhookSecrets = Object.fromEntries(
    merchants.map(({ webhookUrl, webhookSecret }) => [new URL(webhookUrl).pathname, webhookSecret]),
  );
  return { child, baseUrl: url, opsUrl: null, dataDir, merchants, webhookSecrets };
}

export interface AttachedChain {
  readonly network: string;
  readonly chainId: string;
  readonly token: string;
  readonly url: string;
  /** Blocks from one whose payments count up to the head. */
  readonly creditedDepth: number;
}

const ENTRY = join(import.meta.dirname, '../../bin/quittance.mjs');
const START_MS = 60_000;

/** What `sandbox.json` says, as far as it is used here. */
interface SandboxFacts {
  readonly base_url: string;
  readonly ops_url: string;
  readonly console_url: string;
}

/** The sandbox as a user starts it, with its data and its log in the folder. Resolves once it takes requests. */
export async function startSandbox(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  startMs = START_MS,
): Promise<{ readonly child: ChildProcess; readonly facts: SandboxFacts }> {
  const dataDir = join(folder, 'data');
  const factsFile = join(dataDir, 'sandbox.json');
  const logFile = join(folder, 'service.log');
  rmSync(factsFile, { force: true });
  const out = openSync(logFile, 'a');
  const settings = { HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0', CONSOLE_PORT: '0', DATA_DIR: dataDir };
  const child = spawn(process.execPath, [ENTRY, 'sandbox', 'start'], {
    env: { ...process.env, ...settings, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      child.kill('SIGTERM');
      process.exit(1);
    });
  for (const endMs = Date.now() + startMs; !existsSync(factsFile);) {
    if (child.exitCode !== null || Date.now() > endMs) {
      child.kill('SIGTERM');
      throw new Error(`the service did not start:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
    }
    await sleep(10);
  }
  return { child, facts: JSON.parse(readFileSync(factsFile, 'utf8')) as SandboxFacts };
}

/**
 * The sandbox as a user starts it, embedded and with everything on, over chains of the bench. The limit of requests a
 * key is on and higher than what comes.
 */
export async function startQuittance(
  folder: string,
  chains: readonly AttachedChain[],
  receiverUrl: string,
  merchantCount: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Candidate> {
  const dataDir = join(folder, 'data');
  const chainsFile = join(folder, 'chains.json');
  writeFileSync(chainsFile, JSON.stringify(chains.map(attached)));
  const { child, facts } = await startSandbox(folder, {
    RATE_LIMIT_PER_KEY: '100000',
    SANDBOX_CHAINS: chainsFile,
    ...env,
  });
  const merchants: Merchant[] = [];
  const webhookSecrets: Record<string, string> = {};
  for (let index = 0; index < merchantCount; index += 1) {
    const path = `/merchant-${index}`;
    const created = await callAdmin(dataDir, 'merchant.create', {
      name: `Shop ${index}`,
      mode: 'test',
      webhookUrl: `${receiverUrl}${path}`,
    });
    const { api_key: apiKey, api_secret: apiSecret, webhook_secret: secret } = created as Record<string, string>;
    merchants.push({ apiKey: apiKey!, apiSecret: apiSecret! });
    webhookSecrets[path] = secret!;
  }
  return { child, baseUrl: facts.base_url, opsUrl: facts.ops_url, dataDir, merchants, webhookSecrets };
}

export async function stop({ child }: Pick<Candidate, 'child'>): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function attached({ network, chainId, token, url }: AttachedChain): object {
  const tokens = [{ coin: 'USDT', address: token, decimals: 6 }];
  const settings = {
    network,
    mode: 'test',
    chainId,
    tokens,
    simulated: true,
    mainNetwork: false,
    explorerTransactionUrl: null,
  };
  return { settings, rpcUrl: url, genesis: chainId };
}
