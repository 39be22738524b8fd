import { expect, it } from 'vitest';
import { EMPTY_SESSION, foldSession, isUnmatched } from '../../../../projections/unmatched/session.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { depositFacts } from '../../../support/session-facts.ts';

const facts = depositFacts();
const { depositKey, blockNumber, blockHash, blockTimeSec } = facts;
const seen: SessionEvent = { type: 'DepositDetected', data: { ...facts, kind: 'late' } };
const final: SessionEvent = {
  type: 'DepositConfirmed',
  data: { depositKey, rule: { kind: 'finalized' }, blockNumber, blockHash, blockTimeSec, headNumber: 300 },
};
const refunded = {
  type: 'RefundRequested',
  data: { legs: [{ legId: 're_1-1', takenFrom: [{ depositKey, amount: '1.00' }] }] },
} as unknown as SessionEvent;
const lost: SessionEvent = {
  type: 'DepositReverted',
  data: { depositKey, reason: 'reorg', afterFinal: true, headNumber: 300, revertedAtSec: 1_800_000_500 },
};

const isListed = (...events: SessionEvent[]): boolean => {
  const session = events.reduce(foldSession, EMPTY_SESSION);
  return isUnmatched(session, session.deposits[depositKey]);
};

it('lists late money until a refund names it', () => {
  expect(isListed(seen, final)).toBe(true);
  expect(isListed(seen, final, refunded)).toBe(false);
});

it('does not list money that a refund names when a reorganisation takes it away and brings it back', () => {
  expect(isListed(seen, final, refunded, lost, seen, final)).toBe(false);
});
