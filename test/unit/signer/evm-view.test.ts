import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EvmView } from '../../../src/signer/chains/evm-view.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';

/* What the signer itself sees of a deposit at a node that keeps no old transactions, or knows no finality. */

const wallet = new Wallet('test test test test test test test test test test test junk');
const OURS = wallet.collectionAddress('evm', 3);
const PAYER = wallet.collectionAddress('evm', 4);
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const topic = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
const upper = (text: string): string => `0x${text.slice(2).toUpperCase()}`;

const log = {
  ...{ address: TOKEN.toLowerCase(), topics: [TRANSFER, topic(PAYER), topic(OURS)], logIndex: '0x0' },
  data: `0x${7_000_000n.toString(16).padStart(64, '0')}`,
};
const receipt = { transactionHash: hash('a'), blockNumber: '0x10', blockHash: hash('b'), status: '0x1', logs: [log] };
const proof = {
  ...{ depositKey: `ethereum:${hash('a')}:0`, txHash: hash('a'), logIndex: 0, blockNumber: 16 },
  ...{ toAddress: OURS, derivationIndex: 3 },
};
const refused = (message: string) => ({ error: { code: -32_000, message } });

let server: Server;
let answers: Record<string, unknown>;
let finalized: unknown;
const NETWORK = { network: 'ethereum', mode: 'test', chainId: 1, headers: {} } as const;
const view = (network: 'ethereum' | 'bsc' = 'ethereum') =>
  new EvmView(
    {
      ...NETWORK,
      network,
      urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`],
      tokens: [{ coin: 'USDT', address: TOKEN, decimals: 6 }],
    } as never,
    { maxGasPriceGwei: '100', maxPriorityFeeGwei: '3' } as never,
  );

beforeEach(async () => {
  finalized = { result: { number: '0x18', hash: hash('f') } };
  answers = {
    eth_getTransactionReceipt: { result: receipt },
    eth_getBlockReceipts: { result: [receipt] },
  };
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, params } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string; params: unknown[] };
      const block = { number: params[0] === 'latest' ? '0x20' : params[0], hash: hash('b') };
      const answer =
        method === 'eth_getBlockByNumber'
          ? params[0] === 'finalized'
            ? finalized
            : { result: block }
          : answers[method];
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...(answer as object) }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterEach(() => new Promise<void>((done) => server.close(() => done())));

describe('a deposit', () => {
  const found = {
    coin: 'USDT',
    units: 7n * 10n ** 18n,
    payer: PAYER,
    final: true,
    depositKey: proof.depositKey,
    place: `ethereum:${hash('a')}#0`,
    txHash: hash('a'),
  };

  it.each([
    ['is outside its index', { result: null }],
    ['is not in its index yet', refused('transaction indexing is in progress')],
  ])('is found in its block at a node where the hash %s', async (_, byHash) => {
    answers['eth_getTransactionReceipt'] = byHash;
    expect(await view().findDeposit(proof)).toEqual(found);
  });

  it('is not found where neither shows it, and nothing is known where nothing answers', async () => {
    answers['eth_getTransactionReceipt'] = { result: null };
    answers['eth_getBlockReceipts'] = { result: [] };
    expect(await view().findDeposit(proof)).toBeNull();
    answers['eth_getBlockReceipts'] = refused('no such luck');
    await expect(view().findDeposit(proof)).rejects.toThrow(/refused eth_getBlockReceipts/);
  });

  it('was paid by whom its log names, whoever sent the transaction', async () => {
    const [sender, router] = [wallet.collectionAddress('evm', 8), wallet.collectionAddress('evm', 9)];
    answers['eth_getTransactionReceipt'] = { result: { ...receipt, from: sender, to: router } };
    expect(await view().findDeposit(proof)).toEqual(found);
  });

  it('is the same bytes in upper case', async () => {
    const { topics, address, data } = log;
    const logs = [{ ...log, topics: topics.map(upper), address: upper(address), data: upper(data) }];
    const shown = { ...receipt, transactionHash: upper(hash('a')), blockHash: upper(hash('b')), logs };
    answers['eth_getTransactionReceipt'] = { result: shown };
    expect(await view().findDeposit(proof)).toEqual(found);
  });

  it('is not final, rather than unavailable, while the node knows no final block', async () => {
    finalized = refused('finalized block not found');
    expect(await view('bsc').findDeposit({ ...proof, depositKey: `bsc:${hash('a')}:0` })).toMatchObject({
      final: false,
    });
    // Deep enough without it.
    expect(await view().findDeposit(proof)).toMatchObject({ final: true });
  });

  it.each([
    ['no status', { ...receipt, status: undefined }],
    ['another status', { ...receipt, status: '0x01' }],
    ['no logs', { ...receipt, logs: null }],
  ])('is not judged by a receipt with %s', async (_, shown) => {
    answers['eth_getTransactionReceipt'] = { result: shown };
    await expect(view().findDeposit(proof)).rejects.toThrow(/unknown form/);
  });
});
