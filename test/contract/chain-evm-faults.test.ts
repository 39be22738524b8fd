import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEvmChain, type EvmChainOptions } from '../../src/adapters/evm/chain.ts';
import { createRpcPool, type RpcPoolOptions } from '../../src/adapters/rpc/pool.ts';
import { ChainUnavailable, WrongChain, type Chain } from '../../src/ports/chain/chain.ts';
import { Anvil, localSettings } from '../support/anvil.ts';
import {
  down,
  emptyLogsTimes,
  FaultProxy,
  hanging,
  laggingBy,
  LIMIT_STYLES,
  limitedTo,
  logsCutTo,
  logsIndexedUpTo,
  lying,
  rateLimitedTimes,
  refusing,
} from '../support/fault-proxy.ts';

let anvil: Anvil;
let token: string;
let ours: string;
let first: FaultProxy;
let second: FaultProxy;
const chains: Chain[] = [];

beforeEach(async () => {
  anvil = await Anvil.start();
  token = await anvil.deployToken(6);
  ours = anvil.account(5);
  first = await FaultProxy.before(anvil.url);
  second = await FaultProxy.before(anvil.url);
});
afterEach(async () => {
  for (const chain of chains.splice(0)) await chain.close();
  await Promise.all([first.close(), second.close()]);
  await anvil.stop();
});

const isOurs = (address: string): boolean => address.toLowerCase() === ours.toLowerCase();

function chainOver(
  urls: string[],
  { pool, ...options }: Partial<Omit<EvmChainOptions, 'pool'>> & { pool?: Partial<RpcPoolOptions> } = {},
): Chain {
  const chain = createEvmChain({
    settings: localSettings(token),
    pool: createRpcPool({ network: 'ethereum', urls, timeoutMs: 1_000, maxWaitMs: 0, ...pool }),
    ...options,
  });
  chains.push(chain);
  return chain;
}

/** Blocks 2 to 41, a payment of its own number of units in each. */
async function fortyPayments(): Promise<void> {
  for (let units = 1n; units <= 40n; units += 1n) await anvil.pay(token, ours, units);
}

async function readAll(chain: Chain, from: number, to: number): Promise<bigint[]> {
  const units: bigint[] = [];
  for (let next = from; next <= to;) {
    const result = await chain.scan(next, to, isOurs);
    units.push(...result.transfers.map((transfer) => transfer.tokenUnits));
    next = result.lastBlock.number + 1;
  }
  return units;
}

const oneTo = (last: number): bigint[] => Array.from({ length: last }, (_, index) => BigInt(index + 1));

describe('a provider that limits log ranges', () => {
  test.each(Object.keys(LIMIT_STYLES) as (keyof typeof LIMIT_STYLES)[])(
    'in the words of %s is read in smaller ranges, every transfer once',
    async (style) => {
      await fortyPayments();
      first.play(limitedTo(7, style));
      expect(await readAll(chainOver([first.url]), 2, 41)).toEqual(oneTo(40));
    },
  );

  test('gets the range that it suggested at the next request', async () => {
    await fortyPayments();
    first.play(limitedTo(7, 'alchemySize'));
    await chainOver([first.url]).scan(2, 41, isOurs);
    const ranges = first.calls
      .filter(({ method }) => method === 'eth_getLogs')
      .map(({ params }) => params[0] as { fromBlock: string; toBlock: string });
    expect(ranges.slice(1).map(({ fromBlock, toBlock }) => [Number(fromBlock), Number(toBlock)])).toEqual([
      [2, 41],
      [2, 8],
    ]);
  });

  test('is read by block receipts where even a single block is too much', async () => {
    await fortyPayments();
    first.play(limitedTo(0, 'infuraResults'));
    expect(await readAll(chainOver([first.url]), 2, 5)).toEqual(oneTo(4));
    // One of them before the provider was used.
    expect(first.count('eth_getBlockReceipts')).toBe(5);
    expect(first.count('eth_getLogs')).toBeLessThan(5);
  });

  test('gets wider ranges again once they work', async () => {
    await anvil.mine(600);
    const chain = chainOver([first.url], { initialBlocks: 4, maxBlocks: 256 });
    await readAll(chain, 0, 601);
    const widths = first.calls.flatMap(({ method, params }) => {
      const filter = params[0] as { fromBlock: string; toBlock: string };
      return method === 'eth_getLogs' ? [Number(filter.toBlock) - Number(filter.fromBlock) + 1] : [];
    });
    expect(Math.max(...widths)).toBe(256);
    expect(widths.length).toBeLessThan(16);
  });
});

