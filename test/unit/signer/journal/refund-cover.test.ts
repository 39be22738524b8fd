import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf, formatAmount } from '../../../../src/domain/money/money.ts';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import { sessionStream, transferStream } from '../../../../src/domain/values/streams.ts';
import { orderOf } from '../../../../src/features/payouts/moves/order.ts';
import type { OutgoingTransaction } from '../../../../src/ports/outgoing/transaction.ts';
import type { JournalEntry } from '../../../../src/signer/journal/journal.ts';
import { LedgerAccounts } from '../../../../src/signer/journal/ledger-accounts.ts';
import { outgoing } from '../../../support/outgoing.ts';
import { sessionIdOf } from '../../../support/random-history.ts';
import {
  depositConfirmed,
  depositDetected,
  depositFacts,
  depositReverted,
  addressOfSession,
  MERCHANT_ID,
} from '../../../support/session-facts.ts';
import {
  paidOrder,
  payoutEvent,
  recorded,
  refundOfLeg,
  refundRequested,
  settlementEvent,
  settlementTerms,
  type StreamEvent,
} from '../../../support/settlement-log.ts';

/* Refunds that the merchant's own account covers, as the signer computes it from events alone. Orders are of 10 USDT. */

const accountsOf = (...events: readonly StreamEvent[]): LedgerAccounts => {
  const accounts = new LedgerAccounts();
  expect(accounts.take(0, recorded(events))).toEqual({ size: events.length, fault: null });
  return accounts;
};
const orders = (count: number): StreamEvent[] => Array.from({ length: count }, (_, index) => paidOrder(index)).flat();
const settled = (amount: string, moveId = 'stl_1'): StreamEvent[] => [
  settlementEvent('SettlementRequested', settlementTerms(moveId, amount)),
  settlementEvent('SettlementCompleted', settlementTerms(moveId, amount)),
];
const refund = (index: number, legId: string, amount: string, change: Partial<OutgoingTransaction> = {}) =>
  outgoing({
    ...{ kind: 'refund', id: legId, network: 'ethereum', coin: 'USDT', amount },
    ...{ fromAddress: '0xTreasury', toAddress: '0xPayer' },
    refund: { sessionId: sessionIdOf(index), refundId: refundOfLeg(legId) },
    ...change,
  });
const signed = (id: string, purpose: 'refund' | 'settlement' = 'refund', units = '10'): JournalEntry =>
  ({
    ...{ kind: 'signed', purpose, network: 'ethereum', id, coin: 'USDT' },
    units: amountOf(units).toString(),
  }) as unknown as JournalEntry;
const releasedEntry = (id: string): JournalEntry =>
  ({ kind: 'released', id, reason: 'no_effect' }) as unknown as JournalEntry;
const codeOf = (accounts: LedgerAccounts, order: OutgoingTransaction, entries: readonly JournalEntry[] = []) =>
  accounts.refusal(order, entries)?.code ?? null;

