import { Wallet } from 'ethers';
import { describe, expect, it } from 'vitest';
import { EVIDENCE_KINDS } from '../../../../../src/domain/claims.ts';
import { caller } from '../../../../support/session-world.ts';
import { ANOTHER_SESSIONS, claimWorld as world, EXCHANGE, PAYEE, wallet } from '../../../../support/claim-world.ts';

describe('a claim with a signature', () => {
  it('is filed by the payer, seen by the merchant, and approved by a refund that names it', async () => {
    const { pay, file, sign, refund, claims } = await world();
    const transactionId = await pay('10.00');
    const filed = await file({ ...(await sign(transactionId)), reason: 'my wallet is at an exchange now' });
    expect(filed).toMatchObject({
      payee: PAYEE,
      evidence: 'signature',
      status: 'open',
      isProven: true,
      amount: '10.00',
    });
    const { claimId } = (await claims())[0]!;
    const first = await refund({ claimId }, 'key-1');
    expect(first).toMatchObject({ amount: '10.00', payouts: [{ toAddress: PAYEE }] });
    expect(await refund({ claimId }, 'key-1')).toEqual(first);
    expect(await refund({ claimId }, 'key-2')).toMatchObject({ code: 'conflict', param: 'claim_id' });
    expect((await claims())[0]).toMatchObject({
      status: 'approved',
      refundId: (first as { refundId: string }).refundId,
    });
  });

  it('is refused with another key, another payee, or a text of another number', async () => {
    const { pay, file, sign } = await world();
    const transactionId = await pay('10.00');
    const other = await sign(transactionId, new Wallet(`0x${'22'.repeat(32)}`));
    expect(await file(other)).toMatchObject({ code: 'invalid_request', param: 'signature' });
    const signed = await sign(transactionId);
    expect(await file({ ...signed, payee: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65' })).toMatchObject({
      param: 'signature',
    });
    expect(await file({ ...signed, number: 'A'.repeat(22) })).toMatchObject({ param: 'signature' });
    expect(await file({ ...signed, number: 'short' })).toMatchObject({ param: 'number' });
    expect(await file({ ...signed, signature: 'nonsense' })).toMatchObject({ param: 'signature' });
  });

  it('is one however often it is sent', async () => {
    const { pay, file, sign, claims } = await world();
    const signed = await sign(await pay('10.00'));
    expect(await file(signed)).toMatchObject({ status: 'open' });
    expect(await file(signed)).toMatchObject({ status: 'open' });
    expect(await claims()).toHaveLength(1);
  });
});

describe('who may be paid by a claim', () => {
  it('is an address of the network that is neither a contract nor an exchange', async () => {
    const { pay, file, kinds } = await world();
    const transactionId = await pay('10.00');
    const filing = { transactionId, evidence: 'test_payment' } as const;
    expect(await file({ ...filing, payee: 'nonsense' })).toMatchObject({ param: 'payee' });
    expect(await file({ ...filing, payee: `0x${'0'.repeat(40)}` })).toMatchObject({ param: 'payee' });
    expect(await file({ ...filing, payee: ANOTHER_SESSIONS })).toMatchObject({
      param: 'payee',
      message: expect.stringContaining('of this service'),
    });
    expect(await file({ ...filing, payee: wallet.address.toLowerCase() })).toMatchObject({ param: 'payee' });
    kinds.set(PAYEE, EXCHANGE);
    expect(await file(filing)).toMatchObject({ param: 'payee', message: expect.stringContaining('Big Exchange') });
    kinds.set(PAYEE, { kind: 'contract', name: null });
    expect(await file(filing)).toMatchObject({ param: 'payee' });
    kinds.set(PAYEE, null);
    expect(await file(filing)).toMatchObject({ code: 'service_unavailable' });
  });
});

describe('evidence', () => {
  it('is what both merchant and installation accept', async () => {
    for (const [merchant, installation] of [
      [[], EVIDENCE_KINDS],
      [EVIDENCE_KINDS, []],
      [['no_sender'], ['signature']],
    ] as const) {
      const { pay, file, api, sessionId } = await world(wallet.address, merchant, installation);
      const transactionId = await pay('10.00');
      expect((await api.claimsOf(sessionId))!.claimable).toEqual([]);
      expect(await file({ transactionId, evidence: 'test_payment' })).toMatchObject({ code: 'invalid_request' });
    }
  });

  it('is a test payment where the sender has no key of the payer, and none for minted money', async () => {
    const { pay, api, sessionId } = await world();
    await pay('10.00');
    await pay('11.00', '0xExchange', EXCHANGE);
    await pay('12.00', null);
    const { claimable } = (await api.claimsOf(sessionId))!;
    expect(claimable.map(({ evidence }) => evidence)).toEqual([
      ['signature', 'test_payment'],
      ['test_payment'],
      ['no_sender'],
    ]);
  });

  it('of a test payment is one amount however often the form is sent, and another claim gets a new one', async () => {
    const { pay, file, claims } = await world('0xExchange');
    const filing = {
      transactionId: await pay('10.00', '0xExchange', EXCHANGE),
      evidence: 'test_payment',
      number: 'A'.repeat(22),
    } as const;
    const first = await file(filing);
    expect(await file(filing)).toEqual(first);
    for (const testAtLeast of [0, 101, 1.5, Number.NaN])
      expect(await file({ ...filing, testAtLeast })).toMatchObject({ param: 'at_least' });
    expect(await file({ ...filing, payee: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65' })).toMatchObject({
      code: 'conflict',
      param: 'number',
    });
    expect(await claims()).toHaveLength(1);
  });

  it('of a test payment is paid from both deposits, also where less than all is asked', async () => {
    const { pay, file, refund, claims } = await world('0xExchange');
    const transactionId = await pay('10.00', '0xExchange', EXCHANGE);
    const { testPayment } = (await file({ transactionId, evidence: 'test_payment' })) as { testPayment: string };
    await pay(testPayment, '0xExchange', EXCHANGE);
    const { claimId } = (await claims())[0]!;
    expect(await refund({ claimId, amount: { value: '1.00', currency: 'USDT' } })).toMatchObject({
      code: 'invalid_request',
      param: 'amount.value',
    });
    expect(await refund({ claimId, amount: { value: '6.00', currency: 'USDT' } })).toMatchObject({
      amount: '6.00',
      payouts: [{ toAddress: PAYEE }],
    });
  });

  it('of a test payment is complete once exactly the amount came from the sender', async () => {
    const { pay, file, refund, claims } = await world('0xExchange');
    const filed = await file({ transactionId: await pay('10.00', '0xExchange', EXCHANGE), evidence: 'test_payment' });
    const { claimId, testPayment } = filed as { claimId: string; testPayment: string };
    expect(testPayment).toMatch(/^1\.\d{2,4}$/);
    expect((await claims())[0]).toMatchObject({ isProven: false });
    expect(await refund({ claimId })).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(testPayment),
    });
    await pay(testPayment, '0xOther');
    expect(await refund({ claimId })).toMatchObject({ code: 'conflict' });
    await pay(testPayment, '0xExchange', EXCHANGE);
    expect((await claims())[0]).toMatchObject({ isProven: true });
    expect(await refund({ claimId })).toMatchObject({ payouts: [{ toAddress: PAYEE }] });
  });
});

