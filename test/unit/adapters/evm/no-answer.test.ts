import { describe, expect, it } from 'vitest';
import { blocksOfChange } from '../../../../src/adapters/evm/balance-changes.ts';
import { evmNativeUnits } from '../../../../src/adapters/evm/balances.ts';
import { feeOf, readTransaction, readTransactions } from '../../../../src/adapters/evm/rpc.ts';
import { answeringProvider } from '../../../support/answering-provider.ts';

/* An answer that is none is never a value: not zero, not "no", and not the end of a round. */

const FAULT = { name: 'ProviderFault' };
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const HASH = `0x${'a'.repeat(64)}`;
const sound = { hash: HASH, from: OURS, to: OURS, value: '0x5' };

describe('a transaction', () => {
  it.each([
    ['no value', { value: undefined }],
    ['an empty value', { value: '' }],
    ['a value without digits', { value: '0x' }],
    ['a value that is no hex', { value: '0xzz' }],
    ['a number', { value: 5 }],
    ['no sender', { from: '' }],
    ['a payee that is no address', { to: '0x' }],
    ['another hash', { hash: '0x1' }],
  ])('with %s is none', async (_, change) => {
    const broken = { ...sound, ...change };
    await expect(readTransaction(answeringProvider({ eth_getTransactionByHash: broken }), HASH)).rejects.toMatchObject(
      FAULT,
    );
    const block = answeringProvider({ eth_getBlockByNumber: { transactions: [sound, broken] } });
    await expect(readTransactions(block, 1)).rejects.toMatchObject(FAULT);
  });

  it('is read with a payee or without one', async () => {
    for (const to of [OURS, null])
      expect(
        await readTransaction(answeringProvider({ eth_getTransactionByHash: { ...sound, to } }), HASH),
      ).toMatchObject({
        to,
      });
  });
});

describe('a fee', () => {
  it('is not zero because a receipt does not say its price', () => {
    const receipt = { transactionHash: HASH, blockNumber: '0x1', blockHash: HASH, status: '0x1', logs: [] } as const;
    expect(feeOf({ ...receipt, gasUsed: '0x5208', effectiveGasPrice: '0x2' })).toBe(42_000n);
    expect(() => feeOf({ ...receipt, gasUsed: '0x5208' })).toThrow(expect.objectContaining(FAULT));
  });
});

describe('balances', () => {
  it('of many accounts are words of hex, or none', async () => {
    const words = (text: string) => answeringProvider({ eth_call: `0x${text.padStart(64, '0')}` });
    expect(await evmNativeUnits(words('ff'), [OURS])).toEqual([255n]);
    for (const provider of [words('zz'), answeringProvider({ eth_call: '0x' }), answeringProvider({})])
      await expect(evmNativeUnits(provider, [OURS])).rejects.toMatchObject(FAULT);
  });

  it('at a block are numbers, or none', async () => {
    const range = { fromBlock: 1, toBlock: 4 };
    for (const answer of ['', '0x', 5, {}])
      await expect(blocksOfChange(answeringProvider({ eth_getBalance: answer }), OURS, range)).rejects.toMatchObject(
        FAULT,
      );
    // A node without old states: each block is read.
    expect(await blocksOfChange(answeringProvider({}), OURS, range)).toEqual([1, 2, 3, 4]);
  });
});
