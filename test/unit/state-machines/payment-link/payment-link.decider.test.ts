import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentLinkEvent, PaymentLinkTerms } from '../../../../src/domain/events/payment-link-events.ts';
import type { PaymentLinkId } from '../../../../src/domain/ids.ts';
import { paymentLinkTable } from '../../../../src/features/shared/handlers/payment-link-handler.ts';
import {
  decidePaymentLink,
  linkStatus,
  numberOf,
  type EndedUse,
  type PaymentLinkCommand,
} from '../../../../state-machines/payment-link/payment-link.decider.ts';
import { MERCHANT_ID } from '../../../support/session-facts.ts';

const linkId = `pl_${'a'.repeat(20)}` as PaymentLinkId;
const create = (change: Partial<PaymentLinkTerms> = {}): PaymentLinkCommand => ({
  type: 'CreatePaymentLink',
  terms: {
    ...{ linkId, merchantId: MERCHANT_ID, mode: 'test', amount: '10.00', currency: 'EUR', description: 'Mug' },
    ...{ maxUses: 3, maxOpen: 2, endsAtSec: 1_000, ...change },
  },
  nowSec: 1,
});
const use = (press: string, ended: readonly EndedUse[] = [], nowSec = 10): PaymentLinkCommand => ({ type: 'UsePaymentLink', press, ended, nowSec });
const off = (reason = 'sold out'): PaymentLinkCommand => ({ type: 'SwitchPaymentLinkOff', reason, nowSec: 20 });

/** Each command on what the ones before it left; every event must be legal for the machine. */
function after(...commands: readonly PaymentLinkCommand[]) {
  let state = paymentLinkTable.initial;
  const history: PaymentLinkEvent[] = [];
  let last = decidePaymentLink(commands[0]!, state);
  for (const command of commands) {
    last = decidePaymentLink(command, state);
    if (!last.ok) continue;
    history.push(...last.events);
    state = paymentLinkTable.replay(last.events, state);
  }
  return { last, history, state };
}
const outcome = (...commands: PaymentLinkCommand[]): unknown => {
  const { last } = after(...commands);
  return last.ok ? last.events.map(({ type }) => type) : (last.refusal.param ?? last.refusal.code);
};
const statusAt = (nowSec: number, ...commands: PaymentLinkCommand[]) => linkStatus(after(...commands).state.context, nowSec);

describe('a payment link', () => {
  it('gives every page that is pressed a number of its own, and the same one when it is pressed again', () => {
    const { history, state } = after(create(), use('a'), use('b'), use('a'));
    expect(history.map(({ type }) => type)).toEqual(['PaymentLinkCreated', 'PaymentLinkUsed', 'PaymentLinkUsed']);
    expect([numberOf(state.context, 'a'), numberOf(state.context, 'b'), numberOf(state.context, 'c')]).toEqual([1, 2, null]);
  });

  it('lets at most so many payments wait at once, and takes another once one has ended', () => {
    expect(outcome(create(), use('a'), use('b'), use('c'))).toBe('conflict');
    expect(statusAt(10, create(), use('a'), use('b'))).toBe('busy');
    const ended = after(create(), use('a'), use('b'), use('c', [{ number: 1, outcome: 'unpaid' }]));
    expect(ended.history.slice(-2)).toEqual([
      { type: 'PaymentLinkUseEnded', data: { linkId, number: 1, outcome: 'unpaid', notedAtSec: 10 } },
      { type: 'PaymentLinkUsed', data: { linkId, number: 3, press: 'c', usedAtSec: 10 } },
    ]);
  });

  it('is used up once it was paid so often, and no payment that is unpaid counts', () => {
    const paid = (number: number): EndedUse => ({ number, outcome: 'paid' });
    const both = [create({ maxUses: 2 }), use('a'), use('b'), use('c', [paid(1), { number: 2, outcome: 'unpaid' }])];
    expect(after(...both).state.context.paid).toBe(1);
    // One is paid and one under way: nobody can tell yet whether another may be.
    expect(statusAt(10, ...both)).toBe('busy');
    expect(outcome(...both, use('d', [paid(3)]))).toBe('conflict');
    // Nothing of a refused press is written down.
    expect(after(...both, use('d', [paid(3)])).state.context.open).toHaveProperty('3');
  });

  it('makes nothing when its time is over, and nothing once it is switched off, for good', () => {
    expect(outcome(create(), use('a', [], 999))).toEqual(['PaymentLinkUsed']);
    expect(outcome(create(), use('a', [], 1_000))).toBe('conflict');
    expect(statusAt(1_000, create())).toBe('over');
    expect(outcome(create(), off(), use('a'))).toBe('conflict');
    expect(outcome(create(), off(), off('again'))).toEqual([]);
    expect(statusAt(10, create(), off())).toBe('off');
    // Whoever has a payment is led to it nevertheless.
    expect(outcome(create(), use('a'), off(), use('a'))).toEqual([]);
  });

  it('says which bound is none', () => {
    for (const maxUses of [0, 1.5, 10_001, NaN]) expect(outcome(create({ maxUses }))).toBe('uses');
    for (const maxOpen of [0, 101]) expect(outcome(create({ maxOpen }))).toBe('open');
    expect(outcome(create({ endsAtSec: 1 }))).toBe('ends');
    expect(outcome(create(), create())).toBe('conflict');
    expect(outcome(use('a'))).toBe('not_found');
    expect(outcome(off())).toBe('not_found');
    expect(outcome(create(), off(' '))).toBe('reason');
  });

  it('never lets more be paid or wait than it may, whatever comes in whatever order', () => {
    const ended = fc.record({ number: fc.integer({ min: 1, max: 12 }), outcome: fc.constantFrom('paid' as const, 'unpaid' as const) });
    const command = fc.oneof(
      { weight: 8, arbitrary: fc.tuple(fc.constantFrom(...'abcdefgh'), fc.array(ended, { maxLength: 3 })).map(([press, over]) => use(press, over)) },
      { weight: 1, arbitrary: fc.constant(off()) },
    );
    const bounds = fc.record({ maxUses: fc.integer({ min: 1, max: 5 }), maxOpen: fc.integer({ min: 1, max: 4 }) });
    fc.assert(
      fc.property(bounds, fc.array(command, { maxLength: 40 }), (limits, commands) => {
        const { state, history } = after(create(limits), ...commands);
        const open = Object.keys(state.context.open).length;
        expect(open).toBeLessThanOrEqual(limits.maxOpen);
        expect(state.context.paid + open).toBeLessThanOrEqual(limits.maxUses);
        const numbers = history.flatMap((event) => (event.type === 'PaymentLinkUsed' ? [event.data.number] : []));
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
      }),
    );
  });
});
