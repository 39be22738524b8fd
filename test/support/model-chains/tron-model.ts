import { hash } from 'node:crypto';
import { id } from 'ethers';
import type { TokenDraft } from '../../../src/domain/events/transaction-draft.ts';
import { fromBase58 } from '../../../src/chain-formats/base58.ts';
import {
  deposits,
  MODEL_WALLET,
  receiverIn,
  serveTwo,
  type Landed,
  type ModelChain,
  type Paid,
} from './model-chain.ts';

const TOKEN = MODEL_WALLET.collectionAddress('tron', 99);
const START_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const accountOf = (address: string): string => Buffer.from(fromBase58(address)!).subarray(1, 21).toString('hex');

/** The reference of every draft is the first block. */
const REFERENCE = '0011223344556677';

/** TRON: a transaction lands up to the expiration in its bytes. */
export async function modelTron(): Promise<ModelChain> {
  const paid = deposits('tron', 'tron', (index) => String(index + 1).repeat(64));
  const landed: Landed[] = [];
  const infos = new Map<string, { readonly atMs: number; readonly info: object }>();
  let headMs = START_MS;
  const blocks: number[] = [START_MS];
  const show = ({ proof, payer, units }: Paid): void => {
    const log = {
      ...{ address: accountOf(TOKEN), data: units.toString(16).padStart(64, '0') },
      topics: [
        id('Transfer(address,address,uint256)').slice(2),
        ...[payer, proof.toAddress].map((address) => accountOf(address).padStart(64, '0')),
      ],
    };
    infos.set(proof.txHash, {
      atMs: 0,
      info: { id: proof.txHash, blockNumber: 1, receipt: { result: 'SUCCESS' }, log: [log] },
    });
  };
  paid.forEach(show);
  const server = await serveTwo((path, { value, num }: { value?: string; num?: number }, provider) => {
    if (provider === 1 && chain.second === 'silent') return null;
    const seenMs = provider === 1 && chain.second === 'behind' ? START_MS : headMs;
    const blockAt = (number: number): object => ({
      blockID: number.toString(16).padStart(16, '0') + REFERENCE.padEnd(48, '0'),
      block_header: { raw_data: { ...(number > 0 && { number }), timestamp: blocks[number] } },
      transactions: [...infos].flatMap(([txID, { atMs }]) => (atMs === blocks[number] ? [{ txID }] : [])),
    });
    if (path.endsWith('getnowblock')) return blockAt(blocks.indexOf(seenMs));
    if (path.endsWith('getblockbynum')) return blocks[num ?? 0]! > seenMs ? {} : blockAt(num ?? 0);
    if (chain.second === 'without history') return {};
    const known = infos.get(value ?? '');
    return known && known.atMs <= seenMs ? known.info : {};
  });
  const chain: ModelChain = {
    ...{ network: 'tron', chainId: '1', token: TOKEN, paid, others: [], landed, failsNext: false, second: 'sound' },
    urls: server.urls,
    draft: (tokenUnits, pick) => ({
      kind: 'tron',
      tokenAddress: TOKEN,
      tokenUnits: String(tokenUnits),
      refBlockBytes: '0000',
      refBlockHash: REFERENCE,
      ...{ timestampMs: headMs, expirationMs: headMs + 600_000, feeLimit: 30_000_000 + pick },
    }),
    // Long ago, over before it begins, or late.
    lie: (tokenUnits, pick) => {
      const expirationMs = [1, headMs + 30_000, headMs + DAY_MS][pick % 3]!;
      return {
        ...chain.draft(tokenUnits, pick, 0),
        timestampMs: expirationMs === 1 ? 1 : headMs,
        expirationMs,
      } as TokenDraft;
    },
    submit: (signedBytes) => {
      const raw = Buffer.from((JSON.parse(signedBytes) as { raw_data_hex: string }).raw_data_hex, 'hex');
      const txId = hash('sha256', raw, 'hex');
      const expirationMs = expirationIn(raw);
      if (infos.has(txId) || expirationMs <= headMs || expirationMs > headMs + DAY_MS) return;
      const result = chain.failsNext ? 'REVERT' : 'SUCCESS';
      chain.failsNext = false;
      infos.set(txId, {
        atMs: headMs,
        info: { id: txId, blockNumber: 2, receipt: { result }, ...(result === 'REVERT' && { result: 'FAILED' }) },
      });
      const call = /a9059cbb([0-9a-f]{64})([0-9a-f]{64})/.exec(raw.toString('hex'));
      if (result === 'REVERT' || !call) return;
      const toAddress = receiverIn(chain, (address) => call[1]!.endsWith(accountOf(address)));
      landed.push({ toAddress, units: BigInt(`0x${call[2]}`), signedBytes });
    },
    show,
    hide: ({ proof }) => void infos.delete(proof.txHash),
    advance: (pick) => blocks.push((headMs += [3_000, 60_000, 700_000, DAY_MS][pick % 4]!)),
    close: () => server.close(),
  };
  return chain;
}

/** Behind the reference block's two fields of 4 and 10 bytes. */
function expirationIn(raw: Buffer): number {
  if (raw[14] !== 0x40) throw new Error('no expiration where it belongs');
  let value = 0n;
  for (let at = 15, shift = 0n; ; at += 1, shift += 7n) {
    value |= BigInt(raw[at]! & 0x7f) << shift;
    if (raw[at]! < 0x80) return Number(value);
  }
}
