import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { SqliteDeliveryAnswers } from '../../src/adapters/sqlite/delivery-answers.ts';
import { openSqliteReadModel } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { HttpWebhookSender, type HttpWebhookSenderOptions } from '../../src/adapters/webhook-http/sender.ts';
import type { DeliveryEvent } from '../../src/domain/events/delivery-events.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import { base32, type MerchantId, type NotificationId, type SessionId } from '../../src/domain/values/ids.ts';
import { isNoticedType, isNotifyingType } from '../../src/domain/notifications/notifications.ts';
import { queueOfEndpoint, type QueueId } from '../../src/domain/notifications/delivery-ids.ts';
import { OUTCOME_TYPES, type OptionalType } from '../../src/domain/notifications/types.ts';
import { deliveryStream, sessionStream } from '../../src/domain/values/streams.ts';
import type { EndpointDirectory, Subscription, WebhookEndpoint } from '../../src/ports/webhooks/endpoint-directory.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { silentLog } from '../../src/ports/log.ts';
import type { ReadModel } from '../../src/ports/read-model/read-model.ts';
import { systemTimers, type Timers } from '../../src/ports/timers.ts';
import type { WebhookSender } from '../../src/ports/webhooks/sender.ts';
import {
  DeliverWebhooks,
  type DeliveryAlarm,
  type DeliverWebhooksOptions,
} from '../../src/features/webhooks/deliver.process.ts';
import { decodeEvent, encodeEvent } from '../../src/runtime/commands/codec.ts';
import { NotificationIds } from '../../src/runtime/commands/notification-ids.ts';
import { createDeliveryHandler, type DeliveryHandler } from '../../src/features/shared/handlers/delivery-handler.ts';
import { createdFacts } from './session-facts.ts';

export const WEBHOOK_SECRET = 'whsec_of_the_test_merchant';

/** Endpoints as tests set them. */
export class TestDirectory implements EndpointDirectory {
  readonly endpoints = new Map<QueueId, WebhookEndpoint>();
  readonly optional = new Map<MerchantId, ReadonlySet<OptionalType>>();
  readonly further = new Map<MerchantId, readonly (Subscription & { readonly furtherEndpointId: string })[]>();
  readonly #listeners = new Set<(queue: QueueId) => void>();

  set(queue: QueueId, url: string, change: Partial<WebhookEndpoint> = {}): void {
    const secret = createSecretKey(Buffer.from(WEBHOOK_SECRET));
    this.endpoints.set(queue, {
      endpointId: `we_${queue.replace('/', '_')}`,
      url,
      secret,
      nextSecret: null,
      durableRedelivery: false,
      standardWebhooks: false,
      suspended: false,
      ...change,
    });
    this.#changed(queue);
  }

  /** A further endpoint, told what the subscription names. */
  add(merchantId: MerchantId, furtherEndpointId: string, url: string, told: Partial<Subscription> = {}): void {
    const subscription = { types: new Set(OUTCOME_TYPES), fields: [], ...told, furtherEndpointId };
    this.further.set(merchantId, [...(this.further.get(merchantId) ?? []), subscription]);
    this.set(queueOfEndpoint(merchantId, furtherEndpointId), url, { endpointId: furtherEndpointId });
  }

  change(queue: QueueId, change: Partial<WebhookEndpoint>): void {
    this.endpoints.set(queue, { ...this.endpoints.get(queue)!, ...change });
    this.#changed(queue);
  }

  remove(queue: QueueId): void {
    this.endpoints.delete(queue);
    this.#changed(queue);
  }

  endpointOf(queue: QueueId): WebhookEndpoint | null {
    return this.endpoints.get(queue) ?? null;
  }

  subscriptionsOf(merchantId: MerchantId): readonly Subscription[] {
    const types = new Set([...OUTCOME_TYPES, ...(this.optional.get(merchantId) ?? [])]);
    return [{ furtherEndpointId: null, types, fields: [] }, ...(this.further.get(merchantId) ?? [])];
  }

  async suspend(_: MerchantId, endpointId: string): Promise<void> {
    const [queue] = [...this.endpoints].find(([, endpoint]) => endpoint.endpointId === endpointId)!;
    this.change(queue, { suspended: true });
  }

