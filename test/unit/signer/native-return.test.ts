import { mkdtempSync } from 'node:fs';
import type { SessionId } from '../../../src/domain/values/ids.ts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TransactionDraft } from '../../../src/domain/events/transaction-draft.ts';
import { addressFamilyOf, NATIVE_COIN, type Network } from '../../../src/domain/networks/networks.ts';
import { treasuryStream } from '../../../src/domain/values/streams.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { PayoutRules } from '../../../src/ports/signer/protocol.ts';
import { base58 } from '../../../src/chain-formats/base58.ts';
import { nonceAccountOf } from '../../../src/chain-formats/solana-nonce.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import { accountOf } from '../../../src/signer/chains/tron-bytes.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';
import { approverKey, signedBy } from '../../support/approvers.ts';
import { outgoing } from '../../support/outgoing.ts';
import { recorded, type StreamEvent } from '../../support/settlement-log.ts';
import { nonceAccount } from '../../support/solana-node.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/*
 * What the signer gives back of native coin, on nodes that show one transfer of a whole coin to a collection address.
 */

const NETWORKS = ['ethereum', 'tron', 'solana'] as const satisfies readonly Network[];
type Family = (typeof NETWORKS)[number];
const wallet = new Wallet('test test test test test test test test test test test junk');
const strangers = new Wallet('legal winner thank year wave sausage worth useful legal winner thank yellow').treasury;
const INDEX = 3;
const ours = (network: Network, index = INDEX): string => wallet.collectionAddress(addressFamilyOf(network), index);
const stranger = (network: Network): string => strangers[addressFamilyOf(network)];
const TX: Readonly<Record<Family, string>> = {
  ethereum: `0x${'9'.repeat(64)}`,
  tron: '9'.repeat(64),
  solana: base58(Buffer.alloc(64, 9)),
};
const NONCE = base58(Buffer.alloc(32, 5));

/** What the chain shows; each test changes what it is about. */
interface Shown {
  from: string;
  to: string;
  whole: boolean;
  final: boolean;
  failed: boolean;
}
let shown: Shown;
/** Of the transaction on Solana. */
let signers = 1;

/** A node of every family at once: JSON-RPC by method, TRON by path. */
let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        id: number;
        method?: string;
        params?: unknown[];
      };
      const answer =
        body.method === undefined
          ? tron(request.url!)
          : { jsonrpc: '2.0', id: body.id, result: jsonRpc(body.method, body.params!) };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const hex = (value: bigint): string => `0x${value.toString(16)}`;

function jsonRpc(method: string, params: unknown[]): unknown {
  const block = (number: number) => ({ number: hex(BigInt(number)), hash: `0xb10c${number}` });
  const units = shown.whole ? 10n ** 18n : 0n;
  switch (method) {
    case 'eth_getTransactionReceipt':
      return {
        transactionHash: params[0],
        status: shown.failed ? '0x0' : '0x1',
        blockNumber: '0x64',
        blockHash: '0xb10c100',
        logs: [],
      };
    case 'eth_getTransactionByHash':
      return {
        hash: params[0],
        blockHash: '0xb10c100',
        from: shown.from.toLowerCase(),
        to: shown.to.toLowerCase(),
        value: hex(units),
      };
    case 'eth_getBlockByNumber':
      return params[0] === 'finalized'
        ? block(shown.final ? 100 : 99)
        : params[0] === 'latest'
          ? block(101)
          : block(Number(params[0]));
    case 'getTransaction': {
      const isFinal = (params[1] as { commitment: string }).commitment === 'finalized';
      if (isFinal && !shown.final) return null;
      const lamports = shown.whole ? 1_000_000_000 : 0;
      const message = {
        accountKeys: [shown.from, shown.to, ours('solana', 7)],
        header: { numRequiredSignatures: signers },
      };
      const balances = {
        fee: 5_000,
        preBalances: [9_000_000_000, 0, 1],
        postBalances: [9_000_000_000 - lamports - 5_000, lamports, 1],
        preTokenBalances: [],
        postTokenBalances: [],
      };
      return {
        transaction: { signatures: [params[0]], message },
        meta: { err: shown.failed ? 'InstructionError' : null, ...balances },
      };
    }
    case 'getAccountInfo': {
      const { data, owner } = nonceAccount(wallet.treasury.solana, NONCE);
      return {
        value: params[0] === nonceAccountOf(wallet.treasury.solana, 0) ? { owner, data: [data, 'base64'] } : null,
      };
    }
    default:
      throw new Error(`nobody asks a node for ${method}`);
  }
}

