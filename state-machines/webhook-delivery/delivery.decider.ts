import type {
  AttemptFailure,
  DeliveryAttempted,
  DeliveryEvent,
  DeliveryScheduled,
} from '../../src/domain/events/delivery-events.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import type { DeliveryContext, DeliveryValue } from './delivery.machine.ts';

export interface DeliveryState {
  readonly value: DeliveryValue;
  readonly context: DeliveryContext;
}

/** Retry delays in milliseconds, counted from the end of the failed attempt. */
export interface RetrySchedule {
  readonly quickDelaysMs: readonly number[];
  /** The last one repeats. */
  readonly durableDelaysMs: readonly number[];
  /** Durable redelivery ends this long after the run began. */
  readonly durableSpanMs: number;
  /** Longest delay that an endpoint can request with `Retry-After`. */
  readonly retryAfterCapMs: number;
  /** Fraction of a delay that jitter may add; it never shortens. */
  readonly jitterShare: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Specification, "Response and retry rules", and design, "webhook retries". */
export const RETRY_SCHEDULE: RetrySchedule = {
  quickDelaysMs: [SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND, 16 * SECOND],
  durableDelaysMs: [5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR],
  durableSpanMs: 72 * HOUR,
  retryAfterCapMs: MINUTE,
  jitterShare: 0.1,
};

/** Why an attempt got no readable status. */
export type TransportFault = Extract<
  AttemptFailure,
  'network' | 'dns' | 'tls' | 'timeout' | 'invalid_response' | 'blocked' | 'no_endpoint'
>;

/** How to continue after an answer. */
export interface Verdict {
  readonly course: 'delivered' | 'retry' | 'reject' | 'block';
  readonly failure: AttemptFailure | null;
}

/** The response table: the only place that interprets answers. */
export function judge(answer: { readonly status: number | null; readonly fault: TransportFault | null }): Verdict {
  const { status, fault } = answer;
  if (fault === 'blocked') return { course: 'block', failure: fault };
  if (fault === 'no_endpoint') return { course: 'reject', failure: fault };
  if (fault !== null) return { course: 'retry', failure: fault };
  if (status === null || status < 200 || status > 599) return { course: 'retry', failure: 'invalid_response' };
  if (status < 300) return { course: 'delivered', failure: null };
  if (status < 400) return { course: 'reject', failure: 'redirect' };
  if (status === 410) return { course: 'reject', failure: 'gone' };
  if (status === 429) return { course: 'retry', failure: 'http_429' };
  if (status < 500) return { course: 'reject', failure: 'http_4xx' };
  return { course: 'retry', failure: 'http_5xx' };
}

export interface ScheduleDelivery {
  readonly type: 'ScheduleDelivery';
  readonly delivery: DeliveryScheduled['data'];
}

export interface RecordAttempt {
  readonly type: 'RecordAttempt';
  /** For a first attempt whose schedule is not recorded yet: both are recorded together. */
  readonly delivery: DeliveryScheduled['data'] | null;
  readonly trigger: DeliveryAttempted['data']['trigger'];
  readonly endpointId: string | null;
  readonly nonce: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly address: string | null;
  readonly status: number | null;
  readonly fault: TransportFault | null;
  readonly detail: string | null;
  readonly answerHash: string | null;
  readonly answerIncomplete: boolean;
  /** The delay requested by the endpoint; 0 if none. */
  readonly retryAfterMs: number;
  /** From 0 to 1: how much of the allowed jitter is added. */
  readonly jitter: number;
  /** Whether the merchant enabled durable redelivery for the endpoint. */
  readonly durableRedelivery: boolean;
  readonly schedule: RetrySchedule;
}

export interface RequestRedelivery {
  readonly type: 'RequestRedelivery';
  readonly by: string;
  readonly requestedAtMs: number;
  /** Part of a bulk request. */
  readonly bulk: boolean;
}

export type DeliveryCommand = ScheduleDelivery | RecordAttempt | RequestRedelivery;

export function decideDelivery(command: DeliveryCommand, state: DeliveryState): Decision<DeliveryEvent> {
  switch (command.type) {
    case 'ScheduleDelivery':
      return state.value === 'absent' ? accept({ type: 'DeliveryScheduled', data: command.delivery }) : accept();
    case 'RecordAttempt':
      return recordAttempt(command, state);
    case 'RequestRedelivery':
      return requestRedelivery(command, state);
  }
}

/** Several requests before the next attempt count as one: no event is sent twice at the same time. */
function requestRedelivery(
  { by, requestedAtMs, bulk }: RequestRedelivery,
  { context }: DeliveryState,
): Decision<DeliveryEvent> {
  if (!context.scheduled) return refuse('not_found', 'no such delivery');
  if (context.redeliveryOwed) return accept();
  const { notificationId, merchantId, endpointId, sessionId } = context.scheduled;
  return accept({
    type: 'RedeliveryRequested',
    data: { notificationId, merchantId, endpointId, sessionId, by, requestedAtMs, bulk },
  });
}

function recordAttempt(command: RecordAttempt, { value, context }: DeliveryState): Decision<DeliveryEvent> {
  if (!context.scheduled) {
    if (!command.delivery) throw new Error('an attempt of a delivery that was never scheduled');
    const outcome = recordAttempt(command, { value: 'pending', context: { ...context, scheduled: command.delivery } });
    return outcome.ok
      ? accept<DeliveryEvent>({ type: 'DeliveryScheduled', data: command.delivery }, ...outcome.events)
      : outcome;
  }
  // The same attempt again: its first recording was stored without the writer learning of it.
  if (context.last?.nonce === command.nonce) return accept();
  const { notificationId, merchantId } = context.scheduled;
  const attempt = context.attempts + 1;
  const verdict = judge(command);
  // An attempt that arrives after the delivery was settled changes no plan.
  const isLate = value !== 'pending' && command.trigger !== 'durable';
  const nextAttemptAtMs = isLate ? context.nextAttemptAtMs : nextAttempt(command, context, verdict);
  const attempted: DeliveryEvent = {
    type: 'DeliveryAttempted',
    data: {
      notificationId,
      merchantId,
      endpointId: command.endpointId,
      attempt,
      nonce: command.nonce,
      startedAtMs: command.startedAtMs,
      durationMs: command.durationMs,
      address: command.address,
      status: command.status,
      failure: verdict.failure,
      detail: command.detail,
      answerIncomplete: command.answerIncomplete,
      answerHash: command.answerHash,
      nextAttemptAtMs,
      trigger: command.trigger,
    },
  };
  if (value === 'delivered') return accept(attempted);
  if (verdict.course === 'delivered')
    return accept<DeliveryEvent>(attempted, { type: 'DeliverySucceeded', data: { notificationId, attempt } });
  const isFollowed = context.redeliveryOwed && command.trigger !== 'manual';
  if (isFollowed) return accept(attempted);
  if (verdict.course === 'block') {
    return value === 'blocked'
      ? accept(attempted)
      : accept<DeliveryEvent>(attempted, { type: 'DeliveryBlocked', data: { notificationId, attempt } });
  }
  if (value !== 'pending') return accept(attempted);
  if (verdict.course === 'reject') {
    return accept<DeliveryEvent>(attempted, {
      type: 'DeliveryRejected',
      data: { notificationId, attempt, failure: verdict.failure ?? 'http_4xx' },
    });
  }
  const exhausted =
    nextAttemptAtMs === null || quickRetriesAfter(command, context) >= command.schedule.quickDelaysMs.length;
  return exhausted
    ? accept<DeliveryEvent>(attempted, { type: 'DeliveryExhausted', data: { notificationId, attempt } })
    : accept(attempted);
}

/** Quick retries of the run, including this attempt. */
function quickRetriesAfter({ trigger }: RecordAttempt, context: DeliveryContext): number {
  if (trigger === 'manual' || context.attempts === 0) return 0;
  return trigger === 'automatic' ? context.quickRetriesUsed + 1 : context.quickRetriesUsed;
}

/** When the next attempt is due; null if none is. */
function nextAttempt(command: RecordAttempt, context: DeliveryContext, verdict: Verdict): number | null {
  if (verdict.course === 'delivered' || verdict.course === 'block') return null;
  const { schedule, trigger } = command;
  const endedAtMs = command.startedAtMs + command.durationMs;
  const quickDelayMs = schedule.quickDelaysMs[quickRetriesAfter(command, context)];
  if (verdict.course === 'retry' && trigger !== 'durable' && quickDelayMs !== undefined)
    return endedAtMs + stretched(quickDelayMs, command);
  if (!command.durableRedelivery || verdict.failure === 'no_endpoint') return null;
  return nextDurableAttempt(command, context, endedAtMs);
}

function nextDurableAttempt(command: RecordAttempt, context: DeliveryContext, endedAtMs: number): number | null {
  const { schedule, trigger } = command;
  const startsRun = trigger === 'manual' || context.attempts === 0;
  const used = trigger === 'durable' ? context.durableAttempts + 1 : 0;
  const delayMs = schedule.durableDelaysMs[Math.min(used, schedule.durableDelaysMs.length - 1)];
  if (delayMs === undefined) return null;
  const dueAtMs = endedAtMs + stretched(delayMs, command);
  const runStartedAtMs = startsRun ? command.startedAtMs : (context.runStartedAtMs ?? command.startedAtMs);
  return dueAtMs <= runStartedAtMs + schedule.durableSpanMs ? dueAtMs : null;
}

/** Jitter and `Retry-After` only lengthen the delay. */
function stretched(delayMs: number, { schedule, jitter, retryAfterMs }: RecordAttempt): number {
  const jittered = delayMs * (1 + schedule.jitterShare * Math.min(Math.max(jitter, 0), 1));
  return Math.ceil(Math.max(jittered, Math.min(retryAfterMs, schedule.retryAfterCapMs)));
}

/** First attempts and redeliveries never wait: the clock may have been set back since they were requested. */
const AT_ONCE_MS = 0;

/** The next attempt of the delivery, when (Unix milliseconds) and why; null if none will become due by itself. */
export function dueAttempt({
  value,
  context,
}: DeliveryState): { readonly trigger: RecordAttempt['trigger']; readonly dueAtMs: number } | null {
  if (!context.scheduled) return null;
  if (context.redeliveryOwed) return { trigger: 'manual', dueAtMs: AT_ONCE_MS };
  if (value === 'pending' && context.attempts === 0) return { trigger: 'automatic', dueAtMs: AT_ONCE_MS };
  if (context.nextAttemptAtMs === null) return null;
  return { trigger: value === 'pending' ? 'automatic' : 'durable', dueAtMs: context.nextAttemptAtMs };
}

const SECONDS = /^\d{1,30}$/;
/**
 * RFC 9110, 5.6.7: senders may only write the first form, recipients must read all three. The last one names no zone
 * and means GMT.
 */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** Reads `Retry-After` as milliseconds from now; 0 if it is absent, invalid or in the past. */
export function readRetryAfterMs(header: string | null, nowMs: number): number {
  if (header === null) return 0;
  if (SECONDS.test(header)) return Number(header) * SECOND;
  const at = readHttpDate(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs);
}

/** Unix milliseconds; NaN for anything else. */
function readHttpDate(text: string): number {
  if (IMF_FIXDATE.test(text) || RFC_850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