describe('two claims for one deposit, approved at the same time', () => {
  it('pay one payee: nothing is left for the other', async () => {
    const { pay, file, sign, refund, claims } = await world();
    const transactionId = await pay('10.00');
    for (let filed = 0; filed < 2; filed += 1) await file(await sign(transactionId));
    const [one, other] = await claims();
    const outcomes = await Promise.all([
      refund({ claimId: one!.claimId }, 'key-1'),
      refund({ claimId: other!.claimId }, 'key-2'),
    ]);
    expect(outcomes.filter((outcome) => 'payouts' in outcome)).toHaveLength(1);
    expect(outcomes.filter((outcome) => 'code' in outcome)).toMatchObject([{ code: 'refund_exceeds_paid' }]);
    expect((await claims()).map(({ status }) => status).sort()).toEqual(['approved', 'open']);
  });
});

describe('a refund that names a claim', () => {
  it('must name a claim of the session, and no deposit', async () => {
    const { pay, file, sign, refund, claims } = await world();
    const transactionId = await pay('10.00');
    await file(await sign(transactionId));
    const { claimId } = (await claims())[0]!;
    expect(await refund({ claimId: 'clm_other' })).toMatchObject({ code: 'invalid_request', param: 'claim_id' });
    expect(await refund({ claimId: 'constructor' })).toMatchObject({ code: 'invalid_request', param: 'claim_id' });
    expect(await refund({ claimId, transactionId })).toMatchObject({
      code: 'invalid_request',
      param: 'transaction_id',
    });
    expect(await refund({ claimId, amount: { value: '4.00', currency: 'USDT' } })).toMatchObject({
      amount: '4.00',
      payouts: [{ toAddress: PAYEE }],
    });
  });
});

describe('a claim is rejected', () => {
  it('by its merchant alone, with a reason, once however often it is asked', async () => {
    const { api, sessionId, pay, file, sign, refund, claims } = await world();
    await file(await sign(await pay('10.00')));
    const { claimId } = (await claims())[0]!;
    expect(
      await api.rejectClaim({ ...caller, merchantId: 'mer_other' } as typeof caller, sessionId, claimId),
    ).toMatchObject({ ok: false });
    expect(await api.rejectClaim(caller, sessionId, 'clm_other')).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    const keyed = { ...caller, idempotencyKey: 'k' };
    expect(await api.rejectClaim(keyed, sessionId, claimId, 'not you')).toMatchObject({
      ok: true,
      value: { status: 'rejected' },
    });
    expect(await api.rejectClaim(keyed, sessionId, claimId, 'not you')).toMatchObject({ ok: true, repeated: true });
    expect(await api.rejectClaim(keyed, sessionId, claimId, 'other')).toMatchObject({
      ok: false,
      refusal: { code: 'idempotency_conflict' },
    });
    expect(await refund({ claimId })).toMatchObject({ code: 'conflict' });
  });
});
