import { toBeHex } from 'ethers';
import { expect, it } from 'vitest';
import { evmOutflows } from '../../../../src/adapters/evm/outflows.ts';
import { topicOf, TRANSFER_TOPIC } from '../../../../src/adapters/evm/transfer-log.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import type { RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const TREASURY = '0x28C6c06298d514Db089934071355E5743bf21d60';
const STRANGER = '0x0D836c629a35654FCF10C8959BCa31368c6DcDF6';
const HASH = `0x${'ab'.repeat(32)}`;
const settings = {
  network: 'bsc',
  tokens: [{ coin: 'USDT', address: USDT, decimals: 6 }],
} as unknown as NetworkSettings;

/** One transaction with a transfer in the treasury's name. `byHash`: whether the node still knows it by its hash. */
const chainWith = (sender: string, units: bigint, byHash: boolean): RpcProvider => {
  const log = {
    ...{ address: USDT, topics: [TRANSFER_TOPIC, topicOf(TREASURY), topicOf(STRANGER)], data: toBeHex(units, 32) },
    ...{ blockNumber: '0x9', blockHash: HASH, transactionHash: HASH, logIndex: '0x0' },
  };
  const receipt = { ...log, status: '0x1', logs: [log], gasUsed: '0x5208', effectiveGasPrice: '0x1' };
  const transaction = { hash: HASH, from: sender, to: USDT, value: '0x0' };
  const answers: Readonly<Record<string, unknown>> = {
    eth_blockNumber: '0x9',
    eth_getLogs: [log],
    eth_getTransactionByHash: byHash ? transaction : null,
    eth_getTransactionReceipt: byHash ? receipt : null,
    eth_getBlockByNumber: { transactions: [transaction] },
    eth_getBlockReceipts: [receipt],
  };
  return { call: async (method: string) => answers[method] } as unknown as RpcProvider;
};

const found = async (sender: string, units: bigint, byHash = true): Promise<readonly string[]> => {
  const chain = chainWith(sender, units, byHash);
  const seen = await evmOutflows(chain, settings, TREASURY, 1, async (hashes) => new Set(hashes));
  return seen.map(({ coin, units: taken }) => `${taken} ${coin}`);
};

it('what somebody else took from the treasury is an outflow', async () => {
  expect(await found(STRANGER, 5_000_000n)).toEqual(['5000000000000000000 USDT']);
});

it('nothing that anybody logs in the name of the treasury is an outflow, which would stop all payouts', async () => {
  expect(await found(STRANGER, 0n)).toEqual([]);
});

it('the fee of a transaction of the treasury is an outflow, whatever else it moves', async () => {
  expect(await found(TREASURY, 0n)).toEqual(['21000 BNB']);
});

it('is found in its block where the node has forgotten its hash, or the watch would stand still', async () => {
  expect(await found(TREASURY, 5_000_000n, false)).toEqual(['5000000000000000000 USDT', '21000 BNB']);
});
