import { refuse } from '../../domain/values/result.ts';
import type { KeyObject } from 'node:crypto';
import { isOfDelivery } from '../../domain/events/of-streams.ts';
import { parseNotificationId, type NotificationId, type SessionId } from '../../domain/values/ids.ts';
import { sampleNotification } from '../../domain/notifications/samples.ts';
import type { WebhookType } from '../../domain/notifications/types.ts';
import { deliveryIdOf, queueOfEndpoint } from '../../domain/notifications/delivery-ids.ts';
import { deliveryStream, sessionStream } from '../../domain/values/streams.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DeliveryAnswers } from '../../ports/webhooks/delivery-answers.ts';
import type { EndpointDirectory } from '../../ports/webhooks/endpoint-directory.ts';
import { type EventStore, StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import { ConcurrencyExhausted } from '../../runtime/commands/handler.ts';
import type { NotificationIds } from '../../runtime/commands/notification-ids.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import type { DeliveryState } from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import type { Listing } from '../shared/list-page.ts';
import { actorOf, type Caller, type Outcome, type Reader } from '../shared/merchant-api.ts';
import { deliveryTable, type DeliveryHandler } from '../shared/handlers/delivery-handler.ts';
import { feedPage, type FeedPage, type FeedRequest } from './event-feed.ts';
import { WebhookLists, type DeliveryListRequest } from './lists.ts';
import { MAX_REPLAY, rowsToReplay, type ReplayRange } from './replay-range.ts';
import { inertText, type DeliverySummary, type DeliveryView } from './views.ts';
import { must } from '../../domain/values/must.ts';

export interface MerchantWebhooksDeps {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly handler: DeliveryHandler;
  readonly directory: EndpointDirectory;
  readonly answers: DeliveryAnswers;
  readonly notificationIds: NotificationIds;
  readonly clock: Clock;
  readonly idempotency: Idempotency;
  /** Shared by all nodes. */
  readonly cursorKey: KeyObject;
  /** Resolves once what the caller wrote before is listed, or after a bounded wait. */
  readonly servedRows: ServedRows;
}

const notFound: Outcome<never> = refuse('not_found', 'no such delivery');

/** A merchant's view of its webhooks. Anything that is not the caller's is `not_found` or null. */
export class MerchantWebhooks {
  readonly #deps: MerchantWebhooksDeps;
  readonly #lists: WebhookLists;

  constructor(deps: MerchantWebhooksDeps) {
    this.#deps = deps;
    this.#lists = new WebhookLists(deps.readModel, deps.cursorKey);
  }

  /** Newest first. */
  async list(reader: Reader, request: DeliveryListRequest): Promise<Outcome<Listing<DeliverySummary>>> {
    await this.#deps.servedRows();
    return this.#lists.list(reader, request);
  }

  async get(reader: Reader, id: NotificationId): Promise<DeliveryView | null> {
    const recorded = await this.#deps.store.readStream(deliveryStream(id));
    const events = recorded
      .map(decodeEvent)
      .filter(isOfDelivery)
      .map(({ event }) => event);
    const state = deliveryTable.replay(events);
    if (!isOwn(reader, state)) return null;
    const answers = await this.#deps.answers.of(id);
    const log = events.flatMap((event) => {
      if (event.type !== 'DeliveryAttempted') return [];
      const { attempt, startedAtMs, durationMs, status, failure, detail, address, nonce, trigger } = event.data;
      const answer = answers.get(attempt);
      return [
        {
          attempt,
          startedAtMs,
          durationMs,
          status,
          failure,
          detail,
          address,
          nonce,
          trigger,
          answer: answer ? inertText(answer) : null,
        },
      ];
    });
    return { ...summaryOf(state), body: must(state.context.scheduled).body, log };
  }

  /** Sends the same event again, whatever its status. */
  async redeliver(caller: Caller, id: NotificationId): Promise<Outcome<DeliverySummary>> {
    const state = await this.#deps.handler.read(deliveryStream(id));
    if (!state || !isOwn(caller, state)) return notFound;
    return this.#deps.idempotency.once(caller, {
      operation: 'webhook.redeliver',
      requestHash: id,
      // Receivers deduplicate, so an extra attempt is better than a missing one.
      mayRunTwice: true,
      run: async () => {
        const after = await this.#request(caller, id, false);
        return after.ok ? { ok: true, value: summaryOf(after.value) } : after;
      },
    });
  }

  /**
   * Sends every delivery of a time range again, in order, at the pace of a recovering endpoint. Returns their number.
   */
  async replay(caller: Caller, range: ReplayRange): Promise<Outcome<{ readonly requested: number }>> {
    // Before the idempotency key is recorded, so that a caller refused here can retry with it.
    const isServed = await this.#deps.servedRows().then(() => true, isUnavailable);
    if (!isServed) return refuse('service_unavailable', 'the list of deliveries is being rebuilt; try again');
    return this.#deps.idempotency.once(caller, {
      operation: 'webhook.replay',
      requestHash: JSON.stringify([range.fromSec, range.toSec ?? null, range.onlyUndelivered]),
      mayRunTwice: true,
      run: () => this.#replay(caller, range),
    });
  }

  async #replay(caller: Caller, range: ReplayRange): Promise<Outcome<{ readonly requested: number }>> {
    const rows = await rowsToReplay(this.#deps.readModel, caller, range);
    if (rows === null) {
      const message = `more than ${MAX_REPLAY} deliveries; choose a shorter range`;
      return refuse('invalid_request', message, 'created_from');
    }
    // Sequential, because the order of the requests in the event log is the order of the attempts.
    for (const row of rows) await this.#request(caller, row.notificationId, true);
    return { ok: true, value: { requested: rows.length } };
  }

  /** Sends a sample of an event type to one of the caller's endpoints, by default the default one. */
  async sendSample(caller: Caller, type: WebhookType, endpointId?: string): Promise<Outcome<DeliverySummary>> {
    const { directory, notificationIds, clock, handler } = this.#deps;
    const further =
      endpointId === undefined || directory.endpointOf(caller.merchantId)?.endpointId === endpointId
        ? null
        : endpointId;
    const endpoint = directory.endpointOf(queueOfEndpoint(caller.merchantId, further));
    if (!endpoint) {
      const message =
        further === null
          ? 'set a webhook endpoint first'
          : 'endpoint_id must be one of your endpoints that is not disabled';
      return {
        ok: false,
        refusal: { code: 'invalid_request', message, ...(further !== null && { param: 'endpoint_id' }) },
      };
    }
    const named = further === null ? type : `${type} ${further}`;
    const admission = await this.#deps.idempotency.admit(caller, 'webhook.test', named, () => notificationIds.next());
    if (!admission.ok) return admission;
    const eventId = must(parseNotificationId(admission.givenId));
    const id = deliveryIdOf(eventId, further);
    const nowMs = clock.nowMs();
    const { merchantId, mode, sessionId, body } = sampleNotification(type, eventId, caller, nowMs);
    const delivery = {
      notificationId: id,
      merchantId,
      mode,
      endpointId: endpoint.endpointId,
      eventType: type,
      sessionId,
      body,
      scheduledAtMs: nowMs,
      sample: true,
    } as const;
    const result = await handler.execute(
      deliveryStream(id),
      { type: 'ScheduleDelivery', delivery },
      contextOf(caller),
      { expectNew: true },
    );
    return result.ok ? { ok: true, value: summaryOf(result.state) } : result;
  }

  /** The same events to fetch instead of receive, oldest first, exactly as sent. Samples are left out. */
  events(reader: Reader, request: FeedRequest): Promise<Outcome<FeedPage>> {
    return feedPage(this.#deps, reader, request);
  }

  /** One event exactly as it was, or would have been, sent; null if it is not the caller's. */
  async event(reader: Reader, id: NotificationId): Promise<string | null> {
    const [first] = await this.#deps.store.readStream(deliveryStream(id), { from: 0, limit: 1 });
    const event = first && decodeEvent(first).event;
    const isTheirs =
      event?.type === 'DeliveryScheduled' &&
      event.data.merchantId === reader.merchantId &&
      event.data.mode === reader.mode;
    return isTheirs ? event.data.body : null;
  }

  /** The newest notifications of a session's events, sent or not, oldest first. */
  async eventsOf(reader: Reader, id: SessionId, limit: number): Promise<string[]> {
    const recorded = await this.#deps.store.readStream(sessionStream(id));
    const ids = recorded.flatMap((event) => decodeEvent(event).metadata.notificationId ?? []);
    const bodies = await Promise.all(ids.slice(-limit).map((notification) => this.event(reader, notification)));
    return bodies.filter((body) => body !== null);
  }

  async #request(caller: Caller, id: NotificationId, bulk: boolean): Promise<Outcome<DeliveryState>> {
    const command = {
      type: 'RequestRedelivery',
      by: actorOf(caller),
      requestedAtMs: this.#deps.clock.nowMs(),
      bulk,
    } as const;
    try {
      const result = await this.#deps.handler.execute(deliveryStream(id), command, contextOf(caller));
      return result.ok ? { ok: true, value: result.state } : result;
    } catch (error) {
      if (error instanceof ConcurrencyExhausted)
        return refuse('conflict', 'the delivery is being attempted right now; try again');
      throw error;
    }
  }
}

const isOwn = (reader: Reader, { context }: DeliveryState): boolean =>
  context.scheduled?.merchantId === reader.merchantId && context.scheduled.mode === reader.mode;

const contextOf = (caller: Caller) => ({
  correlationId: caller.requestId,
  actor: actorOf(caller),
  ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
});

function summaryOf({ value, context }: DeliveryState): DeliverySummary {
  const { scheduled, attempts, last, nextAttemptAtMs } = context;
  if (!scheduled || value === 'absent') throw new Error('a delivery that was never scheduled has no view');
  return {
    notificationId: scheduled.notificationId,
    eventType: scheduled.eventType,
    sessionId: scheduled.sessionId,
    endpointId: scheduled.endpointId,
    status: value,
    sample: scheduled.sample ?? false,
    attempts,
    lastStatus: last?.status ?? null,
    lastFailure: last?.failure ?? null,
    nextAttemptAtMs,
    createdSec: Math.floor(scheduled.scheduledAtMs / 1000),
  };
}

/** For callers that report an unavailable store in their own words. */
function isUnavailable(error: unknown): false {
  if (!(error instanceof StoreUnavailable)) throw error;
  return false;
}
