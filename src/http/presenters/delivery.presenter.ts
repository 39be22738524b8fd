import { eventIdOf } from '../../domain/notifications/delivery-ids.ts';
import { toSec } from '../../ports/clock.ts';
import type { DeliveryAttemptView, DeliverySummary, DeliveryView } from '../../features/webhooks/views.ts';
import { isSettingsType, type WebhookType } from '../../domain/notifications/types.ts';
import type { DeliveryBody, DeliveryDetailBody } from '../schemas/webhook.schema.ts';
import type { WebhookEventBody } from '../schemas/event-bodies.schema.ts';

export function presentDelivery(delivery: DeliverySummary): DeliveryBody {
  return {
    id: delivery.notificationId,
    event_id: eventIdOf(delivery.notificationId),
    endpoint_id: delivery.endpointId === '' ? null : delivery.endpointId,
    event_type: delivery.eventType as WebhookType,
    session_id: isSettingsType(delivery.eventType) ? null : delivery.sessionId,
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
    answer: attempt.answer === null ? null : new TextDecoder().decode(attempt.answer),
  };
}