describe('a provider that leaves out logs without saying so', () => {
  test('because its index lags behind its headers is detected by the headers, and another one is asked', async () => {
    await fortyPayments();
    first.play(logsIndexedUpTo(30));
    await expect(chainOver([first.url]).scan(26, 41, isOurs)).rejects.toThrow(/not there|left out|unknown block/);
    expect(await readAll(chainOver([first.url, second.url]), 26, 41)).toEqual(oneTo(40).slice(24));
  });

  test('because it truncates long responses is detected', async () => {
    await fortyPayments();
    first.play(logsCutTo(5));
    await expect(chainOver([first.url]).scan(2, 17, isOurs)).rejects.toThrow(ChainUnavailable);
    expect(await readAll(chainOver([first.url, second.url]), 2, 41)).toEqual(oneTo(40));
  });

  test('only once is read correctly by a retry', async () => {
    await fortyPayments();
    const chain = chainOver([first.url]);
    await chain.verify();
    first.play(emptyLogsTimes(1));
    await expect(chain.scan(38, 41, isOurs)).rejects.toThrow(/left out transfers/);
    expect(await readAll(chain, 38, 41)).toEqual(oneTo(40).slice(36));
  });

  test('of one block among the many that a restart leaves behind is detected', async () => {
    await anvil.pay(token, ours, 7n);
    await anvil.mine(200);
    const chain = chainOver([first.url], { initialBlocks: 256, maxBlocks: 256 });
    await chain.verify();
    first.play(emptyLogsTimes(1));
    await expect(chain.scan(1, 200, isOurs)).rejects.toThrow(/left out transfers/);
    expect(await readAll(chain, 1, 200)).toEqual([7n]);
  });

  test('may return nothing if there is nothing', async () => {
    await anvil.mine(20);
    expect(await readAll(chainOver([first.url]), 5, 21)).toEqual([]);
  });
});

describe('a chain that changes while it is read', () => {
  /** Replaces the last block with the first call of the method after the logs were asked for. */
  async function replacedAt(method: 'eth_getLogs' | 'eth_getBlockByNumber'): Promise<Chain> {
    await anvil.pay(token, ours, 7n);
    const chain = chainOver([first.url]);
    await chain.verify();
    let [isAsked, isReplaced] = [false, false];
    first.play(async (call) => {
      isAsked ||= call.method === 'eth_getLogs';
      if (isAsked && !isReplaced && call.method === method) {
        isReplaced = true;
        await anvil.reorg(1);
      }
      return undefined;
    });
    return chain;
  }

  test('is not mixed up: logs of one chain beside headers of the other are refused and read again', async () => {
    const chain = await replacedAt('eth_getBlockByNumber');
    await expect(chain.scan(1, 2, isOurs)).rejects.toThrow(/not in the chain/);
    expect(await readAll(chain, 1, 2)).toEqual([]);
  });

  test('is read as it is from the logs on', async () => {
    const chain = await replacedAt('eth_getLogs');
    const { transfers, lastBlock } = await chain.scan(1, 2, isOurs);
    expect(transfers).toEqual([]);
    expect(lastBlock).toEqual(await chain.blockAt(2));
  });

  test('is not believed when a log names a block that is not in it', async () => {
    await anvil.pay(token, ours, 7n);
    first.play(
      lying('eth_getLogs', (logs: { blockHash: string }[]) =>
        logs.map((log) => ({ ...log, blockHash: `0x${'ab'.repeat(32)}` })),
      ),
    );
    await expect(chainOver([first.url]).scan(1, 2, isOurs)).rejects.toThrow(/not in the chain/);
  });

  test('ignores logs marked as removed', async () => {
    await anvil.pay(token, ours, 7n);
    first.play(lying('eth_getLogs', (logs: object[]) => logs.map((log) => ({ ...log, removed: true }))));
    expect(await readAll(chainOver([first.url]), 1, 2)).toEqual([]);
  });
});