describe('a refund', () => {
  it('of a merchant who was settled waits', () => {
    const log = [...orders(3), ...settled('30'), refundRequested(0, 'leg_a', '10')];
    expect(codeOf(accountsOf(...log), refund(0, 'leg_a', '10'))).toBe('exceeds_account');
    expect(accountsOf(...log).refusal(refund(0, 'leg_a', '10'), [])?.message).toContain(
      "takes 10.00 USDT on ethereum from the merchant's account, for which the books hold 0.00",
    );
  });

  it('is covered again as soon as new payments are in the account', () => {
    const log = [...orders(1), ...settled('10'), refundRequested(0, 'leg_a', '10')];
    expect(codeOf(accountsOf(...log, ...paidOrder(1)), refund(0, 'leg_a', '10'))).toBeNull();
  });

  it('takes nothing from the account of another coin, network or merchant', () => {
    const others = [paidOrder(1, 'mer_bbbbbbbbbbbbbbbbbbbb' as never), paidOrder(2, undefined, 'bsc')].flat();
    const log = [...orders(1), ...settled('10'), refundRequested(0, 'leg_a', '10'), ...others];
    expect(codeOf(accountsOf(...log), refund(0, 'leg_a', '10'))).toBe('exceeds_account');
  });

  it('in part is covered as far as the account goes', () => {
    const log = [...orders(1), ...settled('4'), refundRequested(0, 'leg_a', '6'), refundRequested(0, 'leg_b', '0.01')];
    expect(codeOf(accountsOf(...log), refund(0, 'leg_a', '6'))).toBeNull();
    expect(codeOf(accountsOf(...log), refund(0, 'leg_b', '0.01'))).toBe('exceeds_account');
  });

  it('that the account cannot cover does not keep a later, smaller one waiting, and an earlier one comes first', () => {
    const log = [...orders(3), ...settled('23')];
    const asked = [
      refundRequested(0, 'leg_a', '10'),
      refundRequested(1, 'leg_b', '4'),
      refundRequested(2, 'leg_c', '4'),
    ];
    const accounts = accountsOf(...log, ...asked);
    const codes = [refund(0, 'leg_a', '10'), refund(1, 'leg_b', '4'), refund(2, 'leg_c', '4')].map((order) =>
      codeOf(accounts, order),
    );
    expect(codes).toEqual(['exceeds_account', null, 'exceeds_account']);
  });

  it('comes before a settlement that is requested, and after one that is signed', () => {
    const asked = settlementEvent('SettlementRequested', settlementTerms('stl_1', '10'));
    const accounts = accountsOf(...orders(1), asked, refundRequested(0, 'leg_a', '10'));
    expect(codeOf(accounts, refund(0, 'leg_a', '10'))).toBeNull();
    expect(codeOf(accounts, orderOf({ kind: 'settlement', terms: settlementTerms('stl_1', '10') }))).toBe(
      'exceeds_account',
    );
    expect(codeOf(accounts, refund(0, 'leg_a', '10'), [signed('stl_1', 'settlement')])).toBe('exceeds_account');
  });

  it('of money that pays no order needs nothing from the account', () => {
    const sessionId = sessionIdOf(0);
    const facts = depositFacts({ txHash: '0xlate', coin: 'USDC', toAddress: addressOfSession(sessionId) });
    const late: StreamEvent[] = [depositDetected(facts, 'late'), depositConfirmed(facts)].map((event) => [
      sessionStream(sessionId),
      event,
    ]);
    const takenFrom = [{ depositKey: facts.depositKey, amount: '10' }];
    const back = refundRequested(0, 'leg_a', '10', { coin: 'USDC', takenFrom });
    const order = refund(0, 'leg_a', '10', { coin: 'USDC' });
    expect(codeOf(accountsOf(...orders(1), ...settled('10'), ...late, back), order)).toBeNull();
    const gone: StreamEvent = [sessionStream(sessionId), depositReverted(facts.depositKey)];
    expect(codeOf(accountsOf(...orders(1), ...settled('10'), ...late, back, gone), order)).toBe('exceeds_account');
  });

  it('of money that pays no order is no matter of a merchant who owes us', () => {
    const sessionId = sessionIdOf(1);
    const over = depositFacts({ txHash: '0xover', amount: '3', toAddress: addressOfSession(sessionId) });
    const late: StreamEvent[] = [depositDetected(over, 'late'), depositConfirmed(over)].map((event) => [
      sessionStream(sessionId),
      event,
    ]);
    const gone: StreamEvent = [sessionStream(sessionIdOf(0)), depositReverted('ethereum:0x0:0')];
    const takenFrom = [{ depositKey: over.depositKey, amount: '3' }];
    const log = [...orders(2), ...settled('20'), gone, ...late, refundRequested(1, 'leg_a', '3', { takenFrom })];
    expect(codeOf(accountsOf(...log), refund(1, 'leg_a', '3'))).toBeNull();
    const more = refundRequested(1, 'leg_b', '1');
    expect(codeOf(accountsOf(...log, more), refund(1, 'leg_b', '1'))).toBe('exceeds_account');
  });

  it('waits when a reorganisation took the payment of another order that was settled', () => {
    const gone: StreamEvent = [sessionStream(sessionIdOf(1)), depositReverted('ethereum:0x1:0')];
    const log = [...orders(2), ...settled('10'), refundRequested(0, 'leg_a', '10')];
    expect(codeOf(accountsOf(...log), refund(0, 'leg_a', '10'))).toBeNull();
    expect(codeOf(accountsOf(...log, gone), refund(0, 'leg_a', '10'))).toBe('exceeds_account');
  });

  it('must be in the event log, on the same terms', () => {
    const accounts = accountsOf(...orders(2), refundRequested(0, 'leg_a', '5'));
    const strange = [
      refund(0, 'leg_b', '5'),
      refund(0, 'leg_a', '5.01'),
      refund(1, 'leg_a', '5'),
      refund(0, 'leg_a', '5', { network: 'bsc' }),
      refund(0, 'leg_a', '5', { coin: 'USDC' }),
      refund(0, 'leg_a', '5', { mode: 'live' }),
      refund(0, 'leg_a', '5', { refund: { sessionId: sessionIdOf(0), refundId: 're_other' } }),
    ];
    expect(strange.map((order) => codeOf(accounts, order))).toEqual(strange.map(() => 'ledger_behind'));
  });
});

