import { describe, expect, it } from 'vitest';
import { fateAt } from '../../../../src/adapters/solana/outgoing-fate.ts';
import { readHistory, readTransaction } from '../../../../src/adapters/solana/rpc.ts';
import { receiptsOfBlock, transactionsOf } from '../../../../src/adapters/tron/rpc.ts';
import type { RpcProvider } from '../../../../src/ports/rpc-pool.ts';

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

  it('is a fault of the TRON provider', async () => {
    const receipts = [{ id: HASH, blockNumber: 5, log: [{ address: 7 }] }];
    await expect(receiptsOfBlock(answering({ gettransactioninfobyblocknum: receipts }), 5)).rejects.toMatchObject({
      ...FAULT,
      message: expect.stringContaining('0.log.0.address'),
    });
  });
});

it('reads a TRON block although contracts of other kinds use the names of fields for other things', async () => {
  const value = { owner_address: '41', amount: '7', data: { of: 'another contract' } };
  const other = { txID: HASH, raw_data: { contract: [{ type: 'OtherContract', parameter: { value } }] } };
  const [read] = await transactionsOf(answering({ getblockbynum: { blockID: HASH, transactions: [other] } }), BLOCK);
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