describe('several providers', () => {
  test('serve in order, the next one when the first fails, and the first again when it is back', async () => {
    const chain = chainOver([first.url, second.url]);
    await chain.head();
    expect(second.calls.filter(({ method }) => method === 'eth_getBlockByNumber').length).toBeLessThanOrEqual(3);
    first.play(down());
    await chain.head();
    first.heal();
    const asked = first.calls.length;
    await expect.poll(async () => (await chain.head(), first.calls.length > asked), { timeout: 5_000 }).toBe(true);
  });

  test('are left when they lag, without a gap', async () => {
    await fortyPayments();
    first.play(laggingBy(20));
    expect(await readAll(chainOver([first.url, second.url]), 30, 41)).toEqual(oneTo(40).slice(28));
  });

  test('that all lag give no result rather than a wrong one', async () => {
    await fortyPayments();
    first.play(laggingBy(20));
    await expect(chainOver([first.url]).scan(30, 41, isOurs)).rejects.toThrow(ChainUnavailable);
  });

  test('that lag do not make a transfer count as gone because they have not seen it yet', async () => {
    await fortyPayments();
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    const chain = chainOver([first.url]);
    await chain.head();
    first.play(laggingBy(20));
    await expect(chain.transferAt(txHash, 0)).rejects.toThrow(/blocks behind/);
    first.heal();
    expect((await chain.transferAt(txHash, 0))?.tokenUnits).toBe(1_000_000n);
  });

  test('that never respond cost one timeout', async () => {
    first.play(hanging());
    const chain = chainOver([first.url, second.url], { pool: { timeoutMs: 200 } });
    expect((await chain.head()).number).toBe(1);
  });

  test('that send Retry-After are not asked for that long', async () => {
    const chain = chainOver([first.url], { pool: { maxWaitMs: 5_000 } });
    await chain.head();
    first.play(rateLimitedTimes(1, { retryAfterSec: 1 }));
    const asked = first.calls.length;
    const startedMs = performance.now();
    await chain.head();
    expect(first.calls.length).toBe(asked + 2);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(1_000);
  });

  test('that ask to wait inside a response body are understood too', async () => {
    const chain = chainOver([first.url, second.url]);
    await chain.head();
    await expect.poll(() => second.calls.some(({ params }) => params[0] === 'latest')).toBe(true);
    first.play(rateLimitedTimes(1, { inBody: true }));
    await chain.head();
    const asked = first.calls.length;
    for (let times = 0; times < 3; times += 1) await chain.head();
    expect(first.calls.length).toBe(asked);
  });
});

describe('transfers of one block that are checked together', () => {
  test('are read from the block once, and equal single reads', async () => {
    const txHash = await anvil.pay(token, ours, 7n);
    const blockNumber = await anvil.head();
    const chain = chainOver([first.url]);
    const single = await chain.transferAt(txHash, 0);
    first.play(refusing('eth_getTransactionReceipt', { code: -32000, message: 'no' }));
    const look = { blockNumber };
    expect(await chain.transferAt(txHash, 0, look)).toEqual(single);
    first.play(refusing('eth_getBlockReceipts', { code: -32000, message: 'no' }));
    expect(await chain.transferAt(txHash, 0, look)).toEqual(single);
  });

  test('are read one by one where the provider does not serve whole blocks, or the transaction is in another block', async () => {
    const txHash = await anvil.pay(token, ours, 7n);
    const blockNumber = await anvil.head();
    const chain = chainOver([first.url]);
    const single = await chain.transferAt(txHash, 0);
    expect(single).toMatchObject({ tokenUnits: 7n });
    expect(await chain.transferAt(txHash, 0, { blockNumber: blockNumber - 1 })).toEqual(single);
    first.play(
      refusing('eth_getBlockReceipts', { code: -32601, message: 'the method eth_getBlockReceipts is not available' }),
    );
    expect(await chain.transferAt(txHash, 0, { blockNumber })).toEqual(single);
  });
});

