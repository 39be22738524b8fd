import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { meaningOf } from '../../src/adapters/rpc/dialects.ts';
import { receiptsRootOf } from '../../src/adapters/evm/receipts-root.ts';
import { RpcError } from '../../src/ports/chain/rpc-pool.ts';
import dialects from '../fixtures/chains/dialects.json' with { type: 'json' };
import { ModelChain, ModelProvider } from '../support/lying-evm.ts';
import { REPOSITORY } from '../support/repository.ts';
import { openNetwork, TOKENS } from '../simulation/networks.ts';
import { Prng } from '../simulation/time/prng.ts';
import { Scheduler } from '../simulation/time/scheduler.ts';

/* What stands for an EVM node in tests answers in the forms of geth 1.17.10, refusals included. */

const FOLDER = join(REPOSITORY, 'test/fixtures/nodes/geth-1.17.10');
interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}
const recorded = (file: string): Answer =>
  (JSON.parse(readFileSync(join(FOLDER, `${file}.json`), 'utf8')) as { answer: Answer }).answer;

interface Double {
  readonly name: string;
  readonly token: string;
  ask(method: string, params: readonly unknown[]): Promise<Answer>;
  head(): Promise<number>;
}

const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const AHEAD = 1_000;
const hex = (value: number): string => `0x${value.toString(16)}`;

function model(): Double {
  const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
  const chain = new ModelChain(token);
  for (let made = 0; made < 9; made += 1)
    chain.mine(made === 4 ? [{ txHash: `0x${'ab'.repeat(32)}`, to: OURS, units: 5n }] : []);
  const provider = new ModelProvider('model', chain, OURS);
  const ask = (method: string, params: readonly unknown[]): Promise<Answer> =>
    provider.call(method, params).then(
      (result) => ({ result }),
      (error: unknown) => {
        if (!(error instanceof RpcError)) throw error;
        return { error: { code: error.code, message: error.message } };
      },
    );
  return { name: 'the model of a lying node', token, ask, head: async () => chain.head };
}

function simulated(): Double {
  const { providers, chain } = openNetwork('ethereum', 1, { scheduler: new Scheduler(0), prng: new Prng('forms') });
  const provider = providers[0]!;
  const ask = async (method: string, params: readonly unknown[]): Promise<Answer> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const said = provider.serve({ body } as Parameters<typeof provider.serve>[0]) as { body: string };
    return JSON.parse(said.body) as Answer;
  };
  return { name: 'the simulated provider', token: TOKENS.ethereum.USDT, ask, head: async () => chain.view.height };
}

const doubles = [model(), simulated()];
/** Numbers and hashes differ from chain to chain. */
const worded = (text: string): string => text.replace(/\b(0x)?[0-9a-f]{40,64}\b/g, 'X').replace(/\d+/g, 'N');

const refusals: readonly (readonly [file: string, asks: (double: Double) => Promise<[string, unknown[]]>])[] = [
  ['method-missing', async () => ['eth_nope', []]],
  ['logs-unknown-hash', async ({ token }) => ['eth_getLogs', [{ blockHash: `0x${'1'.repeat(64)}`, address: token }]]],
  ['logs-reversed', async ({ token }) => ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x0', address: token }]]],
  [
    'logs-future-to',
    async (double) => [
      'eth_getLogs',
      [{ fromBlock: '0x0', toBlock: hex((await double.head()) + AHEAD), address: double.token }],
    ],
  ],
];

describe.each(doubles)('$name', (double) => {
  it.each(refusals)('refuses as in %s', async (file, asks) => {
    const { error } = await double.ask(...(await asks(double)));
    const real = recorded(file).error!;
    expect(error && { code: error.code, message: worded(error.message) }).toEqual({
      code: real.code,
      message: worded(real.message),
    });
  });

  it('answers with nothing what geth does not have', async () => {
    const ahead = hex((await double.head()) + AHEAD);
    const nothing = `0x${'00'.repeat(32)}`;
    for (const [method, params] of [
      ['eth_getBlockByNumber', [ahead, false]],
      ['eth_getTransactionReceipt', [nothing]],
      ['eth_getBlockReceipts', [ahead]],
    ] as const)
      expect(await double.ask(method, params)).toMatchObject({ result: null });
    for (const file of ['block-future', 'receipt-unknown', 'receipts-future'])
      expect(recorded(file)).toMatchObject({ result: null });
  });

  it('has no field in a header that geth has not, and each in its form', async () => {
    const { result } = await double.ask('eth_getBlockByNumber', ['latest', false]);
    expectForm(result, recorded('block').result, 'block');
  });
});

describe('the simulated provider', () => {
  const double = simulated();

  it.each([
    ['state-too-old-count', 'eth_getTransactionCount', (at: string) => [OURS, at]],
    ['state-too-old-balance', 'eth_getBalance', (at: string) => [OURS, at]],
    ['call-future', 'eth_call', (at: string) => [{ to: double.token, data: '0x313ce567' }, at]],
    ['balance-future', 'eth_getBalance', (at: string) => [OURS, at]],
  ])('refuses as in %s', async (file, method, params) => {
    const { chain, providers } = await aged();
    const head = chain.view.height;
    const at = file.startsWith('state') ? '0x1' : hex(head + AHEAD);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params(at) });
    const said = providers[0]!.serve({ body } as never) as { body: string };
    const { error } = JSON.parse(said.body) as Answer;
    const real = recorded(file).error!;
    expect(error && { ...error, message: worded(error.message) }).toEqual({ ...real, message: worded(real.message) });
  });
});

