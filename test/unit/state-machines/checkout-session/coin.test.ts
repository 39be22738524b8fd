import { describe, expect, it } from 'vitest';
import type { DepositFacts, SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { sessionView } from '../../../../src/features/sessions/view.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import type { ConfirmDeposit, RevertDeposit } from '../../../../state-machines/checkout-session/deposits.decider.ts';
import { kindOf } from '../../../../state-machines/checkout-session/deposit-kind.ts';
import {
  choiceFacts,
  CREATED_AT,
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  depositReverted,
  depositConfirmed,
  depositDetected,
} from '../../../support/session-facts.ts';
import { given } from '../../../support/given.ts';

const created: SessionEvent = { type: 'SessionCreated', data: choiceFacts() };
const chosen: SessionEvent = {
  type: 'CoinChosen',
  data: { coin: 'USDC', dueAmount: '10.02', tolerance: '0', rate: '1.002', rateLockedAtSec: CREATED_AT },
};
const detected = depositDetected;
const confirmed = (facts: DepositFacts) => depositConfirmed(facts);
const confirm = (facts: DepositFacts): ConfirmDeposit => ({
  type: 'ConfirmDeposit',
  data: confirmed(facts).data,
  nowSec: EXPIRES_AT - 100,
  valuation: null,
});
const revert = ({ depositKey }: DepositFacts): RevertDeposit => ({
  ...{ type: 'RevertDeposit', depositKey, reason: 'reorg', headNumber: 130, revertedAtSec: CREATED_AT + 90 },
});
const reverted = (facts: DepositFacts): SessionEvent =>
  depositReverted(facts.depositKey, { afterFinal: false, headNumber: 130, revertedAtSec: CREATED_AT + 90 });

const usdt = depositFacts({ txHash: '0x01' });
const usdc = depositFacts({ txHash: '0x02', coin: 'USDC', tokenAddress: '0xOther', amount: '10.02' });

describe('a session whose payer chooses the coin', () => {
  it('is paid in the first coin as if there were no other', () => {
    given(created).when({ type: 'RecordDeposit', facts: usdt }).then('DepositDetected');
    const { events } = given(created, detected(usdt)).when(confirm(usdt)).then('DepositConfirmed', 'SessionPaid');
    expect(events[1]).toMatchObject({ data: { coin: 'USDT', due: '10.00', received: '10.00' } });
  });

  it('is one of the other coin from its first money on, at the rate locked for that coin', () => {
    const { events } = given(created)
      .when({ type: 'RecordDeposit', facts: usdc })
      .then('CoinChosen', 'DepositDetected');
    expect(events).toEqual([chosen, detected(usdc)]);
    const paid = given(created, chosen, detected(usdc)).when(confirm(usdc)).then('DepositConfirmed', 'SessionPaid');
    expect(paid.events[1]).toMatchObject({ data: { coin: 'USDC', due: '10.02', received: '10.02', excess: '0.00' } });
    const view = sessionView(paid.after, null);
    expect(view).toMatchObject({
      dueCoin: 'USDC',
      dueAmount: '10.02',
      rateLock: { rate: '1.002' },
      alternative: null,
      refundable: '10.02',
    });
    expect(view.paymentOptions).toMatchObject([{ network: 'ethereum', coin: 'USDC' }]);
  });

  it('requests the missing amount in the coin that arrived', () => {
    const part = { ...usdc, amount: '10.00' };
    const { after } = given(created, chosen, detected(part)).when(confirm(part)).then('DepositConfirmed');
    expect(sessionView(after, null)).toMatchObject({
      status: 'open',
      dueCoin: 'USDC',
      dueAmount: '10.02',
      received: '10.00',
      alternative: null,
    });
  });

  it.each([
    ['the first coin', [created, detected(usdt)], usdc],
    ['the first coin, final', [created, detected(usdt), confirmed(usdt)], usdc],
    ['the other coin', [created, chosen, detected(usdc)], usdt],
  ] as const)('is fixed by money in %s: the other coin then pays nothing and can be refunded', (_, history, late) => {
    const { after } = given(...history)
      .when({ type: 'RecordDeposit', facts: late })
      .then('DepositDetected');
    expect(after.context.deposits.get(late.depositKey)!.kind).toBe('wrong_coin');
    const final = sessionTable.replay([confirmed(late)], after);
    expect(sessionView(final, null).refundableByCoin.find(({ coin }) => coin === late.coin)!.amount).toBe(late.amount);
    given(...history, detected(late, 'wrong_coin'), confirmed(late))
      .when(refundCommand({ coin: late.coin }))
      .then('RefundRequested');
  });

  it('can be paid in either coin again once the money that chose has left the chain', () => {
    const { after } = given(created, chosen, detected(usdc)).when(revert(usdc)).then('DepositReverted');
    expect(sessionView(after, null)).toMatchObject({
      dueCoin: 'USDC',
      alternative: { dueCoin: 'USDT', dueAmount: '10.00' },
    });
    const back = given(created, chosen, detected(usdc), reverted(usdc))
      .when({ type: 'RecordDeposit', facts: usdt })
      .then('CoinChosen', 'DepositDetected');
    expect(back.events[0]).toMatchObject({ data: { coin: 'USDT', dueAmount: '10.00', rate: '1' } });
    // The money that is back in the chain does not count beside it.
    expect(kindOf(back.after.context, usdc)).toBe('wrong_coin');
  });

  it('is not decided by what does not count: dust, late money, a network without the coin', () => {
    const dust = { ...usdc, amount: '0.001' };
    const tooLate = { ...usdc, blockTimeSec: EXPIRES_AT + 1 };
    const elsewhere = depositFacts({ coin: 'USDC', network: 'bsc' });
    for (const [facts, kind] of [
      [dust, 'dust'],
      [tooLate, 'late'],
      [elsewhere, 'wrong_network'],
    ] as const) {
      const { events, after } = given(created).when({ type: 'RecordDeposit', facts }).then('DepositDetected');
      expect(events[0]).toMatchObject({ data: { kind } });
      expect(sessionView(after, null)).toMatchObject({ dueCoin: 'USDT', alternative: { dueCoin: 'USDC' } });
    }
  });

  it('counts money that was sent in time in the other coin also when it is found after the end', () => {
    const expired: SessionEvent = {
      type: 'SessionExpired',
      data: { expiredAtSec: EXPIRES_AT + 9, coin: 'USDT', received: '0.00', scannedToSec: {} },
    };
    given(created, expired).when({ type: 'RecordDeposit', facts: usdc }).then('CoinChosen', 'DepositDetected');
    const { events } = given(created, expired, chosen, detected(usdc))
      .when(confirm(usdc))
      .then('DepositConfirmed', 'SessionPaid');
    expect(events[1]).toMatchObject({ data: { coin: 'USDC', afterExpiry: true } });
  });

  it('offers no choice once it has ended, and gets no coin after a cancel', () => {
    const cancelled: SessionEvent = {
      type: 'SessionCancelled',
      data: { cancelledAtSec: CREATED_AT + 5, coin: 'USDT', received: '0.00', inFlight: false },
    };
    const { events, after } = given(created, cancelled)
      .when({ type: 'RecordDeposit', facts: usdc })
      .then('DepositDetected');
    expect(events[0]).toMatchObject({ data: { kind: 'wrong_coin' } });
    expect(sessionView(after, null).alternative).toBeNull();
  });

  it('is chosen for by the terms of its creation alone', () => {
    const { state } = given(created);
    expect(sessionTable.can(state, chosen)).toBe(true);
    for (const change of [{ dueAmount: '1.00' }, { coin: 'USDT' as const }, { tolerance: '5' }, { rate: '2' }])
      expect(sessionTable.can(state, { ...chosen, data: { ...chosen.data, ...change } }), JSON.stringify(change)).toBe(
        false,
      );
    expect(sessionTable.can(given({ type: 'SessionCreated', data: createdFacts() }).state, chosen)).toBe(false);
    expect(sessionTable.can(given(created, detected(usdt)).state, chosen)).toBe(false);
  });
});
