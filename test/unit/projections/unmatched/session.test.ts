import { expect, it } from 'vitest';
import { EMPTY_SESSION, foldSession, isUnmatched } from '../../../../projections/unmatched/session.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { depositFacts, depositReverted, depositDetected, depositConfirmed } from '../../../support/session-facts.ts';

const facts = depositFacts();
const { depositKey } = facts;
const seen = depositDetected(facts, 'late');
const final = depositConfirmed(facts);
const refunded = {
  type: 'RefundRequested',
  data: { legs: [{ legId: 're_1-1', takenFrom: [{ depositKey, amount: '1.00' }] }] },
} as unknown as SessionEvent;
const lost: SessionEvent = depositReverted(depositKey);

const isListed = (...events: SessionEvent[]): boolean => {
  const session = events.reduce(foldSession, EMPTY_SESSION);
  return isUnmatched(session, session.deposits[depositKey]);
};

it('lists late money until a refund names it', () => {
  expect(isListed(seen, final)).toBe(true);
  expect(isListed(seen, final, refunded)).toBe(false);
});

it('does not list money that a refund names if a reorganisation reverts it and brings it back', () => {
  expect(isListed(seen, final, refunded, lost, seen, final)).toBe(false);
});
