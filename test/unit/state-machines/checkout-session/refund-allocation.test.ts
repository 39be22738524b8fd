import { describe, expect, it } from 'vitest';
import type { DepositFacts, SessionEvent } from '../../../../src/domain/events/session-events.ts';
import type { RefundLeg } from '../../../../src/domain/events/refund-events.ts';
import type { RefundId } from '../../../../src/domain/values/ids.ts';
import { amountOf, formatAmount } from '../../../../src/domain/money/money.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type RequestRefund,
  type SessionCommand,
  type SessionState,
} from '../../../../state-machines/checkout-session/session.decider.ts';
import { held, refundable } from '../../../../state-machines/checkout-session/session.state.ts';
import {
  createdFacts,
  CREATED_AT,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  depositConfirmed,
} from '../../../support/session-facts.ts';

type Paid = Partial<DepositFacts> & { readonly payer?: string | null };

/** A session that saw the deposits become final one after the other, a minute apart. */
function after(...deposits: readonly Paid[]): SessionState {
  return run(
    sessionTable.initial,
    { type: 'CreateSession', data: createdFacts() },
    ...deposits.flatMap((deposit, index) => paying(deposit, index)),
  );
}

function paying({ payer = '0xCustomer', ...change }: Paid, index: number): SessionCommand[] {
  const facts = depositFacts({
    txHash: `0x${index}`,
    fromAddress: payer,
    blockTimeSec: CREATED_AT + 60 * (index + 1),
    ...change,
  });
  const { data } = depositConfirmed(facts);
  return [
    { type: 'RecordDeposit', facts },
    { type: 'ConfirmDeposit', data, nowSec: EXPIRES_AT - 1, valuation: null },
  ];
}

function run(state: SessionState, ...commands: readonly SessionCommand[]): SessionState {
  return commands.reduce((before, command) => {
    const decision = decideSession(command, before);
    if (!decision.ok) throw new Error(`${command.type}: ${decision.refusal.message}`);
    return sessionTable.replay(decision.events, before);
  }, state);
}

const asking = (amount: string | null, change: Partial<RequestRefund> = {}): RequestRefund =>
  refundCommand({ units: amount === null ? null : amountOf(amount), ...change });

function legsOf(state: SessionState, command: RequestRefund): readonly RefundLeg[] {
  const decision = decideSession(command, state);
  if (!decision.ok) throw new Error(decision.refusal.message);
  // The machine must agree, too.
  sessionTable.replay(decision.events, state);
  return (decision.events[0] as Extract<SessionEvent, { type: 'RefundRequested' }>).data.legs;
}

const paysOf = (state: SessionState, command: RequestRefund): string[] =>
  legsOf(state, command).map(({ toAddress, network, amount }) => `${toAddress} ${network} ${amount}`);

const refusalOf = (state: SessionState, command: RequestRefund) => {
  const decision = decideSession(command, state);
  return decision.ok ? null : decision.refusal;
};

const keyOf = (index: number, network = 'ethereum'): string => `${network}:0x${index}:0`;
const wei = '0.000000000000000001';

