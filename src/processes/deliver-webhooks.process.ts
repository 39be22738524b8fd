import type { DeliveryAttempted } from '../domain/events/delivery-events.ts';
import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { StoredEvent } from '../domain/events/envelope.ts';
import type { MerchantId, NotificationId } from '../domain/ids.ts';
import { isNotifyingType, notificationOf, type NotifyingEvent, type SessionFacts } from '../domain/notifications.ts';
import { deliveryStream } from '../domain/streams.ts';
import type { DeliveryAnswers } from '../ports/delivery-answers.ts';
import type { EndpointDirectory } from '../ports/endpoint-directory.ts';
import type { EventStore, Position, RecordedEvent, Subscription } from '../ports/event-store.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { ReadModel } from '../ports/read-model.ts';
import type { Timers } from '../ports/timers.ts';
import type { WebhookSender } from '../ports/webhook-sender.ts';
import { decodeEvent, UnknownEvent } from '../runtime/codec.ts';
import type { DeliveryHandler } from '../use-cases/webhook-delivery-handler.ts';
import { RETRY_SCHEDULE, type DeliveryState, type RecordAttempt, type RetrySchedule } from '../../state-machines/webhook-delivery.decider.ts';
import { attemptDelivery, recordAttempt, type AttemptDeps } from './deliver-webhooks-attempts.ts';
import { Backlog } from './deliver-webhooks-backlog.ts';
import { DISPATCH_LIMITS, Dispatcher, type DispatchLimits, type DispatchStats } from './deliver-webhooks-dispatcher.ts';
import { healthAfter, healthRow, readHealth, suspensionReason, type Health } from './deliver-webhooks-health.ts';

/** What operators should hear of. */
export type DeliveryAlarm =
  | { readonly kind: 'exhausted' | 'rejected' | 'blocked'; readonly notificationId: NotificationId; readonly merchantId: MerchantId }
  | { readonly kind: 'suspended'; readonly merchantId: MerchantId; readonly endpointId: string; readonly reason: 'only_failures' | 'gone' }
  | { readonly kind: 'parked'; readonly stream: string; readonly revision: number };

export interface DeliveryObserver {
  onAttempt?(attempt: DeliveryAttempted['data'], eventType: string): void;
  onAlarm?(alarm: DeliveryAlarm): void;
}

export interface DeliverWebhooksOptions {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly handler: DeliveryHandler;
  readonly directory: EndpointDirectory;
  readonly sender: WebhookSender;
  readonly answers: DeliveryAnswers;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** Such as `X-Service-`. */
  readonly headerPrefix: string;
  readonly schedule?: RetrySchedule;
  readonly limits?: Partial<DispatchLimits>;
  readonly observer?: DeliveryObserver;
  /** How long `stop` waits for attempts under way; unrecorded ones are repeated after the next start. */
  readonly stopGraceMs?: number;
}

const FLUSH_EVERY_MS = 1_000;
const STOP_GRACE_MS = 5_000;
const ACTOR = 'process:deliver-webhooks';
const MAX_BATCH = 512;
const BEGINNINGS = 5_000;
/** They say nothing that the attempt before them did not. */
const SETTLING: ReadonlySet<string> = new Set(['DeliverySucceeded', 'DeliveryExhausted', 'DeliveryRejected', 'DeliveryBlocked']);

/**
 * Tells merchants what happened: one ordered subscription turns notifying events into scheduled deliveries and takes in
 * what becomes of them. The log is the truth; the checkpoint and the backlog only say where to look after a restart.
 */
export class DeliverWebhooks {
  readonly #options: DeliverWebhooksOptions;
  readonly #attemptDeps: AttemptDeps;
  readonly #backlog: Backlog;
  readonly #dispatcher: Dispatcher;
  readonly #health = new Map<MerchantId, Health>();
  readonly #suspended = new Set<MerchantId>();
  /** Streams of deliveries that this process scheduled and admitted itself, until the subscription brings them back. */
  readonly #admitted = new Set<string>();
  /** How sessions began, as stored: most are told of soon after. */
  readonly #beginnings = new Map<string, RecordedEvent>();
  #subscription: Subscription | null = null;
  #handled: Position | null = null;
  #cancelFlush: (() => void) | null = null;
  #unlisten: () => void = () => {};
  #live = false;
  #stopping = false;

