import { describe, expect, it } from 'vitest';
import type { DepositFacts, SessionEvent } from '../../../../src/domain/events/session-events.ts';
import type { RefundId } from '../../../../src/domain/values/ids.ts';
import { amountOf } from '../../../../src/domain/money/money.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import { sessionView } from '../../../../src/features/sessions/view.ts';
import type { ConfirmDeposit } from '../../../../state-machines/checkout-session/deposits.decider.ts';
import {
  decideSession,
  type RequestRefund,
  type SessionCommand,
} from '../../../../state-machines/checkout-session/session.decider.ts';
import { kindOf } from '../../../../state-machines/checkout-session/deposit-kind.ts';
import { refundable } from '../../../../state-machines/checkout-session/session.state.ts';
import {
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  SESSION_ID,
  sessionPaid,
  depositReverted,
  depositDetected,
  depositConfirmed,
} from '../../../support/session-facts.ts';
import { bookSessionEvent } from '../../../../projections/ledger/postings.ts';
import type { SessionBooks } from '../../../../projections/ledger/session-books.ts';
import { given } from '../../../support/given.ts';

const created = (change = {}): SessionEvent => ({ type: 'SessionCreated', data: createdFacts(change) });
const detected = depositDetected;
const confirmed = (facts: DepositFacts) => depositConfirmed(facts, { sender: { kind: 'wallet', name: null } });
const confirmData = (facts: DepositFacts) => confirmed(facts).data;
const confirm = (facts: DepositFacts): ConfirmDeposit => ({
  type: 'ConfirmDeposit',
  data: confirmData(facts),
  nowSec: EXPIRES_AT - 100,
  valuation: null,
});
const paid = (received = '10.00'): SessionEvent => sessionPaid({ received, afterExpiry: false });
const expire = { type: 'ExpireSession' as const, nowSec: EXPIRES_AT + 1, scannedToSec: { ethereum: EXPIRES_AT + 1 } };
const refund = (amount: string | null, id = 're_a'): RequestRefund =>
  refundCommand({
    refundId: id as RefundId,
    units: amount === null ? null : amountOf(amount),
    acknowledgedSender: false,
  });

const full = depositFacts();
const half = depositFacts({ amount: '5.00', txHash: '0x02', fromAddress: '0xFirst' });
const otherHalf = depositFacts({
  amount: '5.00',
  txHash: '0x03',
  network: 'bsc',
  fromAddress: '0xSecond',
  blockTimeSec: full.blockTimeSec + 5,
});

describe('creating', () => {
  it('creates an absent session', () => {
    given().when({ type: 'CreateSession', data: createdFacts() }).then('SessionCreated');
  });
  it('adds nothing when the same request is repeated', () => {
    given(created()).when({ type: 'CreateSession', data: createdFacts() }).then();
  });
  it('refuses another request with the same order_id', () => {
    given(created())
      .when({ type: 'CreateSession', data: createdFacts({ requestHash: 'other' }) })
      .thenRefused('order_id_conflict');
  });
  it('refuses every other command on an absent session', () => {
    given().when({ type: 'RecordDeposit', facts: full }).thenRefused('not_found');
  });
});

