import type { AttemptFailure } from '../../domain/events/delivery-events.ts';
import { toSec } from '../../ports/clock.ts';
import type { DeliveryBody, DeliveryDetailBody, EventType, WebhookEventBody } from '../schemas/webhook.schema.ts';

/** A webhook delivery as a list shows it. */
export interface DeliverySummary {
  readonly notificationId: string;
  readonly eventType: string;
  readonly sessionId: string;
  readonly status: 'pending' | 'delivered' | 'exhausted' | 'rejected' | 'blocked';
  readonly sample: boolean;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastFailure: AttemptFailure | null;
  readonly nextAttemptAtMs: number | null;
  readonly createdSec: number;
}

export interface DeliveryAttemptView {
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly status: number | null;
  readonly failure: AttemptFailure | null;
  readonly detail: string | null;
  readonly address: string | null;
  readonly nonce: string;
  readonly trigger: 'automatic' | 'durable' | 'manual';
  /** What the receiver answered, as far as it is kept. */
  readonly answer: Uint8Array | null;
}

export interface DeliveryView extends DeliverySummary {
  /** The bytes of every attempt, as text. */
  readonly body: string;
  readonly log: readonly DeliveryAttemptView[];
}

export function presentDelivery(delivery: DeliverySummary): DeliveryBody {
  return {
    id: delivery.notificationId,
    event_type: delivery.eventType as EventType,
    session_id: delivery.sessionId,
    status: delivery.status,
    sample: delivery.sample,
    attempts: delivery.attempts,
    last_status: delivery.lastStatus,
    last_failure: delivery.lastFailure,
    next_attempt_at: delivery.nextAttemptAtMs === null ? null : toSec(delivery.nextAttemptAtMs),
    created: delivery.createdSec,
  };
}

export function presentDeliveryDetail(delivery: DeliveryView): DeliveryDetailBody {
  return { ...presentDelivery(delivery), event: presentEvent(delivery.body), log: delivery.log.map(presentAttempt) };
}

/** An event exactly as it was sent. */
export const presentEvent = (body: string): WebhookEventBody => JSON.parse(body) as WebhookEventBody;

function presentAttempt(attempt: DeliveryAttemptView): DeliveryDetailBody['log'][number] {
  return {
    attempt: attempt.attempt,
    started_at: toSec(attempt.startedAtMs),
    duration_ms: attempt.durationMs,
    status: attempt.status,
    failure: attempt.failure,
    detail: attempt.detail,
    address: attempt.address,
    nonce: attempt.nonce,
    trigger: attempt.trigger,
    // A receiver's answer is foreign bytes: text that cannot be decoded shows replacement characters, never breaks the JSON.
    answer: attempt.answer === null ? null : new TextDecoder().decode(attempt.answer),
  };
}