/** A chain of more blocks than a full node keeps states of. */
async function aged() {
  const scheduler = new Scheduler(0);
  const network = openNetwork('ethereum', 1, { scheduler, prng: new Prng('aged') });
  await scheduler.run(4_000_000, () => network.chain.view.height > 200);
  return network;
}

describe('the model of a lying node', () => {
  it('shows receipts and logs in the form of geth, whose receipts root it computes as geth does', async () => {
    const double = model();
    const receipts = (await double.ask('eth_getBlockReceipts', ['0x5'])).result as { logs: unknown[] }[];
    expectForm(receipts, recorded('receipts-transfer').result, 'receipts');
    const logs = await double.ask('eth_getLogs', [{ fromBlock: '0x5', toBlock: '0x5', address: double.token }]);
    expectForm(logs.result, recorded('logs-transfer').result, 'logs');
    const block = recorded('block').result as { receiptsRoot: string };
    expect(receiptsRootOf(recorded('receipts-transfer').result as never)).toBe(block.receiptsRoot);
  });
});

describe('refusals of geth', () => {
  const files = readdirSync(FOLDER).map((file) => file.replace('.json', ''));
  const refused = files.filter((file) => file !== 'genesis' && recorded(file).error !== undefined);
  const known = new Set(dialects.flatMap(({ answer }) => (typeof answer === 'string' ? [] : [wordsIn(answer)])));

  it.each(refused)('are known to the table of dialects: %s', (file) => {
    const { request } = JSON.parse(readFileSync(join(FOLDER, `${file}.json`), 'utf8')) as {
      request?: { method: string };
    };
    const { code, message } = recorded(file).error!;
    expect(meaningOf({ family: 'evm', method: request?.method ?? 'eth_getLogs', code, text: message })).not.toBe(
      'unknown',
    );
    // Words of contracts are their own.
    if (!message.startsWith('execution reverted:')) expect([...known]).toContain(worded(message));
  });
});

function wordsIn(answer: object): string {
  const { error } = answer as { error?: string | { message?: string } };
  return worded(typeof error === 'object' ? (error.message ?? '') : (error ?? ''));
}

/** Each field of the double's answer, with its type, is one of the real answer. */
function expectForm(said: unknown, real: unknown, at: string): void {
  if (said === null || real === null || typeof said !== 'object') {
    expect(typeof said, at).toBe(typeof real);
    if (typeof said === 'string') expect(said.startsWith('0x'), at).toBe(String(real).startsWith('0x'));
    return;
  }
  if (Array.isArray(said)) {
    expect(Array.isArray(real), at).toBe(true);
    said.forEach((one, index) => expectForm(one, (real as unknown[])[0], `${at}[${index}]`));
    return;
  }
  for (const [name, value] of Object.entries(said)) {
    expect(real, at).toHaveProperty(name);
    expectForm(value, (real as Record<string, unknown>)[name], `${at}.${name}`);
  }
}
