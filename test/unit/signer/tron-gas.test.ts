import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tronNativeBytes } from '../../../src/signer/chains/tron-bytes.ts';
import { TronView } from '../../../src/signer/chains/tron-view.ts';
import { REPOSITORY } from '../../support/repository.ts';
import { computed } from '../../support/tron-node.ts';
import { ViewUnavailable } from '../../../src/signer/chains/chain-view.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';

/* What the signer itself sees on TRON before it gives a collection address TRX for a sweep. */

const wallet = new Wallet('test test test test test test test test test test test junk');
const [ADDRESS, TOKEN] = [wallet.collectionAddress('tron', 3), wallet.collectionAddress('tron', 99)];
const ENERGY = 65_000;
const PRICE_SUN = 420;
const SUN = 10n ** 12n;

let server: Server;
let held: { tokenUnits: bigint; sun: number };
let landed: ReadonlySet<string>;
let isBroken: boolean;
/** The token refuses the transfer, and the answer has lost its message. */
let isRefused: boolean;
/** Of the transactions of every block, which are left out. */
let txTrieRoot: string;
/** Said instead of the next answers about contracts, accounts or prices; undefined: the node answers. */
let instead: { readonly answer: unknown; times: number };

beforeEach(async () => {
  held = { tokenUnits: 0n, sun: 0 };
  landed = new Set();
  isBroken = false;
  isRefused = false;
  txTrieRoot = '0'.repeat(64);
  instead = { answer: null, times: 0 };
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () =>
      response.end(
        JSON.stringify(answerOf(request.url!, JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>)),
      ),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterEach(() => new Promise<void>((done) => server.close(() => done())));

function answerOf(path: string, body: Readonly<Record<string, string>>): unknown {
  if (instead.times > 0 && path.includes('/wallet/')) {
    instead.times -= 1;
    return instead.answer;
  }
  if (path.endsWith('/getchainparameters')) return { chainParameter: [{ key: 'getEnergyFee', value: PRICE_SUN }] };
  if (path.endsWith('/getaccount')) return held.sun === 0 ? {} : { address: body['address'], balance: held.sun };
  if (path.endsWith('/getnowblock')) return blockOf(2);
  if (isBroken) return { Error: 'class java.lang.NullPointerException : null' };
  if (path.endsWith('/getblockbynum')) return blockOf(Number(body['num']));
  if (path.endsWith('/gettransactioninfobyid'))
    return landed.has(body['value']!) ? { id: body['value'], blockNumber: 7, receipt: {} } : {};
  if (path.endsWith('/gettransactionbyid')) return callOf(body['value']!);
  if (body['function_selector'] === 'balanceOf(address)') return computed(held.tokenUnits);
  return { ...computed(0), energy_used: ENERGY, transaction: { ret: [isRefused ? { ret: 'FAILED' } : {}] } };
}

/** The first one has no number, as protocol buffers leave it out. */
const blockOf = (number: number): object => ({
  blockID: number.toString(16).padStart(16, '0').padEnd(64, '0'),
  block_header: { raw_data: { ...(number > 0 && { number }), timestamp: number * 5_000_000, txTrieRoot } },
});

/** As a node shows it; a call of a contract has no `amount`. */
const callOf = (txID: string): object => ({
  ret: [{ contractRet: 'SUCCESS' }],
  signature: ['00'],
  txID,
  raw_data: {
    contract: [
      {
        parameter: {
          value: { data: 'a9059cbb', owner_address: `41${'11'.repeat(20)}`, contract_address: `41${'22'.repeat(20)}` },
          type_url: 'type.googleapis.com/protocol.TriggerSmartContract',
        },
        type: 'TriggerSmartContract',
      },
    ],
    ref_block_bytes: '0001',
    fee_limit: 100_000_000,
  },
});

function view(): TronView {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tokens = [{ coin: 'USDT', address: TOKEN, decimals: 6 }] as const;
  return new TronView({ mode: 'test', network: 'tron', chainId: '1', tokens, urls: [url] });
}

describe('the gas that a sweep on TRON needs', () => {
  it('is zero if the address holds no token', async () => {
    held.sun = 7;
    expect(await view().sweepGas(ADDRESS, wallet.treasury.tron)).toEqual({ needed: 0n, held: 7n * SUN });
  });

  it('is twice the energy and the bandwidth of one transfer', async () => {
    held.tokenUnits = 5_000_000n;
    const needed = (2n * BigInt(ENERGY * PRICE_SUN) + 500_000n) * SUN;
    expect(await view().sweepGas(ADDRESS, wallet.treasury.tron)).toEqual({ needed, held: 0n });
  });

  it.each([
    [
      JSON.parse(
        readFileSync(join(REPOSITORY, 'test/fixtures/chains/java-tron-4.8.0/constant-OUT_OF_TIME.json'), 'utf8'),
      ),
    ],
    [{ result: { result: true } }],
    [{ success: false, statusCode: 404, error: 'Not Found' }],
    [{ jsonrpc: '2.0', id: 1, error: { code: -32603 } }],
    [[]],
    [null],
  ])('is unknown as long as the node answers %j, and is asked for again', async (answer) => {
    held.tokenUnits = 5_000_000n;
    const sound = await view().sweepGas(ADDRESS, wallet.treasury.tron);
    instead = { answer, times: 2 };
    expect(await view().sweepGas(ADDRESS, wallet.treasury.tron)).toEqual(sound);
    instead = { answer, times: Infinity };
    await expect(view().sweepGas(ADDRESS, wallet.treasury.tron)).rejects.toThrow(ViewUnavailable);
    await expect(view().hasLanded({ txHash: 'ab'.repeat(32) })).rejects.toThrow(ViewUnavailable);
  });

  it('is unknown where the token refused the transfer', async () => {
    held.tokenUnits = 5_000_000n;
    isRefused = true;
    await expect(view().sweepGas(ADDRESS, wallet.treasury.tron)).rejects.toThrow(ViewUnavailable);
  });

  it('counts as spent once the sweep is in a block', async () => {
    landed = new Set(['ab'.repeat(32)]);
    expect([
      await view().hasLanded({ txHash: 'ab'.repeat(32) }),
      await view().hasLanded({ txHash: 'cd'.repeat(32) }),
    ]).toEqual([true, false]);
  });
});

it('finds no transfer of TRX in a call of a contract', async () => {
  expect(await view().findNativeTransfer({ txHash: 'ab'.repeat(32), toAddress: ADDRESS })).toBeNull();
});

describe('an error that a TRON node returns with status 200', () => {
  const draft = {
    kind: 'tron-native',
    sun: '1',
    refBlockBytes: '0000',
    refBlockHash: '00'.repeat(8),
    timestampMs: 0,
    expirationMs: 1_000,
  } as const;

  it('does not say that an expired payout is in no block', async () => {
    const { rawHex, txId } = tronNativeBytes(draft, wallet.treasury.tron, ADDRESS);
    const earlier = [{ draft, txHash: txId, signedBytes: JSON.stringify({ raw_data_hex: rawHex }) }];
    expect(await view().mayFollow(earlier, draft)).toBe(true);
    txTrieRoot = 'a'.repeat(64);
    await expect(view().mayFollow(earlier, draft)).rejects.toThrow(/not every provider/);
    txTrieRoot = '0'.repeat(64);
    isBroken = true;
    await expect(view().mayFollow(earlier, draft)).rejects.toThrow(/not every provider/);
    await expect(view().hasLanded({ txHash: txId })).rejects.toThrow(/unknown form/);
  });
});
