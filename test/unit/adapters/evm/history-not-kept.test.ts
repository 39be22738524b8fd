import { expect, describe, it } from 'vitest';
import { fateAt, vanishedAt } from '../../../../src/adapters/evm/outgoing-fate.ts';
import { answeringProvider, Refuses } from '../../../support/answering-provider.ts';

/* Answers of geth 1.17.10 about what it does not keep, or has not computed. */

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const TX = hash('a');
const sent = [{ txHash: TX, signedBytes: '0x', validity: { kind: 'evm-nonce', nonce: 5, maxFeePerGas: '1' } as const }];
const asked = { sent, from: OURS, expected: null, depth: 3 };
const header = (number: number) => ({
  ...{ number: `0x${number.toString(16)}`, hash: hash('b'), parentHash: hash('c'), timestamp: '0x1' },
});
const receipt = {
  ...{ transactionHash: TX, blockNumber: '0x10', blockHash: hash('b'), status: '0x1', logs: [] },
  ...{ gasUsed: '0x5208', effectiveGasPrice: '0x1' },
};
const PRUNED = new Refuses(`historical state ${hash('d').slice(2)} is not available`);
const UNKNOWN = new Refuses('finalized block not found');
/** Finality stands at `finalized`. */
const blocks = (finalized: unknown) => (at: string) =>
  at === 'finalized' ? finalized : header(at === 'latest' ? 0x20 : Number(at));

describe('a payout while finality is further behind than the node keeps state', () => {
  it.each([
    ['pending', { hash: TX }, { kind: 'pending', inBlock: false }],
    ['gone', null, { kind: 'absent' }],
  ])('is %s, so it is sent again and its fee may rise', async (_, known, fate) => {
    const provider = answeringProvider({ eth_getTransactionCount: PRUNED, eth_getTransactionByHash: known });
    expect(await fateAt(provider, asked)).toEqual(fate);
  });

  it('is not final while the node knows no final block', async () => {
    const provider = answeringProvider({ eth_getTransactionReceipt: receipt, eth_getBlockByNumber: blocks(UNKNOWN) });
    expect(await fateAt(provider, asked)).toMatchObject({ kind: 'landed', final: false });
    expect(await fateAt(provider, { ...asked, depth: null })).toEqual({ kind: 'pending', inBlock: true });
  });
});

describe('a payout whose hash the node has forgotten', () => {
  const landed = { txHash: TX, blockNumber: 0x10, blockHash: hash('b') };
  const node = (byHash: unknown, inBlock: unknown) =>
    answeringProvider({
      ...{ eth_getTransactionReceipt: byHash, eth_getBlockReceipts: inBlock },
      eth_getBlockByNumber: blocks(header(0x18)),
    });

  it.each([
    ['is outside its index', null],
    ['is not in its index yet', new Refuses('transaction indexing is in progress')],
  ])('is found in its block: the hash %s', async (_, byHash) => {
    expect(await vanishedAt(node(byHash, [receipt]), landed)).toMatchObject({
      ...{ vanished: false, withheld: false, final: true },
    });
  });

  it('is withheld where the block does not show it either', async () => {
    for (const inBlock of [null, [], new Refuses('the method is not available', -32_601)])
      expect(await vanishedAt(node(null, inBlock), landed)).toMatchObject({ vanished: false, withheld: true });
  });
});
