import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../crash/running-service.ts';
import { Anvil } from '../support/anvil.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { RunningProduction } from '../support/paying-production.ts';
import { startTokenChain, type TokenChain } from '../support/tokens.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * `quittance serve` over one chain that two providers serve, of which one takes the other's place while payments are on
 * their way.
 */

const WAIT_MS = 90_000;
const DEPTH = 12;
const SECRET = 'key-of-the-plan';
const ENTRY = join(import.meta.dirname, '../../bin/quittance.mjs');
const run = promisify(execFile);

let directory: string;
let chain: TokenChain;
let first: FaultProxy;
let second: FaultProxy;
let foreign: Anvil;
let service: RunningProduction;
let payer: Awaited<ReturnType<TokenChain['account']>>;
beforeAll(async () => {
  directory = temporaryFolder('provider-swap');
  chain = await startTokenChain({ slotsInAnEpoch: 2 });
  [first, second] = [await FaultProxy.before(chain.url), await FaultProxy.before(chain.url)];
  foreign = await Anvil.start({ chainId: 999 });
  payer = await chain.account();
  await chain.send('USDT', 'transfer', [payer.address, 1_000_000_000n]);
  await chain.mine(20);
  const { chainId, tokens } = chain.settings;
  service = await RunningProduction.start(directory, chain, {
    TEST_ETHEREUM_RPC_URLS: `${first.url}/?key=${SECRET}`,
    TEST_BSC_RPC_URLS: foreign.url,
    TEST_NETWORKS: JSON.stringify({ ethereum: { chain_id: chainId, tokens }, bsc: { chain_id: '31338', tokens } }),
  });
});
afterAll(async () => {
  await service?.kill();
  await Promise.all([first?.close(), second?.close(), foreign?.stop()]);
  await chain?.close();
});

const env = () => ({ ...process.env, DATA_DIR: service.dataDir });
async function swapTo(url: string): Promise<string> {
  const file = join(directory, 'quittance.env');
  writeFileSync(
    file,
    `# the whole environment of the service\nPUBLIC_URL="https://pay.example"\nTEST_ETHEREUM_RPC_URLS="${url}/?key=${SECRET}"\n`,
  );
  const done = await run(process.execPath, [ENTRY, 'settings', 'set', '--from', file, '--operator', 'Ann', '--json'], {
    env: env(),
  });
  return done.stdout;
}

const pay = (address: string) => chain.send('USDT', 'transfer', [address, 50_000_000n], payer);
const isPaid = async (id: string) => (await service.client.sessions.get(id)).payment_status === 'paid';

describe('a network whose provider serves another chain', () => {
  it('stays out and says so, while the others are read', async () => {
    const facts = async () => {
      const { checks } = (await (await fetch(`${service.opsUrl}/readyz`)).json()) as {
        checks: { name: string; state: string; detail?: string }[];
      };
      return Object.fromEntries(checks.map(({ name, state, detail = '' }) => [name, `${state}: ${detail}`]));
    };
    await until('both are looked at', WAIT_MS, async () => /failed reads/.test((await facts())['chain:test:bsc']!));
    expect(await facts()).toMatchObject({
      'chain:test:bsc': expect.stringMatching(/^degraded: \d+ failed reads in a row; nothing read yet/),
      'providers:test:bsc': expect.stringMatching(
        /^degraded: 0 of 1 .*is left out: it serves chain 999 instead of 31338/,
      ),
      // Its blocks are an hour old.
      'chain:test:ethereum': expect.stringMatching(/^degraded: payments of the last/),
    });
    expect(await service.metric(/^quittance_rpc_provider_excluded\{.*network="bsc"/)).toBe(1);
  });
});

describe('a provider that replaces another while payments are pending', () => {
  it('is taken once it has proved itself; nothing is missed, and no block is read twice', async () => {
    const [pending, later] = [
      await service.client.sessions.create({ amount: '50.00', currency: 'USDT', order_id: 'pending' }),
      await service.client.sessions.create({ amount: '50.00', currency: 'USDT', order_id: 'later' }),
    ];
    await pay(pending.payment_options[0]!.address);
    await chain.mine(DEPTH - 5);
    await until(
      'the payment is seen',
      WAIT_MS,
      async () => (await service.client.sessions.get(pending.id)).deposits.length === 1,
    );

    await expect(swapTo(foreign.url)).rejects.toMatchObject({
      stderr: expect.stringMatching(/TEST_ETHEREUM_RPC_URLS: .*serves chain 999 instead of \d+.*nothing was changed/),
    });
    const answer = JSON.parse(await swapTo(second.url)) as {
      settings: { name: string; value: string; at_start: string }[];
    };
    const shown = answer.settings.find(({ name }) => name === 'TEST_ETHEREUM_RPC_URLS')!;
    expect(shown.value).toMatch(new RegExp(`^${new URL(second.url).host}#[0-9a-f]{8}$`));
    expect(shown.at_start).toMatch(new RegExp(`^${new URL(first.url).host}#[0-9a-f]{8}$`));
    await until('the second one is read', WAIT_MS, () => second.count('eth_getLogs') > 1);
    const asked = first.calls.length;

    await pay(later.payment_options[0]!.address);
    await chain.mine(DEPTH + 5);
    await until('both are paid', WAIT_MS, async () => (await isPaid(pending.id)) && (await isPaid(later.id)));
    expect(first.calls.slice(asked).filter(({ method }) => method === 'eth_getLogs')).toEqual([]);
    for (const { id } of [pending, later]) expect((await service.client.sessions.get(id)).deposits).toHaveLength(1);
    const { data } = await service.client.events.after(undefined, { page_size: 100 });
    expect(data.filter(({ type }) => type === 'payment.completed')).toHaveLength(2);
  });

  it('is in the event log with who added it, and so is every block with the provider that read it, once', async () => {
    await chain.mine(DEPTH);
    const whilePaying = Number(await chain.rpc('eth_blockNumber', [])) - DEPTH;
    const isCovered = async () => (await service.metric(/^quittance_chain_covered_block\{/)) >= whilePaying;
    await until('the blocks of the payments are covered', WAIT_MS, isCovered);
    // What is read is written once a minute and at an orderly end.
    await service.stop();
    const file = join(directory, 'ledger.jsonl');
    await run(process.execPath, [ENTRY, 'audit', 'export', '--output', file], { env: env() });
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    const evidence = lines.map((line) => {
      const { type, data } = JSON.parse(line) as { type: string; data: string };
      return { type, data: JSON.parse(data) as Record<string, unknown> };
    });
    const read = evidence
      .filter(({ type }) => type === 'RangeScanned')
      .map(({ data }) => data as { fromBlock: number; toBlock: number; providers: string[] });
    const host = new URL(second.url).host;
    expect(read.length).toBeGreaterThan(1);
    expect(read.at(-1)!.providers).toContain(host);
    for (const [index, range] of read.slice(1).entries()) expect(range.fromBlock).toBe(read[index]!.toBlock + 1);
    const acts = evidence.filter(({ type }) => type === 'OperatorActed');
    expect(acts.map(({ data }) => data)).toMatchObject([
      {
        act: 'settings.set',
        actor: 'Ann',
        subject: expect.stringMatching(new RegExp(`^TEST_ETHEREUM_RPC_URLS=${host}#[0-9a-f]{8}$`)),
      },
    ]);
    expect(service.log + readFileSync(file, 'utf8')).not.toContain(SECRET);
  });
});
