import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TransactionDraft } from '../../../src/domain/events/transaction-draft.ts';
import { nativeLimitsOf } from '../../../src/domain/networks/native-limits.ts';
import type { Network } from '../../../src/domain/networks/networks.ts';
import type { JournaledBytes } from '../../../src/signer/chains/chain-view.ts';
import { tronNativeBytes, tronTokenBytes } from '../../../src/signer/chains/tron-bytes.ts';
import { viewOf } from '../../../src/signer/chains/views.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';

/*
 * What gives the money of a payout free again: only that the chain shows it to have done nothing, for each kind of
 * transaction. One node answers for every network; each test says what it shows.
 */

const wallet = new Wallet('test test test test test test test test test test test junk');
const [FROM, TO] = [wallet.treasury.tron, wallet.collectionAddress('tron', 3)];
const HASH = 'ab'.repeat(32);
const fees = { gasLimit: '90000', maxFeePerGas: '1000', maxPriorityFeePerGas: '1000' };
const onTron = { refBlockBytes: '0001', refBlockHash: '0011223344556677', timestampMs: 1, expirationMs: 60_000 };
const onSolana = { kind: 'solana', decimals: 6, nonceIndex: 0, nonce: HASH, computeUnitPrice: '1' } as const;

const DRAFTS = {
  evm: { kind: 'evm', chainId: '1', nonce: 0, tokenAddress: TO, tokenUnits: '1', ...fees },
  'evm-native': { kind: 'evm-native', chainId: '1', nonce: 0, value: '1', ...fees },
  'evm-cancel': { kind: 'evm-cancel', chainId: '1', nonce: 0, ...fees },
  tron: { kind: 'tron', tokenAddress: TO, tokenUnits: '1', feeLimit: 1, ...onTron },
  'tron-native': { kind: 'tron-native', sun: '1', ...onTron },
  solana: { ...onSolana, tokenAddress: TO, tokenUnits: '1' },
  'solana of SOL': { ...onSolana, tokenAddress: null, tokenUnits: '1' },
} as const satisfies Record<string, TransactionDraft>;
const networkOf = (draft: TransactionDraft): Network =>
  draft.kind.startsWith('evm') ? 'ethereum' : draft.kind.startsWith('tron') ? 'tron' : 'solana';

/** What the node shows of the transaction; null: it does not know it by its hash. */
let shown: object | null;
/** Blocks of TRON list it all the same. */
let isListed: boolean;
let newestSec: number;
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as { method?: string; num?: number };
      const answer = body.method ? { id: 1, result: jsonRpc(body.method) } : tron(request.url!, body.num ?? 2);
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => new Promise<void>((done) => server.close(() => done())));
beforeEach(() => {
  isListed = false;
  newestSec = 1_000;
});

function jsonRpc(method: string): unknown {
  if (method === 'getSignatureStatuses') return { value: [shown && { ...shown, confirmationStatus: 'finalized' }] };
  if (method === 'eth_getBlockByNumber') return { number: '0x1', hash: '0xb1' };
  return shown && { transactionHash: `0x${HASH}`, blockNumber: '0x1', blockHash: '0xb1', logs: [], ...shown };
}

function tron(path: string, num: number): object {
  if (path.endsWith('gettransactioninfobyid')) return shown ? { id: txHash, blockNumber: 2, ...shown } : {};
  return {
    blockID: `${num.toString(16).padStart(16, '0')}${onTron.refBlockHash}`.padEnd(64, '0'),
    block_header: { raw_data: { number: num, timestamp: num === 2 ? newestSec * 1000 : 1 } },
    transactions: isListed && num === 2 ? [{ txID: txHash }] : [],
  };
}

