import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAddress } from 'ethers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createEvmChain } from '../../src/adapters/evm/chain.ts';
import { TRANSFER_TOPIC } from '../../src/adapters/evm/transfer-log.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { Chain } from '../../src/ports/chain/chain.ts';
import { serveFixture, type FixtureBlock, type FixtureLog } from './chain-fixture-node.ts';

/*
 * Real main-network transactions, played through the adapter as a provider would answer. Where the public record lacks
 * a part (`parentHash`, the logs of the two BSC transactions), it is made up here and says so.
 */

interface Expected {
  readonly chain: string;
  readonly file: string;
  readonly hash: string;
  readonly block: number;
  readonly blockHash?: string;
  readonly timestamp?: number;
  readonly transfers: readonly {
    readonly token: 'USDT' | 'USDC';
    readonly contract: string;
    readonly from: string;
    readonly to: string;
    readonly units: string;
    readonly logIndex?: number;
  }[];
  readonly trap: string;
}

const FOLDER = join(import.meta.dirname, '..', 'fixtures', 'chains');
const read = (file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Record<string, unknown>;
const EXPECTED = (JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8')) as Expected[]).filter(
  ({ chain }) => chain === 'ethereum' || chain === 'bsc',
);

const MAIN = {
  ethereum: {
    network: 'ethereum',
    mode: 'live',
    chainId: '1',
    simulated: false,
    mainNetwork: true,
    explorerTransactionUrl: null,
    tokens: [
      { coin: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 },
      { coin: 'USDC', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
    ],
  },
  bsc: {
    network: 'bsc',
    mode: 'live',
    chainId: '56',
    simulated: false,
    mainNetwork: true,
    explorerTransactionUrl: null,
    tokens: [
      { coin: 'USDT', address: '0x55d398326f99059fF775485246999027B3197955', decimals: 18 },
      { coin: 'USDC', address: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', decimals: 18 },
    ],
  },
} as const satisfies Record<string, NetworkSettings>;

const NO_HASH = `0x${'00'.repeat(32)}`;
const hex = (value: number): string => `0x${value.toString(16)}`;
const word = (value: string): string => `0x${value.replace('0x', '').padStart(64, '0')}`;

async function chainOf(block: FixtureBlock, settings: NetworkSettings): Promise<Chain> {
  const node = await serveFixture(block);
  const chain = createEvmChain({
    settings,
    pool: createRpcPool({ network: settings.network, urls: [node.url], maxWaitMs: 0 }),
  });
  onTestFinished(node.close);
  onTestFinished(() => chain.close());
  return chain;
}

function ethereumBlock(expected: Expected): FixtureBlock {
  const receipt = read(expected.file)['eth_getTransactionReceipt'] as { transactionHash: string; logs: FixtureLog[] };
  const header = {
    number: hex(expected.block),
    hash: expected.blockHash!,
    parentHash: NO_HASH,
    timestamp: hex(expected.timestamp!),
  };
  return { chainId: 1, decimals: 6, header, logs: receipt.logs, receipts: [receipt] };
}

/** Synthetic logs: the sources printed none. */
function bscBlock(expected: Expected): FixtureBlock {
  const hash = word(expected.block.toString(16));
  const logs = expected.transfers.map((transfer, index) => ({
    address: transfer.contract,
    topics: [TRANSFER_TOPIC, word(transfer.from), word(transfer.to)],
    data: word(BigInt(transfer.units).toString(16)),
    blockNumber: hex(expected.block),
    blockHash: hash,
    transactionHash: expected.hash,
    logIndex: hex(index),
    removed: false,
  }));
  const receipt = {
    transactionHash: expected.hash,
    blockNumber: hex(expected.block),
    blockHash: hash,
    status: '0x1',
    logs,
  };
  return {
    chainId: 56,
    decimals: 18,
    header: { number: hex(expected.block), hash, parentHash: NO_HASH, timestamp: hex(1_700_000_000) },
    logs,
    receipts: [receipt],
  };
}

describe('a real transaction reads as expected', () => {
  test.each(EXPECTED)('$chain $hash: $trap', async (expected) => {
    const settings = MAIN[expected.chain as 'ethereum' | 'bsc'];
    const chain = await chainOf(expected.chain === 'ethereum' ? ethereumBlock(expected) : bscBlock(expected), settings);
    await chain.verify();
    const recipients = new Set(expected.transfers.map(({ to }) => to));
    const { transfers, lastBlock } = await chain.scan(expected.block, expected.block, (address) =>
      recipients.has(address.toLowerCase()),
    );
    const withEffect = expected.transfers.filter(({ units }) => units !== '0');
    expect(transfers).toEqual(
      withEffect.map((transfer, index) => ({
        tokenAddress: getAddress(transfer.contract),
        tokenUnits: BigInt(transfer.units),
        fromAddress: getAddress(transfer.from),
        toAddress: getAddress(transfer.to),
        txHash: expected.hash,
        logIndex: transfer.logIndex ?? index,
        block: lastBlock,
      })),
    );
    if (expected.blockHash)
      expect(lastBlock).toMatchObject({
        number: expected.block,
        hash: expected.blockHash,
        timeSec: expected.timestamp,
      });
    for (const transfer of transfers)
      expect(await chain.transferAt(expected.hash, transfer.logIndex)).toEqual(transfer);
    for (const { units, logIndex } of expected.transfers)
      if (units === '0') expect(await chain.transferAt(expected.hash, logIndex!)).toBeNull();
  });
});

describe('a whole main-network block', () => {
  const fixture = read('ethereum/block_16899757.json') as unknown as {
    header: FixtureBlock['header'];
    logs: FixtureLog[];
  };
  const block: FixtureBlock = { chainId: 1, decimals: 6, header: fixture.header, logs: fixture.logs, receipts: [] };
  const number = Number(fixture.header.number);

  test('gives every transfer of both tokens that moves money, in chain order', async () => {
    const chain = await chainOf(block, MAIN.ethereum);
    const { transfers } = await chain.scan(number, number, () => true);
    const moving = fixture.logs.filter((log) => BigInt(log.data) > 0n);
    expect(moving.length).toBeLessThan(fixture.logs.length);
    expect(transfers.map(({ txHash, logIndex, tokenUnits }) => [txHash, hex(logIndex), tokenUnits])).toEqual(
      moving.map((log) => [log.transactionHash, log.logIndex, BigInt(log.data)]),
    );
  });

  test('that arrives without any logs of a token whose bloom bits are set is requested again, by its hash', async () => {
    const byHashOnly = { ...block, logs: fixture.logs };
    const node = await serveFixture(byHashOnly);
    onTestFinished(node.close);
    const { FaultProxy, logsCutTo } = await import('../support/fault-proxy.ts');
    const proxy = await FaultProxy.before(node.url);
    onTestFinished(() => proxy.close());
    proxy.play(logsCutTo(0));
    const chain = createEvmChain({
      settings: MAIN.ethereum,
      pool: createRpcPool({ network: 'ethereum', urls: [proxy.url], maxWaitMs: 0 }),
    });
    onTestFinished(() => chain.close());
    await expect(chain.scan(number, number, () => true)).rejects.toThrow(/left out transfers of block 16899757/);
  });
});

describe('look-alike tokens', () => {
  test('of the BSC spam lists count for nothing', async () => {
    const { fake, real } = read('bsc/fake_usdt_contracts.json') as unknown as { fake: string[]; real: string };
    const base = bscBlock(EXPECTED.find(({ chain }) => chain === 'bsc')!);
    const logs = [...fake, real].map((address, index) => ({
      ...base.logs[0]!,
      address: address.toLowerCase(),
      logIndex: hex(index),
    }));
    const receipt = { ...base.receipts[0]!, logs };
    const chain = await chainOf({ ...base, logs, receipts: [receipt] }, MAIN.bsc);
    const number = Number(base.header.number);
    const { transfers } = await chain.scan(number, number, () => true);
    expect(transfers.map(({ logIndex }) => logIndex)).toEqual([fake.length]);
    expect(await chain.transferAt(base.logs[0]!.transactionHash, 0)).toBeNull();
  });
});
