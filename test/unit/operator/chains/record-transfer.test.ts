import { describe, expect, it } from 'vitest';
import { indexKey, AddressIndex } from '../../../../src/features/addresses/address-index.ts';
import {
  unmatchedTransferOf,
  type NamedTransfer,
  type RecordParts,
} from '../../../../src/operator/chains/record-transfer.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import type { Transfer } from '../../../../src/ports/chain/chain.ts';

const [TREASURY, SESSION, SPARE, PAYER] = ['a1', 'b2', 'c3', 'd4'].map((byte) => `0x${byte.repeat(20)}`) as [
  string,
  string,
  string,
  string,
];
const SESSION_ID = `cs_${'a'.repeat(32)}` as SessionId;
const SPARE_INDEX = 7;
const TOKEN = '0xToken';
const TX = `0x${'7'.repeat(64)}`;
const HEIGHT = { of: 100, finalized: 200 };

const settings = {
  ...{ mode: 'test', network: 'ethereum', finality: { kind: 'finalized' } },
  tokens: [{ coin: 'USDT', address: TOKEN, decimals: 6 }],
} as unknown as NetworkSettings;

const LIVE_TREASURY = `0x${'7e'.repeat(20)}`;

function transferOf(change: Partial<Transfer>): Transfer {
  const block = { number: HEIGHT.of, hash: '0xblock', parentHash: '0xparent', timeSec: 1_800_000_000 };
  return {
    tokenAddress: TOKEN,
    tokenUnits: 12_000_000n,
    fromAddress: PAYER,
    toAddress: TREASURY,
    txHash: TX,
    logIndex: 3,
    block,
    ...change,
  };
}

/** A chain with one transfer, beside a wallet with one session. */
function partsWith(transfer: Transfer, secondAgrees = true): RecordParts {
  const sessions = new AddressIndex('evm');
  sessions.add(SESSION, SESSION_ID);
  return {
    chains: [
      {
        ...{ mode: 'test', network: 'ethereum', settings },
        transferAt: async (txHash: string, logIndex: number) =>
          txHash === transfer.txHash && logIndex === transfer.logIndex ? transfer : null,
        finalized: async () => ({ ...transfer.block, number: HEIGHT.finalized }),
        agreeOnFinality: async () => secondAgrees,
      },
    ],
    derivers: [
      {
        family: 'evm',
        mode: 'test',
        capacity: 100,
        derive: async (from) => [from === SPARE_INDEX ? SPARE : '0xOther'],
      },
    ],
    treasuries: new Map([
      ['test', { evm: TREASURY, tron: 'T', solana: 'S' }],
      ['live', { evm: LIVE_TREASURY, tron: 'U', solana: 'V' }],
    ]),
    core: { addressIndexes: new Map([[indexKey('test', 'evm'), sessions]]), addressesComplete: async () => undefined },
    senders: { of: async () => ({ kind: 'wallet', name: null }) },
  };
}

const named = { mode: undefined, network: 'ethereum', txHash: TX, logIndex: 3, derivationIndex: undefined } as const;
const taken = (transfer: Partial<Transfer>, change: Partial<NamedTransfer> = {}) =>
  unmatchedTransferOf({ ...named, ...change }, partsWith(transferOf(transfer)));

describe('recording a transfer without a session', () => {
  it('is refused while a second provider does not call it final', async () => {
    await expect(unmatchedTransferOf(named, partsWith(transferOf({}), false))).rejects.toThrow(
      'the transfer is not final yet',
    );
  });

  it('reads everything but its position from the chain', async () => {
    expect(await taken({})).toMatchObject({
      ...{ depositKey: `ethereum:${TX}:3`, coin: 'USDT', amount: '12.00', fromAddress: PAYER, mode: 'test' },
      ...{ origin: { kind: 'treasury' }, derivationIndex: null, sender: { kind: 'wallet' } },
    });
    expect(await taken({ toAddress: SPARE }, { derivationIndex: SPARE_INDEX })).toMatchObject({
      ...{ origin: { kind: 'address' }, derivationIndex: SPARE_INDEX, toAddress: SPARE },
    });
  });

  it('records that the chain names no payer', async () => {
    expect(await taken({ fromAddress: null })).toMatchObject({ fromAddress: null, sender: null });
  });

  it.each<[string, Partial<Transfer>, Partial<NamedTransfer>, string]>([
    ['what is no transaction', {}, { txHash: TX.slice(2) }, 'tx is not a transaction of ethereum'],
    [
      'another transaction',
      {},
      { txHash: TX.replace('7', '8') },
      'there is no transfer of our coins at log index 3 of 0x87',
    ],
    ['another log index', {}, { logIndex: 4 }, 'there is no transfer of our coins at log index 4'],
    ['a network that nobody reads', {}, { network: 'tron', txHash: TX.slice(2) }, 'does not read tron'],
    ['the other mode', {}, { mode: 'live' }, 'does not read ethereum'],
    [
      'a block that is not final',
      { block: { ...transferOf({}).block, number: HEIGHT.finalized + 1 } },
      {},
      'not final yet',
    ],
    [
      'the address of a session',
      { toAddress: SESSION },
      {},
      `it came to the address of ${SESSION_ID}, which records it automatically`,
    ],
    ['a collection address without its place', { toAddress: SPARE }, {}, 'give its derivation index with index'],
    ['another place', { toAddress: SPARE }, { derivationIndex: 8 }, 'the address at 8 is 0xOther'],
    ['a place beyond the wallet', { toAddress: SPARE }, { derivationIndex: 100 }, 'the address at 100 is none'],
    ['a sweep', { fromAddress: SESSION }, {}, `it came from the address of ${SESSION_ID}`],
    [
      'a transfer of the treasury to itself',
      { fromAddress: TREASURY.toUpperCase().replace('X', 'x') },
      {},
      'it came from the test treasury itself',
    ],
    ['money of the other mode', { fromAddress: LIVE_TREASURY }, {}, 'it came from the live treasury itself'],
  ])('refuses %s', async (_, transfer, change, words) => {
    await expect(taken(transfer, change)).rejects.toThrow(words);
  });
});