describe('a payment', () => {
  it('is seen, then pays once it is final', () => {
    given(created()).when({ type: 'RecordDeposit', facts: full }).then('DepositDetected');
    const { events } = given(created(), detected(full)).when(confirm(full)).then('DepositConfirmed', 'SessionPaid');
    expect(events.at(-1)).toMatchObject({ data: { received: '10.00', excess: '0.00', afterExpiry: false } });
  });
  it('is one to an address of the session, whatever look-up said whose the address is', () => {
    given(created())
      .when({ type: 'RecordDeposit', facts: { ...full, toAddress: '0xOfAnotherSession' } })
      .thenRefused('conflict');
    given(created())
      .when({ type: 'RecordDeposit', facts: { ...full, toAddress: full.toAddress.toUpperCase().replace('X', 'x') } })
      .then('DepositDetected');
  });
  it('is one fact however often it is reported', () => {
    given(created(), detected(full)).when({ type: 'RecordDeposit', facts: full }).then();
    given(created(), detected(full), confirmed(full), paid()).when(confirm(full)).then();
  });
  it('may come in several transfers, payers and networks', () => {
    const { after } = given(created(), detected(half)).when(confirm(half)).then('DepositConfirmed');
    expect(after.value).toBe('open');
    given(created(), detected(half), confirmed(half), detected(otherHalf))
      .when(confirm(otherHalf))
      .then('DepositConfirmed', 'SessionPaid');
  });
  it('below the due amount does not pay', () => {
    const short = depositFacts({ amount: '9.999999' });
    given(created(), detected(short)).when(confirm(short)).then('DepositConfirmed');
  });
  it('may be short by the tolerance, to the last unit', () => {
    const withTolerance = created({ policy: { tolerance: '0.50', dustLimit: '0.01' } });
    const enough = depositFacts({ amount: '9.50' });
    const short = depositFacts({ amount: '9.499999' });
    given(withTolerance, detected(enough)).when(confirm(enough)).then('DepositConfirmed', 'SessionPaid');
    given(withTolerance, detected(short)).when(confirm(short)).then('DepositConfirmed');
  });
  it('above the due amount pays and records the excess', () => {
    const over = depositFacts({ amount: '12.5' });
    const { events } = given(created(), detected(over)).when(confirm(over)).then('DepositConfirmed', 'SessionPaid');
    expect(events.at(-1)).toMatchObject({ data: { received: '12.50', excess: '2.50' } });
  });
  it('in another coin, as dust, late, or on a network that is not offered never pays', () => {
    const { state } = given(created());
    expect(kindOf(state.context, depositFacts({ coin: 'USDC' }))).toBe('wrong_coin');
    expect(kindOf(state.context, depositFacts({ amount: '0.009999' }))).toBe('dust');
    expect(kindOf(state.context, depositFacts({ network: 'tron' }))).toBe('wrong_network');
    expect(kindOf(state.context, depositFacts({ blockTimeSec: EXPIRES_AT }))).toBe('on_time');
    const late = depositFacts({ blockTimeSec: EXPIRES_AT + 1 });
    expect(kindOf(state.context, late)).toBe('late');
    given(created(), detected(late, 'late')).when(confirm(late)).then('DepositConfirmed');
  });
  it('from an address of ours pays nothing, is refunded to nobody and owed to no merchant', () => {
    const { after: seen } = given(created())
      .when({ type: 'RecordDeposit', facts: full, isOwn: true })
      .then('DepositDetected');
    expect(seen.value).toBe('open');
    const history = [created(), detected(full, 'own')];
    const { events, after } = given(...history)
      .when(confirm(full))
      .then('DepositConfirmed');
    expect(after.context.deposits.get(full.depositKey)?.kind).toBe('own');
    given(...history, ...events)
      .when(refund(null))
      .thenRefused('session_not_paid');
    given(...history, ...events)
      .when({ ...refund('1.00'), namedDeposit: full.depositKey })
      .thenRefused('session_not_paid');
    given(...history, ...events, detected(half), confirmed(half))
      .when({ ...refund('1.00'), namedDeposit: full.depositKey })
      .thenRefused('invalid_request');
    given(...history, ...events)
      .when({ type: 'SetDepositAside', depositKey: full.depositKey, operation: 1, nowSec: EXPIRES_AT })
      .thenRefused('conflict');
    const { received, pending, refundable: left, deposits } = sessionView(after, null);
    expect([received, pending, left, deposits[0]?.refundable]).toEqual(['0.00', '0.00', '0.00', '0.00']);
  });
  it.each(['SessionExpired', 'SessionPaid'] as const)(
    'moved before the deadline by a reorg counts after %s',
    (type) => {
      const seenLate = { ...full, blockTimeSec: EXPIRES_AT + 1 };
      const history: SessionEvent[] =
        type === 'SessionExpired'
          ? [{ type, data: { expiredAtSec: EXPIRES_AT + 1, coin: 'USDT', received: '0.00', scannedToSec: {} } }]
          : [
              detected({ ...full, depositKey: 'ethereum:0x77:0' }),
              confirmed({ ...full, depositKey: 'ethereum:0x77:0' }),
              paid(),
            ];
      const { events, after } = given(created(), ...history, detected(seenLate, 'late'))
        .when(confirm(full))
        .then('DepositConfirmed', ...(type === 'SessionExpired' ? ['SessionPaid' as const] : []));
      expect(events[0]).toMatchObject({ data: { kind: 'on_time' } });
      expect([after.value, after.context.deposits.get(full.depositKey)?.kind]).toEqual(['paid', 'on_time']);
      const view = sessionView(after, null);
      expect([view.received, view.excess]).toEqual(type === 'SessionExpired' ? ['10.00', '0.00'] : ['20.00', '10.00']);
    },
  );
  it('moved before the deadline by a reorg stays late if the order was cancelled or is due in another coin', () => {
    const seenLate = { ...full, blockTimeSec: EXPIRES_AT + 1 };
    const cancelled: SessionEvent = {
      type: 'SessionCancelled',
      data: { cancelledAtSec: EXPIRES_AT - 5, coin: 'USDT', received: '0.00', inFlight: false },
    };
    for (const history of [
      [cancelled, detected(seenLate, 'late')],
      [detected({ ...seenLate, coin: 'USDC' }, 'late')],
    ]) {
      const { events } = given(created(), ...history)
        .when(confirm(full))
        .then('DepositConfirmed');
      expect(events[0]).not.toHaveProperty('data.kind');
    }
  });
  it('confirmed as late and then moved before the deadline by a deeper reorg is detected again and pays', () => {
    const seenLate = { ...full, blockTimeSec: EXPIRES_AT + 1, blockHash: '0xlate' };
    const expired = { expiredAtSec: EXPIRES_AT + 1, coin: 'USDT', received: '0.00', scannedToSec: {} } as const;
    const history: SessionEvent[] = [
      created(),
      { type: 'SessionExpired', data: expired },
      detected(seenLate, 'late'),
      confirmed(seenLate),
    ];
    const move = (facts: DepositFacts): SessionCommand => ({
      ...{ type: 'MoveDeposit', facts, headNumber: facts.blockNumber + 1, nowSec: EXPIRES_AT + 200 },
    });
    given(...history)
      .when(move({ ...seenLate, blockHash: '0xother' }))
      .then();
    given(created(), detected(full), confirmed(full), paid())
      .when(move({ ...full, blockHash: '0xother' }))
      .then();
    const { events } = given(...history)
      .when(move(full))
      .then('DepositReverted', 'DepositDetected');
    expect(events).toMatchObject([{ data: { reason: 'reorg', afterFinal: true } }, { data: { kind: 'on_time' } }]);
    given(...history, ...events)
      .when(confirm(full))
      .then('DepositConfirmed', 'SessionPaid');
  });
  it('moved past the deadline by a reorg does not pay', () => {
    const moved = { ...confirm(full), data: { ...confirmData(full), blockTimeSec: EXPIRES_AT + 1 } };
    given(created(), detected(full)).when(moved).then('DepositConfirmed');
    const decided = (command: SessionCommand) =>
      decideSession(command, sessionTable.replay([created(), detected(full)]));
    expect(decided(moved)).toMatchObject({ events: [{ type: 'DepositConfirmed', data: { kind: 'late' } }] });
    expect(decided(confirm(full))).toMatchObject({
      events: [{ data: expect.not.objectContaining({ kind: 'late' }) as unknown }, {}],
    });
  });
  it('counts as its event says, also where a later rule would make something else of its block', () => {
    const moved = { ...full, blockTimeSec: EXPIRES_AT + 1 };
    for (const [history, kind] of [
      [[detected(full), confirmed(moved)], 'on_time'],
      [[detected(moved, 'late'), confirmed(full)], 'late'],
      [[detected(full), { type: 'DepositConfirmed', data: { ...confirmData(moved), kind: 'late' } }], 'late'],
    ] as const) {
      const { state } = given(created(), ...history);
      expect(state.context.deposits.get(full.depositKey)).toMatchObject({ kind, status: 'final' });
      const books = [created(), ...history].reduce<SessionBooks | null>(
        (before, event, at) => bookSessionEvent(before, event, `e${at}`).books,
        null,
      );
      expect(books?.deposits[full.depositKey]).toMatchObject({ kind });
    }
  });
  it('that left the chain counts again when it comes back', () => {
    const reverted: SessionEvent = depositReverted(full.depositKey, { afterFinal: false, headNumber: 1 });
    given(created(), detected(full))
      .when({
        type: 'RevertDeposit',
        depositKey: full.depositKey,
        reason: 'reorg',
        headNumber: 1,
        revertedAtSec: 1_800_000_500,
      })
      .then('DepositReverted');
    given(created(), detected(full), reverted).when({ type: 'RecordDeposit', facts: full }).then('DepositDetected');
    given(created(), detected(full), reverted, detected(full))
      .when(confirm(full))
      .then('DepositConfirmed', 'SessionPaid');
  });
  it('reverted after it was final leaves the session paid and marks it reversed', () => {
    const { events, after } = given(created(), detected(full), confirmed(full), paid())
      .when({
        type: 'RevertDeposit',
        depositKey: full.depositKey,
        reason: 'reorg',
        headNumber: 200,
        revertedAtSec: 1_800_000_500,
      })
      .then('DepositReverted');
    expect(events[0]).toMatchObject({ data: { afterFinal: true } });
    expect(after.value).toBe('paid');
    expect(refundable(after.context, 'USDT')).toBe(0n);
  });
});

