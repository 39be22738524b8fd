import { describe, expect, it } from 'vitest';
import type { ClaimFiled } from '../../../../src/domain/events/claim-events.ts';
import type { DepositFacts, SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { EVIDENCE_KINDS } from '../../../../src/domain/claims.ts';
import type { RefundId } from '../../../../src/domain/values/ids.ts';
import type { SessionCommand } from '../../../../state-machines/checkout-session/session.decider.ts';
import { given } from '../../../support/given.ts';
import {
  CREATED_AT,
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  depositReverted,
} from '../../../support/session-facts.ts';

const HOUR = 3600;
const LATER = EXPIRES_AT + HOUR;
const created: SessionEvent = { type: 'SessionCreated', data: createdFacts() };
const over: SessionEvent = {
  type: 'SessionCancelled',
  data: { cancelledAtSec: CREATED_AT + 120, coin: 'USDT', received: '10.00', inFlight: false },
};
const arrived = (change: Partial<DepositFacts> = {}): SessionEvent[] => {
  const { depositKey, blockNumber, blockHash, blockTimeSec, ...facts } = depositFacts({
    blockTimeSec: CREATED_AT + 130,
    ...change,
  });
  const place = { depositKey, blockNumber, blockHash, blockTimeSec };
  return [
    { type: 'DepositDetected', data: { ...facts, ...place, kind: 'late' } },
    { type: 'DepositConfirmed', data: { ...place, rule: { kind: 'finalized' }, headNumber: 200 } },
  ];
};
const KEY = depositFacts().depositKey;
const signed = { kind: 'signature', number: 'A'.repeat(22), signature: `0x${'1'.repeat(130)}` } as const;
const test = { kind: 'test_payment', amount: '1.2345' } as const;
const claim = (change: Partial<ClaimFiled['data']> = {}): ClaimFiled['data'] => ({
  claimId: 'clm_1',
  depositKey: KEY,
  payee: '0xPayee',
  evidence: signed,
  reason: null,
  filedAtSec: LATER,
  ...change,
});
const file = (
  change: Partial<ClaimFiled['data']> = {},
  accepted = EVIDENCE_KINDS as readonly (typeof EVIDENCE_KINDS)[number][],
): SessionCommand => ({
  ...{ type: 'FileClaim', data: claim(change), accepted },
});
const filed = (change: Partial<ClaimFiled['data']> = {}): SessionEvent => ({ type: 'ClaimFiled', data: claim(change) });
const approve = (change: Parameters<typeof refundCommand>[0] = {}): SessionCommand =>
  refundCommand({
    namedDeposit: KEY,
    claim: { claimId: 'clm_1', accepted: EVIDENCE_KINDS, waitSec: 24 * HOUR },
    nowSec: LATER,
    ...change,
  });
const reject = (nowSec = LATER): SessionCommand => ({
  type: 'RejectClaim',
  claimId: 'clm_1',
  reason: null,
  nowSec,
  valuation: null,
});
const testPayment = (change: Partial<DepositFacts> = {}): SessionEvent[] =>
  arrived({ txHash: '0x02', amount: test.amount, blockTimeSec: LATER + 60, ...change });
const paid = [created, ...arrived(), over];

describe('a payer files a claim', () => {
  it('for a final deposit of a payment that has ended', () => {
    const { events } = given(...paid)
      .when(file())
      .then('ClaimFiled');
    expect(events[0]!.data).toEqual(claim());
  });

  it.each([
    ['while the payment is open', [created, ...arrived()], file()],
    ['of the same number twice', [...paid, filed()], file({ claimId: 'clm_2' })],
    [
      'with an amount that another test payment has',
      [...paid, filed({ evidence: test })],
      file({ claimId: 'clm_2', evidence: test }),
    ],
    [
      'beside five that wait',
      [...paid, ...[1, 2, 3, 4, 5].map((n) => filed({ claimId: `c${n}`, evidence: { ...signed, number: `${n}` } }))],
      file(),
    ],
  ] as const)('but not %s', (_, history, command) =>
    given(...history)
      .when(command)
      .thenRefused('conflict'),
  );

  it('with the key that paid, however many unproven ones are open', () => {
    const noise = Array.from({ length: 20 }, (_, n) =>
      filed({ claimId: `c${n}`, evidence: { kind: 'test_payment', amount: `1.${n + 10}` } }),
    );
    given(...paid, ...noise)
      .when(file())
      .then('ClaimFiled');
    given(...paid, ...noise)
      .when(file({ evidence: test }))
      .thenRefused('conflict');
  });

  it.each([
    ['with evidence that the shop does not take', paid, file({}, ['test_payment'])],
    ['when nothing is taken', paid, file({}, [])],
    ['for a deposit that is not there', paid, file({ depositKey: 'ethereum:0x09:0' })],
    ['for a deposit that left the chain', [...paid, reverted()], file()],
    ['for who paid, however it is written', paid, file({ payee: '0xPAYER' })],
    ['for an address of ours', paid, file({ payee: createdFacts().paymentOptions[0]!.address })],
    ['as one without sender when there is one', paid, file({ evidence: { kind: 'no_sender' } })],
    ['with a signature of nobody', [created, ...arrived({ fromAddress: null }), over], file()],
    ['with a test payment of nobody', [created, ...arrived({ fromAddress: null }), over], file({ evidence: test })],
  ] as const)('but not %s', (_, history, command) =>
    given(...history)
      .when(command)
      .thenRefused('invalid_request'),
  );

  it('but not for what was refunded', () => {
    const refunded = given(...paid)
      .when(refundCommand())
      .then('RefundRequested');
    given(...paid, ...refunded.events)
      .when(file())
      .thenRefused('refund_exceeds_paid');
  });

  it('and no more than twenty in all', () => {
    const many = Array.from({ length: 20 }, (_, n): SessionEvent[] => [
      filed({ claimId: `c${n}`, evidence: { ...signed, number: `${n}` } }),
      { type: 'ClaimRejected', data: { claimId: `c${n}`, reason: null, rejectedAtSec: LATER } },
    ]);
    given(...paid, ...many.flat())
      .when(file())
      .thenRefused('conflict');
  });
});

describe('an approved claim', () => {
  it('is a refund to its payee, that waits', () => {
    const { events } = given(...paid, filed())
      .when(approve())
      .then('RefundRequested');
    expect(events[0]!.data).toMatchObject({
      amount: '10.00',
      legs: [{ toAddress: '0xPayee', amount: '10.00', takenFrom: [{ depositKey: KEY, amount: '10.00' }] }],
      claim: { claimId: 'clm_1', payableFromSec: LATER + 24 * HOUR },
    });
  });

  it('excludes the deposit from other refunds, and they exclude it', () => {
    const { events } = given(...paid, filed())
      .when(approve({ units: 6n * 10n ** 18n }))
      .then('RefundRequested');
    const history = [...paid, filed(), ...events];
    given(...history)
      .when(refundCommand({ refundId: 're_b' as RefundId, units: 5n * 10n ** 18n }))
      .thenRefused('refund_exceeds_paid');
    const home = given(...history)
      .when(refundCommand({ refundId: 're_b' as RefundId }))
      .then('RefundRequested');
    expect(home.events[0]!.data).toMatchObject({ amount: '4.00', legs: [{ toAddress: '0xPayer' }] });
    given(
      ...paid,
      filed(),
      ...given(...paid)
        .when(refundCommand())
        .then('RefundRequested').events,
    )
      .when(approve({ refundId: 're_b' as RefundId }))
      .thenRefused('refund_exceeds_paid');
  });

  it('is approved once', () => {
    const { events } = given(...paid, filed())
      .when(approve({ units: 10n ** 18n }))
      .then('RefundRequested');
    given(...paid, filed(), ...events)
      .when(approve({ refundId: 're_b' as RefundId }))
      .thenRefused('conflict');
  });

  it('must exist, be open, and be of a kind that is still accepted', () => {
    given(...paid)
      .when(approve())
      .thenRefused('not_found');
    const rejected: SessionEvent = {
      type: 'ClaimRejected',
      data: { claimId: 'clm_1', reason: null, rejectedAtSec: LATER },
    };
    given(...paid, filed(), rejected)
      .when(approve())
      .thenRefused('conflict');
    given(...paid, filed())
      .when(approve({ claim: { claimId: 'clm_1', accepted: ['test_payment'], waitSec: 0 } }))
      .thenRefused('invalid_request');
  });

  it('pays nothing when its deposit has left the chain', () => {
    given(...paid, filed(), reverted())
      .when(approve())
      .thenRefused('session_not_paid');
  });

  it('without a sender pays from money without a payer, which no other refund takes', () => {
    const minted = [created, ...arrived({ fromAddress: null }), over];
    given(...minted)
      .when(refundCommand())
      .thenRefused('payer_ambiguous');
    const { events } = given(...minted, filed({ evidence: { kind: 'no_sender' } }))
      .when(approve())
      .then('RefundRequested');
    expect(events[0]!.data).toMatchObject({ legs: [{ toAddress: '0xPayee', amount: '10.00' }] });
  });
});

describe('a claim with a test payment', () => {
  const waiting = [...paid, filed({ evidence: test })];

  it('pays the test payment back with the deposit', () => {
    const { events } = given(...waiting, ...testPayment())
      .when(approve())
      .then('RefundRequested');
    const takenFrom = [
      { depositKey: 'ethereum:0x02:0', amount: '1.2345' },
      { depositKey: KEY, amount: '10.00' },
    ];
    expect(events[0]!.data).toMatchObject({
      amount: '11.2345',
      legs: [{ toAddress: '0xPayee', amount: '11.2345', takenFrom }],
    });
  });

  it.each([
    ['has not come', []],
    ['is not final', testPayment().slice(0, 1)],
    ['came from another sender', testPayment({ fromAddress: '0xStranger' })],
    ['came from nobody', testPayment({ fromAddress: null })],
    ['has another amount', testPayment({ amount: '1.2346' })],
    ['is another coin', testPayment({ coin: 'USDC' })],
    ['came on another network', testPayment({ network: 'bsc' })],
    ['came before the claim', testPayment({ blockTimeSec: LATER - 61 })],
  ] as const)('pays nothing while it %s', (_, history) =>
    given(...waiting, ...history)
      .when(approve())
      .thenRefused('conflict'),
  );

  it('pays nothing once the test payment was refunded separately', () => {
    const all = [...waiting, ...testPayment()];
    const { events } = given(...all)
      .when(refundCommand({ namedDeposit: 'ethereum:0x02:0' }))
      .then('RefundRequested');
    given(...all, ...events)
      .when(approve({ refundId: 're_b' as RefundId }))
      .thenRefused('conflict');
  });

  it('must take more than the test payment', () => {
    const test = given(...waiting, ...testPayment());
    test.when(approve({ units: 12_345n * 10n ** 14n })).thenRefused('invalid_request');
    expect(test.when(approve({ units: 5n * 10n ** 18n })).then('RefundRequested').events[0]!.data).toMatchObject({
      legs: [{ amount: '5.00', takenFrom: [{ amount: '1.2345' }, { amount: '3.7655' }] }],
    });
  });
});

describe('a claim is rejected', () => {
  it('while it is open', () =>
    given(...paid, filed())
      .when(reject())
      .then('ClaimRejected'));
  it('but not one that is not there', () =>
    given(...paid)
      .when(reject())
      .thenRefused('not_found'));

  const approved = [
    ...paid,
    filed(),
    ...given(...paid, filed())
      .when(approve())
      .then('RefundRequested').events,
  ];
  it('within its waiting time, which fails its refund and frees the money', () => {
    const { after } = given(...approved)
      .when(reject(LATER + 23 * HOUR))
      .then('ClaimRejected', 'RefundPayoutFailed', 'RefundFailed');
    expect(after.context.refunds['re_a']).toMatchObject({ status: 'FAILED', failureReason: 'claim_rejected' });
    expect(after.context.claims['clm_1']).toMatchObject({ status: 'rejected' });
  });

  it('but not in its last minute, when its payout may be under way', () => {
    given(...approved)
      .when(reject(LATER + 24 * HOUR - 60))
      .thenRefused('conflict');
  });

  it('and not once its refund is signed or has failed', () => {
    const of = { refundId: 're_a' as RefundId, legId: 're_a-1' };
    const payout = {
      ...of,
      attempt: 1,
      txHash: '0xp',
      signedBytes: '0x',
      fromAddress: '0xT',
      validity: { kind: 'evm-nonce' as const, nonce: 1, maxFeePerGas: '1' },
    };
    given(...approved, { type: 'RefundPayoutSigned', data: { ...payout, signedAtSec: LATER } })
      .when(reject())
      .thenRefused('conflict');
    const failed = given(...approved).when({
      ...{ type: 'FailPayout', ...of, reason: 'recipient_frozen', networkFee: null, nowSec: LATER, valuation: null },
    });
    given(...approved, ...failed.then('RefundPayoutFailed', 'RefundFailed').events)
      .when(reject())
      .thenRefused('conflict');
  });
});

function reverted(): SessionEvent {
  return depositReverted(KEY, { headNumber: 210, revertedAtSec: LATER });
}
