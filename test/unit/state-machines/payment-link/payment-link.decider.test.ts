import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentLinkTerms } from '../../../../src/domain/events/payment-link-events.ts';
import type { PaymentLinkId } from '../../../../src/domain/values/ids.ts';
import { paymentLinkTable } from '../../../../src/features/shared/handlers/payment-link-handler.ts';
import {
  decidePaymentLink,
  linkStatus,
  numberOf,
  visitorWaitsUntilSec,
  type PaymentLinkCommand,
} from '../../../../state-machines/payment-link/payment-link.decider.ts';
import type { EndedUse } from '../../../../state-machines/payment-link/payment-link.machine.ts';
import { MERCHANT_ID } from '../../../support/session-facts.ts';
import { decidedBy, outcomeOf } from '../../../support/decided.ts';

const linkId = `pl_${'a'.repeat(20)}` as PaymentLinkId;
const create = (change: Partial<PaymentLinkTerms> = {}): PaymentLinkCommand => ({
  type: 'CreatePaymentLink',
  terms: {
    ...{ linkId, merchantId: MERCHANT_ID, mode: 'test', amount: '10.00', currency: 'EUR', description: 'Mug' },
    ...{ maxUses: 3, maxOpen: 2, maxUnpaidPerDay: 10, endsAtSec: 1_000, ...change },
  },
  nowSec: 1,
});
/** Each page of a visitor of its own, unless one is named. */
const use = (press: string, ended: readonly EndedUse[] = [], nowSec = 10, visitor = press): PaymentLinkCommand => ({
  type: 'UsePaymentLink',
  press,
  visitor,
  ended,
  nowSec,
});
const off = (reason = 'sold out'): PaymentLinkCommand => ({ type: 'SwitchPaymentLinkOff', reason, nowSec: 20 });

const after = decidedBy(decidePaymentLink, paymentLinkTable);
const outcome = (...commands: PaymentLinkCommand[]) => outcomeOf(after(...commands));
const statusAt = (nowSec: number, ...commands: PaymentLinkCommand[]) =>
  linkStatus(after(...commands).state.context, nowSec);