describe('a transfer that an operator set aside', () => {
  const dust = depositFacts({ amount: '0.005' });
  const reverted: SessionEvent = depositReverted(dust.depositKey, { headNumber: 30 });
  const setAside: SessionEvent = {
    type: 'DepositSetAside',
    data: { depositKey: dust.depositKey, operation: 1, setAsideAtSec: EXPIRES_AT - 50 },
  };
  const putBack = {
    type: 'GiveUpTransfer' as const,
    depositKey: dust.depositKey,
    operation: 1,
    nowSec: EXPIRES_AT - 20,
    valuation: null,
  };
  const again = detected({ ...full, depositKey: dust.depositKey });
  const asideAndLost = [created(), detected(dust, 'dust'), confirmed(dust), setAside, reverted];

  it('keeps no session waiting if the chain shows it once more', () => {
    const { state } = given(...asideAndLost, again);
    expect(state.value).toBe('open');
    given(...asideAndLost, again)
      .when(expire)
      .then('SessionExpired');
  });
  it('is pending again once it is put back', () => {
    const { after } = given(...asideAndLost, again)
      .when(putBack)
      .then('DepositPutBack');
    expect(after.value).toBe('processing');
    const { after: lost } = given(...asideAndLost)
      .when(putBack)
      .then('DepositPutBack');
    expect(lost.value).toBe('open');
  });
  it('pays its session if it was in time after all and is final when it is put back, before the deadline and after', () => {
    const finalAgain = [...asideAndLost, again, confirmed({ ...full, depositKey: dust.depositKey })];
    const { after, events } = given(...finalAgain)
      .when(putBack)
      .then('DepositPutBack', 'SessionPaid');
    expect(after.value).toBe('paid');
    expect(events[1]).toMatchObject({ data: { coin: 'USDT', received: '10.00', afterExpiry: false } });
    const expired: SessionEvent = {
      type: 'SessionExpired',
      data: { expiredAtSec: EXPIRES_AT + 1, coin: 'USDT', received: '0.00', scannedToSec: {} },
    };
    const { events: afterwards } = given(...finalAgain, expired)
      .when(putBack)
      .then('DepositPutBack', 'SessionPaid');
    expect(afterwards[1]).toMatchObject({ data: { afterExpiry: true } });
  });
  it('as late and then moved before the deadline by a deeper reorg pays its session once it is put back', () => {
    const seenLate = { ...full, blockTimeSec: EXPIRES_AT + 1, blockHash: '0xlate' };
    const { depositKey } = full;
    const history: SessionEvent[] = [
      created(),
      detected(seenLate, 'late'),
      confirmed(seenLate),
      { type: 'DepositSetAside', data: { depositKey, operation: 1, setAsideAtSec: EXPIRES_AT + 100 } },
    ];
    const { events: moved } = given(...history)
      .when({ type: 'MoveDeposit', facts: full, headNumber: full.blockNumber + 1, nowSec: EXPIRES_AT + 200 })
      .then('DepositReverted', 'DepositDetected');
    const { events: final } = given(...history, ...moved)
      .when(confirm(full))
      .then('DepositConfirmed');
    given(...history, ...moved, ...final)
      .when({ ...putBack, depositKey })
      .then('DepositPutBack', 'SessionPaid');
  });
  it('pays no session that was cancelled', () => {
    const cancelled: SessionEvent = {
      type: 'SessionCancelled',
      data: { cancelledAtSec: EXPIRES_AT - 55, coin: 'USDT', received: '0.00', inFlight: false },
    };
    given(...asideAndLost, again, confirmed({ ...full, depositKey: dust.depositKey }), cancelled)
      .when(putBack)
      .then('DepositPutBack');
  });
});