describe('a start', () => {
  test('on another chain is refused where no other provider is left', async () => {
    first.play(lying('eth_chainId', () => '0x1'));
    await expect(chainOver([first.url]).verify()).rejects.toThrow(WrongChain);
  });

  test('excludes the only provider of another chain and continues with the others', async () => {
    first.play(lying('eth_chainId', () => '0x1'));
    const chain = chainOver([first.url, second.url]);
    await chain.verify();
    expect((await chain.head()).number).toBe(await anvil.head());
  });

  test('with a token of other decimals is refused', async () => {
    const other = createEvmChain({
      settings: localSettings(token, {}, 18),
      pool: createRpcPool({ network: 'ethereum', urls: [first.url] }),
    });
    chains.push(other);
    await expect(other.verify()).rejects.toThrow(/6 decimals instead of 18/);
  });

  test('with a token that is not there is refused', async () => {
    const other = createEvmChain({
      settings: localSettings(anvil.account(9)),
      pool: createRpcPool({ network: 'ethereum', urls: [first.url] }),
    });
    chains.push(other);
    await expect(other.verify()).rejects.toThrow(WrongChain);
  });

  test.each([
    ['that method is unknown', { code: -32601, message: 'the method eth_getLogs is not available' }],
    ['every range is over a limit', { code: -32005, message: 'limit exceeded' }],
    ['of words that nobody knows', { code: -32000, message: 'no logs at this hour' }],
  ])('reads the receipts of a provider that serves no logs because %s', async (_, error) => {
    await fortyPayments();
    first.play(refusing('eth_getLogs', error));
    const chain = chainOver([first.url]);
    expect(await readAll(chain, 2, 41)).toEqual(oneTo(40));
    const asked = first.count('eth_getLogs');
    expect(await readAll(chain, 2, 41)).toEqual(oneTo(40));
    expect(first.count('eth_getLogs')).toBe(asked);
  });

  test('continues without a provider that serves neither logs nor receipts', async () => {
    await fortyPayments();
    const error = { code: -32601, message: 'the method is not available' };
    first.play((call) => (['eth_getLogs', 'eth_getBlockReceipts'].includes(call.method) ? { error } : undefined));
    const chain = chainOver([first.url, second.url]);
    await chain.verify();
    expect(await readAll(chain, 2, 41)).toEqual(oneTo(40));
    await expect(chainOver([first.url]).verify()).rejects.toThrow(/serves neither logs nor receipts/);
  });

  test('waits while no provider responds, and does not reveal secrets in the URL', async () => {
    first.play(down());
    const error: unknown = await chainOver([`${first.url}/v3/very-secret-key?token=hidden`])
      .verify()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ChainUnavailable);
    expect(String(error)).not.toMatch(/very-secret-key|hidden/);
  });
});

describe('a lying node', () => {
  const large = { confirmWithSecond: (units: bigint): boolean => units >= 10n ** 18n };

  test('that invents a receipt is not believed above the amount that needs two sources', async () => {
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    first.play(
      lying('eth_getTransactionReceipt', (receipt: { logs: { data: string }[] }) => ({
        ...receipt,
        logs: receipt.logs.map((log) => ({ ...log, data: `0x${(10n ** 12n).toString(16).padStart(64, '0')}` })),
      })),
    );
    await expect(chainOver([first.url, second.url], large).transferAt(txHash, 0)).rejects.toThrow(/do not agree/);
    await expect(chainOver([first.url], large).transferAt(txHash, 0)).rejects.toThrow(ChainUnavailable);
  });

  test('is outvoted by two honest ones', async () => {
    const txHash = await anvil.pay(token, ours, 5_000_000n);
    first.play(lying('eth_getTransactionReceipt', () => null));
    const third = await FaultProxy.before(anvil.url);
    try {
      expect((await chainOver([first.url, second.url, third.url], large).transferAt(txHash, 0))?.tokenUnits).toBe(
        5_000_000n,
      );
    } finally {
      await third.close();
    }
  });

  test('that denies a transfer does not make it gone while another one has it', async () => {
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    first.play(lying('eth_getTransactionReceipt', () => null));
    expect((await chainOver([first.url, second.url]).transferAt(txHash, 0))?.tokenUnits).toBe(1_000_000n);
    second.play(down());
    await expect(chainOver([first.url, second.url]).transferAt(txHash, 0)).rejects.toThrow(ChainUnavailable);
  });

  test('that turns a failed transaction into a success is caught by the second source', async () => {
    await anvil.pause(token);
    await anvil.mine();
    const txHash = await anvil.pay(token, ours, 2_000_000n);
    const log = { address: token, topics: [], data: '0x', logIndex: '0x0' };
    const shown = ({ transactionHash, blockNumber, blockHash }: Record<string, unknown>) => [
      { ...log, transactionHash, blockNumber, blockHash },
    ];
    first.play(
      lying('eth_getTransactionReceipt', (receipt: Record<string, unknown> | null) =>
        receipt === null ? null : { ...receipt, status: '0x1', logs: shown(receipt) },
      ),
    );
    expect(await chainOver([second.url]).transferAt(txHash, 0)).toBeNull();
    expect(await chainOver([first.url, second.url], large).transferAt(txHash, 0)).toBeNull();
  });

  test('that returns garbage counts as unavailable', async () => {
    for (const rubbish of [
      42,
      'text',
      { number: 'x' },
      { number: '0x1', hash: '0x', parentHash: null, timestamp: '0x1' },
    ]) {
      first.heal();
      first.play(lying('eth_getBlockByNumber', () => rubbish));
      await expect(chainOver([first.url]).head()).rejects.toThrow(ChainUnavailable);
    }
    first.play(() => ({ status: 200, text: '<html>busy</html>' }));
    await expect(chainOver([first.url]).head()).rejects.toThrow(ChainUnavailable);
  });
});
