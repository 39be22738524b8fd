import type { DeliveryAttempted, DeliveryScheduled } from '../../domain/events/delivery-events.ts';
import { merchantOf, queueOf } from '../../domain/notifications/delivery-ids.ts';
import type { MerchantId, NotificationId } from '../../domain/values/ids.ts';
import type { DeliveryAnswers } from '../../ports/webhooks/delivery-answers.ts';
import { deliveryOfStream, deliveryStream } from '../../domain/values/streams.ts';
import type { EndpointDirectory } from '../../ports/webhooks/endpoint-directory.ts';
import type { EventStore, Position, RecordedEvent, Subscription } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { Timers } from '../../ports/timers.ts';
import type { WebhookSender } from '../../ports/webhooks/sender.ts';
import type { DeliveryHandler } from '../shared/handlers/delivery-handler.ts';
import {
  RETRY_SCHEDULE,
  type DeliveryState,
  type RecordAttempt,
  type RetrySchedule,
} from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import { attemptDelivery, type AttemptDeps } from './attempts.ts';
import { Backlog } from './backlog.ts';
import { DISPATCH_LIMITS, type DispatchLimits } from './dispatch-limits.ts';
import { Dispatcher } from './dispatcher.ts';
import type { DispatchStats } from './dispatch-stats.ts';
import { EndpointWatch } from './endpoints.ts';
import { decodeOrNull } from './decode.ts';
import { isNotifying, NotificationReader } from './notifications.ts';
import type { PendingNotification } from './pending-notification.ts';
import { Scheduling } from './scheduling.ts';
import { takeOver, type TakeOver } from './take-over.ts';
import { WAITING_LIMITS, WaitingForEndpoint, type WaitingLimits } from './waiting.ts';
import { must } from '../../domain/values/must.ts';
import { within } from '../../runtime/util/within.ts';

/** Events for operators. */
export type DeliveryAlarm =
  | {
      readonly kind: 'exhausted' | 'rejected' | 'blocked';
      readonly notificationId: NotificationId;
      readonly merchantId: MerchantId;
    }
  | {
      readonly kind: 'suspended';
      readonly merchantId: MerchantId;
      readonly endpointId: string;
      readonly reason: 'only_failures' | 'gone';
    }
  | { readonly kind: 'parked'; readonly stream: string; readonly revision: number };

export interface DeliveryObserver {
  onAttempt?(attempt: DeliveryAttempted['data'], delivery: Pick<DeliveryScheduled['data'], 'eventType' | 'mode'>): void;
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
  /** For example `X-Service-`. */
  readonly headerPrefix: string;
  readonly schedule?: RetrySchedule;
  readonly limits?: Partial<DispatchLimits>;
  readonly waiting?: WaitingLimits;
  readonly observer?: DeliveryObserver;
  /** How long `stop` waits for running attempts. Unrecorded ones are repeated after the next start. */
  readonly stopGraceMs?: number;
  /** Present if several processes may deliver. */
  readonly takeOver?: TakeOver;
}

const FLUSH_EVERY_MS = 1_000;
const STOP_GRACE_MS = 5_000;
/** Small, so that data in memory is short-lived. */
const MAX_BATCH = 64;
/** Unreadable events that the log names one by one when a process reads the event log after its start. */
const NAMED_AT_START = 5;
/** Events that add nothing to the attempt before them. */
const SETTLING: ReadonlySet<string> = new Set([
  'DeliverySucceeded',
  'DeliveryExhausted',
  'DeliveryRejected',
  'DeliveryBlocked',
]);

/**
 * Notifies merchants: one ordered subscription turns events into deliveries and tracks their outcome. The event log is
 * authoritative; checkpoint and backlog only tell where to resume after a restart.
 */
export class DeliverWebhooks {
  readonly #options: DeliverWebhooksOptions;
  readonly #backlog: Backlog;
  readonly #reader: NotificationReader;
  readonly #dispatcher: Dispatcher;
  readonly #endpoints: EndpointWatch;
  readonly #waiting: WaitingForEndpoint;
  /** Deliveries admitted by this process, until the subscription returns them. */
  readonly #admitted = new Set<NotificationId>();
  #scheduling: Scheduling;
  #subscription: Subscription | null = null;
  #cancelFlush: (() => void) | null = null;
  #live = false;
  /** Events set aside by this process. */
  #parked = 0;
  #stopping = false;