function tron(path: string): unknown {
  if (path.startsWith('/walletsolidity') && !shown.final) return {};
  const value = {
    owner_address: accountOf(shown.from).toString('hex'),
    to_address: accountOf(shown.to).toString('hex'),
    amount: shown.whole ? 1_000_000 : 0,
  };
  const contract = [{ type: 'TransferContract', parameter: { value } }];
  return { txID: TX.tron, ret: [{ contractRet: shown.failed ? 'OUT_OF_ENERGY' : 'SUCCESS' }], raw_data: { contract } };
}

let directory: string;
beforeEach(() => {
  directory = temporaryFolder('signer-return');
});

function signer(found = '1', perTransaction = '50'): Outgoing {
  const caps = { perTransaction, perHour: '100', perDay: '100', maxGasPriceGwei: '300', maxPriorityFeeGwei: '50' };
  const rules: PayoutRules = {
    journalDirectory: mkdtempSync(join(directory, 'journal-')),
    networks: NETWORKS.map((network) => ({ mode: 'test', network, chainId: '31337', urls: [url], tokens: [] })),
    ...{ limits: {}, payoutsPerHour: 100, nativeLimits: { ethereum: caps, tron: caps, solana: caps } },
    approvers: ['ada', 'ben'].map(approverKey),
  };
  const payouts = new Outgoing(rules, new Map([['test', wallet]]), () => 1_800_000_000_000);
  const events = NETWORKS.map((network): StreamEvent => {
    const place = { mode: 'test', network, coin: NATIVE_COIN[network], address: ours(network) } as const;
    const data = { ...place, amount: found, sessionId: 'cs_a' as SessionId, blockNumber: 1, foundAtSec: 1 };
    return [treasuryStream('test', network), { type: 'NativeCoinFound', data }];
  });
  expect(payouts.ledger.take(0, recorded(events))).toMatchObject({ fault: null });
  return payouts;
}

const AMOUNT: Readonly<Record<Family, string>> = { ethereum: '0.9', tron: '0.9', solana: '0.9' };
const order = (network: Family, change: Partial<OutgoingTransaction> = {}): OutgoingTransaction =>
  outgoing({
    ...{ kind: 'native_return', id: 'nrt_1', network, coin: NATIVE_COIN[network], amount: AMOUNT[network] },
    ...{ fromAddress: wallet.treasury[addressFamilyOf(network)], toAddress: stranger(network) },
    transfer: { txHash: TX[network], toAddress: ours(network), derivationIndex: INDEX },
    ...change,
  });

function draftOf(network: Family, tenths: bigint, change: object = {}): TransactionDraft {
  const tronBlock = { refBlockBytes: '0001', refBlockHash: '0011223344556677', expirationMs: 60_000, timestampMs: 1 };
  const fees = { gasLimit: '21000', maxFeePerGas: '1000000000', maxPriorityFeePerGas: '1000000000' };
  const drafts: Record<Family, TransactionDraft> = {
    ethereum: { kind: 'evm-native', chainId: '31337', nonce: 0, value: String(tenths * 10n ** 17n), ...fees },
    tron: { kind: 'tron-native', sun: String(tenths * 100_000n), ...tronBlock },
    solana: {
      kind: 'solana',
      tokenAddress: null,
      tokenUnits: String(tenths * 10n ** 8n),
      decimals: 9,
      nonceIndex: 0,
      nonce: NONCE,
      computeUnitPrice: '1000',
    },
  };
  return { ...drafts[network], ...change };
}

async function agree(payouts: Outgoing, to: OutgoingTransaction): Promise<void> {
  for (const name of ['ada', 'ben']) {
    const act = { kind: 'transaction', order: to, proposedBy: 'olga' } as const;
    const terms = await payouts.approvals.terms(act);
    if (!terms.ok || terms.done) throw new Error('nothing is left to approve');
    expect(await payouts.approvals.approve(act, { ...signedBy(name, terms), approver: name })).toMatchObject({
      ok: true,
    });
  }
}
const sign = (payouts: Outgoing, to: OutgoingTransaction, draft: TransactionDraft) =>
  payouts.sign({ order: to, attempt: 1, draft, logPlace: null });

