import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { accountOf } from '../../../../src/adapters/tron/address.ts';
import { createTronChain } from '../../../../src/adapters/tron/chain.ts';
import { TRANSFER_TOPIC, type TronTransactionInfo } from '../../../../src/adapters/tron/receipt.ts';
import { lookAtProvider } from '../../../../src/doctor/provider-look.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import { ChainUnavailable, WrongChain, type Chain } from '../../../../src/ports/chain/chain.ts';
import {
  computed,
  EPOCH_MS,
  MAINNET_CHAIN_ID,
  blockIdOf,
  playTronNode,
  type PlayedTronNode,
} from '../../../support/tron-node.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const FIXTURES = join(REPOSITORY, 'test', 'fixtures', 'chains');
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));

const settings: NetworkSettings = {
  network: 'tron',
  mode: 'live',
  chainId: MAINNET_CHAIN_ID,
  tokens: [{ coin: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 }],
  simulated: false,
  mainNetwork: true,
  explorerTransactionUrl: null,
};

const PLAIN = readJson('tron/info_0b9c085adefe.json') as TronTransactionInfo;
const GAS_FREE = readJson('tron/info_6e5ffb1e12db.json') as TronTransactionInfo;
const FAILED = readJson('tron/info_e63a324a43ae.json') as TronTransactionInfo;
const HEIGHT = 86_646_265;
/** The recorded transactions, moved next to each other so that one scan passes over all of them. */
const RECORDED = [
  { ...PLAIN, blockNumber: HEIGHT - 3, blockTimeStamp: 1_790_611_239_000 },
  { ...FAILED, blockNumber: HEIGHT - 2, blockTimeStamp: 1_790_611_242_000 },
  GAS_FREE,
];
/** The token's 20 bytes. */
const USDT = 'a614f803b6fd780986a42c78ec9c7f77e6ded13c';
/** The first block of another network. */
const NILE = { blockID: `${'0'.repeat(56)}cd8690dc`, block_header: { raw_data: {} } };
const everyone = (): boolean => true;

async function play(receipts = RECORDED, headNumber = HEIGHT + 30): Promise<PlayedTronNode> {
  const node = await playTronNode({ receipts, headNumber, solidNumber: headNumber - 19 });
  onTestFinished(() => node.close());
  return node;
}

function chainOver(
  nodes: readonly PlayedTronNode[],
  options: {
    maxWaitMs?: number;
    headers?: Record<string, string>;
    confirmWithSecond?: () => boolean;
    lagProbeMs?: number;
  } = {},
): Chain {
  const pool = createRpcPool({
    network: 'tron',
    urls: nodes.map(({ url }) => url),
    maxWaitMs: options.maxWaitMs ?? 0,
    headers: options.headers ?? {},
  });
  const { confirmWithSecond, lagProbeMs } = options;
  const chain = createTronChain({
    settings,
    pool,
    ...(confirmWithSecond && { confirmWithSecond }),
    ...(lagProbeMs !== undefined && { lagProbeMs }),
  });
  onTestFinished(() => chain.close());
  return chain;
}