  constructor(options: DeliverWebhooksOptions) {
    this.#options = options;
    this.#backlog = new Backlog(options.readModel, () => this.#armFlush());
    this.#attemptDeps = { ...options, schedule: options.schedule ?? RETRY_SCHEDULE, isStopping: () => this.#stopping };
    this.#dispatcher = new Dispatcher({
      ...options,
      backlog: this.#backlog,
      limits: { ...DISPATCH_LIMITS, ...options.limits },
      attempt: (state, trigger) => attemptDelivery(this.#attemptDeps, state, trigger),
      record: (before, attempt) => this.#record(before, attempt),
      handled: () => this.#handled,
    });
  }

  get stats(): DispatchStats & { readonly lag: number } {
    return { ...this.#dispatcher.stats, lag: this.#subscription?.lag ?? 0 };
  }

  async start(): Promise<void> {
    const { store, directory } = this.#options;
    this.#handled = await this.#backlog.open();
    for (const { merchantId, row } of await this.#backlog.health()) this.#health.set(merchantId, readHealth(row));
    await this.#dispatcher.restore();
    this.#unlisten = directory.onChange((merchantId) => this.#endpointChanged(merchantId));
    this.#subscription = store.subscribe({
      name: 'deliver-webhooks',
      after: this.#handled,
      streamPrefixes: ['session-', 'delivery-'],
      maxBatch: MAX_BATCH,
      onEvents: (events) => this.#onEvents(events),
      onCaughtUp: () => this.#onCaughtUp(),
    });
    this.#dispatcher.start();
  }

  /** Resolves when nothing runs any more and the backlog is written. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unlisten();
    this.#cancelFlush?.();
    await this.#subscription?.close();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.stopGraceMs ?? STOP_GRACE_MS);
    });
    await Promise.race([this.#dispatcher.stop(), grace]);
    clearTimeout(timer);
    await this.#backlog.flush(this.#handled);
  }

  async #record(before: DeliveryState, attempt: RecordAttempt): Promise<DeliveryState> {
    const after = await recordAttempt(this.#attemptDeps, before.context.scheduled!.notificationId, attempt);
    const { observer } = this.#options;
    const { scheduled, last } = after.context;
    if (!observer || !scheduled || !last) return after;
    observer.onAttempt?.(last, scheduled.eventType);
    const { value } = after;
    const isSettledBadly = value === 'exhausted' || value === 'rejected' || value === 'blocked';
    if (isSettledBadly && before.value !== value)
      observer.onAlarm?.({ kind: value, notificationId: scheduled.notificationId, merchantId: scheduled.merchantId });
    return after;
  }

  /** Only now is known how endpoints fared before the last stop. */
  #onCaughtUp(): void {
    if (this.#live || this.#stopping) return;
    this.#live = true;
    for (const [merchantId, health] of this.#health) this.#wasResumed(merchantId, health);
  }

  async #onEvents(events: readonly RecordedEvent[]): Promise<void> {
    await this.#schedule(events);
    for (const recorded of events) this.#takeIn(recorded);
    this.#handled = events.at(-1)!.position;
    if (this.#backlog.isCrowded) await this.#backlog.flush(this.#handled);
    else this.#armFlush();
    this.#dispatcher.pump();
  }

  /** Notifications of one session are scheduled one after another, so that the log keeps their order. */
  async #schedule(events: readonly RecordedEvent[]): Promise<void> {
    const bySession = new Map<string, RecordedEvent[]>();
    for (const recorded of events) {
      if (recorded.type === 'SessionCreated') this.#remember(recorded);
      if (!recorded.stream.startsWith('session-') || !isNotifyingType(recorded.type)) continue;
      const known = bySession.get(recorded.stream);
      if (known) known.push(recorded);
      else bySession.set(recorded.stream, [recorded]);
    }
    await Promise.all([...bySession.values()].map((notifying) => this.#scheduleInOrder(notifying)));
  }

  async #scheduleInOrder(notifying: readonly RecordedEvent[]): Promise<void> {
    for (const recorded of notifying) {
      const stored = this.#decode(recorded);
      if (!stored || !(await this.#scheduleOne(stored))) this.#park(recorded);
    }
  }

  /** False when the event cannot be told: its session does not begin as sessions do. */
  async #scheduleOne(stored: StoredEvent<DomainEvent>): Promise<boolean> {
    const { handler, directory, timers } = this.#options;
    const facts = await this.#factsOf(stored.stream);
    const notificationId = stored.metadata.notificationId as NotificationId | undefined;
    if (!facts || notificationId === undefined) return false;
    const { type: eventType, merchantId, mode, sessionId, body } = notificationOf(notificationId, stored.atMs, stored.event as NotifyingEvent, facts);
    const endpointId = directory.endpointOf(merchantId)?.endpointId ?? '';
    const delivery = { notificationId, merchantId, mode, endpointId, eventType, sessionId, body, scheduledAtMs: timers.nowMs() };
    const stream = deliveryStream(notificationId);
    const context = { correlationId: stored.metadata.correlationId, causationId: stored.id, actor: ACTOR };
    const result = await handler.execute(stream, { type: 'ScheduleDelivery', delivery }, context, { expectNew: true });
    if (result.ok && result.events.length > 0) {
      // Nobody else can have attempted what was not scheduled before: no need to wait for the log to say so.
      this.#admitted.add(stream);
      this.#dispatcher.admit({ id: notificationId, merchantId, sessionId }, result.state, false);
      this.#dispatcher.pump();
    }
    return true;
  }

  async #factsOf(stream: string): Promise<SessionFacts | null> {
    const first = this.#beginnings.get(stream) ?? (await this.#options.store.readStream(stream, { from: 0, limit: 1 }))[0];
    const stored = first && this.#decode(first);
    return stored && stored.event.type === 'SessionCreated' ? stored.event.data : null;
  }

  #remember(beginning: RecordedEvent): void {
    this.#beginnings.set(beginning.stream, beginning);
    if (this.#beginnings.size <= BEGINNINGS) return;
    const [oldest] = this.#beginnings.keys();
    this.#beginnings.delete(oldest!);
  }

  #takeIn(recorded: RecordedEvent): void {
    if (!recorded.stream.startsWith('delivery-')) return;
    if (recorded.type === 'DeliveryScheduled' && this.#admitted.delete(recorded.stream)) return;
    const id = recorded.stream.slice('delivery-'.length) as NotificationId;
    if (recorded.type !== 'DeliveryScheduled' && recorded.type !== 'RedeliveryRequested') this.#dispatcher.touch(id);
    if (SETTLING.has(recorded.type) || (recorded.type === 'DeliveryAttempted' && this.#saysNothingNew(recorded.data))) return;
    const stored = this.#decode(recorded);
    if (!stored) this.#park(recorded);
    else this.#takeInDelivery(id, stored.event);
  }

  #takeInDelivery(id: NotificationId, event: DomainEvent): void {
    switch (event.type) {
      case 'DeliveryScheduled':
        this.#dispatcher.admit({ id, merchantId: event.data.merchantId, sessionId: event.data.sessionId }, null, false);
        break;
      case 'RedeliveryRequested':
        this.#dispatcher.admit({ id, merchantId: event.data.merchantId, sessionId: event.data.sessionId }, null, event.data.bulk);
        break;
      case 'DeliveryAttempted':
        this.#learn(event.data);
        break;
      default:
    }
  }

  /** A success of an endpoint that fares well, told without reading the whole event: inside a JSON text this pattern is a field. */
  #saysNothingNew(data: string): boolean {
    return this.#health.size === 0 && data.includes('"failure":null,');
  }

  #learn(attempt: DeliveryAttempted['data']): void {
    const before = this.#health.get(attempt.merchantId) ?? null;
    const health = healthAfter(before, attempt);
    if (health === before) return;
    if (health) this.#health.set(attempt.merchantId, health);
    else this.#health.delete(attempt.merchantId);
    this.#backlog.putHealth(attempt.merchantId, health && healthRow(health));
    if (health && this.#live && attempt.endpointId !== null) this.#suspendIfDue(attempt.merchantId, attempt.endpointId, health);
  }

  #suspendIfDue(merchantId: MerchantId, endpointId: string, health: Health): void {
    const { directory, timers, log, observer } = this.#options;
    const reason = suspensionReason(health, timers.nowMs());
    const endpoint = directory.endpointOf(merchantId);
    if (reason === null || endpoint?.endpointId !== endpointId || endpoint.suspended || this.#suspended.has(merchantId)) return;
    this.#suspended.add(merchantId);
    observer?.onAlarm?.({ kind: 'suspended', merchantId, endpointId, reason });
    directory.suspend(merchantId, endpointId, reason).catch((error: unknown) => {
      // The next failure tries again.
      this.#suspended.delete(merchantId);
      log.error({ err: error, merchantId, endpointId }, 'a webhook endpoint could not be suspended');
    });
  }

  #endpointChanged(merchantId: MerchantId): void {
    const suspended = this.#options.directory.endpointOf(merchantId)?.suspended === true;
    if (suspended) this.#suspended.add(merchantId);
    else if (this.#suspended.delete(merchantId)) this.#resumed(merchantId);
    else this.#dispatcher.wake(merchantId);
  }

  /** The endpoint may have been resumed while nobody was looking: its history must not suspend it again. */
  #wasResumed(merchantId: MerchantId, health: Health): void {
    const suspended = this.#options.directory.endpointOf(merchantId)?.suspended === true;
    if (suspended) this.#suspended.add(merchantId);
    else if (suspensionReason(health, this.#options.timers.nowMs()) !== null) this.#resumed(merchantId);
  }

  #resumed(merchantId: MerchantId): void {
    this.#health.delete(merchantId);
    this.#backlog.putHealth(merchantId, null);
    this.#dispatcher.resume(merchantId);
  }

  /** Null for an event that this build cannot read. */
  #decode(recorded: RecordedEvent): StoredEvent<DomainEvent> | null {
    try {
      return decodeEvent(recorded);
    } catch (error) {
      if (error instanceof UnknownEvent || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** One event that cannot be told holds up no other. */
  #park(recorded: RecordedEvent): void {
    const { stream, revision, type, position } = recorded;
    this.#backlog.park(position, { stream, revision, type });
    this.#options.log.error({ stream, revision, type }, 'an event that should notify a merchant could not be read and was set aside');
    this.#options.observer?.onAlarm?.({ kind: 'parked', stream, revision });
  }

  /** Writes the checkpoint and the backlog a moment later, so that many events share one write. */
  #armFlush(): void {
    const { timers, log } = this.#options;
    if (this.#cancelFlush || this.#stopping) return;
    this.#cancelFlush = timers.at(timers.nowMs() + FLUSH_EVERY_MS, () => {
      this.#cancelFlush = null;
      this.#backlog.flush(this.#handled).catch((error: unknown) => {
        log.warn({ err: error }, 'the webhook backlog could not be written');
        this.#armFlush();
      });
    });
  }
}