  onChange(listener: (queue: QueueId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(queue: QueueId): void {
    for (const listener of this.#listeners) listener(queue);
  }
}

export const merchantId = (number: number): MerchantId =>
  `mer_${base32(Buffer.from(String(number).padStart(12, '0'))).slice(0, 20)}` as MerchantId;
export const sessionId = (number: number): SessionId =>
  `cs_${base32(Buffer.from(String(number).padStart(20, '0'))).slice(0, 32)}` as SessionId;

export interface WorldOptions {
  readonly dataDir?: string;
  readonly timers?: Timers;
  readonly sender?: WebhookSender;
  readonly http?: Partial<HttpWebhookSenderOptions>;
  readonly directory?: TestDirectory;
  readonly process?: Partial<DeliverWebhooksOptions>;
  readonly store?: (store: EventStore) => EventStore;
}

/** The delivery process over the embedded store, with sessions that tests write themselves. */
export class WebhookWorld {
  readonly dataDir: string;
  readonly directory: TestDirectory;
  readonly alarms: DeliveryAlarm[] = [];
  store!: EventStore;
  readModel!: ReadModel;
  answers!: SqliteDeliveryAnswers;
  handler!: DeliveryHandler;
  ids!: NotificationIds;
  process!: DeliverWebhooks;
  readonly #options: WorldOptions;
  readonly #timers: Timers;
  readonly #heads = new Map<string, { revision: number; hash: string }>();
  #sender!: WebhookSender;

  private constructor(options: WorldOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'quittance-webhooks-'));
    this.directory = options.directory ?? new TestDirectory();
  }

  static async open(options: WorldOptions = {}): Promise<WebhookWorld> {
    const world = new WebhookWorld(options);
    await world.#open();
    return world;
  }

  async #open(): Promise<void> {
    const { dataDir } = this;
    const opened = await openSqliteEventStore({ dataDir });
    this.store = this.#options.store?.(opened) ?? opened;
    this.readModel = await openSqliteReadModel({ dataDir });
    this.answers = new SqliteDeliveryAnswers({ dataDir, nowMs: () => this.#timers.nowMs() });
    this.ids = new NotificationIds(this.#timers);
    this.handler = createDeliveryHandler({
      store: this.store,
      clock: this.#timers,
      random: nodeRandom,
      notificationIds: this.ids,
    });
    this.#sender =
      this.#options.sender ?? new HttpWebhookSender({ allowInsecure: true, ownHosts: [], ...this.#options.http });
    this.process = new DeliverWebhooks({
      store: this.store,
      readModel: this.readModel,
      handler: this.handler,
      directory: this.directory,
      sender: this.#sender,
      answers: this.answers,
      timers: this.#timers,
      random: nodeRandom,
      log: silentLog,
      headerPrefix: 'X-Service-',
      observer: { onAlarm: (alarm) => this.alarms.push(alarm) },
      ...this.#options.process,
    });
  }

  /** Appends events to a session's stream as the command side does; gives the ids of its notifications. */
  async tell(session: SessionId, ...events: SessionEvent[]): Promise<NotificationId[]> {
    const stream = sessionStream(session);
    const head = this.#heads.get(stream) ?? { revision: -1, hash: '' };
    const given: NotificationId[] = [];
    let prev = head.hash;
    const encoded = events.map((event, index) => {
      const notificationId = isNotifyingType(event.type) || isNoticedType(event.type) ? this.ids.next() : undefined;
      if (notificationId) given.push(notificationId);
      const metadata = { correlationId: 'test', actor: 'test', prev, ...(notificationId && { notificationId }) };
      const one = encodeEvent({
        id: nodeRandom.uuid(),
        stream,
        revision: head.revision + 1 + index,
        atMs: this.#timers.nowMs(),
        event,
        metadata,
      });
      prev = one.hash;
      return one;
    });
    const expected = head.revision < 0 ? 'no-stream' : head.revision;
    const result = await this.store.append({ stream, expected, events: encoded });
    if (!result.ok) throw new Error('the test wrote against a stale revision');
    this.#heads.set(stream, { revision: result.revision, hash: prev });
    return given;
  }

  /** A session that is created and cancelled at once: the shortest way to a notification. */
  async cancelled(session: number, merchant = 1): Promise<NotificationId> {
    const id = sessionId(session);
    const created: SessionEvent = {
      type: 'SessionCreated',
      data: createdFacts({ sessionId: id, merchantId: merchantId(merchant), orderId: `order-${session}` }),
    };
    const [notification] = await this.tell(id, created, {
      type: 'SessionCancelled',
      data: { cancelledAtSec: 1, coin: 'USDT', received: '0.00', inFlight: false },
    });
    return notification!;
  }

  /** What the log says of a delivery, oldest first. */
  async history(id: NotificationId): Promise<DeliveryEvent[]> {
    return (await this.store.readStream(deliveryStream(id))).map(
      (recorded) => decodeEvent(recorded).event as DeliveryEvent,
    );
  }

  async redeliver(id: NotificationId, bulk = false): Promise<void> {
    const command = { type: 'RequestRedelivery', by: 'test', requestedAtMs: this.#timers.nowMs(), bulk } as const;
    await this.handler.execute(deliveryStream(id), command, { correlationId: id, actor: 'test' });
  }

  /** Ends the process and the files in order; `reopen` starts over on the same data. */
  async close(): Promise<void> {
    await this.process.stop();
    await this.#sender.close();
    await this.answers.close();
    await this.readModel.close();
    await this.store.close();
  }

  async reopen(): Promise<void> {
    await this.close();
    await this.#open();
  }

  async dispose(): Promise<void> {
    await this.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** Waits until the probe gives something else than null, undefined or false. */
export async function until<Value>(
  what: string,
  probe: () => Value | Promise<Value>,
  timeoutMs = 15_000,
): Promise<NonNullable<Value>> {
  const endAt = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== null && value !== undefined && value !== false) return value;
    if (Date.now() > endAt) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