describe('a payout that is signed', () => {
  const log = [...orders(2), ...settled('10'), refundRequested(0, 'leg_a', '10')];
  const next = [...log, refundRequested(1, 'leg_b', '10')];

  it('counts although the event log says that it failed, until the signer has seen so itself', () => {
    const accounts = accountsOf(
      ...log,
      payoutEvent('RefundPayoutFailed', 0, 'leg_a'),
      refundRequested(1, 'leg_b', '10'),
    );
    expect(codeOf(accounts, refund(1, 'leg_b', '10'), [signed('leg_a')])).toBe('exceeds_account');
    expect(codeOf(accounts, refund(1, 'leg_b', '10'), [signed('leg_a'), releasedEntry('leg_a')])).toBeNull();
  });

  it('counts in the event log for a signer that lost its journal', () => {
    expect(codeOf(accountsOf(...next), refund(1, 'leg_b', '10'))).toBe('exceeds_account');
    const outOf = accountsOf(...orders(2), ...settled('10'), refundRequested(1, 'leg_b', '10'));
    expect(codeOf(outOf, refund(1, 'leg_b', '10'))).toBeNull();
    for (const steps of [
      [payoutEvent('RefundPayoutSigned', 0, 'leg_a')],
      [payoutEvent('RefundPayoutSigned', 0, 'leg_a'), payoutEvent('RefundPayoutLanded', 0, 'leg_a')],
      [
        payoutEvent('RefundPayoutSigned', 0, 'leg_a'),
        payoutEvent('RefundPayoutLanded', 0, 'leg_a'),
        payoutEvent('RefundPayoutReverted', 0, 'leg_a'),
      ],
    ])
      expect(codeOf(accountsOf(...next, ...steps), refund(1, 'leg_b', '10'))).toBe('exceeds_account');
  });
});

it('nothing is paid from accounts while the event log lacks a refund that was signed', () => {
  const log = [...orders(2), settled('20')[0]!];
  const settlement = orderOf({ kind: 'settlement', terms: settlementTerms('stl_1', '20') });
  expect(codeOf(accountsOf(...log), settlement)).toBeNull();
  expect(accountsOf(...log).refusal(settlement, [signed('leg_a')])).toMatchObject({
    ...{ kind: 'stopped', code: 'ledger_disagrees' },
    message: expect.stringContaining('does not know the refund leg_a') as string,
  });
});

describe('a return', () => {
  const facts = depositFacts({ txHash: '0xlate', toAddress: addressOfSession(sessionIdOf(0)) });
  const { depositKey } = facts;
  const inSession = (...events: readonly DomainEvent[]): StreamEvent[] =>
    events.map((event) => [sessionStream(sessionIdOf(0)), event]);
  const late = [...orders(1), ...inSession(depositDetected(facts, 'late'), depositConfirmed(facts))];
  const decided = (type: 'DepositSetAside' | 'DepositPutBack'): StreamEvent[] =>
    inSession({ type, data: { depositKey, operation: 1 } } as unknown as DomainEvent);
  const recordedAt = (origin: object): StreamEvent => [
    transferStream('test', depositKey),
    { type: 'TransferRecorded', data: { ...facts, mode: 'test', origin } } as unknown as DomainEvent,
  ];
  const returned = (amount: string, change: Partial<OutgoingTransaction> = {}): OutgoingTransaction => {
    const deposit = { depositKey, txHash: '0xlate', logIndex: 0, toAddress: '0xA', derivationIndex: 0 };
    return {
      ...orderOf({ kind: 'return', terms: settlementTerms('rtn_1', amount, { merchantId: null, deposit }) }),
      ...change,
    };
  };

  it('pays back a transfer that is unmatched in the books, and no other', () => {
    expect(codeOf(accountsOf(...late), returned('10'))).toBe('exceeds_account');
    const aside = [...late, ...decided('DepositSetAside')];
    expect(codeOf(accountsOf(...aside), returned('10'))).toBeNull();
    expect(codeOf(accountsOf(...aside), returned('10.01'))).toBe('exceeds_account');
    expect(codeOf(accountsOf(...aside, ...decided('DepositPutBack')), returned('10'))).toBe('exceeds_account');
    const [named] = returned('10').deposits;
    const other = [{ ...named!, depositKey: 'ethereum:0x0:0' }];
    expect(codeOf(accountsOf(...aside), returned('10', { deposits: other }))).toBe('exceeds_account');
    expect(codeOf(accountsOf(...aside), returned('10', { mode: 'live' }))).toBe('exceeds_account');
  });

  it('pays back what came to an address or to the treasury, once it is recorded', () => {
    for (const kind of ['address', 'treasury'])
      expect(codeOf(accountsOf(recordedAt({ kind })), returned('10'))).toBeNull();
    expect(codeOf(accountsOf(...late, recordedAt({ kind: 'session' })), returned('10'))).toBe('exceeds_account');
  });

  it('is charged to no merchant, whatever the request says', () => {
    const log = [...orders(3), ...inSession(depositDetected(facts, 'late'), depositConfirmed(facts))];
    expect(codeOf(accountsOf(...log), returned('10', { merchantId: MERCHANT_ID }))).toBe('exceeds_account');
  });
});

