import type { KeyObject } from 'node:crypto';
import type { MerchantId } from '../domain/ids.ts';
import type { QueueId } from '../domain/delivery-ids.ts';
import type { NotificationField, NotificationType } from '../domain/notification-types.ts';

/** A merchant's webhook endpoint as it stands now. */
export interface WebhookEndpoint {
  readonly endpointId: string;
  readonly url: string;
  /** HMAC key of the main signature, as the merchant holds it. */
  readonly secret: KeyObject;
  /** An issued secret that is not active yet; from `activatesAtSec` on it signs the main header. */
  readonly nextSecret: { readonly key: KeyObject; readonly activatesAtSec: number } | null;
  readonly durableRedelivery: boolean;
  /** Signed after Standard Webhooks, too. */
  readonly standardWebhooks: boolean;
  /** Events queue while it is suspended. */
  readonly suspended: boolean;
}

/** What an endpoint is told. */
export interface Subscription {
  /** Null for the default endpoint, which is told with or without a URL. */
  readonly furtherEndpointId: string | null;
  readonly types: ReadonlySet<NotificationType>;
  readonly fields: readonly NotificationField[];
}

/** Where merchants want their notifications, looked up anew at every attempt. */
export interface EndpointDirectory {
  /** Null where there is nowhere to send to. Never waits: it runs on the path of every attempt. */
  endpointOf(queue: QueueId): WebhookEndpoint | null;
  /** What the merchant's endpoints are told, the default one first. Never waits. */
  subscriptionsOf(merchantId: MerchantId): readonly Subscription[];
  /** Writes that the endpoint is suspended; settles when that is durable. Repeating it changes nothing. */
  suspend(merchantId: MerchantId, endpointId: string, reason: 'only_failures' | 'gone'): Promise<void>;
  /** Called when an endpoint was set, removed, suspended or resumed, until the returned function is called. */
  onChange(listener: (queue: QueueId) => void): () => void;
}