describe('whose money a refund takes', () => {
  it('never takes dust, however many send it and however new it is', () => {
    const dust = Array.from({ length: 60 }, (_, index): Paid => ({
      payer: `0xStranger${index}`,
      network: 'bsc',
      amount: wei,
    }));
    const state = after({}, ...dust);
    expect(paysOf(state, asking('5.00'))).toEqual(['0xCustomer ethereum 5.00']);
    expect(paysOf(state, asking(null))).toEqual(['0xCustomer ethereum 10.00']);
    expect(formatAmount(refundable(state.context, 'USDT'))).toBe('10.00');
  });

  it("takes the money of the order's payer before that of a stranger, whoever came first", () => {
    expect(paysOf(after({}, { payer: '0xStranger', amount: '3.00' }), asking('3.00'))).toEqual([
      '0xCustomer ethereum 3.00',
    ]);
    expect(paysOf(after({ payer: '0xStranger', amount: '0.02' }, {}), asking('3.00'))).toEqual([
      '0xCustomer ethereum 3.00',
    ]);
    const late = after({}, { payer: '0xStranger', amount: '30.00', blockTimeSec: EXPIRES_AT + 9 });
    expect(paysOf(late, asking('11.00'))).toEqual(['0xCustomer ethereum 10.00', '0xStranger ethereum 1.00']);
  });

  it('knows who paid the order although a larger transfer of an earlier block became final after it', () => {
    const state = after({}, { payer: '0xStranger', amount: '12.00', network: 'bsc', blockTimeSec: CREATED_AT + 1 });
    expect(paysOf(state, asking('10.00'))).toEqual(['0xCustomer ethereum 10.00']);
  });

  it('gives the payers of the order everything else the same address sent, on any network, before a stranger gets anything', () => {
    const state = after(
      { payer: '0xAbC' },
      { payer: '0xStranger', amount: '9.00' },
      { payer: '0xaBc', network: 'bsc', amount: '4.00', blockTimeSec: EXPIRES_AT + 1 },
    );
    expect(paysOf(state, asking('13.00'))).toEqual(['0xAbC ethereum 10.00', '0xaBc bsc 3.00']);
  });

  it('takes first what did not pay for the order from a payer, so that the session still holds what is due', () => {
    const state = after(
      {},
      { amount: '5.00', blockTimeSec: EXPIRES_AT + 9 },
      { payer: '0xStranger', amount: '7.00', blockTimeSec: EXPIRES_AT + 10 },
    );
    expect(legsOf(state, asking('5.00'))).toMatchObject([
      { toAddress: '0xCustomer', takenFrom: [{ depositKey: keyOf(1), amount: '5.00' }] },
    ]);
    expect(formatAmount(held(run(state, asking('5.00')).context))).toBe('10.00');
    expect(legsOf(state, asking('12.00'))).toMatchObject([
      {
        toAddress: '0xCustomer',
        takenFrom: [
          { depositKey: keyOf(1), amount: '5.00' },
          { depositKey: keyOf(0), amount: '7.00' },
        ],
      },
    ]);
  });

  it('goes first to the payer of most of the order', () => {
    const state = after({ payer: '0xLess', amount: '3.00' }, { payer: '0xMost', amount: '7.00', network: 'bsc' });
    expect(paysOf(state, asking('8.00'))).toEqual(['0xMost bsc 7.00', '0xLess ethereum 1.00']);
    expect(
      paysOf(after({ payer: '0xMost', amount: '7.00' }, { payer: '0xLess', amount: '3.00' }), asking('3.00')),
    ).toEqual(['0xMost ethereum 3.00']);
  });

  it('names the deposits that a leg takes from, with the amount of each, and leaves the rest to the next refund', () => {
    const state = after({ amount: '6.00' }, { amount: '4.00' });
    const [first] = legsOf(state, asking('7.00'));
    expect(first!.takenFrom).toEqual([
      { depositKey: keyOf(0), amount: '6.00' },
      { depositKey: keyOf(1), amount: '1.00' },
    ]);
    const [second] = legsOf(run(state, asking('7.00')), asking(null, { refundId: 're_b' as RefundId }));
    expect(second!.takenFrom).toEqual([{ depositKey: keyOf(1), amount: '3.00' }]);
  });

  it('refunds a later payment in full although an earlier one was refunded and then left the chain', () => {
    const refunded = run(after({}), asking(null));
    const gone = run(refunded, {
      type: 'RevertDeposit',
      depositKey: keyOf(0),
      reason: 'reorg',
      headNumber: 300,
      revertedAtSec: 1_800_000_500,
    });
    const paidAgain = run(gone, ...paying({ payer: '0xOther' }, 7));
    expect(formatAmount(refundable(paidAgain.context, 'USDT'))).toBe('10.00');
    expect(paysOf(paidAgain, asking('10.00', { refundId: 're_b' as RefundId }))).toEqual(['0xOther ethereum 10.00']);
  });

  it('that was refunded no longer pays, although as much is there on a network that is not offered', () => {
    const state = after({ amount: '6.00' }, { payer: '0xStranger', network: 'tron', amount: '6.00' });
    expect(held(state.context)).toBe(amountOf('6.00'));
    expect(held(run(state, asking('6.00')).context)).toBe(0n);
  });
});