it('a settlement that the event log calls failed counts until the signer has seen so itself', () => {
  const failed = settlementEvent('SettlementFailed', settlementTerms('stl_1', '10'));
  const accounts = accountsOf(...orders(1), settled('10')[0]!, failed, refundRequested(0, 'leg_a', '10'));
  const paid = signed('stl_1', 'settlement');
  const released = releasedEntry('stl_1');
  expect(codeOf(accounts, refund(0, 'leg_a', '10'), [paid])).toBe('exceeds_account');
  expect(codeOf(accounts, refund(0, 'leg_a', '10'), [paid, released])).toBeNull();
});

describe('whatever order payments, settlements and refunds come in', () => {
  type Step = readonly [does: 'pay' | 'settle' | 'ask' | 'land' | 'fail', which: number, cents: number];
  const step: fc.Arbitrary<Step> = fc.tuple(
    fc.constantFrom('pay', 'pay', 'settle', 'settle', 'ask', 'ask', 'ask', 'land', 'fail'),
    fc.nat(9),
    fc.integer({ min: 1, max: 1000 }),
  );

  it('no more is signed for a merchant than was paid, and what is asked for alone is signed as far as that goes', () => {
    let waited = 0;
    let signedLegs = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
        const log: StreamEvent[] = [];
        const journal: JournalEntry[] = [];
        const open = new Map<string, { session: number; amount: string }>();
        let [paidIn, paidOut, sessions] = [0n, 0n, 0];
        const left: bigint[] = [];
        const accounts = new LedgerAccounts();
        let given = 0;
        const tell = (...events: StreamEvent[]): void => {
          log.push(...events);
          expect(accounts.take(given, recorded(log).slice(given)).fault).toBeNull();
          given = log.length;
        };
        steps.forEach(([does, which, cents], index) => {
          const amount = formatAmount(BigInt(does === 'settle' ? 3 * cents : cents) * amountOf('0.01'), 2);
          if (does === 'pay') {
            tell(...paidOrder(sessions));
            [paidIn, sessions] = [paidIn + amountOf('10'), sessions + 1];
            left.push(amountOf('10'));
          }
          if (does === 'settle') {
            const terms = settlementTerms(`stl_${index}`, amount);
            if (accounts.refusal(orderOf({ kind: 'settlement', terms }), journal) !== null) return;
            tell(settlementEvent('SettlementRequested', terms));
            if (accounts.refusal(orderOf({ kind: 'settlement', terms }), journal) !== null) return;
            journal.push(signed(`stl_${index}`, 'settlement', amount));
            paidOut += amountOf(amount);
            if (which % 2 === 0) tell(settlementEvent('SettlementCompleted', terms));
          }
          if (does === 'ask' && sessions > 0) {
            const session = which % sessions;
            if (left[session]! < amountOf(amount)) return;
            left[session]! -= amountOf(amount);
            tell(refundRequested(session, `leg_${index}`, amount));
            open.set(`leg_${index}`, { session, amount });
          }
          for (const [legId, { session, amount: of }] of open) {
            if (journal.some((entry) => entry.kind === 'signed' && entry.id === legId)) continue;
            if (accounts.refusal(refund(session, legId, of), journal) !== null) {
              waited += 1;
              continue;
            }
            journal.push(signed(legId, 'refund', of));
            [paidOut, signedLegs] = [paidOut + amountOf(of), signedLegs + 1];
          }
          const [legId, leg] = [...open][which % Math.max(1, open.size)] ?? [];
          if (legId === undefined || leg === undefined || (does !== 'land' && does !== 'fail')) return;
          const isSigned = journal.some((entry) => entry.kind === 'signed' && entry.id === legId);
          // A worker that lies says of what is signed that it failed.
          if (does === 'land' && !isSigned) return;
          tell(payoutEvent(does === 'land' ? 'RefundPayoutLanded' : 'RefundPayoutFailed', leg.session, legId));
          open.delete(legId);
        });
        expect(paidOut).toBeLessThanOrEqual(paidIn);
      }),
    );
    expect(waited).toBeGreaterThan(3);
    expect(signedLegs).toBeGreaterThan(10);
  });
});