describe('the end of a session', () => {
  it('expires when nothing came', () => {
    const { events } = given(created()).when(expire).then('SessionExpired');
    expect(events[0]).toMatchObject({ data: { received: '0.00' } });
  });
  it('expires with what arrived when that was too little', () => {
    const { events } = given(created(), detected(half), confirmed(half)).when(expire).then('SessionExpired');
    expect(events[0]).toMatchObject({ data: { received: '5.00' } });
  });
  it('does not expire before its deadline, nor while on-time money is on its way', () => {
    given(created())
      .when({ ...expire, nowSec: EXPIRES_AT })
      .then();
    given(created(), detected(full)).when(expire).then();
  });
  it('fails when a payment that would have sufficed was lost', () => {
    const lost: SessionEvent = depositReverted(full.depositKey, { afterFinal: false, headNumber: 1 });
    given(created(), detected(full), lost).when(expire).then('SessionFailed');
  });
  it('expires, not fails, when only a part was lost', () => {
    const lost: SessionEvent = depositReverted(half.depositKey, { afterFinal: false, headNumber: 1 });
    given(created(), detected(half), lost).when(expire).then('SessionExpired');
  });
  it('is paid after all by an on-time transfer found later', () => {
    const expired: SessionEvent = {
      type: 'SessionExpired',
      data: { expiredAtSec: EXPIRES_AT + 1, coin: 'USDT', received: '0', scannedToSec: {} },
    };
    const { events } = given(created(), expired, detected(full))
      .when(confirm(full))
      .then('DepositConfirmed', 'SessionPaid');
    expect(events.at(-1)).toMatchObject({ data: { afterExpiry: true } });
  });
});

