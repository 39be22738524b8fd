import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Wallet as PayingWallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimText, type ClaimEvidence, type ClaimTerms, type EvidenceKind } from '../../../src/domain/claims.ts';
import type { JournalPlace } from '../../../src/domain/events/transaction-draft.ts';
import type { ApprovalAct } from '../../../src/ports/signer/approvals.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { SigningRequest } from '../../../src/ports/outgoing/signer.ts';
import type { PayoutRules } from '../../../src/ports/signer/protocol.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';
import { evmNodeWithDeposit, PAYER_KEY, type StubNode } from '../../crash/stub-evm-node.ts';
import { approverKey, signedBy } from '../../support/approvers.ts';
import { outgoing } from '../../support/outgoing.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/*
 * A deposit of 100 at place 0, a test payment of 1.2345 from the same sender at 1, one of a stranger at 2, and minted
 * money at 3.
 */

const MNEMONIC = 'test test test test test test test test test test test junk';
const wallet = new Wallet(MNEMONIC);
const payer = new PayingWallet(PAYER_KEY);
const STRANGER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const PAYEE = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const MINTED = `0x${'0'.repeat(40)}`;
const NUMBER = 'A'.repeat(22);
const TEST = '1.2345';
const limits = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };

let directory: string;
let node: StubNode;
beforeAll(async () => {
  directory = temporaryFolder('signer-claims');
  const more = [
    { from: payer.address, units: 1_234_500n },
    { from: STRANGER, units: 1_234_500n },
    { from: MINTED, units: 100_000_000n },
  ];
  node = await evmNodeWithDeposit({ toAddress: wallet.collectionAddress('evm', 0), units: 100_000_000n, more });
});
afterAll(() => node.close());

function signerTaking(claims: readonly EvidenceKind[], change: Partial<PayoutRules> = {}): Outgoing {
  const tokens = [{ coin: 'USDT', address: node.token, decimals: 6 }] as const;
  const networks = (['ethereum', 'bsc'] as const).map((network) => ({
    mode: 'test' as const,
    network,
    chainId: '31337',
    tokens,
    urls: [node.url],
  }));
  const journalDirectory = mkdtempSync(join(directory, 'journal-'));
  const approvers = ['ada', 'ben', 'cleo'].map(approverKey);
  return new Outgoing(
    { journalDirectory, networks, limits: { USDT: limits }, payoutsPerHour: 100, approvers, claims, ...change },
    new Map([['test', wallet]]),
  );
}

const deposit = (place: number, amount: string) => ({
  ...{ depositKey: `ethereum:${node.txHash}:${place}`, txHash: node.txHash, logIndex: place, amount },
  ...{ toAddress: wallet.collectionAddress('evm', 0), derivationIndex: 0 },
});

/** 100 of the first deposit for the payee. */
function claiming(
  evidence: ClaimEvidence,
  change: Partial<OutgoingTransaction> = {},
  sessionId = 'cs_x',
): OutgoingTransaction {
  const refund = { sessionId, refundId: 're_1', claim: { claimId: 'clm_1', evidence } };
  const money = {
    network: 'ethereum',
    coin: 'USDT',
    amount: '100',
    fromAddress: wallet.treasury.evm,
    toAddress: PAYEE,
  } as const;
  return outgoing({ kind: 'refund', id: 're_1-1', ...money, refund, deposits: [deposit(0, '100')], ...change });
}
const tested = (
  evidence: ClaimEvidence = { kind: 'test_payment', amount: TEST },
  change: Partial<OutgoingTransaction> = {},
): OutgoingTransaction =>
  claiming(evidence, { amount: '101.2345', deposits: [deposit(1, TEST), deposit(0, '100')], ...change });
const minted = (change: Partial<OutgoingTransaction> = {}): OutgoingTransaction =>
  claiming({ kind: 'no_sender' }, { deposits: [deposit(3, '100')], ...change });

const terms = (change: Partial<ClaimTerms> = {}): ClaimTerms => ({
  ...{ sessionId: 'cs_x', mode: 'test', network: 'ethereum', depositKey: `ethereum:${node.txHash}:0` },
  ...{ coin: 'USDT', amount: '100.00', payee: PAYEE, number: NUMBER, ...change },
});
const signature = (by: PayingWallet = payer, change: Partial<ClaimTerms> = {}): ClaimEvidence => ({
  ...{ kind: 'signature', number: NUMBER },
  signature: by.signMessageSync(claimText(terms(change))),
});