describe('a range in which nobody was expected to pay', () => {
  type Log = Record<string, unknown>;
  /** As java-tron's JSON-RPC shows them: 20 bytes with `0x`, the index within the block. */
  const logsOf = (receipts: readonly TronTransactionInfo[]): Log[] =>
    receipts.flatMap(({ id, blockNumber, log }) =>
      (log ?? []).flatMap(({ address, topics, data }, index) => {
        if (accountOf(address) !== USDT || topics?.[0] !== TRANSFER_TOPIC) return [];
        const place = { blockNumber: `0x${blockNumber.toString(16)}`, logIndex: `0x${index}`, removed: false };
        const bytes = { topics: topics.map((topic) => `0x${topic}`), data: `0x${data}` };
        return [{ address: `0x${USDT}`, transactionHash: `0x${id}`, ...place, ...bytes }];
      }),
    );
  const [FROM, TO] = [HEIGHT - 20, HEIGHT];
  const receiptsRead = (node: PlayedTronNode): unknown[] => [
    ...new Set(node.requests.filter(({ path }) => /infobyblocknum/.test(path)).map(({ body }) => body['num'])),
  ];
  async function readBoth(logs: ReturnType<PlayedTronNode['override']>) {
    const node = await play();
    node.override = (path) => (path === '/jsonrpc' ? logs : undefined);
    const chain = chainOver([node]);
    const whole = await chain.scan(FROM, TO, everyone);
    node.requests.length = 0;
    const idle = await chain.scan(FROM, TO, everyone, { isIdle: true });
    return { node, chain, whole, idle };
  }
  const served = (result: readonly Log[]) => ({ body: { jsonrpc: '2.0', id: 1, result } });

  it('is read in the blocks that its logs name and in the last one, with the same outcome', async () => {
    const { node, chain, whole, idle } = await readBoth(served(logsOf(RECORDED)));
    expect(whole.transfers).toHaveLength(3);
    expect(idle.transfers).toEqual(whole.transfers);
    expect(idle.lastBlock).toEqual(whole.lastBlock);
    expect(receiptsRead(node).toSorted()).toEqual([HEIGHT - 3, HEIGHT]);
    const range = { fromBlock: `0x${FROM.toString(16)}`, toBlock: `0x${TO.toString(16)}` };
    expect(node.requests.filter(({ path }) => path === '/jsonrpc')).toMatchObject([
      { body: { method: 'eth_getLogs', params: [range] } },
    ]);
    node.requests.length = 0;
    await chain.scan(FROM, TO, everyone, { isIdle: true, readBefore: ['another'] });
    expect(receiptsRead(node)).toHaveLength(TO - FROM + 1);
  });

  it.each([
    ['has no such path', { status: 405, body: '<html>' }],
    ['refuses', { body: { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'method not found' } } }],
    ['answers in another form', { body: { jsonrpc: '2.0', id: 1, result: [{ blockNumber: '0x1' }] } }],
    ['answers nothing', { body: {} }],
    ['has an index that is behind', served(logsOf(RECORDED.slice(0, 2)))],
    ['has no index yet', served([])],
    ['names blocks that were not asked for', served(logsOf([{ ...GAS_FREE, blockNumber: HEIGHT + 1 }]))],
  ])('is read block by block where the node %s, and for a while without asking again', async (_, answer) => {
    const { node, chain, whole, idle } = await readBoth(answer);
    expect(idle.transfers).toEqual(whole.transfers);
    expect(receiptsRead(node)).toHaveLength(TO - FROM + 1);
    await chain.scan(FROM, TO, everyone, { isIdle: true });
    expect(node.requests.filter(({ path }) => path === '/jsonrpc')).toHaveLength(1);
  });
});