describe('time travel', () => {
  const moveTo = (expiresAtSec: number, nowSec = EXPIRES_AT - 1_000): SessionCommand => ({
    type: 'MoveDeadline',
    expiresAtSec,
    nowSec,
  });

  it('brings the deadline of a test session nearer, never to the past, and what comes after it is late', () => {
    const { after } = given(created())
      .when(moveTo(EXPIRES_AT - 500))
      .then('SessionDeadlineMoved');
    expect(after.context.expiresAtSec).toBe(EXPIRES_AT - 500);
    expect(kindOf(after.context, depositFacts({ blockTimeSec: EXPIRES_AT - 499 }))).toBe('late');
    expect(kindOf(after.context, depositFacts({ blockTimeSec: EXPIRES_AT - 500 }))).toBe('on_time');
    expect(given(created()).when(moveTo(0)).then('SessionDeadlineMoved').after.context.expiresAtSec).toBe(
      EXPIRES_AT - 1_000,
    );
    given(created(), detected(half)).when(moveTo(0)).then('SessionDeadlineMoved');
  });
  it('never makes a session last longer', () => {
    given(created()).when(moveTo(EXPIRES_AT)).then();
    given(created())
      .when(moveTo(EXPIRES_AT + 1))
      .then();
  });
  it('is not for live sessions, nor for those that have ended', () => {
    given(created({ mode: 'live' }))
      .when(moveTo(0))
      .thenRefused('not_found');
    given(created(), detected(full), confirmed(full), paid()).when(moveTo(0)).thenRefused('session_already_paid');
    given(created())
      .when(moveTo(0, EXPIRES_AT + 1))
      .thenRefused('session_expired');
  });
});

describe('cancelling', () => {
  const cancelledEvent: SessionEvent = {
    type: 'SessionCancelled',
    data: { cancelledAtSec: EXPIRES_AT - 500, coin: 'USDT', received: '0.00', inFlight: false },
  };
  it('ends an unpaid session before its deadline, in flight or not', () => {
    const { after } = given(created())
      .when({ type: 'CancelSession', nowSec: EXPIRES_AT - 500 })
      .then('SessionCancelled');
    expect(after.context.expiresAtSec).toBe(EXPIRES_AT - 500);
    given(created(), detected(full))
      .when({ type: 'CancelSession', nowSec: EXPIRES_AT - 500 })
      .then('SessionCancelled');
  });
  it('is refused from the deadline on, after a cancel, and once paid', () => {
    given(created()).when({ type: 'CancelSession', nowSec: EXPIRES_AT }).thenRefused('session_expired');
    given(created(), cancelledEvent)
      .when({ type: 'CancelSession', nowSec: EXPIRES_AT - 400 })
      .thenRefused('session_expired');
    given(created(), detected(full), confirmed(full), paid())
      .when({ type: 'CancelSession', nowSec: EXPIRES_AT - 50 })
      .thenRefused('session_already_paid');
  });
  it('makes money that becomes final afterwards refundable and never paid', () => {
    const { after } = given(created(), detected(full), cancelledEvent).when(confirm(full)).then('DepositConfirmed');
    expect(after.value).toBe('cancelled');
    expect(refundable(after.context, 'USDT')).toBe(amountOf('10'));
  });
});