  constructor(options: DeliverWebhooksOptions) {
    this.#options = options;
    this.#backlog = new Backlog(options.readModel, () => this.#armFlush());
    this.#reader = new NotificationReader(options);
    this.#scheduling = this.#schedulingFrom(null);
    const attemptDeps: AttemptDeps = {
      ...options,
      schedule: options.schedule ?? RETRY_SCHEDULE,
      isStopping: () => this.#stopping,
    };
    const work = {
      ...options,
      backlog: this.#backlog,
      attempt: (state: DeliveryState, trigger: RecordAttempt['trigger']) =>
        attemptDelivery(attemptDeps, state, trigger),
      record: (before: DeliveryState, attempt: RecordAttempt) => this.#record(before, attempt),
      handled: () => this.#scheduling.handled,
    };
    const limits = { ...DISPATCH_LIMITS, ...options.limits };
    this.#dispatcher = new Dispatcher({ ...work, limits, stateOf: (id) => this.#scheduling.stateOf(id) });
    this.#waiting = new WaitingForEndpoint({
      ...work,
      limits: options.waiting ?? WAITING_LIMITS,
      read: (id) => options.handler.read(deliveryStream(id)),
    });
    this.#endpoints = new EndpointWatch({
      ...options,
      backlog: this.#backlog,
      onSuspended: (queue, endpointId, reason) =>
        options.observer?.onAlarm?.({ kind: 'suspended', merchantId: merchantOf(queue), endpointId, reason }),
      onResumed: (queue) => this.#dispatcher.resume(queue),
      onChanged: (queue) => this.#dispatcher.wake(queue),
    });
  }

  get stats(): DispatchStats & { readonly lag: number; readonly unsettled: number } {
    const stats = this.#dispatcher.stats;
    return {
      ...stats,
      working: stats.working + this.#waiting.working,
      lag: this.#subscription?.lag ?? 0,
      unsettled: this.#scheduling.unsettled,
    };
  }

  async start(): Promise<void> {
    const { takeOver: from, readModel, timers } = this.#options;
    const handled = from
      ? await takeOver(this.#backlog, { from, readModel, nowMs: timers.nowMs() })
      : await this.#backlog.open();
    this.#scheduling = this.#schedulingFrom(handled);
    const queues = await this.#backlog.queues();
    await this.#endpoints.open(queues);
    await this.#dispatcher.restore(queues);
    await this.#tellParked();
    this.#subscription = this.#options.store.subscribe({
      name: 'deliver-webhooks',
      after: handled,
      streamPrefixes: ['session-', 'delivery-', 'merchant-'],
      maxBatch: MAX_BATCH,
      onEvents: (events) => this.#onEvents(events),
      onCaughtUp: () => this.#onCaughtUp(),
    });
    this.#dispatcher.start();
    this.#waiting.start();
  }

  /** Resolves once everything has stopped and the backlog is written. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#endpoints.close();
    this.#cancelFlush?.();
    await this.#subscription?.close();
    const stopped = Promise.all([this.#dispatcher.stop(), this.#waiting.stop()]);
    await within(this.#options.stopGraceMs ?? STOP_GRACE_MS, stopped, () => undefined);
    // A process that resumes from the checkpoint finds in the event log what could not be written here.
    await this.#backlog.flush(this.#scheduling.handled).catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'the webhook backlog could not be written at the end');
    });
  }

  #schedulingFrom(handled: Position | null): Scheduling {
    const { handler, timers, log } = this.#options;
    const admit = ({ delivery }: PendingNotification, state: DeliveryState): void => {
      this.#admitted.add(delivery.notificationId);
      this.#admit(delivery.notificationId, delivery, state, false);
    };
    const isPrompt = ({ delivery }: PendingNotification): boolean => this.#dispatcher.isPrompt(queueOf(delivery));
    return new Scheduling(
      { handler, timers, log, isPrompt, admit, isStopping: () => this.#stopping, onMoved: () => this.#armFlush() },
      handled,
    );
  }

  #admit(
    id: NotificationId,
    { merchantId, endpointId, sessionId }: Pick<DeliveryScheduled['data'], 'merchantId' | 'endpointId' | 'sessionId'>,
    state: DeliveryState | null,
    paced: boolean,
  ): void {
    const queue = queueOf({ merchantId, notificationId: id, endpointId });
    this.#endpoints.noteWork(queue);
    this.#dispatcher.admit({ id, queue, sessionId }, state, paced);
  }

  async #record(before: DeliveryState, attempt: RecordAttempt): Promise<DeliveryState> {
    const after = await this.#scheduling.record(must(before.context.scheduled).notificationId, attempt);
    const { observer } = this.#options;
    const { scheduled, last } = after.context;
    if (!observer || !scheduled || !last) return after;
    observer.onAttempt?.(last, scheduled);
    const { value } = after;
    const isSettledBadly = value === 'exhausted' || value === 'rejected' || value === 'blocked';
    if (isSettledBadly && before.value !== value)
      observer.onAlarm?.({ kind: value, notificationId: scheduled.notificationId, merchantId: scheduled.merchantId });
    return after;
  }

  #onCaughtUp(): void {
    if (this.#stopping) return;
    if (!this.#live && this.#parked > NAMED_AT_START)
      this.#options.log.error(
        { events: this.#parked, named: NAMED_AT_START },
        'events that should notify merchants could not be read and were set aside; the log names the first',
      );
    this.#live = true;
    this.#endpoints.goLive();
  }

  async #onEvents(events: readonly RecordedEvent[]): Promise<void> {
    for (const recorded of events) if (recorded.type === 'SessionCreated') this.#reader.remember(recorded);
    const notifying = events.filter(isNotifying);
    await this.#reader.recall(notifying);
    const read = notifying.map((recorded) => this.#reader.read(recorded));
    const notifications = read.flatMap((one) => (one === 'unreadable' ? [] : one));
    const { position } = must(events.at(-1));
    if (!this.#live) await this.#scheduling.catchUp(notifications, position);
    // Nothing fails from here on, so the batch is not redelivered.
    read.forEach((one, index) => one === 'unreadable' && this.#park(must(notifying[index])));
    for (const recorded of events) this.#takeIn(recorded);
    if (this.#live) {
      const isRoomAgain = this.#scheduling.tell(notifications, position);
      this.#dispatcher.pump();
      await isRoomAgain;
    }
    this.#dispatcher.pump();
    if (this.#backlog.isCrowded) await this.#flush();
  }

  #takeIn(recorded: RecordedEvent): void {
    const id = deliveryOfStream(recorded.stream);
    if (id === null) return;
    if (recorded.type === 'DeliveryScheduled' && this.#admitted.delete(id)) return;
    if (recorded.type !== 'DeliveryScheduled' && recorded.type !== 'RedeliveryRequested') this.#dispatcher.touch(id);
    if (
      SETTLING.has(recorded.type) ||
      (recorded.type === 'DeliveryAttempted' && this.#endpoints.saysNothingNew(recorded.data))
    )
      return;
    const event = decodeOrNull(recorded)?.event;
    switch (event?.type) {
      case undefined:
        this.#park(recorded);
        break;
      case 'DeliveryScheduled':
        this.#admit(id, event.data, null, false);
        break;
      case 'RedeliveryRequested':
        this.#admit(id, event.data, null, event.data.bulk);
        break;
      case 'DeliveryAttempted':
        this.#endpoints.learn(event.data);
        break;
      default:
    }
  }

  /** An event that cannot be read as a notification does not block the others. */
  #park(recorded: RecordedEvent): void {
    const { stream, revision, type, position } = recorded;
    this.#parked += 1;
    this.#backlog.park(position, { stream, revision, type });
    this.#options.observer?.onAlarm?.({ kind: 'parked', stream, revision });
    // After a downgrade, the first reading can meet tens of thousands of them.
    if (this.#live || this.#parked <= NAMED_AT_START)
      this.#options.log.error(
        { stream, revision, type },
        'an event that should notify a merchant could not be read and was set aside',
      );
  }

  /** Retries events that an earlier build set aside because it could not read them. */
  async #tellParked(): Promise<void> {
    for (const { position, stream, revision } of await this.#backlog.parked()) {
      const [recorded] = await this.#options.store.readStream(stream, { from: revision, limit: 1 });
      if (!recorded || !isNotifying(recorded)) continue;
      await this.#reader.recall([recorded]);
      const notifications = this.#reader.read(recorded);
      if (notifications === 'unreadable') continue;
      for (const one of notifications) await this.#scheduling.retell(one);
      this.#backlog.unpark(position);
    }
  }

  /** Writes checkpoint and backlog a moment later, so that many events share one write. */
  #armFlush(): void {
    const { timers } = this.#options;
    if (this.#cancelFlush || this.#stopping) return;
    this.#cancelFlush = timers.at(timers.nowMs() + FLUSH_EVERY_MS, () => {
      this.#cancelFlush = null;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const { handled } = this.#scheduling;
    try {
      await this.#backlog.flush(handled);
      // A successor must read again what is set aside here.
      if (handled !== null && this.#parked === 0) this.#options.takeOver?.tell(handled);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the webhook backlog could not be written');
      this.#armFlush();
    }
  }
}