function request(order: OutgoingTransaction, logPlace: JournalPlace | null = null, nonce = 0): SigningRequest {
  const fees = { gasLimit: '90000', maxFeePerGas: '1000', maxPriorityFeePerGas: '1000' };
  const tokenUnits = String(Math.round(Number(order.amount) * 1e6));
  return {
    order,
    attempt: 1,
    logPlace,
    draft: { kind: 'evm', chainId: '31337', nonce, tokenAddress: node.token, tokenUnits, ...fees },
  };
}
async function approve(signer: Outgoing, order: OutgoingTransaction, ...people: string[]): Promise<void> {
  const act: ApprovalAct = { kind: 'transaction', order, proposedBy: 'merchant' };
  for (const person of people) {
    const asked = await signer.approvals.terms(act);
    if (!asked.ok || asked.done) throw new Error('nothing to approve');
    expect(await signer.approvals.approve(act, signedBy(person, asked))).toMatchObject({ ok: true });
  }
}

describe('a claim with a signature of the key that paid', () => {
  it('is paid to the payee that it names, and takes the deposit like any refund', async () => {
    const signer = signerTaking(['signature']);
    const first = await signer.sign(request(claiming(signature(), { amount: '60', deposits: [deposit(0, '60')] })));
    if (!first.ok) throw new Error(first.message);
    const home = claiming(signature(), {
      id: 're_2-1',
      toAddress: payer.address,
      refund: { sessionId: 'cs_x', refundId: 're_2' },
    });
    expect(await signer.sign(request(home, first.journal, 1))).toMatchObject({ ok: false, code: 'exceeds_deposit' });
    const rest = { ...home, amount: '40' };
    expect(await signer.sign(request(rest, first.journal, 1))).toMatchObject({ ok: true });
  });

  it('is refused while the signer is not configured to accept signatures', async () => {
    for (const kinds of [[], ['test_payment', 'no_sender']] as const)
      expect(await signerTaking(kinds).check(claiming(signature()))).toMatchObject({
        ok: false,
        kind: 'later',
        code: 'claims_off',
      });
  });

  it.each([
    ['another key', () => claiming(signature(PayingWallet.createRandom() as unknown as PayingWallet))],
    ['another payee', () => claiming(signature(payer, { payee: STRANGER }))],
    ['another session', () => claiming(signature(), {}, 'cs_y')],
    ['another deposit of the same sender', () => claiming(signature(), { amount: TEST, deposits: [deposit(1, TEST)] })],
    [
      'the deposit of another sender',
      () =>
        claiming(signature(payer, { depositKey: `ethereum:${node.txHash}:2` }), {
          amount: '1',
          deposits: [deposit(2, '1')],
        }),
    ],
    [
      'minted money',
      () => claiming(signature(payer, { depositKey: `ethereum:${node.txHash}:3` }), { deposits: [deposit(3, '100')] }),
    ],
    ['another amount than was paid', () => claiming(signature(payer, { amount: '99.00' }))],
    ['another mode', () => claiming(signature(payer, { mode: 'live' }))],
    ['another network', () => claiming(signature(payer, { network: 'bsc' }))],
    ['another number', () => claiming({ ...signature(), number: 'B'.repeat(22) } as ClaimEvidence)],
  ])('proves nothing when it is of %s', async (_, order) => {
    expect(await signerTaking(['signature']).check(order())).toMatchObject({
      ok: false,
      kind: 'denied',
      code: 'not_the_payer',
    });
  });

  it('proves nothing on another network where the same transaction is shown', async () => {
    const onBsc = { ...deposit(0, '100'), depositKey: `bsc:${node.txHash}:0` };
    expect(
      await signerTaking(['signature']).check(claiming(signature(), { network: 'bsc', deposits: [onBsc] })),
    ).toMatchObject({
      code: 'not_the_payer',
    });
  });

  it('is good for one payout, and again only for that one', async () => {
    const signer = signerTaking(['signature']);
    const half = { amount: '50', deposits: [deposit(0, '50')] };
    const first = await signer.sign(request(claiming(signature(), half)));
    if (!first.ok) throw new Error(first.message);
    expect(await signer.sign(request(claiming(signature(), half)))).toEqual(first);
    expect(
      await signer.sign(request(claiming(signature(), { ...half, id: 're_2-1' }), first.journal, 1)),
    ).toMatchObject({ code: 'evidence_used' });
  });

  it('takes one deposit, the one that the signature names', async () => {
    const both = claiming(signature(), { amount: '101.2345', deposits: [deposit(0, '100'), deposit(1, TEST)] });
    expect(await signerTaking(['signature']).check(both)).toMatchObject({ ok: false, code: 'other_deposits' });
  });

  it('counts in the caps, and wants two approvers above the threshold', async () => {
    const capped = signerTaking(['signature'], { limits: { USDT: { ...limits, perHour: '99' } } });
    expect(await capped.check(claiming(signature()))).toMatchObject({ code: 'hourly_cap' });
    const watched = signerTaking(['signature'], { limits: { USDT: { ...limits, approvalFrom: '100' } } });
    expect(await watched.check(claiming(signature()))).toMatchObject({ code: 'approval' });
    await approve(watched, claiming(signature()), 'ada', 'ben');
    expect(await watched.check(claiming(signature()))).toEqual({ ok: true });
  });
});