describe('a deposit named by the merchant', () => {
  const state = after({}, { payer: '0xStranger', network: 'bsc', amount: wei }, { payer: '0xOther', amount: '3.00' });

  it('is refunded alone, dust too, up to what it still has', () => {
    expect(paysOf(state, asking(null, { namedDeposit: keyOf(1, 'bsc') }))).toEqual([`0xStranger bsc ${wei}`]);
    expect(paysOf(state, asking('2.00', { namedDeposit: keyOf(2) }))).toEqual(['0xOther ethereum 2.00']);
    expect(refusalOf(state, asking('3.01', { namedDeposit: keyOf(2) }))).toMatchObject({
      code: 'refund_exceeds_paid',
      message: 'at most 3.00 USDT can be refunded of this deposit',
    });
    const spent = run(state, asking('2.00', { namedDeposit: keyOf(2) }));
    expect(refusalOf(spent, asking('1.01', { namedDeposit: keyOf(2), refundId: 're_b' as RefundId }))).toMatchObject({
      code: 'refund_exceeds_paid',
    });
  });

  it('must be a final deposit of the session with a payer', () => {
    expect(refusalOf(state, asking(null, { namedDeposit: 'ethereum:0xelse:0' }))).toMatchObject({
      code: 'invalid_request',
      param: 'transaction_id',
    });
    const [seen] = paying({ payer: '0xNew' }, 9);
    expect(refusalOf(run(state, seen!), asking(null, { namedDeposit: keyOf(9) }))).toMatchObject({
      ...{ code: 'invalid_request', param: 'transaction_id', message: 'the deposit is detected, not final' },
    });
    const minted = after({}, { payer: null, amount: '2.00' });
    expect(refusalOf(minted, asking(null, { namedDeposit: keyOf(1) }))).toMatchObject({
      code: 'payer_ambiguous',
      param: 'transaction_id',
    });
  });
});

describe('what a token can carry', () => {
  const fine = `5.${'0'.repeat(17)}1`;

  it('makes every leg a whole number of its units, and leaves less than one of the coarsest', () => {
    const state = after({ payer: '0xFine', network: 'bsc', amount: fine }, { payer: '0xCoarse', amount: '5.00' });
    expect(paysOf(state, asking('7.50'))).toEqual(['0xFine bsc 5.00', '0xCoarse ethereum 2.50']);
    expect(paysOf(state, asking(null))).toEqual([`0xFine bsc ${fine}`, '0xCoarse ethereum 5.00']);
    // Less than a millionth is nothing that a refund could be asked for.
    expect(formatAmount(refundable(run(state, asking('7.50')).context, 'USDT'))).toBe('2.50');
  });

  it("takes what is missing from finer tokens before a stranger's money", () => {
    const half = '5.0000005';
    const state = after(
      { payer: '0xOne', network: 'bsc', amount: half },
      { payer: '0xTwo', network: 'bsc', amount: half },
      { payer: '0xStranger', amount: '3.00' },
    );
    expect(paysOf(state, asking('10.000001'))).toEqual([`0xTwo bsc ${half}`, `0xOne bsc ${half}`]);
  });

  it('says what can be refunded if the amount is not a whole number of units', () => {
    const state = after({});
    expect(refusalOf(state, asking('1.0000001'))).toMatchObject({
      code: 'invalid_request',
      message: "1.0000001 USDT is not a whole number of units of the payers' tokens; 1.00 USDT can be refunded",
      param: 'amount.value',
    });
  });

  it('leaves out a network that cannot be paid on here', () => {
    const state = after({ amount: '6.00' }, { payer: '0xOther', network: 'bsc', amount: '4.00' });
    const decimals = { ethereum: 6 };
    expect(paysOf(state, asking(null, { decimals }))).toEqual(['0xCustomer ethereum 6.00']);
    expect(refusalOf(state, asking('7.00', { decimals }))).toMatchObject({ code: 'refund_exceeds_paid' });
  });

  it('splits a refund of more deposits than the signer reads for one payout', () => {
    const [, , ...parts] = Array.from({ length: 1_003 }, (): Paid => ({ amount: '0.01' }));
    const legs = legsOf(after(...parts), asking(null));
    expect(legs.map(({ takenFrom, amount }) => [takenFrom.length, amount])).toEqual([
      [1_000, '10.00'],
      [1, '0.01'],
    ]);
  });
});

