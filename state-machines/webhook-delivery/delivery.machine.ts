import { assign, setup } from 'xstate';
import type { DeliveryAttempted, DeliveryEvent, DeliveryScheduled } from '../../src/domain/events/delivery-events.ts';
import { dataOf, typesOf } from '../wired.ts';

/*
 * The life of one webhook delivery: from the scheduled notification to the answer that settled it, and back to
 * `pending` whenever somebody requests it again. The alphabet is the delivery's domain events.
 */

export type DeliveryValue = 'absent' | 'pending' | 'delivered' | 'exhausted' | 'rejected' | 'blocked';

/** The state of a delivery. Times are Unix milliseconds. */
export interface DeliveryContext {
  readonly scheduled: DeliveryScheduled['data'] | null;
  /** Number of recorded attempts. */
  readonly attempts: number;
  readonly last: DeliveryAttempted['data'] | null;
  /** Quick retries used in the run, which is the first attempt or a redelivery with everything that follows. */
  readonly quickRetriesUsed: number;
  readonly runStartedAtMs: number | null;
  /** Attempts of durable redelivery in the run. */
  readonly durableAttempts: number;
  /** When the next automatic or durable attempt is due; null if none is. */
  readonly nextAttemptAtMs: number | null;
  /** A redelivery was requested, and no attempt has answered that yet. */
  readonly redeliveryOwed: boolean;
}

const initialDeliveryContext: DeliveryContext = {
  scheduled: null,
  attempts: 0,
  last: null,
  quickRetriesUsed: 0,
  runStartedAtMs: null,
  durableAttempts: 0,
  nextAttemptAtMs: null,
  redeliveryOwed: false,
};

type Of<Type extends DeliveryEvent['type']> = Extract<DeliveryEvent, { type: Type }>['data'];
type Seen = { context: DeliveryContext; event: DeliveryEvent };

const attemptOf = (event: DeliveryEvent): number => ('attempt' in event.data ? event.data.attempt : 0);

/** The end of the most recently recorded attempt. */
const endsLast = ({ context, event }: Seen, failed: boolean): boolean =>
  context.last !== null && attemptOf(event) === context.attempts && (context.last.failure !== null) === failed;

function foldAttempted(context: DeliveryContext, data: Of<'DeliveryAttempted'>): Partial<DeliveryContext> {
  const startsRun = context.attempts === 0 || data.trigger === 'manual';
  // An attempt that was already running at the time of the request does not answer it by failing.
  const redeliveryOwed = context.redeliveryOwed && data.trigger !== 'manual';
  const counted = { attempts: data.attempt, last: data, nextAttemptAtMs: data.nextAttemptAtMs, redeliveryOwed };
  if (startsRun) return { ...counted, quickRetriesUsed: 0, runStartedAtMs: data.startedAtMs, durableAttempts: 0 };
  if (data.trigger === 'durable') return { ...counted, durableAttempts: context.durableAttempts + 1 };
  return { ...counted, quickRetriesUsed: context.quickRetriesUsed + 1 };
}

const ANY_ATTEMPT = { guard: 'isNextAttempt', actions: 'foldAttempted' } as const;
const AGAIN = { target: 'pending', actions: 'foldRequested' } as const;

export const webhookDeliveryMachine = setup({
  types: typesOf<DeliveryContext, DeliveryEvent>(),
  guards: {
    isNextAttempt: ({ context, event }: Seen) => attemptOf(event) === context.attempts + 1,
    lastSucceeded: (seen: Seen) => endsLast(seen, false),
    lastFailed: (seen: Seen) => endsLast(seen, true),
    lastBlocked: (seen: Seen) => endsLast(seen, true) && seen.context.last?.failure === 'blocked',
    isNotOwed: ({ context }: Seen) => !context.redeliveryOwed,
  },
  actions: {
    foldScheduled: assign(({ event }) => ({ scheduled: dataOf(event, 'DeliveryScheduled') })),
    foldAttempted: assign(({ context, event }) => foldAttempted(context, dataOf(event, 'DeliveryAttempted'))),
    foldSucceeded: assign(() => ({ nextAttemptAtMs: null, redeliveryOwed: false })),
    foldBlocked: assign(() => ({ nextAttemptAtMs: null })),
    foldRequested: assign(() => ({ redeliveryOwed: true })),
  },
}).createMachine({
  id: 'webhook-delivery',
  initial: 'absent',
  context: initialDeliveryContext,
  states: {
    absent: { on: { DeliveryScheduled: { target: 'pending', actions: 'foldScheduled' } } },
    pending: {
      on: {
        DeliveryAttempted: ANY_ATTEMPT,
        DeliverySucceeded: { guard: 'lastSucceeded', target: 'delivered', actions: 'foldSucceeded' },
        DeliveryExhausted: { guard: 'lastFailed', target: 'exhausted' },
        DeliveryRejected: { guard: 'lastFailed', target: 'rejected' },
        DeliveryBlocked: { guard: 'lastBlocked', target: 'blocked', actions: 'foldBlocked' },
        RedeliveryRequested: { guard: 'isNotOwed', actions: 'foldRequested' },
      },
    },
    // An attempt that was already running when another node settled the delivery is still recorded.
    delivered: { on: { DeliveryAttempted: ANY_ATTEMPT, RedeliveryRequested: AGAIN } },
    exhausted: {
      on: {
        DeliveryAttempted: ANY_ATTEMPT,
        DeliverySucceeded: { guard: 'lastSucceeded', target: 'delivered', actions: 'foldSucceeded' },
        DeliveryBlocked: { guard: 'lastBlocked', target: 'blocked', actions: 'foldBlocked' },
        RedeliveryRequested: AGAIN,
      },
    },
    rejected: {
      on: {
        DeliveryAttempted: ANY_ATTEMPT,
        DeliverySucceeded: { guard: 'lastSucceeded', target: 'delivered', actions: 'foldSucceeded' },
        DeliveryBlocked: { guard: 'lastBlocked', target: 'blocked', actions: 'foldBlocked' },
        RedeliveryRequested: AGAIN,
      },
    },
    blocked: {
      on: {
        DeliveryAttempted: ANY_ATTEMPT,
        DeliverySucceeded: { guard: 'lastSucceeded', target: 'delivered', actions: 'foldSucceeded' },
        RedeliveryRequested: AGAIN,
      },
    },
  },
});