describe('refunding', () => {
  const paidSession = [created(), detected(full), confirmed(full), paid()];
  it('needs final money', () => {
    given(created()).when(refund('1')).thenRefused('session_not_paid');
    given(created(), detected(full)).when(refund('1')).thenRefused('session_not_paid');
  });
  describe('before the session is paid', () => {
    const first = [created(), detected(half), confirmed(half)];
    const { events: asked } = given(...first)
      .when(refund('5.00'))
      .then('RefundRequested');
    const second = [detected(otherHalf), confirmed(otherHalf)];

    it('removes the money from what pays it, from the request on', () => {
      given(...first, ...asked, detected(otherHalf))
        .when(confirm(otherHalf))
        .then('DepositConfirmed');
      const again = depositFacts({ amount: '5.00', txHash: '0x04' });
      given(...first, ...asked, ...second, detected(again))
        .when(confirm(again))
        .then('DepositConfirmed', 'SessionPaid');
    });
    it('that fails returns it to what pays it', () => {
      const { legId } = (asked[0] as Extract<SessionEvent, { type: 'RefundRequested' }>).data.legs[0]!;
      const fail = {
        type: 'FailPayout',
        refundId: 're_a',
        legId,
        reason: 'recipient_frozen',
        networkFee: null,
        nowSec: EXPIRES_AT,
        valuation: null,
      } as const;
      given(...first, ...asked, ...second)
        .when(fail)
        .then('RefundPayoutFailed', 'RefundFailed', 'SessionPaid');
      given(...first, ...asked)
        .when(fail)
        .then('RefundPayoutFailed', 'RefundFailed');
    });
    it('lets the session expire: the money was not lost', () => {
      given(...first, ...asked, ...second)
        .when(expire)
        .then('SessionExpired');
    });
    it('of money that came late leaves the rest as it is', () => {
      const late = depositFacts({ amount: '5.00', txHash: '0x05', blockTimeSec: EXPIRES_AT + 1 });
      const history = [...first, detected(late, 'late'), confirmed(late)];
      const { events: ofLate } = given(...history)
        .when({ ...refund('5.00'), namedDeposit: late.depositKey })
        .then('RefundRequested');
      given(...history, ...ofLate, detected(otherHalf))
        .when(confirm(otherHalf))
        .then('DepositConfirmed', 'SessionPaid');
    });
  });
  it('takes all that is left without an amount', () => {
    const { events } = given(...paidSession)
      .when(refund(null))
      .then('RefundRequested');
    expect(events[0]).toMatchObject({
      data: {
        amount: '10.00',
        refundType: 'full',
        legs: [{ toAddress: '0xPayer', amount: '10.00', network: 'ethereum' }],
      },
    });
  });
  it('never exceeds what was received, over several partial refunds', () => {
    const { events } = given(...paidSession)
      .when(refund('6'))
      .then('RefundRequested');
    given(...paidSession, ...events)
      .when(refund('4.000001', 're_b'))
      .thenRefused('refund_exceeds_paid');
    given(...paidSession, ...events)
      .when(refund('4', 're_b'))
      .then('RefundRequested');
  });
  it('goes back to several payers, of equal ones the newest first, each capped by what it paid', () => {
    const history = [created(), detected(half), confirmed(half), detected(otherHalf), confirmed(otherHalf), paid()];
    const { events } = given(...history)
      .when(refund('7'))
      .then('RefundRequested');
    expect(events[0]).toMatchObject({
      data: {
        refundType: 'partial',
        legs: [
          { toAddress: '0xSecond', amount: '5.00', network: 'bsc' },
          { toAddress: '0xFirst', amount: '2.00', network: 'ethereum' },
        ],
      },
    });
    const { events: rest } = given(...history, ...events)
      .when(refund(null, 're_b'))
      .then('RefundRequested');
    expect(rest[0]).toMatchObject({ data: { amount: '3.00', legs: [{ toAddress: '0xFirst', amount: '3.00' }] } });
  });
  it('cannot pay a payer that is not known', () => {
    const anonymous = depositFacts({ fromAddress: null });
    given(created(), detected(anonymous), confirmed(anonymous), paid())
      .when(refund('1'))
      .thenRefused('payer_ambiguous');
  });
  it('releases only the legs that failed', () => {
    const { events } = given(...paidSession)
      .when(refund('10'))
      .then('RefundRequested');
    const failed: SessionEvent[] = [
      {
        type: 'RefundPayoutFailed',
        data: {
          refundId: 're_a' as RefundId,
          legId: 're_a-1',
          reason: 'recipient_frozen',
          networkFee: null,
          failedAtSec: EXPIRES_AT,
        },
      },
      {
        type: 'RefundFailed',
        data: {
          refundId: 're_a' as RefundId,
          coin: 'USDT',
          amount: '10.00',
          amountReturned: '0.00',
          reason: 'recipient_frozen',
          failedAtSec: EXPIRES_AT,
        },
      },
    ];
    given(...paidSession, ...events, ...failed)
      .when(refund('10', 're_b'))
      .then('RefundRequested');
  });
  it('is the same refund when its id is repeated', () => {
    const { events } = given(...paidSession)
      .when(refund('6'))
      .then('RefundRequested');
    given(...paidSession, ...events)
      .when(refund('6'))
      .then();
  });
  it.each([
    ['a contract', { kind: 'contract', name: null }],
    ['an exchange', { kind: 'exchange', name: 'Kraken' }],
  ] as const)("to %s needs the merchant's acknowledgement", (_name, sender) => {
    const flagged: SessionEvent = { type: 'DepositConfirmed', data: { ...confirmData(full), sender } };
    const session = [created(), detected(full), flagged, paid()];
    given(...session)
      .when(refund('6'))
      .thenRefused('sender_not_acknowledged');
    given(...session)
      .when({ ...refund('6'), acknowledgedSender: true })
      .then('RefundRequested');
    const { sender: _, ...nobodyLooked } = confirmData(full);
    const untold: SessionEvent = { type: 'DepositConfirmed', data: nobodyLooked };
    given(created(), detected(full), untold, paid())
      .when({ ...refund('6'), senders: { [full.depositKey]: sender } })
      .thenRefused('sender_not_acknowledged');
    given(created(), detected(full), untold, paid()).when(refund('6')).thenRefused('conflict');
  });
  it('asks no confirmation for a payer whose money stays', () => {
    const exchange = { kind: 'exchange', name: 'Kraken' } as const;
    const session = [
      created(),
      detected(half),
      { type: 'DepositConfirmed', data: { ...confirmData(half), sender: exchange } } as const,
    ];
    const both = [...session, detected(otherHalf), confirmed(otherHalf), paid()];
    given(...both)
      .when(refund('5'))
      .then('RefundRequested');
    given(...both)
      .when(refund('6'))
      .thenRefused('sender_not_acknowledged');
  });
  it('reads only its own session', () => {
    expect(given(...paidSession).state.context.created?.sessionId).toBe(SESSION_ID);
  });
});

