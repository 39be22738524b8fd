import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { ComputeBudgetInstruction, ComputeBudgetProgram, Transaction } from '@solana/web3.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { JournalPlace, TransactionDraft } from '../../../src/domain/events/transaction-draft.ts';
import type { MerchantId } from '../../../src/domain/values/ids.ts';
import { addressFamilyOf, NATIVE_COIN, type Network } from '../../../src/domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { Signature } from '../../../src/ports/outgoing/signer.ts';
import type { ApprovalAct, ApprovalVerdict } from '../../../src/ports/signer/approvals.ts';
import type { PayoutRules } from '../../../src/ports/signer/protocol.ts';
import { base58 } from '../../../src/chain-formats/base58.ts';
import { NONCE_ACCOUNTS, nonceAccountOf } from '../../../src/chain-formats/solana-nonce.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import type { SigningWallet } from '../../../src/signer/keys/signing-wallet.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';
import { nonceAccount, playSolanaNode, type PlayedSolanaNode } from '../../support/solana-node.ts';
import { outgoing } from '../../support/outgoing.ts';
import { approverKey, signedBy } from '../../support/approvers.ts';
import { paidOrder, recorded } from '../../support/settlement-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/*
 * Whoever took over the API process can ask the signer for anything; these are the answers. Of the chain they need a
 * nonce account at most.
 */

const wallet = new Wallet('test test test test test test test test test test test junk');
const strangers = new Wallet('legal winner thank year wave sausage worth useful legal winner thank yellow').treasury;
const NETWORKS = ['ethereum', 'tron', 'solana'] as const satisfies readonly Network[];
const INDEX = 3;
const [MERCHANT, OTHER_MERCHANT] = ['mer_a', 'mer_b'] as unknown as readonly [MerchantId, MerchantId];
const limits = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };

const tokenOf = (network: Network): string => wallet.collectionAddress(addressFamilyOf(network), 99);
const coldOf = (network: Network): string => wallet.collectionAddress(addressFamilyOf(network), 50);

const NONCE = base58(Buffer.alloc(32, 5));
const urls: Record<string, string> = {};
let solana: PlayedSolanaNode;
beforeAll(async () => {
  solana = await playSolanaNode(5_000);
  urls['solana'] = solana.url;
  for (let index = 0; index < NONCE_ACCOUNTS; index += 1) {
    const [treasury, nonce] = [wallet.treasury.solana, index === 0 ? NONCE : base58(Buffer.alloc(32, 100 + index))];
    solana.accounts.set(nonceAccountOf(treasury, index), nonceAccount(treasury, nonce));
  }
});
afterAll(() => solana.close());

let directory: string;
beforeEach(() => {
  directory = temporaryFolder('signer-moves');
});

function signer(
  keys: SigningWallet = wallet,
  nowMs = () => 1_800_000_000_000,
  {
    approvers = ['ada', 'ben', 'cy'].map(approverKey),
    journalDirectory = mkdtempSync(join(directory, 'journal-')),
  } = {},
): Outgoing {
  const rules: PayoutRules = {
    journalDirectory,
    networks: NETWORKS.map((network) => ({
      ...{ mode: 'test', network, chainId: '31337', urls: [urls[network] ?? 'http://127.0.0.1:1'] },
      tokens: [{ coin: 'USDT', address: tokenOf(network), decimals: 6 }],
    })),
    limits: { USDT: limits },
    payoutsPerHour: 100,
    treasuryLimits: { USDT: limits },
    withdrawalAddresses: { test: Object.fromEntries(NETWORKS.map((network) => [network, [coldOf(network)]])) },
    approvers,
  };
  return new Outgoing(rules, new Map([['test', keys]]), nowMs);
}

