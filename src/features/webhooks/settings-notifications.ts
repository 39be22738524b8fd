import { deliveryIdOf } from '../../domain/notifications/delivery-ids.ts';
import { isOfMerchant } from '../../domain/events/of-streams.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import { settingsBody } from '../../domain/notifications/settings-notices.ts';
import { type Clock, toSec } from '../../ports/clock.ts';
import type { EndpointDirectory } from '../../ports/webhooks/endpoint-directory.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { SETTINGS_EVENTS, settingsNoticeOf } from '../../../state-machines/merchant/notices.ts';
import { merchantTable } from '../shared/handlers/merchant-handler.ts';
import { decodeOrNull } from './decode.ts';
import type { PendingNotification, Reading } from './pending-notification.ts';

const ACTOR = 'process:deliver-webhooks';

export const isOfSettings = ({ stream, type }: Pick<RecordedEvent, 'stream' | 'type'>): boolean =>
  stream.startsWith('merchant-') && SETTINGS_EVENTS.has(type);

/** Turns changes of a merchant's settings into notifications, based on the merchant at the time of the commit. */
export class SettingsNotifications {
  readonly #store: Pick<EventStore, 'readStream'>;
  readonly #directory: Pick<EndpointDirectory, 'endpointOf'>;
  readonly #clock: Clock;

  constructor(deps: {
    readonly store: Pick<EventStore, 'readStream'>;
    readonly directory: Pick<EndpointDirectory, 'endpointOf'>;
    readonly timers: Clock;
  }) {
    this.#store = deps.store;
    this.#directory = deps.directory;
    this.#clock = deps.timers;
  }

  async read({ stream, revision }: RecordedEvent): Promise<Reading> {
    const history = (await this.#store.readStream(stream, { from: 0, limit: revision + 1 })).map(decodeOrNull);
    const readable = history.filter((one) => one !== null && isOfMerchant(one));
    const stored = readable.at(-1);
    if (!stored || readable.length <= revision) return 'unreadable';
    const before = merchantTable.replay(readable.slice(0, -1).map(({ event }) => event)).context;
    const { atMs, metadata, event } = stored;
    const addressed = settingsNoticeOf(event, before, { atSec: toSec(atMs), actor: metadata.actor });
    if (!addressed) return [];
    const eventId = metadata.notificationId;
    if (eventId === undefined || !before.registered) return 'unreadable';
    const { merchantId, mode } = before.registered;
    const { notice, formerDefault, further } = addressed;
    const pending = (id: NotificationId, endpointId: string): PendingNotification => ({
      delivery: {
        ...{ notificationId: id, merchantId, mode, endpointId, eventType: notice.type },
        ...{ sessionId: merchantId, body: settingsBody(eventId, atMs, notice), scheduledAtMs: this.#clock.nowMs() },
      },
      context: { correlationId: metadata.correlationId, causationId: stored.id, actor: ACTOR },
    });
    return [
      pending(eventId, formerDefault ?? this.#directory.endpointOf(merchantId)?.endpointId ?? ''),
      ...further.map((endpointId) => pending(deliveryIdOf(eventId, endpointId), endpointId)),
    ];
  }
}
