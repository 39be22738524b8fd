import { describe, expect, it } from 'vitest';
import type { AdjustmentTerms } from '../../../../src/domain/events/adjustment-events.ts';
import { adjustmentsTable } from '../../../../src/features/shared/handlers/adjustments-handler.ts';
import {
  decideAdjustments,
  reversalOf,
  type AdjustmentsCommand,
} from '../../../../state-machines/adjustments/adjustments.decider.ts';
import { MERCHANT_ID } from '../../../support/session-facts.ts';
import { decidedBy, outcomeOf } from '../../../support/decided.ts';

const PAYABLE = `liabilities:merchants:${MERCHANT_ID}:payable`;
const terms = (adjustmentId: string, change: Partial<AdjustmentTerms> = {}): AdjustmentTerms => ({
  adjustmentId,
  mode: 'test',
  network: 'ethereum',
  coin: 'USDT',
  reason: 'goodwill',
  attachment: null,
  reverses: null,
  proposedBy: 'ada',
  lines: [
    { account: 'expenses:other', amount: '10.00' },
    { account: PAYABLE, amount: '-10.00' },
  ],
  ...change,
});
const propose = (id: string, change: Partial<AdjustmentTerms> = {}): AdjustmentsCommand => ({
  type: 'ProposeAdjustment',
  terms: terms(id, change),
  nowSec: 1,
});
const post = (
  adjustmentId: string,
  approvers = ['ben', 'cleo'],
  reversesEvent: string | null = null,
): AdjustmentsCommand => ({
  ...{ type: 'PostAdjustment', adjustmentId, approvers, reversesEvent, nowSec: 2 },
});
const reject = (adjustmentId: string): AdjustmentsCommand => ({
  type: 'RejectAdjustment',
  adjustmentId,
  actor: 'ben',
  nowSec: 3,
});
const takeBack = (id: string, reverses: string): AdjustmentsCommand =>
  propose(id, { ...reversalOf(terms(reverses)), reverses });

const after = decidedBy(decideAdjustments, adjustmentsTable);
const outcome = (...commands: AdjustmentsCommand[]) => outcomeOf(after(...commands));

describe('a manual entry', () => {
  it('is posted once two people other than who proposed it agreed, with all that was proposed', () => {
    expect(outcome(propose('adj_1'))).toEqual(['AdjustmentProposed']);
    expect(outcome(propose('adj_1'), post('adj_1', ['ada', 'ben']))).toBe('conflict');
    expect(outcome(propose('adj_1'), post('adj_1', ['ben', 'ben']))).toBe('conflict');
    const posted = after(propose('adj_1'), post('adj_1'));
    expect(posted.history.at(-1)).toEqual({
      type: 'AdjustmentPosted',
      data: { ...terms('adj_1'), approvers: ['ben', 'cleo'], reversesEvent: null, postedAtSec: 2 },
    });
    expect(outcome(propose('adj_1'), post('adj_1'), post('adj_1'))).toEqual([]);
    expect(outcome(post('adj_1'))).toBe('id');
  });

  it('never changes: only another one reverses it, once, with its lines exchanged', () => {
    const posted = [propose('adj_1'), post('adj_1')];
    expect(outcome(...posted, reject('adj_1'))).toBe('id');
    expect(outcome(...posted, propose('adj_1', { reason: 'another' }))).toBe('conflict');
    expect(outcome(propose('adj_1'), takeBack('adj_2', 'adj_1'))).toBe('reverses');
    expect(outcome(...posted, propose('adj_2', { reverses: 'adj_1' })), 'the same lines').toBe('reverses');
    const both = [...posted, takeBack('adj_2', 'adj_1'), takeBack('adj_3', 'adj_1')];
    const done = after(...both, post('adj_2', ['ben', 'cleo'], 'event-1'));
    expect(done.history.at(-1)).toMatchObject({
      data: { reverses: 'adj_1', reversesEvent: 'event-1', lines: [{ amount: '-10.00' }, { amount: '10.00' }] },
    });
    expect(done.state.context.adjustments['adj_1']).toMatchObject({ status: 'posted', reversedBy: 'adj_2' });
    expect(outcome(...both, post('adj_2', ['ben', 'cleo'], 'event-1'), post('adj_3', ['ben', 'cleo'], 'event-1'))).toBe(
      'reverses',
    );
    expect(outcome(...both, post('adj_2', ['ben', 'cleo'], 'event-1'), takeBack('adj_4', 'adj_1'))).toBe('reverses');
  });

  it('is given up while it is not posted, and forgotten', () => {
    const rejected = after(propose('adj_1'), reject('adj_1'));
    expect(rejected.history.at(-1)).toMatchObject({ type: 'AdjustmentRejected', data: { actor: 'ben' } });
    expect(rejected.state.context.adjustments).toEqual({});
    expect(outcome(propose('adj_1'), reject('adj_1'), post('adj_1'))).toBe('id');
  });

  const line = (account: string, amount: string) => ({ account, amount });
  it.each([
    ['without a reason', { reason: ' ' }, 'reason'],
    ['with a reason without end', { reason: 'x'.repeat(501) }, 'reason'],
    ['with an attachment that is no hash', { attachment: 'file.pdf' }, 'attachment'],
    ["in another network's coin", { coin: 'TRX' as const }, 'coin'],
    ['of one line', { lines: [line(PAYABLE, '-10.00')] }, 'lines'],
    ['that does not balance', { lines: [line('expenses:other', '10.00'), line(PAYABLE, '-9.99')] }, 'lines'],
    ['of nothing', { lines: [line('expenses:other', '0.00'), line(PAYABLE, '-0.00')] }, 'amount'],
    ['of no amount', { lines: [line('expenses:other', 'ten'), line(PAYABLE, '-10.00')] }, 'amount'],
    ['to an account that is none', { lines: [line('expenses:travel', '10.00'), line(PAYABLE, '-10.00')] }, 'account'],
    ['to what chains say', { lines: [line('assets:treasury', '10.00'), line(PAYABLE, '-10.00')] }, 'account'],
    [
      'to what addresses hold',
      { lines: [line('assets:deposit-wallets', '10.00'), line(PAYABLE, '-10.00')] },
      'account',
    ],
    ['to what transfers say', { lines: [line('liabilities:unmatched', '10.00'), line(PAYABLE, '-10.00')] }, 'account'],
    [
      'to what orders say',
      { lines: [line(`liabilities:merchants:${MERCHANT_ID}:unapplied`, '10.00'), line(PAYABLE, '-10.00')] },
      'account',
    ],
  ])('is refused %s', (_, change, param) => {
    expect(outcome(propose('adj_1', change))).toBe(param);
  });
});