describe.each([
  ['a test payment', (change?: Partial<OutgoingTransaction>) => tested(undefined, change)],
  ['no sender', minted],
] as const)('a claim with %s as evidence', (_, order) => {
  it('needs two approvers for its exact terms, however small it is', async () => {
    const signer = signerTaking(['test_payment', 'no_sender']);
    expect(await signer.check(order())).toMatchObject({ ok: false, kind: 'later', code: 'approval' });
    await approve(signer, order(), 'ada');
    expect(await signer.check(order())).toMatchObject({ code: 'approval' });
    await approve(signer, order(), 'ben');
    expect(await signer.check(order())).toEqual({ ok: true });
    expect(await signer.check(order({ toAddress: STRANGER }))).toMatchObject({ code: 'approval' });
    expect(await signer.check(order({ id: 're_2-1' }))).toMatchObject({ code: 'approval' });
    const other = { ...order().refund!, claim: { claimId: 'clm_2', evidence: order().refund!.claim!.evidence } };
    expect(await signer.check(order({ refund: other }))).toMatchObject({ code: 'approval' });
  });

  it('is not agreed to by an approval of a refund to who paid', async () => {
    const signer = signerTaking(['test_payment', 'no_sender']);
    await approve(signer, order({ refund: { sessionId: 'cs_x', refundId: 're_1' } }), 'ada', 'ben');
    expect(await signer.check(order())).toMatchObject({ code: 'approval' });
  });

  it('is refused while the signer is not configured to accept it', async () => {
    expect(await signerTaking(['signature']).check(order())).toMatchObject({ kind: 'later', code: 'claims_off' });
  });
});

describe('a claim with two approvals', () => {
  const approved = async (order: OutgoingTransaction) => {
    const signer = signerTaking(['test_payment', 'no_sender']);
    await approve(signer, order, 'ada', 'ben');
    return signer.check(order);
  };

  it('is not paid when the test payment came from another sender', async () => {
    const order = tested(undefined, { deposits: [deposit(2, TEST), deposit(0, '100')] });
    expect(await approved(order)).toMatchObject({ ok: false, kind: 'denied', code: 'not_the_payer' });
  });

  it('is not paid when the test payment has another amount', async () => {
    expect(await approved(tested({ kind: 'test_payment', amount: '1.5' }))).toMatchObject({
      kind: 'denied',
      code: 'other_amount',
    });
  });

  it('is not paid without a test payment, or with the deposit as its own', async () => {
    expect(await approved(tested(undefined, { amount: '100', deposits: [deposit(0, '100')] }))).toMatchObject({
      code: 'other_deposits',
    });
    const twice = tested(
      { kind: 'test_payment', amount: '100' },
      { amount: '100', deposits: [deposit(0, '50'), deposit(0, '50')] },
    );
    expect(await approved(twice)).toMatchObject({ ok: false, code: 'not_the_payer' });
  });

  it('is not paid as minted money when the chain names a sender', async () => {
    expect(await approved(minted({ deposits: [deposit(0, '100')] }))).toMatchObject({
      kind: 'denied',
      code: 'has_sender',
    });
  });

  it('names the payee, the deposits and the evidence in its terms', async () => {
    const asked = await signerTaking(['test_payment']).approvals.terms({
      kind: 'transaction',
      order: tested(),
      proposedBy: 'merchant',
    });
    const text = asked.ok && !asked.done ? asked.text : '';
    expect(text).toContain('action: pay a refund to another than who paid');
    expect(text).toContain(`to: ${PAYEE}`);
    expect(text).toContain('claim: clm_1');
    expect(text).toContain(`deposit: ${TEST} of ethereum:${node.txHash}:1\ndeposit: 100 of ethereum:${node.txHash}:0`);
  });
});

describe('evidence that was not accepted at the first start', () => {
  it('is taken once two approvers want it', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    signerTaking([], { journalDirectory });
    const signer = signerTaking(['signature'], { journalDirectory });
    expect(await signer.check(claiming(signature()))).toMatchObject({ code: 'claims_off' });
    for (const person of ['ada', 'ben']) {
      const act: ApprovalAct = { kind: 'limits', mode: 'test', proposedBy: 'olga' };
      const asked = await signer.approvals.terms(act);
      if (!asked.ok || asked.done) throw new Error('nothing to approve');
      expect(asked.text).toContain('change: refunds may go to another than who paid, with signature as evidence');
      await signer.approvals.approve(act, signedBy(person, asked));
    }
    expect(await signer.check(claiming(signature()))).toEqual({ ok: true });
  });
});