describe('a payment link', () => {
  it('gives every pressed page its own number, and the same one when it is pressed again', () => {
    const { history, state } = after(create(), use('a'), use('b'), use('a'));
    expect(history.map(({ type }) => type)).toEqual(['PaymentLinkCreated', 'PaymentLinkUsed', 'PaymentLinkUsed']);
    expect([numberOf(state.context, 'a'), numberOf(state.context, 'b'), numberOf(state.context, 'c')]).toEqual([
      1,
      2,
      null,
    ]);
  });

  it('limits the payments that wait at once, and accepts another once one has ended', () => {
    expect(outcome(create(), use('a'), use('b'), use('c'))).toBe('conflict');
    expect(statusAt(10, create(), use('a'), use('b'))).toBe('busy');
    const ended = after(create(), use('a'), use('b'), use('c', [{ number: 1, outcome: 'unpaid' }]));
    expect(ended.history.slice(-2)).toEqual([
      { type: 'PaymentLinkUseEnded', data: { linkId, number: 1, outcome: 'unpaid', notedAtSec: 10 } },
      { type: 'PaymentLinkUsed', data: { linkId, number: 3, press: 'c', visitor: 'c', usedAtSec: 10 } },
    ]);
  });

  it('is used up once it was paid often enough, and unpaid payments do not count', () => {
    const paid = (number: number): EndedUse => ({ number, outcome: 'paid' });
    const both = [create({ maxUses: 2 }), use('a'), use('b'), use('c', [paid(1), { number: 2, outcome: 'unpaid' }])];
    expect(after(...both).state.context.paid).toEqual([{ number: 1, press: 'a', visitor: 'a' }]);
    // One is paid and one under way: nobody can tell yet whether another may be.
    expect(statusAt(10, ...both)).toBe('busy');
    expect(outcome(...both, use('d', [paid(3)]))).toBe('conflict');
    // Nothing of a refused press is written down.
    expect(after(...both, use('d', [paid(3)])).state.context.open).toHaveProperty('3');
  });

  it('creates nothing after its last day, and nothing once it is permanently switched off', () => {
    expect(outcome(create(), use('a', [], 999))).toEqual(['PaymentLinkUsed']);
    expect(outcome(create(), use('a', [], 1_000))).toBe('conflict');
    expect(statusAt(1_000, create())).toBe('over');
    expect(outcome(create(), off(), use('a'))).toBe('conflict');
    expect(outcome(create(), off(), off('again'))).toEqual([]);
    expect(statusAt(10, create(), off())).toBe('off');
    // A payment that was never made does not come to be afterwards.
    expect(outcome(create(), use('a'), off(), use('a'))).toBe('conflict');
    expect(outcome(create(), use('a', [], 10), use('a', [], 1_000))).toBe('conflict');
  });

  it('gives a page no other number once its payment is paid, also when the press of another page noted that', () => {
    const paid = [create(), use('a'), use('b', [{ number: 1, outcome: 'paid' }])];
    expect(numberOf(after(...paid).state.context, 'a')).toBe(1);
    expect(outcome(...paid, use('a'))).toEqual([]);
    const unpaid = [create(), use('a'), use('b', [{ number: 1, outcome: 'unpaid' }])];
    expect(outcome(...unpaid, use('a'))).toEqual(['PaymentLinkUsed']);
  });

  it('pauses once too many of its payments of a day are unpaid, until those are older or paid', () => {
    const DAY = 86_400;
    const ended = (number: number, how: EndedUse['outcome']): EndedUse[] => [{ number, outcome: how }];
    const limits = create({ maxUses: 10, maxUnpaidPerDay: 2, endsAtSec: null });
    const two = [limits, use('a', [], 10), use('b', ended(1, 'unpaid'), 20)];
    expect(statusAt(30, ...two)).toBe('paused');
    expect(outcome(...two, use('c', ended(2, 'unpaid'), 30))).toBe('conflict');
    expect(outcome(...two, use('c', ended(2, 'paid'), 30))).toEqual(['PaymentLinkUseEnded', 'PaymentLinkUsed']);
    // One that never came to be took no address.
    expect(outcome(...two, use('c', ended(2, 'not_made'), 30))).toEqual(['PaymentLinkUseEnded', 'PaymentLinkUsed']);
    expect(statusAt(10 + DAY - 1, ...two)).toBe('paused');
    expect(statusAt(10 + DAY, ...two)).toBe('on');
  });

  it('gives one visitor at most half of what may wait and a tenth of what may stay unpaid, three at least', () => {
    const presses = (count: number): PaymentLinkCommand[] =>
      Array.from({ length: count }, (_, index) => use(`page-${index}`, [], 10 + index, 'greedy'));
    const share = (change: Partial<PaymentLinkTerms>): number =>
      after(create({ maxUses: 1_000, endsAtSec: null, ...change }), ...presses(40)).state.context.lastNumber;
    expect(share({ maxOpen: 20, maxUnpaidPerDay: 100 })).toBe(10);
    expect(share({ maxOpen: 100, maxUnpaidPerDay: 150 })).toBe(15);
    expect(share({ maxOpen: 10, maxUnpaidPerDay: 1_000 })).toBe(5);
    expect(share({ maxOpen: 4, maxUnpaidPerDay: 5 })).toBe(3);
    const limits = create({ maxUses: 1_000, endsAtSec: null, maxOpen: 8, maxUnpaidPerDay: 40 });
    const taken = [limits, ...presses(4)];
    const untilSec = (visitor: string, ...more: PaymentLinkCommand[]) =>
      visitorWaitsUntilSec(after(...taken, ...more).state.context, visitor, 20);
    expect([untilSec('greedy'), untilSec('another')]).toEqual([10 + 86_400, null]);
    expect(outcome(...taken, use('more', [], 20, 'greedy'))).toBe('rate_limited');
    expect(outcome(...taken, use('page-1', [], 20, 'greedy'))).toEqual([]);
    expect(outcome(...taken, use('b', [], 20))).toEqual(['PaymentLinkUsed']);
    // An end without money gives no place back, a payment gives two.
    const ended = (how: EndedUse['outcome']): EndedUse[] => [{ number: 1, outcome: how }];
    expect(outcome(...taken, use('more', ended('unpaid'), 20, 'greedy'))).toBe('rate_limited');
    const paying = use('more', ended('paid'), 20, 'greedy');
    expect(outcome(...taken, paying)).toEqual(['PaymentLinkUseEnded', 'PaymentLinkUsed']);
    expect(outcome(...taken, paying, use('one more', [], 20, 'greedy'))).toEqual(['PaymentLinkUsed']);
    expect(outcome(...taken, paying, use('2', [], 20, 'greedy'), use('3', [], 20, 'greedy'))).toBe('rate_limited');
    expect(outcome(...taken, use('more', [], 10 + 86_400, 'greedy'))).toEqual(['PaymentLinkUsed']);
  });

  it('counts a payment that ended unpaid and was paid after all, once', () => {
    const late: EndedUse[] = [{ number: 1, outcome: 'paid' }];
    const given = [create({ maxUses: 2 }), use('a'), use('b', [{ number: 1, outcome: 'unpaid' }])];
    expect(after(...given).state.context).toMatchObject({
      paid: [],
      unpaid: [{ number: 1, press: 'a', visitor: 'a', usedAtSec: 10, notedAtSec: 10 }],
    });
    // Both places are taken then, though one is free as far as was noted.
    expect(statusAt(10, ...given)).toBe('on');
    expect(outcome(...given, use('c', late))).toBe('conflict');
    const known = after(...given, use('b', [...late, ...late]));
    expect(known.last).toEqual({
      ok: true,
      events: [{ type: 'PaymentLinkUseEnded', data: { linkId, number: 1, outcome: 'paid', notedAtSec: 10 } }],
    });
    expect(known.state.context).toMatchObject({ paid: [{ number: 1, press: 'a', visitor: 'a' }], unpaid: [] });
    expect(outcome(...given, use('b', late), use('b', late))).toEqual([]);
    // A place that was given and has no payment is lost once the link is full without it.
    expect(
      outcome(
        ...given,
        use('c'),
        use('x', [...late, { number: 2, outcome: 'paid' }]),
        use('c', [...late, { number: 2, outcome: 'paid' }]),
      ),
    ).toBe('conflict');
    // What ended unpaid or was paid does not end unpaid once more.
    expect(outcome(...given, use('b', [{ number: 1, outcome: 'unpaid' }]))).toEqual([]);
  });

  it('forgets a payment that ended unpaid a day after that was noted', () => {
    const given = [create({ endsAtSec: null }), use('a'), use('b', [{ number: 1, outcome: 'unpaid' }], 20)];
    expect(after(...given, use('c', [], 20 + 86_399)).state.context.unpaid).toHaveLength(1);
    expect(after(...given, use('c', [], 20 + 86_400)).state.context.unpaid).toEqual([]);
  });

  it('names an invalid limit', () => {
    for (const maxUses of [0, 1.5, 10_001, NaN]) expect(outcome(create({ maxUses }))).toBe('uses');
    for (const maxUnpaidPerDay of [0, 1_001]) expect(outcome(create({ maxUnpaidPerDay }))).toBe('unpaid');
    for (const maxOpen of [0, 101]) expect(outcome(create({ maxOpen }))).toBe('open');
    expect(outcome(create({ endsAtSec: 1 }))).toBe('ends');
    expect(outcome(create(), create())).toBe('conflict');
    expect(outcome(use('a'))).toBe('not_found');
    expect(outcome(off())).toBe('not_found');
    expect(outcome(create(), off(' '))).toBe('reason');
  });

  it('creates no payment that could exceed a limit of paid, waiting or unpaid payments, in whatever order', () => {
    const ended = fc.record({
      number: fc.integer({ min: 1, max: 12 }),
      outcome: fc.constantFrom('paid' as const, 'unpaid' as const),
    });
    const command = fc.oneof(
      {
        weight: 8,
        arbitrary: fc
          .tuple(fc.constantFrom(...'abcdefgh'), fc.array(ended, { maxLength: 3 }))
          .map(([press, over]) => use(press, over)),
      },
      { weight: 1, arbitrary: fc.constant(off()) },
    );
    const [maxUses, maxOpen, maxUnpaidPerDay] = [
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 8 }),
    ];
    const bounds = fc.record({ maxUses, maxOpen, maxUnpaidPerDay });
    fc.assert(
      fc.property(bounds, fc.array(command, { maxLength: 40 }), (limits, commands) => {
        const { history } = after(create(limits), ...commands);
        let state = paymentLinkTable.initial;
        for (const event of history) {
          // No page is given a second payment while it has one that is paid or may be.
          if (event.type === 'PaymentLinkUsed') expect(numberOf(state.context, event.data.press)).toBeNull();
          state = paymentLinkTable.replay([event], state);
          if (event.type !== 'PaymentLinkUsed') continue;
          const { paid, open, unpaid } = state.context;
          const waiting = Object.keys(open).length;
          expect(waiting).toBeLessThanOrEqual(limits.maxOpen);
          expect(paid.length + waiting).toBeLessThanOrEqual(limits.maxUses);
          expect(waiting + unpaid.length).toBeLessThanOrEqual(limits.maxUnpaidPerDay);
        }
        const numbers = history.flatMap((event) => (event.type === 'PaymentLinkUsed' ? [event.data.number] : []));
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
      }),
    );
  });
});
