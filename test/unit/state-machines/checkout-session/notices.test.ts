import { describe, expect, it } from 'vitest';
import type { DepositFacts } from '../../../../src/domain/events/session-events.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import { decideSession, type SessionCommand } from '../../../../state-machines/checkout-session/session.decider.ts';
import { detailsOf, noticeOf } from '../../../../state-machines/checkout-session/notices.ts';
import { createdFacts, depositFacts, EXPIRES_AT, refundCommand } from '../../../support/session-facts.ts';

const record = (facts: DepositFacts): SessionCommand => ({ type: 'RecordDeposit', facts });
const confirm = ({ depositKey, blockNumber, blockHash, blockTimeSec }: DepositFacts): SessionCommand => ({
  ...{ type: 'ConfirmDeposit', nowSec: EXPIRES_AT - 1, valuation: null },
  data: { depositKey, rule: { kind: 'finalized' }, blockNumber, blockHash, blockTimeSec, headNumber: 300 },
});
const final = (facts: DepositFacts): SessionCommand[] => [record(facts), confirm(facts)];
const revert = ({ depositKey }: DepositFacts): SessionCommand => ({
  type: 'RevertDeposit',
  depositKey,
  reason: 'reorg',
  headNumber: 400,
  revertedAtSec: 1_800_000_500,
});
const cancel: SessionCommand = { type: 'CancelSession', nowSec: EXPIRES_AT - 50 };
const expire: SessionCommand = { type: 'ExpireSession', nowSec: EXPIRES_AT + 1, scannedToSec: {} };
const refund = refundCommand();
const full = depositFacts();
const half = depositFacts({ amount: '5.00', txHash: '0x02' });
const late = depositFacts({ txHash: '0x03', blockTimeSec: EXPIRES_AT + 5 });
const wrong = depositFacts({ coin: 'USDC', txHash: '0x04' });
const dust = depositFacts({ amount: '0.001', txHash: '0x05' });

/** What the commands tell, in order: notices in full, and outcomes by their domain event. */
function told(...commands: SessionCommand[]) {
  let state = sessionTable.initial;
  const all: object[] = [];
  for (const command of [{ type: 'CreateSession', data: createdFacts() } as SessionCommand, ...commands]) {
    const decision = decideSession(command, state);
    for (const event of decision.ok ? decision.events : []) {
      const after = sessionTable.replay([event], state);
      const notice = noticeOf(event, state, after);
      if (notice) all.push(notice);
      if (event.type === 'SessionPaid' || event.type === 'SessionExpired' || event.type === 'SessionCancelled')
        all.push({ type: event.type });
      state = after;
    }
  }
  return all as { type: string; held?: string; reason?: string | null; transfer?: { amount: string } }[];
}
const types = (...commands: SessionCommand[]): string[] => told(...commands).map(({ type }) => type);

describe('besides outcomes, a merchant can be sent', () => {
  it('that a payment is on its way, once, and which part of it became final', () => {
    const other = depositFacts({ amount: '5.00', txHash: '0x06', network: 'bsc' });
    expect(types(record(full), confirm(full))).toEqual(['payment.processing', 'SessionPaid']);
    expect(types(record(half), record(other), confirm(half), confirm(other))).toEqual([
      'payment.processing',
      'payment.partially_paid',
      'SessionPaid',
    ]);
    expect(told(...final(half)).at(-1)).toMatchObject({ held: '5.00', transfer: { amount: '5.00' }, reason: null });
  });

  it('of money after the deadline and after a cancel, also of what was in flight at the cancel', () => {
    expect(told(expire, ...final(late)).at(-1)).toMatchObject({
      type: 'payment.late',
      reason: 'after_deadline',
      held: '0.00',
    });
    expect(told(cancel, ...final(full)).at(-1)).toMatchObject({ type: 'payment.late', reason: 'after_cancel' });
    expect(told(record(full), cancel, confirm(full)).at(-1)).toMatchObject({
      type: 'payment.late',
      reason: 'after_cancel',
      held: '10.00',
    });
  });

  it('of money that pays nothing, and never of dust', () => {
    expect(told(...final(wrong))).toMatchObject([
      { type: 'payment.wrong_coin', reason: 'wrong_coin', held: '0.00', transfer: { coin: 'USDC' } },
    ]);
    expect(told(...final(depositFacts({ network: 'tron', txHash: '0x07' })))).toMatchObject([
      { reason: 'wrong_network' },
    ]);
    expect(types(...final(dust), revert(dust))).toEqual([]);
  });

  it('of money beyond a payment', () => {
    expect(told(...final(full), ...final(half)).at(-1)).toMatchObject({
      type: 'payment.overpaid',
      held: '15.00',
      transfer: { amount: '5.00' },
    });
  });

  it('of final money that the chain reverted, and of its return', () => {
    expect(told(...final(full), revert(full)).at(-1)).toMatchObject({ type: 'payment.reversed', held: '0.00' });
    expect(types(...final(full), revert(full), ...final(full)).slice(2)).toEqual([
      'payment.reversed',
      'payment.restored',
    ]);
    expect(types(...final(full), revert(full), ...final(half)).slice(2)).toEqual([
      'payment.reversed',
      'payment.partially_paid',
    ]);
    // Before it was final nobody was told that it had come.
    expect(types(record(full), revert(full))).toEqual(['payment.processing']);
  });

  it('that a refund was requested', () => {
    expect(told(...final(full), refund).at(-1)).toEqual({
      type: 'refund.created',
      refundId: 're_a',
      coin: 'USDT',
      amount: '10.00',
    });
  });
});

/** The details of the last event that the commands lead to. */
function detailed(...commands: SessionCommand[]) {
  let state = sessionTable.replay([{ type: 'SessionCreated', data: createdFacts() }]);
  let details = {};
  for (const command of commands) {
    const decision = decideSession(command, state);
    if (!decision.ok) throw new Error(decision.refusal.message);
    for (const event of decision.events) {
      state = sessionTable.replay([event], state);
      details = detailsOf(event, state.context);
    }
  }
  return details;
}

describe('optional events besides outcomes', () => {
  it('is the money and the transfer that brought it', () => {
    expect(detailed(...final(full))).toEqual({
      received: '10.00',
      due: '10.00',
      excess: '0.00',
      network: full.network,
      tx_hash: full.txHash,
    });
    expect(detailed(...final(half), record(late))).toMatchObject({ received: '5.00', tx_hash: late.txHash });
    expect(detailed(expire)).toMatchObject({ received: '0.00', network: null, tx_hash: null });
    expect(detailed(...final(full), ...final(half))).toMatchObject({
      received: '15.00',
      excess: '5.00',
      tx_hash: half.txHash,
    });
  });

  it('is of a refund the payment to the payer', () => {
    expect(detailed(...final(full), refund)).toEqual({ network: full.network, tx_hash: null });
  });
});