describe('scanning TRON', () => {
  interface Expected {
    readonly chain: string;
    readonly hash: string;
    readonly block: number;
    readonly timestamp: number;
    readonly file: string;
    readonly transfers: { units: string; logIndex: number; fromBase58: string; toBase58: string }[];
  }
  const expected = (readJson('expected.json') as Expected[]).filter(({ chain }) => chain === 'tron');

  it.each(expected)(
    'reads main-network block $block as recorded when its provider answers are played',
    async ({ file, hash, block, timestamp, transfers }) => {
      const chain = chainOver([await play([readJson(file) as TronTransactionInfo], block + 25)]);
      await chain.verify();
      const result = await chain.scan(block - 1, block + 1, everyone);
      expect(result.transfers).toEqual(
        transfers.map(({ units, logIndex, fromBase58, toBase58 }) => ({
          tokenAddress: settings.tokens[0]!.address,
          tokenUnits: BigInt(units),
          fromAddress: fromBase58,
          toAddress: toBase58,
          txHash: hash,
          logIndex,
          block: {
            number: block,
            hash: blockIdOf(block, '0'),
            parentHash: blockIdOf(block - 1, '0'),
            timeSec: timestamp,
          },
        })),
      );
      expect(result.lastBlock.number).toBe(block + 1);
      for (const { logIndex, units } of transfers)
        expect(await chain.transferAt(hash, logIndex)).toMatchObject({ tokenUnits: BigInt(units) });
      if (transfers.length === 0) expect(await chain.transferAt(hash, 0)).toBeNull();
    },
  );

  it('hands transfers out in chain order and says how far it came', async () => {
    const chain = chainOver([await play()]);
    const result = await chain.scan(HEIGHT - 60, HEIGHT + 30, everyone);
    expect(result.lastBlock.number).toBe(HEIGHT - 11);
    const rest = await chain.scan(HEIGHT - 10, HEIGHT + 30, everyone);
    expect(rest.lastBlock.number).toBe(HEIGHT + 30);
    expect(rest.transfers.map(({ block, logIndex }) => [block.number - HEIGHT, logIndex])).toEqual([
      [-3, 0],
      [0, 0],
      [0, 1],
    ]);
    expect(rest.headers!.map(({ number }) => number - HEIGHT)).toEqual([-3, 0, 30]);
  });

  it('hands out no transfer of nothing, which anyone may log in anyone’s name', async () => {
    const [log] = PLAIN.log!;
    const poisoned = { ...PLAIN, blockNumber: HEIGHT, log: [{ ...log!, data: '0'.repeat(64) }, log!] };
    const chain = chainOver([await play([poisoned])]);
    const { transfers } = await chain.scan(HEIGHT, HEIGHT, everyone);
    expect(transfers.map(({ logIndex, tokenUnits }) => [logIndex, tokenUnits > 0n])).toEqual([[1, true]]);
    expect(await chain.transferAt(PLAIN.id, 0)).toBeNull();
    expect(await chain.transferAt(PLAIN.id, 1)).not.toBeNull();
  });

  it('does not trust an empty list from a node that has not seen the block', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.verify();
    node.override = (path, body) =>
      path === '/wallet/gettransactioninfobyblocknum' && body['num'] === HEIGHT ? { body: [] } : undefined;
    await expect(chain.scan(HEIGHT, HEIGHT, everyone)).rejects.toThrow(ChainUnavailable);
    node.override = () => undefined;
    expect((await chain.scan(HEIGHT, HEIGHT, everyone)).transfers).toHaveLength(2);
  });

  it('refuses receipts of another block, even of one at the same height', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.verify();
    node.override = (path) => (path.endsWith('blocknum') ? { body: [PLAIN] } : undefined);
    await expect(chain.scan(HEIGHT, HEIGHT, everyone)).rejects.toThrow(/foreign receipts/);
    node.override = (path) =>
      path.endsWith('blocknum')
        ? { body: [{ ...GAS_FREE, blockTimeStamp: GAS_FREE.blockTimeStamp + 3000 }] }
        : undefined;
    await expect(chain.scan(HEIGHT, HEIGHT, everyone)).rejects.toThrow(/different blocks/);
  });

  it('sends the API key with every request and never shows it', async () => {
    const node = await play();
    const chain = chainOver([node], { headers: { 'TRON-PRO-API-KEY': 'secret-key' } });
    await chain.head();
    expect(new Set(node.requests.map(({ apiKey }) => apiKey))).toEqual(new Set(['secret-key']));
    node.override = () => ({ status: 500, body: { Error: 'broken' } });
    await expect(chain.head()).rejects.not.toThrow(/secret-key/);
  });
});