describe('the bounds of refunds', () => {
  it('are a hundred payouts: more payers take another refund, and the refusal says how much the first can be', () => {
    const crowd = Array.from({ length: 101 }, (_, index): Paid => ({ payer: `0xP${index}`, amount: '1.00' }));
    const state = after(...crowd);
    expect(refusalOf(state, asking(null))).toEqual({
      code: 'invalid_request',
      message: 'a refund makes at most 100 payouts: refund at most 100.00 USDT at once',
      param: 'amount.value',
    });
    const first = run(state, asking('100.00'));
    expect(paysOf(first, asking(null, { refundId: 're_2' as RefundId }))).toHaveLength(1);
  });

  it('are two hundred refunds of a session', () => {
    const paid = after({ amount: '300.00' });
    const ids = Array.from({ length: 200 }, (_, index) => `re_${index}` as RefundId);
    const state = run(paid, ...ids.map((refundId) => asking('1.00', { refundId })));
    expect(refusalOf(state, asking('1.00', { refundId: 're_x' as RefundId }))?.code).toBe('conflict');
    // A repeated request is still the same refund.
    expect(refusalOf(state, asking('1.00', { refundId: ids[0]! }))).toBeNull();
  });
});

describe('money without a single payer', () => {
  it('is not promised, and named as the reason once nothing else is left', () => {
    const minted = after({ payer: null });
    expect([minted.value, refundable(minted.context, 'USDT'), held(minted.context)]).toEqual([
      'paid',
      0n,
      amountOf('10'),
    ]);
    expect(refusalOf(minted, asking('10.00'))).toMatchObject({ code: 'payer_ambiguous' });
    expect(refusalOf(minted, asking(null))).toMatchObject({ code: 'payer_ambiguous' });
    const mixed = after({ payer: null, amount: '4.00' }, { amount: '6.00' });
    expect(refusalOf(mixed, asking('10.00'))).toMatchObject({
      code: 'refund_exceeds_paid',
      message: 'at most 6.00 USDT can be refunded; 4.00 USDT have no single payer',
    });
    expect(paysOf(mixed, asking(null))).toEqual(['0xCustomer ethereum 6.00']);
  });

  it('is distinguished from dust', () => {
    const state = run(after({}, { payer: '0xStranger', amount: '0.005' }), asking(null));
    expect(refusalOf(state, asking('0.005', { refundId: 're_b' as RefundId }))).toMatchObject({
      message: 'at most 0.00 USDT can be refunded; 0.005 USDT are dust, which is refunded only by its transaction_id',
    });
  });
});

describe("the merchant's acknowledgement", () => {
  const contract = { kind: 'contract', name: null } as const;
  const wallet = { kind: 'wallet', name: null } as const;

  it('is needed only for a payer whose money the refund takes', () => {
    const state = after({}, { payer: '0xContract', amount: '0.000001' }, { payer: '0xVault', amount: '3.00' });
    const senders = { [keyOf(0)]: wallet, [keyOf(1)]: contract, [keyOf(2)]: contract };
    expect(refusalOf(state, asking('10.00', { senders, acknowledgedSender: false }))).toBeNull();
    expect(refusalOf(state, asking('10.01', { senders, acknowledgedSender: false }))).toMatchObject({
      code: 'sender_not_acknowledged',
    });
  });

  it('is never taken as given where nobody looked', () => {
    expect(refusalOf(after({}), asking('1.00', { acknowledgedSender: false }))).toMatchObject({ code: 'conflict' });
  });
});

describe('the type of a refund', () => {
  const typeOf = (state: SessionState, command: RequestRefund) => {
    const decision = decideSession(command, state);
    return decision.ok && (decision.events[0] as Extract<SessionEvent, { type: 'RefundRequested' }>).data.refundType;
  };

  it('is full when it uses everything that paid the order at once, even with a stranger’s money present', () => {
    const state = after({}, { payer: '0xStranger', amount: '3.00' });
    expect([typeOf(state, asking('10.00')), typeOf(state, asking('3.00')), typeOf(state, asking(null))]).toEqual([
      'full',
      'partial',
      'full',
    ]);
    expect(typeOf(run(state, asking('4.00')), asking('6.00', { refundId: 're_b' as RefundId }))).toBe('partial');
  });
});