describe('the amounts in notifications', () => {
  const six = depositFacts({ amount: '6.00', txHash: '0x06', fromAddress: '0xFirst' });
  const ten = depositFacts({
    amount: '10.00',
    txHash: '0x10',
    fromAddress: '0xSecond',
    blockTimeSec: full.blockTimeSec + 5,
  });
  const ended = (history: SessionEvent[], command: SessionCommand) => given(...history).when(command);
  const returning = given(created(), detected(six), confirmed(six)).when(refund('6')).then('RefundRequested').events;
  const returned = [created(), detected(six), confirmed(six), ...returning];

  it('leave out what went back before another payer paid', () => {
    const { events, after } = given(...returned, detected(ten))
      .when(confirm(ten))
      .then('DepositConfirmed', 'SessionPaid');
    expect(events.at(-1)).toMatchObject({ data: { received: '10.00', excess: '0.00' } });
    expect(sessionView(after, null)).toMatchObject({
      received: '10.00',
      excess: '0.00',
      refundable: '10.00',
      reversed: false,
    });
  });

  it('call a payment reversed when its money is gone, whatever came and went back before', () => {
    const again = depositFacts({
      amount: '6.00',
      txHash: '0x07',
      fromAddress: '0xFirst',
      blockTimeSec: full.blockTimeSec + 3,
    });
    const twice = given(...returned, detected(again), confirmed(again))
      .when(refund('6', 're_b'))
      .then('RefundRequested').events;
    const paying = given(...returned, detected(again), confirmed(again), ...twice, detected(ten))
      .when(confirm(ten))
      .then('DepositConfirmed', 'SessionPaid').events;
    const revert = {
      type: 'RevertDeposit' as const,
      depositKey: ten.depositKey,
      reason: 'reorg' as const,
      headNumber: 400,
      revertedAtSec: 1_800_000_500,
    };
    const { after } = given(...returned, detected(again), confirmed(again), ...twice, detected(ten), ...paying)
      .when(revert)
      .then('DepositReverted');
    expect(sessionView(after, null).reversed).toBe(true);
  });

  it('shrink with every refund of a paid session, the excess first', () => {
    const over = depositFacts({ amount: '12.00' });
    const paying = [
      created(),
      detected(over),
      confirmed(over),
      { ...paid('12.00'), data: { ...paid('12.00').data, excess: '2.00' } } as SessionEvent,
    ];
    const viewAfter = (amount: string) =>
      sessionView(
        given(...paying)
          .when(refund(amount))
          .then('RefundRequested').after,
        null,
      );
    expect(viewAfter('0.5')).toMatchObject({ received: '11.50', excess: '1.50' });
    expect(viewAfter('2')).toMatchObject({ received: '10.00', excess: '0.00', reversed: false });
    expect(viewAfter('12')).toMatchObject({ received: '0.00', excess: '0.00', reversed: false, paidWith: '12.00' });
  });

  it('are what the merchant holds, however a session ends without payment', () => {
    const cancel = ended([created(), detected(six), confirmed(six)], {
      type: 'CancelSession',
      nowSec: EXPIRES_AT - 1,
    }).then('SessionCancelled');
    expect(cancel.events[0]).toMatchObject({ data: { coin: 'USDT', received: '6.00' } });
    expect(ended([created(), detected(six), confirmed(six)], expire).then('SessionExpired').events[0]).toMatchObject({
      data: { received: '6.00' },
    });
    expect(ended(returned, expire).then('SessionExpired').events[0]).toMatchObject({ data: { received: '0.00' } });
    expect(
      ended(returned, { type: 'CancelSession', nowSec: EXPIRES_AT - 1 }).then('SessionCancelled').events[0],
    ).toMatchObject({
      data: { received: '0.00' },
    });
  });

  it('are no loss when the lost money would not have sufficed after the refunds', () => {
    const four = depositFacts({ amount: '4.00', txHash: '0x04', network: 'bsc' });
    const lost: SessionEvent = depositReverted(four.depositKey, { afterFinal: false, headNumber: 400 });
    given(...returned, detected(four), lost)
      .when(expire)
      .then('SessionExpired');
  });
});