describe('TRON providers', () => {
  it('are left alone for at least 30 s after they limited us, while the next one serves', async () => {
    for (const limited of [
      {
        status: 403,
        body: {
          Success: false,
          Error: 'The key exceeds the frequency limit(15), and the query server is suspended for 5s',
          StatusCode: 403,
        },
      },
      { status: 429, body: {} },
      { status: 503, headers: { 'retry-after': '1' }, body: {} },
      {
        status: 200,
        body: { Error: 'The key exceeds the frequency limit(15), and the query server is suspended for 5s' },
      },
    ]) {
      const [first, second] = [await play(), await play()];
      const chain = chainOver([first, second]);
      await chain.verify();
      first.override = () => limited;
      await chain.head();
      const asked = first.requests.length;
      await chain.head();
      await chain.finalized();
      expect(first.requests).toHaveLength(asked);
      expect(second.requests.length).toBeGreaterThan(0);
    }
  });

  it('are replaced when they stop advancing, although they respond to everything', async () => {
    const [halted, sound] = [await play(), await play()];
    const chain = chainOver([halted, sound], { lagProbeMs: 20 });
    expect((await chain.head()).number).toBe(HEIGHT + 30);
    sound.headNumber += 10;
    sound.solidNumber += 10;
    await expect.poll(async () => (await chain.head()).number, { timeout: 2_000 }).toBe(HEIGHT + 40);
    expect((await chain.finalized())!.number).toBe(HEIGHT + 21);
  });

  it('are refused when they serve another chain, another token or other decimals', async () => {
    const nile = await play();
    nile.override = (path, body) =>
      path === '/wallet/getblock' && body['id_or_num'] === '0' ? { body: NILE } : undefined;
    await expect(chainOver([nile]).verify()).rejects.toThrow(WrongChain);
    const otherDecimals = await play();
    otherDecimals.override = (path) => (path.endsWith('triggerconstantcontract') ? { body: computed(18) } : undefined);
    await expect(chainOver([otherDecimals]).verify()).rejects.toThrow(/18 decimals/);
    const noToken = await play();
    noToken.override = (path) =>
      path.endsWith('triggerconstantcontract')
        ? { body: readJson('java-tron-4.8.0/constant-no-contract.json') }
        : undefined;
    await expect(chainOver([noToken]).verify()).rejects.toThrow(ChainUnavailable);
    vi.useFakeTimers({ toFake: ['Date'], now: EPOCH_MS + (HEIGHT + 30) * 3_000 });
    onTestFinished(() => void vi.useRealTimers());
    await expect(chainOver([noToken]).verify()).rejects.toThrow(WrongChain);
  });

  it.each(['wallet', 'walletsolidity'])(
    'say how both ports of a node come behind one address if one does not serve /%s',
    async (view) => {
      const node = await play();
      const page = readJson('java-tron-4.8.0/walletsolidity-on-8090.json') as { status: number; text: string };
      node.override = (path) => (path.startsWith(`/${view}/`) ? { status: page.status, body: page.text } : undefined);
      const advice = `does not serve /${view}: put both ports`;
      await expect(chainOver([node]).verify()).rejects.toThrow(advice);
      // As doctor and a change of providers look at it.
      await expect(lookAtProvider({ settings, urls: [node.url], headers: {} }, node.url)).rejects.toThrow(advice);
    },
  );

  it('prove themselves before a late one is believed', async () => {
    const [first, foreign] = [await play(), await play()];
    first.override = () => ({ status: 500, body: {} });
    foreign.override = (path, body) =>
      path === '/wallet/getblock' && body['id_or_num'] === '0' ? { body: NILE } : undefined;
    await expect(chainOver([first, foreign]).head()).rejects.toThrow(ChainUnavailable);
  });
});

describe('a TRON provider without `getblock`', () => {
  it.each([
    ['answers 404', { status: 404, body: 'not found' }],
    ['answers an error', { status: 200, body: { Error: 'no such call' } }],
  ])('is read through whole blocks: %s', async (_, refusal) => {
    const node = await play();
    node.override = (path) => (path.endsWith('/getblock') ? refusal : undefined);
    const chain = chainOver([node]);
    await chain.verify();
    expect((await chain.head()).number).toBe(HEIGHT + 30);
    expect((await chain.finalized())!.number).toBe(HEIGHT + 11);
    expect((await chain.scan(HEIGHT, HEIGHT, everyone)).transfers).toHaveLength(2);
    expect(await chain.transferAt(GAS_FREE.id, 1)).toMatchObject({ tokenUnits: 938_500_000n });
    expect(node.requests.filter(({ path }) => path.endsWith('/getblock')).length).toBeLessThanOrEqual(3);
  });
});

