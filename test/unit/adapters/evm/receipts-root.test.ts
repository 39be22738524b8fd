import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { receiptsRootOf } from '../../../../src/adapters/evm/receipts-root.ts';
import type { RawReceipt } from '../../../../src/adapters/evm/rpc.ts';

const some = (seed: string, bytes: number): string =>
  `0x${hash('sha512', seed)
    .repeat(Math.ceil(bytes / 64))
    .slice(0, 2 * bytes)}`;

const place = { blockNumber: '0x1', blockHash: some('b', 32) };

function receiptOf(index: number): RawReceipt {
  const transactionHash = some(`${index}`, 32);
  return {
    ...place,
    transactionHash,
    status: index % 7 === 0 ? '0x0' : '0x1',
    ...(index % 3 > 0 && { type: `0x${(index % 3).toString(16)}` }),
    gasUsed: '0xcb20',
    cumulativeGasUsed: `0x${(index * 52_000).toString(16)}`,
    logsBloom: some(`bloom ${index}`, 256),
    logs: Array.from({ length: index % 4 }, (_, at) => ({
      address: some(`a ${index} ${at}`, 20),
      topics: [some('t', 32), some(`t ${at}`, 32)].slice(0, at),
      data: some(`d ${index}`, (index * 13) % 300),
      ...{ ...place, transactionHash, logIndex: '0x0' },
    })),
  };
}

const receipts = (count: number): RawReceipt[] => Array.from({ length: count }, (_, index) => receiptOf(index));

describe('the root of a block’s receipts', () => {
  // Computed once with the RLP and Keccak of ethers.
  test.each([
    [0, '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'],
    [1, '0xb1a8333134b19ceb19b54c478e5e398348017e32a3631a13dca47dd4b113fc2b'],
    [17, '0xdb95043d778b47d7a61c6c71277c446f26236f7b36fc806c0b3f2141d5897637'],
    [129, '0x40545483bac7f9fb10123e7ed92d46f5edd124d1a256c8622af607689f6a6a6e'],
    [300, '0x96b59ecbeba5b8058ea5ee3ff1419b517176d4732700fcf058927e8e4c974d0c'],
  ])('of %i receipts', (count, root) => {
    expect(receiptsRootOf(receipts(count))).toBe(root);
  });

  test('cannot be determined when a receipt lacks a field', () => {
    const { logsBloom: _, ...without } = receiptOf(3);
    expect(receiptsRootOf([receiptOf(1), without])).toBeNull();
  });

  test.each([
    ['hidden behind what is no hex', (topic: string) => `${topic}zz${'ab'.repeat(20)}`],
    ['half a byte too long', (topic: string) => `${topic}a`],
    ['without its prefix', (topic: string) => topic.slice(2)],
  ])('is refused where a topic has something %s', (_, change) => {
    const receipt = receiptOf(3);
    const [first, second, third] = receipt.logs;
    const changed = { ...receipt, logs: [first!, second!, { ...third!, topics: third!.topics.map(change) }] };
    expect(() => receiptsRootOf([changed])).toThrow('no hex');
  });
});
