import { describe, expect, it } from 'vitest';
import { TOKEN_PROGRAM } from '../../../../src/chain-formats/spl-token.ts';
import { fateAt } from '../../../../src/adapters/solana/outgoing-fate.ts';
import { readBalances, readHistory, readTransaction } from '../../../../src/adapters/solana/rpc.ts';
import { tokenDeltas } from '../../../../src/adapters/solana/token-balances.ts';
import { feesNow } from '../../../../src/adapters/evm/gas.ts';
import { feeOf, readReceipt } from '../../../../src/adapters/evm/rpc.ts';
import { gasOfTransfer } from '../../../../src/adapters/evm/token-calls.ts';
import { receiptsOfBlock, transactionsOf } from '../../../../src/adapters/tron/rpc.ts';
import { rpcErrorOf } from '../../../../src/adapters/rpc/dialects.ts';
import type { RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';

const HASH = 'a'.repeat(64);
const BLOCK = { number: 5, hash: HASH, parentHash: '', timeSec: 1 };

/** A provider that gives each call its answer. */
const answering = (answers: Readonly<Record<string, unknown>>): RpcProvider => {
  const answer = async (call: string) => answers[call.replace(/^.*\//, '')] ?? null;
  return { name: 'one', call: answer, post: answer, get: answer, report: () => undefined };
};

const FAULT = { name: 'ProviderFault', kind: 'inconsistent' };

describe('an answer in another form than the API has', () => {
  it.each([
    ['a slot as text', { slot: '5' }],
    ['no balances', { slot: 5, meta: { err: null, preBalances: [1] } }],
  ])('is a fault of the Solana provider: %s', async (_, transaction) => {
    await expect(readTransaction(answering({ getTransaction: transaction }), 'tx', 'finalized')).rejects.toMatchObject(
      FAULT,
    );
  });

  it('never decides that a transaction can no longer land', async () => {
    const provider = answering({
      getSlot: 9,
      getSignatureStatuses: { context: { slot: 9 }, value: [null] },
      isBlockhashValid: { value: null },
    });
    const validity = { kind: 'solana-blockhash', blockhash: 'b' } as const;
    const sent = [{ txHash: 'tx', signedBytes: '', validity }];
    await expect(fateAt(provider, { sent, treasury: 't', expected: { native: 1n } })).rejects.toMatchObject(FAULT);
  });

  it.each([[[]], [[null, null]]])('is no word about a transaction if it has %j for one', async (value) => {
    const getSignatureStatuses = { context: { slot: 9 }, value };
    const provider = answering({ getSlot: 9, getSignatureStatuses, isBlockhashValid: { value: false } });
    const validity = { kind: 'solana-blockhash', blockhash: 'b' } as const;
    const sent = [{ txHash: 'tx', signedBytes: '', validity }];
    await expect(fateAt(provider, { sent, treasury: 't', expected: { native: 1n } })).rejects.toMatchObject(FAULT);
  });

  it('is a fault of the Solana provider where a balance belongs to an account that the transaction does not name', () => {
    const token = { coin: 'USDT', address: 'mint', decimals: 6 } as const;
    const balance = { accountIndex: 1, mint: 'mint', programId: TOKEN_PROGRAM, uiTokenAmount: { amount: '1' } };
    const transaction = {
      slot: 5,
      meta: { err: null, preBalances: [1], postBalances: [1], preTokenBalances: [], postTokenBalances: [balance] },
      transaction: { message: { accountKeys: ['payer'] } },
    };
    expect(() => tokenDeltas(transaction, [token])).toThrow(expect.objectContaining(FAULT));
  });

  it('is a fault of the Solana provider if the clock has no time', async () => {
    const clock = { owner: 'sysvar', data: ['AAAA', 'base64'] };
    const provider = answering({ getMultipleAccounts: { context: { slot: 5 }, value: [clock] } });
    await expect(readBalances(provider, [])).rejects.toMatchObject(FAULT);
  });

  it.each([undefined, null, '', '0x', '0x01', 1, true])(
    'says nothing of an EVM transaction if its status is %j',
    async (status) => {
      const receipt = { transactionHash: `0x${HASH}`, blockHash: `0x${HASH}`, blockNumber: '0x5', logs: [], status };
      const provider = answering({ eth_getTransactionReceipt: receipt });
      await expect(readReceipt(provider, `0x${HASH}`)).rejects.toMatchObject(FAULT);
    },
  );

  it.each([null, '', '7 gwei', {}])('is a fault of the EVM provider if gas costs %j', async (price) => {
    const limits = { maxPriorityFeePerGas: 9n, fallbackTip: 1n };
    const answers = { eth_maxPriorityFeePerGas: price, eth_getBlockByNumber: { baseFeePerGas: '0x1' } };
    await expect(feesNow(answering(answers), limits)).rejects.toMatchObject(FAULT);
    const receipt = { gasUsed: price, effectiveGasPrice: price } as never;
    expect(() => feeOf(receipt)).toThrow(expect.objectContaining(FAULT));
  });

  it('is a fault of the TRON provider', async () => {
    const receipts = [{ id: HASH, blockNumber: 5, blockTimeStamp: 1, receipt: {}, log: [{ address: 7 }] }];
    await expect(receiptsOfBlock(answering({ gettransactioninfobyblocknum: receipts }), 5)).rejects.toMatchObject({
      ...FAULT,
      message: expect.stringContaining('0.log.0.address'),
    });
  });
});

describe('a token transfer that a node does not estimate', () => {
  const token = { coin: 'USDT', address: '0x5FbDB2315678afecb367f032d93F642f64180aa3', decimals: 6 } as const;
  const from = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
  const estimate = (message: string): Promise<bigint> => {
    const provider = answering({ eth_call: `0x${'f'.repeat(64)}` });
    const call = async (method: string, params: readonly unknown[]) => {
      if (method === 'eth_estimateGas') throw rpcErrorOf({ family: 'evm', method, code: -32000, text: message });
      return provider.call(method, params);
    };
    return gasOfTransfer({ ...provider, call }, token, { from, to: from, units: 1n });
  };

  it.each(['execution aborted (timeout = 5s)', 'execution timeout', 'execution timed out'])(
    'may be possible all the same: %s',
    async (message) => {
      await expect(estimate(message)).rejects.toMatchObject({ name: 'ProviderFault' });
    },
  );

  it.each(['execution reverted: blocked', 'VM execution error.', 'invalid opcode: INVALID'])(
    'is impossible: %s',
    async (message) => {
      await expect(estimate(message)).rejects.toMatchObject({ name: 'TransferImpossible' });
    },
  );
});

it('reads a TRON block although contracts of other kinds use the names of fields for other things', async () => {
  const value = { owner_address: '41', amount: '7', data: { of: 'another contract' } };
  const other = { txID: HASH, raw_data: { contract: [{ type: 'OtherContract', parameter: { value } }] } };
  const header = { blockID: HASH, block_header: { raw_data: { number: 5, parentHash: HASH, timestamp: 1 } } };
  const [read] = await transactionsOf(answering({ getblockbynum: { ...header, transactions: [other] } }), BLOCK);
  expect(read).toMatchObject({ txID: HASH });
  expect(read?.raw_data?.contract?.[0]?.parameter?.value).toEqual({ owner_address: '41' });
});

it('reads a Solana transaction of a history that leaves out what is null', async () => {
  const getSignaturesForAddress = [
    { signature: 'paid', slot: 6 },
    { signature: 'failed', slot: 5, err: { InstructionError: [0, 'Custom'] } },
  ];
  expect(
    await readHistory(answering({ getSignaturesForAddress }), 'account', { commitment: 'finalized' }),
  ).toMatchObject([
    { txHash: 'paid', failed: false },
    { txHash: 'failed', failed: true },
  ]);
});
