import { AbiCoder, getAddress, Interface, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RawLog } from '../../../../src/adapters/evm/rpc.ts';
import { createTransferBloom } from '../../../../src/adapters/evm/logs-bloom.ts';
import {
  isOurTransfer,
  readTransferLogs,
  tokensByAddress,
  toTransfer,
  TRANSFER_TOPIC,
} from '../../../../src/adapters/evm/transfer-log.ts';

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const PAYER = getAddress('0x28c6c06298d514db089934071355e5743bf21d60');
const OURS = getAddress('0x0d836c629a35654fcf10c8959bca31368c6dcdf6');
const tokens = tokensByAddress([{ coin: 'USDT', address: USDT, decimals: 6 }]);
const block = { number: 16, hash: `0x${'11'.repeat(32)}`, parentHash: `0x${'10'.repeat(32)}`, timeSec: 1_800_000_000 };
const word = (units: bigint): string => AbiCoder.defaultAbiCoder().encode(['uint256'], [units]);
const fail = () => Promise.reject(new Error('not asked'));
const isOurs = (address: string): boolean => address.toLowerCase() === OURS.toLowerCase();

const log = (change: Partial<RawLog> = {}): RawLog => ({
  address: USDT.toLowerCase(),
  topics: [TRANSFER_TOPIC, zeroPadValue(PAYER.toLowerCase(), 32), zeroPadValue(OURS.toLowerCase(), 32)],
  data: word(107_522_261n),
  blockNumber: '0x10',
  blockHash: block.hash,
  transactionHash: `0x${'ab'.repeat(32)}`,
  logIndex: '0x5f',
  removed: false,
  ...change,
});

describe('a log', () => {
  test('of a transfer to us is read exactly', () => {
    expect(isOurTransfer(log(), tokens, isOurs)).toBe(true);
    expect(toTransfer(log(), tokens, block)).toEqual({
      tokenAddress: USDT,
      tokenUnits: 107_522_261n,
      fromAddress: PAYER,
      toAddress: OURS,
      txHash: `0x${'ab'.repeat(32)}`,
      logIndex: 95,
      block,
    });
  });

  test('is read whatever its amount, as the ABI defines it', () => {
    const abi = new Interface(['event Transfer(address indexed from, address indexed to, uint256 value)']);
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), (units) => {
        const { data, topics } = abi.encodeEventLog('Transfer', [PAYER, OURS, units]);
        const coded = log({ data, topics });
        return isOurTransfer(coded, tokens, isOurs) && toTransfer(coded, tokens, block).tokenUnits === units;
      }),
    );
  });

  test('of money minted to us names no payer: nobody can be refunded at the zero address', () => {
    const minted = log({ topics: [TRANSFER_TOPIC, `0x${'0'.repeat(64)}`, log().topics[2]!] });
    expect(isOurTransfer(minted, tokens, isOurs)).toBe(true);
    expect(toTransfer(minted, tokens, block).fromAddress).toBeNull();
  });

  const [topic, from, to] = log().topics as [string, string, string];
  test.each<[string, Partial<RawLog>]>([
    ['to somebody else', { topics: [topic, from, from] }],
    ['of another token', { address: '0xFfD7181371Ab03D56EFFdAa01055E168E53EA392'.toLowerCase() }],
    ['without effect', { data: word(0n) }],
    ['that was removed', { removed: true }],
    ['of an NFT, whose value is a topic', { topics: [topic, from, to, word(1n)], data: '0x' }],
    ['of old tokens, whose addresses are data', { topics: [topic] }],
    ['of another event', { topics: [word(1n), from, to] }],
    ['whose topic is no address', { topics: [topic, from, to.replace('0x00', '0x01')] }],
    ['whose sender is no address', { topics: [topic, word(2n ** 255n), to] }],
    ['with too little data', { data: '0x' }],
    ['with too much data', { data: word(5n) + word(5n).slice(2) }],
  ])('%s counts for nothing', (_what, change) => {
    expect(isOurTransfer(log(change), tokens, isOurs)).toBe(false);
  });
});

describe('a log that answers our filter', () => {
  const read = (answer: unknown) =>
    readTransferLogs(
      { name: 'one', call: async () => [answer], post: fail, get: fail, report: () => undefined },
      { address: [USDT], blockHash: block.hash },
    );
  const inUpperCase = (text: string): string => `0x${text.slice(2).toUpperCase()}`;

  test('is the same bytes in upper case', async () => {
    const { address, topics, data, blockHash, transactionHash, blockNumber, logIndex } = log();
    const upper = {
      ...{ topics: topics.map(inUpperCase), address: inUpperCase(address), data: inUpperCase(data) },
      ...{ blockHash: inUpperCase(blockHash), transactionHash: inUpperCase(transactionHash) },
      ...{ blockNumber: inUpperCase(blockNumber), logIndex: inUpperCase(logIndex), removed: false },
    };
    expect(await read(upper)).toEqual([log()]);
    expect(await read({ ...log(), address: USDT })).toEqual([log()]);
  });

  const [topic, from, to] = log().topics as [string, string, string];
  test.each<[string, Partial<RawLog>]>([
    ['without a receiver', { topics: [topic, from] }],
    ['with a fourth topic', { topics: [topic, from, to, from] }],
    ['whose receiver is cut off', { topics: [topic, from, to.slice(0, -2)] }],
    ['whose sender is no hex', { topics: [topic, from.replace('0x00', '0xzz'), to] }],
    ['without an amount', { data: '0x' }],
    ['with half an amount', { data: log().data.slice(0, 40) }],
  ])("%s is the provider's fault, as the payment in it would be lost", async (_, change) => {
    await expect(read(log(change))).rejects.toMatchObject({ name: 'ProviderFault', kind: 'inconsistent' });
  });

  test('of another token or event may have any form', async () => {
    const other = log({ address: PAYER.toLowerCase(), data: '0x' });
    expect(await read(other)).toEqual([other]);
  });
});

describe('the bloom filter', () => {
  test('with all bits set may hold anything, with none nothing', () => {
    const mayHold = createTransferBloom(USDT);
    expect(mayHold(`0x${'ff'.repeat(256)}`)).toBe(true);
    expect(mayHold(`0x${'00'.repeat(256)}`)).toBe(false);
  });
});