function orderOf(
  kind: OutgoingTransaction['kind'],
  network: Network,
  change: Partial<OutgoingTransaction> = {},
): OutgoingTransaction {
  const family = addressFamilyOf(network);
  const ofSweep = kind === 'sweep' || kind === 'gas_top_up';
  const [treasury, collected] = [wallet.treasury[family], wallet.collectionAddress(family, INDEX)];
  return outgoing({
    ...{ kind, id: `${kind}-1`, network, coin: kind === 'gas_top_up' ? NATIVE_COIN[network] : 'USDT', amount: '0.01' },
    fromAddress: kind === 'sweep' ? collected : treasury,
    toAddress: kind === 'sweep' ? treasury : kind === 'gas_top_up' ? collected : coldOf(network),
    ...{ derivationIndex: ofSweep ? INDEX : null, merchantId: kind === 'settlement' ? MERCHANT : null },
    ...change,
  });
}

function draftOf({ network, kind }: OutgoingTransaction): TransactionDraft {
  const fees = { gasLimit: '90000', maxFeePerGas: '1000', maxPriorityFeePerGas: '1000' };
  const token = { tokenAddress: tokenOf(network), tokenUnits: '10000' };
  const tron = { refBlockBytes: '0001', refBlockHash: '0011223344556677', expirationMs: 60_000, timestampMs: 1 };
  if (kind === 'gas_top_up')
    return network === 'tron'
      ? { kind: 'tron-native', sun: '10000', ...tron }
      : { kind: 'evm-native', chainId: '31337', nonce: 0, value: '10000000000000000', ...fees, gasLimit: '21000' };
  if (network === 'tron') return { kind: 'tron', ...token, feeLimit: 1_000_000, ...tron };
  if (network === 'ethereum') return { kind: 'evm', chainId: '31337', nonce: 0, ...token, ...fees };
  return { kind: 'solana', ...token, decimals: 6, nonceIndex: 0, nonce: NONCE, computeUnitPrice: '1000' };
}

const sign = (payouts: Outgoing, order: OutgoingTransaction) =>
  payouts.sign({ order, attempt: 1, draft: draftOf(order), logPlace: null });
async function approve(
  { approvals }: Outgoing,
  act: ApprovalAct,
  name: string,
  holder = name,
): Promise<ApprovalVerdict> {
  const terms = await approvals.terms(act);
  if (!terms.ok || terms.done) throw new Error('nothing is left to approve');
  return approvals.approve(act, { ...signedBy(holder, terms), approver: name });
}
const move = (order: OutgoingTransaction): ApprovalAct => ({ kind: 'transaction', order, proposedBy: 'operator' });
const agree = async (payouts: Outgoing, order: OutgoingTransaction): Promise<void> => {
  for (const name of ['ada', 'ben'])
    expect(await approve(payouts, move(order), name)).toMatchObject({ ok: true, done: name === 'ben' });
};
const register = async (payouts: Outgoing, network: Network, address: string): Promise<void> => {
  const destination = { mode: 'test', network, merchantId: MERCHANT, address } as const;
  for (const name of ['ada', 'ben'])
    await approve(payouts, { kind: 'settlement_address', destination, proposedBy: 'operator' }, name);
};

