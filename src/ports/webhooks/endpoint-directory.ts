import type { KeyObject } from 'node:crypto';
import type { MerchantId } from '../../domain/values/ids.ts';
import type { QueueId } from '../../domain/notifications/delivery-ids.ts';
import type { NotificationField, WebhookType } from '../../domain/notifications/types.ts';

/** The current state of a merchant's webhook endpoint. */
export interface WebhookEndpoint {
  readonly endpointId: string;
  readonly url: string;
  /** HMAC key of the main signature, as the merchant has it. */
  readonly secret: KeyObject;
  /** An issued secret that is not active yet; from `activatesAtSec` on it signs the main header. */
  readonly nextSecret: { readonly key: KeyObject; readonly activatesAtSec: number } | null;
  readonly durableRedelivery: boolean;
  /** Whether requests are also signed according to Standard Webhooks. */
  readonly standardWebhooks: boolean;
  /** Events queue while it is suspended. */
  readonly suspended: boolean;
}

/** The notifications that an endpoint receives. */
export interface Subscription {
  /** Null for the default endpoint, which is included with or without a URL. */
  readonly furtherEndpointId: string | null;
  readonly types: ReadonlySet<WebhookType>;
  readonly fields: readonly NotificationField[];
}

/** Merchants' endpoints, read again for every attempt. */
export interface EndpointDirectory {
  /** Null if there is no URL. Never waits, because every attempt calls it. */
  endpointOf(queue: QueueId): WebhookEndpoint | null;
  /** The subscriptions of the merchant's endpoints, the default one first. Never waits. */
  subscriptionsOf(merchantId: MerchantId): readonly Subscription[];
  /** Records that the endpoint is suspended; resolves when that is durable. Repeating it changes nothing. */
  suspend(merchantId: MerchantId, endpointId: string, reason: 'only_failures' | 'gone'): Promise<void>;
  /**
   * Calls the listener when an endpoint is set, removed, suspended or resumed. Returns the function that unsubscribes.
   */
  onChange(listener: (queue: QueueId) => void): () => void;
}
