import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { MoveRequested } from '../../src/domain/events/treasury-move-events.ts';
import type { RefundLeg } from '../../src/domain/events/refund-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { sessionStream, treasuryStream } from '../../src/domain/values/streams.ts';
import type { RecordedEvent } from '../../src/ports/event-log/event-store.ts';
import { sessionIdOf } from './random-history.ts';
import {
  addressOfSession,
  createdFacts,
  CREATED_AT,
  depositFacts,
  MERCHANT_ID,
  depositDetected,
  depositConfirmed,
  sessionPaid,
} from './session-facts.ts';
import { recordedEvents } from './signed-export.ts';

/* The events by which a merchant is owed 10.00 USDT on Ethereum for each order, and by which it is settled. */

export type StreamEvent = readonly [stream: string, event: DomainEvent];

export function paidOrder(index: number, merchantId = MERCHANT_ID, network: Network = 'ethereum'): StreamEvent[] {
  const sessionId = sessionIdOf(index);
  const facts = depositFacts({ txHash: `0x${index}`, network, toAddress: addressOfSession(sessionId) });
  const events: DomainEvent[] = [
    { type: 'SessionCreated', data: createdFacts({ sessionId, merchantId, orderId: `order-${index}` }) },
    depositDetected(facts),
    depositConfirmed(facts),
    sessionPaid({ paidAtSec: CREATED_AT + 90 }),
  ];
  return events.map((event) => [sessionStream(sessionId), event]);
}

export function settlementTerms(moveId: string, amount: string, change: Partial<MoveRequested> = {}): MoveRequested {
  return {
    moveId,
    mode: 'test',
    network: 'ethereum',
    coin: 'USDT',
    amount,
    fromAddress: '0xTreasury',
    toAddress: '0xMerchant',
    derivationIndex: null,
    merchantId: MERCHANT_ID,
    forMoveId: null,
    requestedBy: 'ana',
    reason: null,
    requestedAtSec: CREATED_AT,
    ...change,
  };
}

export const settlementEvent = (
  type: 'SettlementRequested' | 'SettlementFailed' | 'SettlementCompleted',
  terms: MoveRequested,
): StreamEvent => {
  const { requestedBy: _by, reason: _why, requestedAtSec: _at, ...shared } = terms;
  const fee = { networkFee: '0.001', feeCoin: 'ETH', feeAddress: terms.fromAddress };
  const block = { txHash: '0xs', blockNumber: 120, blockHash: '0xb', blockTimeSec: CREATED_AT + 100 };
  const data = {
    SettlementRequested: terms,
    SettlementFailed: { ...shared, ...fee, reason: 'execution_reverted', txHash: '0xs', failedAtSec: CREATED_AT + 100 },
    SettlementCompleted: { ...shared, ...fee, ...block, completedAtSec: CREATED_AT + 100 },
  }[type];
  return [treasuryStream(terms.mode, terms.network), { type, data } as unknown as DomainEvent];
};

type Leg = Pick<RefundLeg, 'legId' | 'amount' | 'network' | 'coin' | 'toAddress' | 'takenFrom'>;

/** One refund with one payout, of the deposit of `paidOrder` unless the leg says otherwise. */
export function refundRequested(index: number, legId: string, amount: string, change: Partial<Leg> = {}): StreamEvent {
  const { network = 'ethereum', coin = 'USDT' } = change;
  const leg: Leg = {
    ...{ legId, network, coin, amount, toAddress: '0xPayer' },
    takenFrom: [{ depositKey: `${network}:0x${index}:0`, amount }],
    ...change,
  };
  return [sessionStream(sessionIdOf(index)), refundEvent(refundOfLeg(legId), [leg])];
}

export const refundOfLeg = (legId: string): RefundId => `re_${legId}` as RefundId;

export const refundEvent = (refundId: RefundId, legs: readonly Leg[]): DomainEvent => ({
  type: 'RefundRequested',
  data: {
    ...{ refundId, coin: legs[0]!.coin, amount: legs[0]!.amount, asked: null, namedDeposit: null },
    ...{ refundType: 'partial', legs, requestedAtSec: CREATED_AT + 200, reason: null, idempotencyStream: null },
    acknowledgedSender: true,
  },
});

/** A step of that payout. */
export function payoutEvent(
  type: 'RefundPayoutSigned' | 'RefundPayoutLanded' | 'RefundPayoutReverted' | 'RefundPayoutFailed',
  index: number,
  legId: string,
): StreamEvent {
  const block = { txHash: `0x${legId}`, blockNumber: 130, blockHash: '0xb', blockTimeSec: CREATED_AT + 300 };
  const data = {
    ...{ refundId: refundOfLeg(legId), legId, attempt: 1, signedBytes: '0x', fromAddress: '0xTreasury', ...block },
    ...{ networkFee: '0.001', reason: 'execution_reverted', headNumber: 200 },
  };
  return [sessionStream(sessionIdOf(index)), { type, data } as unknown as DomainEvent];
}

export const recorded = (events: readonly StreamEvent[]): RecordedEvent[] => recordedEvents(events, CREATED_AT * 1000);