describe('what completes a payment', () => {
  const nearly = depositFacts({ amount: '9.995', txHash: '0x99' });
  const little = (amount: string) => depositFacts({ amount, txHash: '0xlittle1', network: 'bsc' });

  it('counts, however little it is', () => {
    const rest = little('0.005');
    const seen = given(created(), detected(nearly), confirmed(nearly))
      .when({ type: 'RecordDeposit', facts: rest })
      .then('DepositDetected');
    expect(seen.events[0]).toMatchObject({ data: { kind: 'on_time' } });
    given(created(), detected(nearly), confirmed(nearly), ...seen.events)
      .when(confirm(rest))
      .then('DepositConfirmed', 'SessionPaid');
  });

  it('counts also while the rest is not final yet, in whichever order they become so', () => {
    const rest = little('0.005');
    const seen = given(created(), detected(nearly))
      .when({ type: 'RecordDeposit', facts: rest })
      .then('DepositDetected').events;
    expect(seen[0]).toMatchObject({ data: { kind: 'on_time' } });
    const first = given(created(), detected(nearly), ...seen)
      .when(confirm(rest))
      .then('DepositConfirmed').events;
    given(created(), detected(nearly), ...seen, ...first)
      .when(confirm(nearly))
      .then('DepositConfirmed', 'SessionPaid');
  });

  it('counts again when it is back after a reorganisation, also when the session is paid', () => {
    const rest = little('0.005');
    const paying = [created(), detected(nearly), confirmed(nearly), detected(rest), confirmed(rest), paid()];
    const lost: SessionEvent = depositReverted(rest.depositKey, { headNumber: 400 });
    expect(sessionView(given(...paying, lost).state, null).reversed).toBe(true);
    const back = given(...paying, lost)
      .when({ type: 'RecordDeposit', facts: rest })
      .then('DepositDetected').events;
    const { after } = given(...paying, lost, ...back)
      .when(confirm(rest))
      .then('DepositConfirmed');
    expect(sessionView(after, null).reversed).toBe(false);
  });

  it('does not come from less than that, or from more than enough', () => {
    const before = [created(), detected(nearly), confirmed(nearly)];
    const kind = (history: SessionEvent[], amount: string) => kindOf(given(...history).state.context, little(amount));
    expect(kind(before, '0.004999')).toBe('dust');
    expect(kind([created()], '0.005')).toBe('dust');
    expect(kind([created(), detected(full)], '0.005')).toBe('dust');
    expect(kind([created(), detected(full), confirmed(full), paid()], '0.005')).toBe('dust');
  });
});

describe('a refund of money in another coin', () => {
  const other = depositFacts({ coin: 'USDC', amount: '10.00' });
  const history = [created(), detected(other, 'wrong_coin'), confirmed(other)];

  it('is refused with the coin to name', () => {
    const decision = decideSession(refund(null), given(...history).state);
    expect(decision).toMatchObject({
      ok: false,
      refusal: {
        code: 'session_not_paid',
        message: expect.stringContaining('10.00 USDC can be refunded'),
        param: 'amount.currency',
      },
    });
  });

  it('is listed with what is left of it', () => {
    const view = (more: SessionEvent[] = []) => sessionView(given(...history, ...more).state, null);
    expect(view().refundableByCoin).toEqual([
      { coin: 'USDT', amount: '0.00' },
      { coin: 'USDC', amount: '10.00' },
    ]);
    const asked = given(...history)
      .when({ ...refund('4'), coin: 'USDC' })
      .then('RefundRequested').events;
    expect(view([...asked]).refundableByCoin).toContainEqual({ coin: 'USDC', amount: '6.00' });
  });
});