let txHash: string;
function view(draft: TransactionDraft) {
  const network = networkOf(draft);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return viewOf({ mode: 'test', network, chainId: '1', tokens: [], urls: [url] }, nativeLimitsOf(network));
}
function signed(draft: TransactionDraft): JournaledBytes {
  txHash = HASH;
  if (draft.kind !== 'tron' && draft.kind !== 'tron-native') return { draft, txHash, signedBytes: '' };
  const raw = draft.kind === 'tron' ? tronTokenBytes(draft, FROM, TO) : tronNativeBytes(draft, FROM, TO);
  txHash = raw.txId;
  return { draft, txHash, signedBytes: JSON.stringify({ raw_data_hex: raw.rawHex }) };
}
const hadNoEffect = (draft: TransactionDraft): Promise<boolean> => view(draft).hadNoEffect([signed(draft)]);

const LANDED = {
  evm: { status: '0x1' },
  'evm-native': { status: '0x1' },
  tron: { receipt: { result: 'SUCCESS' } },
  // A transfer of TRX runs no contract, so its receipt has no result.
  'tron-native': { fee: 100_000, contractResult: [''], receipt: { net_fee: 100_000 } },
  solana: { err: null },
  'solana of SOL': { err: null },
} as const;
const FAILED = {
  evm: { status: '0x0' },
  'evm-native': { status: '0x0' },
  'evm-cancel': { status: '0x1' },
  tron: { receipt: { result: 'REVERT' }, result: 'FAILED' },
  'tron-native': { receipt: {}, result: 'FAILED' },
  solana: { err: { InstructionError: [4, { Custom: 17 }] } },
  'solana of SOL': { err: { InstructionError: [4, { Custom: 17 }] } },
} as const;
const UNCLEAR = { evm: {}, 'evm-native': {}, 'evm-cancel': {}, tron: { receipt: {} } } as const;

describe('a payout', () => {
  it.each(Object.entries(LANDED))('with %s that landed gives nothing free', async (kind, answer) => {
    shown = answer;
    expect(await hadNoEffect(DRAFTS[kind as keyof typeof DRAFTS]).catch(() => false)).toBe(false);
  });

  it.each(Object.entries(FAILED))('with %s that moved nothing gives its money free', async (kind, answer) => {
    shown = answer;
    expect(await hadNoEffect(DRAFTS[kind as keyof typeof DRAFTS])).toBe(true);
  });

  it.each(Object.entries(UNCLEAR))('with %s whose answer says neither gives nothing free', async (kind, answer) => {
    shown = answer;
    expect(await hadNoEffect(DRAFTS[kind as keyof typeof DRAFTS]).catch(() => false)).toBe(false);
  });

  it.each(['evm', 'evm-native', 'evm-cancel', 'solana', 'solana of SOL'] as const)(
    'with %s that no node knows gives nothing free',
    async (kind) => {
      shown = null;
      expect(await hadNoEffect(DRAFTS[kind])).toBe(false);
    },
  );

  it.each(['tron', 'tron-native'] as const)(
    'with %s is over once it expired and no block of its lifetime lists it, whatever a node without history knows',
    async (kind) => {
      shown = null;
      const draft = DRAFTS[kind];
      expect(await hadNoEffect(draft)).toBe(true);
      expect(await view(draft).mayFollow([signed(draft)], draft)).toBe(true);
      isListed = true;
      expect(await hadNoEffect(draft)).toBe(false);
      expect(await view(draft).mayFollow([signed(draft)], draft)).toBe(false);
      [isListed, newestSec] = [false, 61];
      expect(await hadNoEffect(draft)).toBe(false);
      newestSec = 1_000;
      const elsewhere = { ...draft, refBlockHash: '7766554433221100' };
      expect(await hadNoEffect(elsewhere)).toBe(false);
    },
  );

  it('of TRX that failed does not make room for another while it was not seen to be over', async () => {
    shown = FAILED['tron-native'];
    const draft = DRAFTS['tron-native'];
    expect(await view(draft).mayFollow([signed(draft)], draft)).toBe(false);
  });
});
