import { hash } from 'node:crypto';
import { eventIdOf, queueOf } from '../../domain/notifications/delivery-ids.ts';
import type { DeliveryAttempted } from '../../domain/events/delivery-events.ts';
import type { DeliveryAnswers } from '../../ports/webhooks/delivery-answers.ts';
import type { EndpointDirectory, WebhookEndpoint } from '../../ports/webhooks/endpoint-directory.ts';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import type { Timers } from '../../ports/timers.ts';
import type { WebhookAnswer, WebhookSender } from '../../ports/webhooks/sender.ts';
import { ConcurrencyExhausted } from '../../runtime/commands/handler.ts';
import {
  readRetryAfterMs,
  type DeliveryState,
  type RecordAttempt,
  type RetrySchedule,
} from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import { signedHeaders } from './signing.ts';
import { must } from '../../domain/values/must.ts';

export interface AttemptDeps {
  readonly directory: EndpointDirectory;
  readonly sender: WebhookSender;
  readonly answers: DeliveryAnswers;
  readonly timers: Timers;
  readonly random: Random;
  readonly headerPrefix: string;
  readonly schedule: RetrySchedule;
  /** True once the process is shutting down; an outcome that cannot be stored is then left to the next start. */
  readonly isStopping: () => boolean;
}

const NO_ENDPOINT: WebhookAnswer = {
  status: null,
  fault: null,
  detail: null,
  address: null,
  durationMs: 0,
  retryAfter: null,
  body: new Uint8Array(0),
  incomplete: false,
};
const STORE_RETRY_MS = 250;

/** Makes one attempt of a delivery. Resolves after the answer with the outcome to record. */
export async function attemptDelivery(
  deps: AttemptDeps,
  state: DeliveryState,
  trigger: DeliveryAttempted['data']['trigger'],
): Promise<RecordAttempt> {
  const { timers, directory } = deps;
  const { scheduled, attempts } = state.context;
  if (!scheduled) throw new Error('an attempt of a delivery that was never scheduled');
  const endpoint = directory.endpointOf(queueOf(scheduled));
  const startedAtMs = timers.nowMs();
  const nonce = deps.random.uuid();
  const answer = endpoint ? await post(deps, state, endpoint, startedAtMs, nonce) : NO_ENDPOINT;
  if (answer.body.length > 0)
    deps.answers.keep({
      notificationId: scheduled.notificationId,
      attempt: attempts + 1,
      atMs: startedAtMs,
      body: answer.body,
    });
  return {
    type: 'RecordAttempt',
    delivery: attempts === 0 ? scheduled : null,
    trigger,
    endpointId: endpoint?.endpointId ?? null,
    nonce,
    startedAtMs,
    durationMs: answer.durationMs,
    address: answer.address,
    status: answer.status,
    fault: endpoint ? answer.fault : 'no_endpoint',
    detail: answer.detail,
    answerHash: answer.body.length > 0 ? hash('sha256', answer.body, 'hex') : null,
    answerIncomplete: answer.incomplete,
    retryAfterMs: readRetryAfterMs(answer.retryAfter, timers.nowMs()),
    jitter: fractionOf(nonce),
    durableRedelivery: endpoint?.durableRedelivery ?? false,
    schedule: deps.schedule,
  };
}

function post(
  deps: AttemptDeps,
  state: DeliveryState,
  endpoint: WebhookEndpoint,
  nowMs: number,
  nonce: string,
): Promise<WebhookAnswer> {
  const { notificationId, eventType, body, merchantId } = must(state.context.scheduled);
  const headers = signedHeaders({
    prefix: deps.headerPrefix,
    endpoint,
    eventType,
    eventId: eventIdOf(notificationId),
    body,
    nowMs,
    nonce,
  });
  return deps.sender.send({ merchantId, url: endpoint.url, headers, body, attempt: state.context.attempts + 1 });
}

/**
 * Retries what failed because of an unavailable store or another writer, until it succeeds or the process shuts down.
 */
export async function insistently<Result>(
  deps: Pick<AttemptDeps, 'timers' | 'isStopping'>,
  action: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      const passing = error instanceof StoreUnavailable || error instanceof ConcurrencyExhausted;
      if (!passing || deps.isStopping()) throw error;
      await new Promise<void>((resolve) => deps.timers.at(deps.timers.nowMs() + STORE_RETRY_MS, resolve));
    }
  }
}

/** The nonce is already random; its last digits serve as jitter. */
const fractionOf = (nonce: string): number => Number.parseInt(nonce.slice(-4), 16) / 0xffff || 0;
