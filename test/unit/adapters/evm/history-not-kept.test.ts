import { expect, describe, it } from 'vitest';
import { keptTransactions } from '../../../../src/adapters/evm/kept-transactions.ts';
import { fateAt, vanishedAt } from '../../../../src/adapters/evm/outgoing-fate.ts';
import { finalBlock } from '../../../../src/adapters/evm/rpc.ts';
import { TRANSFER_TOPIC } from '../../../../src/adapters/evm/transfer-log.ts';
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
    ['pending', { hash: TX, from: OURS, to: OURS, value: '0x0' }, { kind: 'pending', inBlock: false }],
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

describe('a payout that landed while nobody looked, and whose hash the node has forgotten since', () => {
  const DAY_SEC = 86_400;
  const PAYEE = '0x976EA74026E726554dB657fA54763abd0C3a0aa9';
  const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
  const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const log = {
    ...{ address: TOKEN, topics: [TRANSFER_TOPIC, topic(OURS), topic(PAYEE)], data: `0x${'5'.padStart(64, '0')}` },
    ...{ blockNumber: '0x10', blockHash: hash('b'), transactionHash: TX, logIndex: '0x0', removed: false },
  };
  const expected = { tokenAddress: TOKEN, from: OURS, to: PAYEE, units: 5n };
  /** Block 0x10 holds it; 0x20 is the newest and final, two days later. */
  const node = (change: Record<string, unknown>) =>
    answeringProvider({
      eth_getBlockByNumber: (at: string) => {
        const number = at === 'finalized' || at === 'latest' ? 0x20 : Number(at);
        return { ...header(number), timestamp: `0x${(number * (DAY_SEC / 8)).toString(16)}` };
      },
      eth_getTransactionCount: (_: string, at: string) => (at === 'finalized' ? '0x6' : PRUNED),
      eth_getBlockReceipts: (at: string) => (at === '0x10' ? [{ ...receipt, logs: [log] }] : []),
      eth_getLogs: [],
      ...change,
    });
  const old = { ...asked, expected, sent: [{ ...sent[0]!, signedAtSec: 0x0f * (DAY_SEC / 8) }] };

  it.each([
    ['its transfer', { eth_getLogs: [log] }],
    [
      'the use of its nonce',
      {
        eth_getTransactionCount: (_: string, at: string) => (at === 'finalized' || Number(at) >= 0x10 ? '0x6' : '0x5'),
      },
    ],
  ])('is found in its block by %s', async (_, change) => {
    expect(await fateAt(node(change), old)).toMatchObject({ kind: 'landed', final: true, landed: { txHash: TX } });
  });

  it('is an alarm when its nonce was used by another transaction', async () => {
    const count = (_: string, at: string) => (at === 'finalized' || Number(at) >= 0x11 ? '0x6' : '0x5');
    expect(await fateAt(node({ eth_getTransactionCount: count }), old)).toMatchObject({ kind: 'alarm' });
  });

  it('says so when nobody shows its block either, and stops nothing else', async () => {
    expect(await fateAt(node({}), old)).toMatchObject({ kind: 'pending', unseen: expect.stringContaining(TX) });
  });

  it('is an alarm while no node can have forgotten it', async () => {
    const fresh = { ...old, sent: [{ ...old.sent[0]!, signedAtSec: 0x1f * (DAY_SEC / 8) }] };
    expect(await fateAt(node({}), fresh)).toMatchObject({ kind: 'alarm' });
  });
});

describe('finality that the node does not know yet', () => {
  it('is none, rather than a fault', async () => {
    expect(await finalBlock(answeringProvider({ eth_getBlockByNumber: blocks(UNKNOWN) }))).toBeNull();
    expect(await finalBlock(answeringProvider({ eth_getBlockByNumber: blocks(header(7)) }))).toMatchObject({
      number: 7,
    });
  });
});

describe('how far back a node knows transactions', () => {
  /** Each block holds one; those from `first` on are in its index. */
  const node = (first: number, change: Record<string, unknown> = {}) =>
    answeringProvider({
      eth_getBlockByNumber: (at: string) => {
        const number = at === 'latest' ? 1_000 : Number(at);
        const transaction = { hash: `0x${number.toString(16).padStart(64, '0')}`, from: OURS, value: '0x0' };
        return { ...header(number), timestamp: `0x${(number * 12).toString(16)}`, transactions: [transaction] };
      },
      eth_getTransactionReceipt: (txHash: string) =>
        Number(txHash) >= first ? { ...receipt, transactionHash: txHash } : null,
      eth_getBlockReceipts: [],
      ...change,
    });

  it('is found by halving, with whether older blocks are served', async () => {
    expect(await keptTransactions(node(700))).toEqual({ byHashSec: 300 * 12, servesOlderBlocks: true });
    const pruned = node(700, { eth_getBlockReceipts: new Refuses('pruned history unavailable', 4444) });
    expect(await keptTransactions(pruned)).toEqual({ byHashSec: 300 * 12, servesOlderBlocks: false });
  });

  it('is everything for a node that keeps its whole index', async () => {
    expect(await keptTransactions(node(0))).toEqual({ byHashSec: null, servesOlderBlocks: true });
  });
});

describe('a payout while the node builds its index of transactions', () => {
  const INDEXING = new Refuses('transaction indexing is in progress');
  const node = (count: string) =>
    answeringProvider({
      ...{ eth_getTransactionReceipt: INDEXING, eth_getTransactionByHash: INDEXING },
      ...{ eth_getTransactionCount: count, eth_getBlockByNumber: blocks(header(0x18)) },
    });

  it('waits where its nonce is used, and is sent again where it is not', async () => {
    expect(await fateAt(node('0x6'), asked)).toEqual({ kind: 'pending', inBlock: true });
    expect(await fateAt(node('0x5'), asked)).toEqual({ kind: 'absent' });
  });
});
