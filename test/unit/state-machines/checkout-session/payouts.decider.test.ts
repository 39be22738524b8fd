import { describe, expect, it } from 'vitest';
import type { DepositFacts, SessionEvent } from '../../../../src/domain/events/session-events.ts';
import type { RefundPayoutSigned } from '../../../../src/domain/events/refund-events.ts';
import type { PayoutSequenceReserved, TreasuryEvent } from '../../../../src/domain/events/treasury-events.ts';
import type { RefundId, SessionId } from '../../../../src/domain/values/ids.ts';
import { IllegalHistory } from '../../../../src/runtime/commands/machine-table.ts';
import { treasuryTable } from '../../../../src/features/shared/handlers/treasury-handler.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import type {
  FailPayout,
  RecordPayoutLanded,
  RecordPayoutSigned,
} from '../../../../state-machines/checkout-session/payouts.decider.ts';
import { decideTreasury, type TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import {
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  sessionPaid,
  depositDetected,
  depositConfirmed,
} from '../../../support/session-facts.ts';
import { given } from '../../../support/given.ts';

const refundId = 're_a' as RefundId;
const one = depositFacts({ amount: '6.00', txHash: '0x01', fromAddress: '0xFirst' });
const other = depositFacts({ amount: '4.00', txHash: '0x02', fromAddress: '0xSecond' });
const legOf = (facts: DepositFacts, legId: string) => ({
  legId,
  network: facts.network,
  coin: 'USDT' as const,
  toAddress: facts.fromAddress!,
  amount: facts.amount,
  takenFrom: [{ depositKey: facts.depositKey, amount: facts.amount }],
});
const history: SessionEvent[] = [
  { type: 'SessionCreated', data: createdFacts() },
  depositDetected(one),
  depositDetected(other),
  depositConfirmed(one),
  depositConfirmed(other),
  sessionPaid({ paidAtSec: EXPIRES_AT }),
  {
    type: 'RefundRequested',
    data: {
      refundId,
      coin: 'USDT',
      amount: '10.00',
      asked: null,
      refundType: 'full',
      legs: [legOf(one, 'leg-1'), legOf(other, 'leg-2')],
      requestedAtSec: EXPIRES_AT,
      reason: null,
      idempotencyStream: null,
      acknowledgedSender: false,
      namedDeposit: null,
    },
  },
];

const payout = (legId: string, txHash: string, nonce = 1, attempt = 1): RefundPayoutSigned['data'] => ({
  refundId,
  legId,
  attempt,
  txHash,
  signedBytes: `bytes of ${txHash}`,
  fromAddress: '0xTreasury',
  signedAtSec: EXPIRES_AT,
  validity: { kind: 'evm-nonce', nonce, maxFeePerGas: '1' },
});
const sign = (legId: string, txHash: string): RecordPayoutSigned => ({
  type: 'RecordPayoutSigned',
  data: payout(legId, txHash),
  replaces: null,
});
const land = (legId: string, txHash: string): RecordPayoutLanded => ({
  type: 'RecordPayoutLanded',
  data: {
    refundId,
    legId,
    txHash,
    blockNumber: 9,
    blockHash: '0xb',
    blockTimeSec: EXPIRES_AT,
    networkFee: '0.001',
    landedAtSec: EXPIRES_AT + 9,
  },
  valuation: null,
});
const fail = (legId: string, reason: FailPayout['reason']): FailPayout => ({
  type: 'FailPayout',
  refundId,
  legId,
  reason,
  networkFee: null,
  nowSec: EXPIRES_AT + 9,
  valuation: null,
});

describe('a leg whose deposit left the chain', () => {
  const signed: SessionEvent = { type: 'RefundPayoutSigned', data: payout('leg-1', '0xa') };

  it('ends before it is signed', () => {
    given(...history)
      .when(fail('leg-1', 'deposit_reverted'))
      .then('RefundPayoutFailed');
  });

  it('ends after it was signed only when the chain excludes its newest transaction', () => {
    given(...history, signed)
      .when(fail('leg-1', 'deposit_reverted'))
      .thenRefused('conflict');
    given(...history, signed)
      .when({ ...fail('leg-1', 'deposit_reverted'), excludedTxHash: '0xother' })
      .thenRefused('conflict');
    given(...history, signed)
      .when({ ...fail('leg-1', 'deposit_reverted'), excludedTxHash: '0xa' })
      .then('RefundPayoutFailed');
  });
});

describe('a payout', () => {
  it('is signed once: the same transaction again adds nothing, another one is refused', () => {
    const { events } = given(...history)
      .when(sign('leg-1', '0xt1'))
      .then('RefundPayoutSigned');
    given(...history, ...events)
      .when(sign('leg-1', '0xt2'))
      .thenRefused('conflict');
    given(...history)
      .when(sign('leg-9', '0xt1'))
      .thenRefused('not_found');
  });

  it('completes the refund with its last leg, and only then', () => {
    const both = given(...history)
      .when(sign('leg-1', '0xt1'))
      .then('RefundPayoutSigned').events;
    const more = given(...history, ...both)
      .when(sign('leg-2', '0xt2'))
      .then('RefundPayoutSigned').events;
    const first = given(...history, ...both, ...more)
      .when(land('leg-1', '0xt1'))
      .then('RefundPayoutLanded').events;
    given(...history, ...both, ...more, ...first)
      .when(land('leg-2', '0xt2'))
      .then('RefundPayoutLanded', 'RefundCompleted');
  });

  it('lands only in a transaction that was signed for it', () => {
    const { events } = given(...history)
      .when(sign('leg-1', '0xt1'))
      .then('RefundPayoutSigned');
    given(...history, ...events)
      .when(land('leg-1', '0xforged'))
      .thenRefused('conflict');
    given(...history)
      .when(land('leg-1', '0xt1'))
      .thenRefused('conflict');
    expect(() =>
      sessionTable.replay([
        ...history,
        ...events,
        { type: 'RefundPayoutLanded', data: land('leg-1', '0xforged').data },
      ]),
    ).toThrow(IllegalHistory);
  });

  it('is replaced at the same nonce only', () => {
    const { events } = given(...history)
      .when(sign('leg-1', '0xt1'))
      .then('RefundPayoutSigned');
    const bump = (nonce: number): RecordPayoutSigned => ({
      type: 'RecordPayoutSigned',
      data: payout('leg-1', '0xt2', nonce, 2),
      replaces: { txHash: '0xt1', why: 'fee_bump' },
    });
    given(...history, ...events)
      .when(bump(1))
      .then('RefundPayoutReplaced');
    expect(() =>
      given(...history, ...events)
        .when(bump(2))
        .then('RefundPayoutReplaced'),
    ).toThrow(IllegalHistory);
    given(...history)
      .when(bump(1))
      .thenRefused('conflict');
  });

  it('raises the fee on Solana only for the same value of the same nonce account', () => {
    const onSolana = (
      txHash: string,
      attempt: number,
      nonceIndex = 0,
      nonce = 'value',
    ): RefundPayoutSigned['data'] => ({
      ...payout('leg-1', txHash, 1, attempt),
      validity: { kind: 'solana-nonce', nonceIndex, nonce },
    });
    const { events } = given(...history)
      .when({ type: 'RecordPayoutSigned', data: onSolana('sol1', 1), replaces: null })
      .then('RefundPayoutSigned');
    const bump = (nonceIndex: number, nonce: string): RecordPayoutSigned => ({
      type: 'RecordPayoutSigned',
      data: onSolana('sol2', 2, nonceIndex, nonce),
      replaces: { txHash: 'sol1', why: 'fee_bump' },
    });
    given(...history, ...events)
      .when(bump(0, 'value'))
      .then('RefundPayoutReplaced');
    for (const other of [bump(1, 'value'), bump(0, 'another')])
      expect(() =>
        given(...history, ...events)
          .when(other)
          .then('RefundPayoutReplaced'),
      ).toThrow(IllegalHistory);
  });

  it('that was signed fails only if it failed on chain', () => {
    const { events } = given(...history)
      .when(sign('leg-1', '0xt1'))
      .then('RefundPayoutSigned');
    given(...history, ...events)
      .when(fail('leg-1', 'rejected_by_operator'))
      .thenRefused('conflict');
    given(...history, ...events)
      .when(fail('leg-1', 'execution_reverted'))
      .then('RefundPayoutFailed');
  });

  it('that failed fails the refund once all legs have ended, with what reached the payers', () => {
    const failed = given(...history)
      .when(fail('leg-1', 'recipient_frozen'))
      .then('RefundPayoutFailed').events;
    const signed = given(...history, ...failed)
      .when(sign('leg-2', '0xt2'))
      .then('RefundPayoutSigned').events;
    const { events } = given(...history, ...failed, ...signed)
      .when(land('leg-2', '0xt2'))
      .then('RefundPayoutLanded', 'RefundFailed');
    expect(events[1]).toMatchObject({ data: { amountReturned: '4.00', reason: 'recipient_frozen' } });
  });

  it('that is reorganised away and lands again sends no second notification', () => {
    const single: SessionEvent[] = [
      ...history.slice(0, -1),
      {
        type: 'RefundRequested',
        data: {
          ...(history.at(-1)!.data as never as { legs: unknown[] }),
          amount: '6.00',
          legs: [legOf(one, 'leg-1')],
        } as never,
      },
    ];
    const signed = given(...single)
      .when(sign('leg-1', '0xt1'))
      .then('RefundPayoutSigned').events;
    const landed = given(...single, ...signed)
      .when(land('leg-1', '0xt1'))
      .then('RefundPayoutLanded', 'RefundCompleted').events;
    const reverted = given(...single, ...signed, ...landed)
      .when({ type: 'RecordPayoutReverted', data: { refundId, legId: 'leg-1', txHash: '0xt1', headNumber: 12 } })
      .then('RefundPayoutReverted').events;
    const all = [...single, ...signed, ...landed, ...reverted];
    const bumped = given(...all)
      .when({
        type: 'RecordPayoutSigned',
        data: payout('leg-1', '0xt2', 1, 2),
        replaces: { txHash: '0xt1', why: 'fee_bump' },
      })
      .then('RefundPayoutReplaced');
    expect(bumped.after.context.refunds[refundId]!.status).toBe('COMPLETED');
    given(...all)
      .when(land('leg-1', '0xt1'))
      .then('RefundPayoutLanded');
  });
});

const reservation = (
  legId: string,
  nonce: number,
  change: Partial<PayoutSequenceReserved['data']> = {},
): PayoutSequenceReserved['data'] => ({
  mode: 'test',
  network: 'ethereum',
  sessionId: 'cs_a' as SessionId,
  refundId,
  legId,
  attempt: 1,
  fromAddress: '0xTreasury',
  draft: {
    kind: 'evm',
    chainId: '1',
    nonce,
    tokenAddress: '0xToken',
    tokenUnits: '1',
    gasLimit: '1',
    maxFeePerGas: '1',
    maxPriorityFeePerGas: '1',
  },
  replaces: null,
  reservedAtSec: 1,
  ...change,
});
const signedAt = (legId: string, attempt: number, txHash: string, seq: number): TreasuryEvent => ({
  type: 'PayoutSequenceSigned',
  data: { legId, attempt, txHash, journal: { seq, hash: `h${seq}` } },
});
const reserved = (data: PayoutSequenceReserved['data']): TreasuryEvent => ({ type: 'PayoutSequenceReserved', data });
const decide = (events: TreasuryEvent[], command: TreasuryCommand) =>
  decideTreasury(command, treasuryTable.replay(events));
const reserve = (data: PayoutSequenceReserved['data']): TreasuryCommand => ({ type: 'ReservePayoutSequence', data });

describe('a treasury', () => {
  it('gives each payout its own nonce, in order', () => {
    const first = [reserved(reservation('leg-1', 0)), signedAt('leg-1', 1, '0xt1', 1)];
    expect(decide(first, reserve(reservation('leg-2', 1)))).toMatchObject({
      ok: true,
      events: [{ type: 'PayoutSequenceReserved' }],
    });
    expect(decide(first, reserve(reservation('leg-2', 0)))).toMatchObject({ ok: false });
    expect(decide(first, reserve(reservation('leg-2', 5)))).toMatchObject({ ok: false });
    expect(decide(first, reserve(reservation('leg-1', 1)))).toMatchObject({ ok: false });
  });

  it('has one reservation open at a time, and repeating it adds nothing', () => {
    const open = [reserved(reservation('leg-1', 0))];
    expect(decide(open, reserve(reservation('leg-1', 0)))).toEqual({ ok: true, events: [] });
    expect(decide(open, reserve(reservation('leg-2', 0)))).toMatchObject({ ok: false });
  });

  it('frees a nonce that was refused, and never one that was signed', () => {
    const release: TreasuryCommand = {
      type: 'ReleasePayoutSequence',
      data: { legId: 'leg-1', attempt: 1, reason: 'daily_cap', releasedAtSec: 2 },
    };
    const open = [reserved(reservation('leg-1', 0))];
    const freed = decide(open, release);
    expect(freed).toMatchObject({ ok: true, events: [{ type: 'PayoutSequenceReleased' }] });
    expect(decide([...open, ...(freed.ok ? freed.events : [])], reserve(reservation('leg-2', 0)))).toMatchObject({
      ok: true,
    });
    expect(decide([...open, signedAt('leg-1', 1, '0xt1', 1)], release)).toEqual({ ok: true, events: [] });
  });

  it('replaces a payout at its own nonce, naming what it replaces', () => {
    const first = [
      reserved(reservation('leg-1', 0)),
      signedAt('leg-1', 1, '0xt1', 1),
      reserved(reservation('leg-2', 1)),
      signedAt('leg-2', 1, '0xt2', 2),
    ];
    const bump = (nonce: number, txHash: string) =>
      reserve(reservation('leg-1', nonce, { attempt: 2, replaces: { txHash, why: 'fee_bump' } }));
    expect(decide(first, bump(0, '0xt1'))).toMatchObject({ ok: true });
    expect(decide(first, bump(2, '0xt1'))).toMatchObject({ ok: false });
    expect(decide(first, bump(0, '0xother'))).toMatchObject({ ok: false });
  });

  it('refuses a history in which the journal does not advance', () => {
    const first = [
      reserved(reservation('leg-1', 0)),
      signedAt('leg-1', 1, '0xt1', 3),
      reserved(reservation('leg-2', 1)),
    ];
    expect(() => treasuryTable.replay([...first, signedAt('leg-2', 1, '0xt2', 3)])).toThrow(IllegalHistory);
  });
});