describe.each(NETWORKS)('the signer on %s', (network) => {
  beforeEach(() => {
    shown = { from: stranger(network), to: ours(network), whole: true, final: true, failed: false };
  });
  // TRON's dearest transfer of its coin costs more than the one coin that came.
  const tenths = network === 'tron' ? 0n : 9n;

  it('reads who sent native coin, and how much', async () => {
    const asked = { mode: 'test', network, txHash: TX[network], toAddress: ours(network) } as const;
    expect(await signer().nativeTransfer(asked)).toEqual({
      transfer: { fromAddress: stranger(network), amount: '1.00', final: true },
    });
    shown.final = false;
    expect(await signer().nativeTransfer(asked)).toMatchObject({ transfer: { final: false } });
    for (const change of [{ failed: true }, { whole: false }, { to: ours(network, 8) }]) {
      shown = { from: stranger(network), to: ours(network), whole: true, final: true, failed: false, ...change };
      expect(await signer().nativeTransfer(asked)).toEqual({ transfer: null });
    }
  });

  it.each([
    ['an address of ours', { toAddress: ours(network) }, 'own_address'],
    ['somebody else than who sent it', { toAddress: ours(network, 9) }, 'not_the_payer'],
    ['all that came, and the fee on top', { amount: '1' }, 'exceeds_deposit'],
    ['more than came', { amount: '1.1' }, 'exceeds_account'],
    ['a stablecoin', { coin: 'USDT' as const }, 'other_coin'],
    [
      'what came to somebody else',
      { transfer: { txHash: TX[network], toAddress: ours(network), derivationIndex: INDEX + 1 } },
      'not_our_address',
    ],
  ])('does not pay %s', async (_, change, code) => {
    const payouts = signer();
    const wrong = order(network, change);
    await agree(payouts, wrong);
    expect(await payouts.check(wrong)).toMatchObject({ ok: false, code });
  });

  it('pays nothing for a transfer that failed, is not final or missing, and nothing without two approvers', async () => {
    const payouts = signer();
    expect(await payouts.check(order(network))).toMatchObject({ ok: false, code: 'approval' });
    await agree(payouts, order(network));
    expect(await payouts.check(order(network))).toEqual({ ok: true });
    shown.failed = true;
    expect(await payouts.check(order(network))).toMatchObject({ ok: false, code: 'deposit_not_found' });
    shown = { ...shown, failed: false, final: false };
    expect(await payouts.check(order(network))).toMatchObject({ ok: false, code: 'deposit_not_final' });
  });

  it('pays no more than the event log holds for unknown senders', async () => {
    expect(await signer('0.5').check(order(network))).toMatchObject({ ok: false, code: 'exceeds_account' });
  });

  it.runIf(tenths > 0n)(
    'signs it once, within the native coin caps, and not if the fee exceeds the amount kept for it',
    async () => {
      const payouts = signer();
      await agree(payouts, order(network));
      const dear = network === 'solana' ? { computeUnitPrice: '1250000000000' } : { maxFeePerGas: '5000000000000' };
      expect(await sign(payouts, order(network), draftOf(network, tenths, dear))).toMatchObject({
        ok: false,
        code: 'network_fee_too_high',
      });
      expect(await sign(payouts, order(network), draftOf(network, 8n))).toMatchObject({
        ok: false,
        code: 'wrong_draft',
      });
      const capped = signer('1', '0.5');
      await agree(capped, order(network));
      expect(await sign(capped, order(network), draftOf(network, tenths))).toMatchObject({
        ok: false,
        code: 'native_per_transaction_cap',
      });
      const signed = await sign(payouts, order(network), draftOf(network, tenths));
      if (!signed.ok) throw new Error(signed.message);
      const again = order(network, { id: 'nrt_2' });
      const asked: StreamEvent[] = ['nrt_1', 'nrt_2'].map((moveId) => {
        const { kind: _k, id: _i, refund: _r, deposits: _d, ...terms } = { ...again, amount: '0.01' };
        const data = { ...terms, moveId, forMoveId: null, requestedBy: 'olga', reason: null, requestedAtSec: 1 };
        return [treasuryStream('test', network), { type: 'NativeReturnRequested', data }];
      });
      payouts.ledger.take(NETWORKS.length, recorded(asked));
      await agree(payouts, again);
      expect(await payouts.check(again)).toMatchObject({ ok: false, code: 'already_returned' });
    },
  );
});

it('the signer on tron keeps the highest possible fee of the return', async () => {
  shown = { from: stranger('tron'), to: ours('tron'), whole: true, final: true, failed: false };
  const payouts = signer();
  await agree(payouts, order('tron'));
  expect(await sign(payouts, order('tron'), draftOf('tron', 9n))).toMatchObject({
    ok: false,
    code: 'network_fee_too_high',
  });
});

it('the signer on solana does not trust a sender who did not sign, and refuses a draft with another receiver', async () => {
  shown = { from: stranger('solana'), to: ours('solana'), whole: true, final: true, failed: false };
  const payouts = signer();
  signers = 0;
  const asked = { mode: 'test', network: 'solana', txHash: TX.solana, toAddress: ours('solana') } as const;
  expect(await payouts.nativeTransfer(asked)).toMatchObject({ transfer: { fromAddress: null } });
  signers = 1;
  await agree(payouts, order('solana'));
  const draft: TransactionDraft = {
    kind: 'solana-nonce-account',
    nonceIndex: 0,
    lamports: '900000000',
    blockhash: NONCE,
  };
  expect(await sign(payouts, order('solana'), draft)).toMatchObject({ ok: false, code: 'wrong_draft' });
});