describe('reading a TRON transfer again', () => {
  it('believes "no such transaction" only from a provider that keeps up', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.head();
    expect(await chain.transferAt('0'.repeat(64), 0)).toBeNull();
    node.headNumber -= 5;
    await expect(chain.transferAt('0'.repeat(64), 0)).rejects.toThrow(ChainUnavailable);
  });

  it('asks a second provider before it says that a transfer is gone', async () => {
    const [forgetful, sound] = [await play([]), await play()];
    const chain = chainOver([forgetful, sound]);
    await chain.head();
    expect(await chain.transferAt(GAS_FREE.id, 1)).toMatchObject({ tokenUnits: 938_500_000n });
  });

  it('below the solidified height uses only what is solidified', async () => {
    const node = await play();
    const chain = chainOver([node]);
    await chain.finalized();
    node.override = (path) => (path === '/walletsolidity/gettransactioninfobyid' ? { body: {} } : undefined);
    await expect(chain.transferAt(GAS_FREE.id, 0)).rejects.toThrow(ChainUnavailable);
    node.override = (path) =>
      path === '/walletsolidity/gettransactioninfobyid' ? { body: { ...GAS_FREE, result: 'FAILED' } } : undefined;
    expect(await chain.transferAt(GAS_FREE.id, 0)).toBeNull();
  });

  it('wants two providers to agree where one is not enough', async () => {
    const alone = chainOver([await play()], { confirmWithSecond: () => true });
    await expect(alone.transferAt(GAS_FREE.id, 0)).rejects.toThrow(ChainUnavailable);
    const both = chainOver([await play(), await play()], { confirmWithSecond: () => true });
    expect(await both.transferAt(GAS_FREE.id, 0)).toMatchObject({ tokenUnits: 1_500_000n });
    const other = await play();
    other.fork = 'b';
    const forked = chainOver([await play(), other], { confirmWithSecond: () => true });
    await expect(forked.transferAt(GAS_FREE.id, 0)).rejects.toThrow(/do not agree/);
  });

  it('does not believe one provider alone that a large transfer is final, nor what it made up', async () => {
    const [liar, honest] = [await play(), await play()];
    const chain = chainOver([liar, honest], { confirmWithSecond: () => true });
    const transfer = (await chain.transferAt(GAS_FREE.id, 0))!;
    const rule = { kind: 'finalized' } as const;
    honest.solidNumber = transfer.block.number - 1;
    expect(await chain.agreeOnFinality(transfer, rule)).toBe(false);
    expect(await chainOver([liar, honest]).agreeOnFinality(transfer, rule)).toBe(true);
    honest.solidNumber = transfer.block.number;
    expect(await chain.agreeOnFinality(transfer, rule)).toBe(true);
    honest.fork = 'b';
    expect(await chain.agreeOnFinality(transfer, rule)).toBe(false);
    honest.fork = '0';
    honest.receipts = honest.receipts.filter(({ id }) => id !== GAS_FREE.id);
    await expect(chain.transferAt(GAS_FREE.id, 0)).rejects.toThrow(/do not agree/);
  });

  it('excludes a provider of another chain with a report, and uses it again once it serves the right one', async () => {
    const [wrong, right] = [await play(), await play()];
    wrong.override = (path, body) =>
      path === '/wallet/getblock' && body['id_or_num'] === '0' ? { body: NILE } : undefined;
    const told: unknown[] = [];
    const pool = createRpcPool({
      network: 'tron',
      urls: [wrong.url, right.url],
      maxWaitMs: 0,
      observer: { onExcluded: ({ provider, reason }) => told.push([provider, reason]) },
    });
    const chain = createTronChain({ settings, pool });
    onTestFinished(() => chain.close());
    await chain.verify();
    expect((await chain.head()).number).toBe(HEIGHT + 30);
    expect(told).toEqual([[new URL(wrong.url).host, 'serves chain 3448148188 instead of 728126428']]);
    expect(pool.status().map(({ excluded }) => excluded !== null)).toEqual([true, false]);
  });
});

describe('TRON blocks', () => {
  it('are absent above the head, and missing below it only at a provider that lags', async () => {
    const node = await play();
    const chain = chainOver([node]);
    expect(await chain.blockAt(HEIGHT + 31)).toBeNull();
    const head = await chain.head();
    expect(head).toMatchObject({ number: HEIGHT + 30, parentHash: blockIdOf(HEIGHT + 29, '0') });
    expect((await chain.finalized())!.number).toBe(HEIGHT + 11);
    node.headNumber -= 3;
    await expect(chain.blockAt(HEIGHT + 30)).rejects.toThrow(ChainUnavailable);
  });
});