describe.each(NETWORKS)('the signer on %s', (network) => {
  const stranger = strangers[addressFamilyOf(network)];
  const strange = wallet.collectionAddress(addressFamilyOf(network), INDEX + 1);

  it('signs a sweep into its own treasury', async () => {
    expect(await sign(signer(), orderOf('sweep', network))).toMatchObject({ ok: true });
  });

  it.each([
    ['to a stranger', { toAddress: stranger }, 'not_the_treasury'],
    ['to another of our collection addresses', { toAddress: strange }, 'not_the_treasury'],
    ['from an address that is not at the place named', { derivationIndex: INDEX + 1 }, 'not_our_address'],
    ['from the treasury', { fromAddress: wallet.treasury[addressFamilyOf(network)] }, 'not_our_address'],
    ['of the native coin', { coin: NATIVE_COIN[network] }, 'other_coin'],
  ] as const)('refuses a sweep %s', async (_, change, code) => {
    const payouts = signer();
    const order = orderOf('sweep', network, change);
    expect(await payouts.check(order)).toMatchObject({ ok: false, kind: 'denied', code });
    expect(await sign(payouts, order)).toMatchObject({ ok: false, kind: 'denied' });
  });

  it('signs a withdrawal to an allow-listed address with two approvals, and requires the second one', async () => {
    const payouts = signer();
    const order = orderOf('withdrawal', network);
    for (const counted of [true, false])
      expect(await approve(payouts, move(order), 'ada')).toEqual({
        ok: true,
        done: false,
        counted,
        approvers: ['ada'],
      });
    expect(await sign(payouts, order)).toMatchObject({ ok: false, kind: 'later', code: 'approval' });
    const both = { ok: true, done: true, approvers: ['ada', 'ben'] };
    expect(await approve(payouts, move(order), 'ben')).toEqual({ ...both, counted: true });
    for (const name of ['ben', 'cy'])
      expect(await approve(payouts, move(order), name)).toEqual({ ...both, counted: false });
    expect(await sign(payouts, { ...order, amount: '0.02' })).toMatchObject({ ok: false });
    expect(await payouts.check({ ...order, amount: '0.02' })).toMatchObject({ ok: false, code: 'approval' });
    expect(await sign(payouts, order)).toMatchObject({ ok: true });
  });

  it('refuses a withdrawal to an address that is not allow-listed, even with two approvals', async () => {
    const payouts = signer();
    const order = orderOf('withdrawal', network, { toAddress: stranger });
    await agree(payouts, order);
    expect(await sign(payouts, order)).toMatchObject({ ok: false, kind: 'denied', code: 'not_on_allow_list' });
  });

  it("settles to the merchant's own address that two approvers registered, and nowhere else, even with two approvals", async () => {
    const payouts = signer();
    const order = orderOf('settlement', network);
    await agree(payouts, order);
    expect(await sign(payouts, order)).toMatchObject({ ok: false, kind: 'denied', code: 'not_on_allow_list' });
    await register(payouts, network, coldOf(network));
    for (const change of [{ toAddress: stranger }, { merchantId: OTHER_MERCHANT }, { merchantId: null }]) {
      const other = orderOf('settlement', network, { id: 'other', ...change });
      await agree(payouts, other);
      expect(await sign(payouts, other)).toMatchObject({ ok: false, kind: 'denied' });
    }
    expect(await payouts.check(orderOf('settlement', network, { id: 'unapproved' }))).toMatchObject({
      code: 'exceeds_account',
    });
    expect(await sign(payouts, order)).toMatchObject({ ok: false, code: 'exceeds_account' });
    payouts.ledger.take(0, recorded(paidOrder(0, MERCHANT, network)));
    expect(await sign(payouts, order)).toMatchObject({ ok: true });
  });

  it('counts no approval without the signature of its approver', async () => {
    const payouts = signer();
    const order = orderOf('withdrawal', network);
    expect(await approve(payouts, move(order), 'ada', 'ben')).toMatchObject({ ok: false });
    expect(await approve(payouts, move(order), 'eve')).toMatchObject({ ok: false });
    expect(await sign(payouts, order)).toMatchObject({ ok: false, code: 'approval' });
  });

  it('does not let anybody who guesses keep others from approving', async () => {
    const payouts = signer();
    const act = move(orderOf('withdrawal', network));
    for (const name of ['ada', 'eve', 'mallory'])
      for (let guess = 0; guess < 12; guess += 1) await approve(payouts, act, name, 'eve');
    expect(await approve(payouts, act, 'ada')).toMatchObject({ ok: false, code: 'too_many_attempts' });
    expect(await approve(payouts, act, 'ADA')).toMatchObject({ ok: false, code: 'too_many_attempts' });
    expect(await approve(payouts, act, 'oscar')).toMatchObject({ ok: false, code: 'too_many_attempts' });
    expect(await approve(payouts, act, 'ben')).toMatchObject({ ok: true, approvers: ['ben'] });
    expect(payouts.approvals.wrong).toBe(20);
  });

  it.each([
    ['who is no approver any more', ['ben', 'cy', 'dora'].map(approverKey)],
    [
      'whose key was replaced',
      [{ ...approverKey('ada'), publicKey: approverKey('new').publicKey }, approverKey('ben')],
    ],
  ])('counts no approval by a key of somebody %s, which a thief may have used in advance', async (_, approvers) => {
    const [order, journalDirectory] = [orderOf('withdrawal', network), join(directory, 'one')];
    const before = signer(wallet, undefined, { journalDirectory });
    expect(await approve(before, move(order), 'ada')).toMatchObject({ ok: true, done: false });
    const destination = { mode: 'test', network, merchantId: MERCHANT, address: stranger } as const;
    const place: ApprovalAct = { kind: 'settlement_address', destination, proposedBy: 'operator' };
    await approve(before, place, 'ada');
    const after = signer(wallet, undefined, { journalDirectory, approvers });
    for (const act of [move(order), place])
      expect(await approve(after, act, 'ben')).toMatchObject({ ok: true, done: false, approvers: ['ben'] });
    expect(await sign(after, order)).toMatchObject({ ok: false, message: expect.stringContaining('1 of 2') as string });
    const again = signer(wallet, undefined, { journalDirectory });
    expect(await sign(again, order)).toMatchObject({ ok: true });
  });

  it('counts no approval whose time is over', async () => {
    let nowMs = 1_800_000_000_000;
    const { approvals } = signer(wallet, () => nowMs);
    const act = move(orderOf('withdrawal', network));
    const terms = await approvals.terms(act);
    if (!terms.ok || terms.done) throw new Error('nothing to approve');
    nowMs += 11 * 60_000;
    expect(await approvals.approve(act, signedBy('ada', terms))).toMatchObject({ ok: false, code: 'wrong_number' });
    nowMs -= 11 * 60_000;
    expect(await approvals.approve(act, signedBy('ada', terms))).toMatchObject({ ok: true });
  });

  it('signs with keys that it never sees, however long the signature takes', async () => {
    const service: SigningWallet = {
      treasury: wallet.treasury,
      collectionAddress: (family, index) => wallet.collectionAddress(family, index),
      signDigest: (...asked) => new Promise((resolve) => setImmediate(() => resolve(wallet.signDigest(...asked)))),
      signSolanaMessage: (...asked) =>
        new Promise((resolve) => setImmediate(() => resolve(wallet.signSolanaMessage(...asked)))),
    };
    const order = orderOf('sweep', network);
    const { txHash, signedBytes } = (await sign(signer(), order)) as Extract<Signature, { ok: true }>;
    expect(await sign(signer(service), order)).toMatchObject({ ok: true, txHash, signedBytes });
  });
});

describe.each(['ethereum', 'tron'] as const)('gas on %s', (network) => {
  it('goes to our own collection addresses only, and nowhere while no chain can be seen', async () => {
    const payouts = signer();
    const toStranger = orderOf('gas_top_up', network, { toAddress: strangers[addressFamilyOf(network)] });
    expect(await sign(payouts, toStranger)).toMatchObject({ ok: false, kind: 'denied', code: 'not_our_address' });
    expect(await sign(payouts, orderOf('gas_top_up', network))).toMatchObject({
      ok: false,
      kind: 'later',
      code: 'chain_unavailable',
    });
  });
});

/** Micro-lamports that the signed bytes offer for a unit of computing. */
function unitPricesOf(signature: Signature): number[] {
  if (!signature.ok) throw new Error(signature.message);
  const { instructions } = Transaction.from(Buffer.from(signature.signedBytes, 'base64'));
  const ofBudget = instructions.filter(({ programId }) => programId.equals(ComputeBudgetProgram.programId));
  return ofBudget
    .filter((instruction) => ComputeBudgetInstruction.decodeInstructionType(instruction) === 'SetComputeUnitPrice')
    .map((instruction) => Number(ComputeBudgetInstruction.decodeSetComputeUnitPrice(instruction).microLamports));
}

describe('a nonce account of the treasury on Solana', () => {
  const treasury = wallet.treasury.solana;
  const order = (index: number, change: Partial<OutgoingTransaction> = {}): OutgoingTransaction =>
    outgoing({
      ...{ kind: 'nonce_account', id: `nac_${index}`, network: 'solana', coin: 'SOL', amount: '0.00144768' },
      ...{ fromAddress: treasury, toAddress: nonceAccountOf(treasury, index), derivationIndex: index, ...change },
    });
  const draft = (index: number, blockhash = 1, lamports = '1447680'): TransactionDraft => {
    return {
      kind: 'solana-nonce-account',
      nonceIndex: index,
      lamports,
      blockhash: base58(Buffer.alloc(32, blockhash)),
    };
  };

  it('is paid its rent at an address that the signer derives, and nothing else is', async () => {
    const payouts = signer();
    const cases: [Partial<OutgoingTransaction>, TransactionDraft][] = [
      [{ toAddress: strangers.solana }, draft(0)],
      [{ toAddress: nonceAccountOf(strangers.solana, 0) }, draft(0)],
      [{ toAddress: nonceAccountOf(treasury, 1) }, draft(0)],
      [{ fromAddress: wallet.collectionAddress('solana', 1) }, draft(0)],
      [{ coin: 'USDT' }, draft(0)],
      [{ amount: '0.007' }, draft(0, 1, '7000000')],
      [{ derivationIndex: NONCE_ACCOUNTS, toAddress: nonceAccountOf(treasury, NONCE_ACCOUNTS) }, draft(NONCE_ACCOUNTS)],
      [{}, draft(0, 1, '1447681')],
    ];
    for (const [change, of] of cases)
      expect(
        await payouts.sign({ order: order(0, change), attempt: 1, draft: of, logPlace: null }),
        JSON.stringify(change),
      ).toMatchObject({
        ok: false,
      });
    expect(await payouts.sign({ order: order(0), attempt: 1, draft: draft(0), logPlace: null })).toMatchObject({
      ok: true,
    });
  });

  it('offers the priority fee of its draft, if it names one that is not above the limit', async () => {
    const sign = (computeUnitPrice?: string): Promise<Signature> => {
      const priced = { ...draft(0), ...(computeUnitPrice !== undefined && { computeUnitPrice }) };
      return signer().sign({ order: order(0), attempt: 1, draft: priced, logPlace: null });
    };
    expect(await sign('999999999999')).toMatchObject({ ok: false, code: 'network_fee_too_high' });
    expect(unitPricesOf(await sign('60000'))).toEqual([60_000]);
    expect(unitPricesOf(await sign())).toEqual([]);
  });

  it('is signed for as often as a day of bad luck needs, not as often as somebody asks', async () => {
    const payouts = signer();
    let logPlace: JournalPlace | null = null;
    let signed = 0;
    for (let attempt = 1; attempt <= 100; attempt += 1) {
      const answer = await payouts.sign({ order: order(0), attempt, draft: draft(0, attempt), logPlace });
      if (!answer.ok) break;
      [logPlace, signed] = [answer.journal, signed + 1];
    }
    expect(signed).toBe(32);
    expect(await payouts.check(order(1))).toMatchObject({ ok: false, code: 'velocity' });
  });

  it('that was not made counts towards nothing but fees, once the signer sees that it failed', async () => {
    const payouts = signer();
    let logPlace: JournalPlace | null = null;
    onTestFinished(() => {
      solana.override = () => undefined;
    });
    for (let making = 1; making <= 40; making += 1) {
      const again = order(0, { id: `nac_again_${making}` });
      const answer = await payouts.sign({ order: again, attempt: 1, draft: draft(0, making), logPlace });
      if (!answer.ok) throw new Error(`${making}: ${answer.message}`);
      logPlace = answer.journal;
      const status = { err: { InsufficientFundsForRent: { account_index: 0 } }, confirmationStatus: 'confirmed' };
      const show = (confirmationStatus: string): void => {
        const value = [{ ...status, confirmationStatus }];
        solana.override = ({ method }) =>
          method === 'getSignatureStatuses' ? { result: { context: { slot: 5_000 }, value } } : undefined;
      };
      show('confirmed');
      expect(await payouts.release(again)).toMatchObject({ ok: false, code: 'may_have_paid' });
      show('finalized');
      expect(await payouts.release(again)).toEqual({ ok: true });
    }
    expect(await payouts.check(order(1))).toMatchObject({ ok: true });
  });
});
