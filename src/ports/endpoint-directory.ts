import type { KeyObject } from 'node:crypto';
import type { MerchantId } from '../domain/ids.ts';
import type { OptionalType } from '../domain/optional-notifications.ts';

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

/** Where merchants want their notifications, looked up anew at every attempt. */
export interface EndpointDirectory {
  /** Null when the merchant has no endpoint. Never waits: it runs on the path of every attempt. */
  endpointOf(merchantId: MerchantId): WebhookEndpoint | null;
  /** What the merchant is told beside outcomes, with or without an endpoint. Never waits. */
  optionalTypesOf(merchantId: MerchantId): ReadonlySet<OptionalType>;
  /** Writes that the endpoint is suspended; settles when that is durable. Repeating it changes nothing. */
  suspend(merchantId: MerchantId, endpointId: string, reason: 'only_failures' | 'gone'): Promise<void>;
  /** Called when an endpoint was set, removed, suspended or resumed, until the returned function is called. */
  onChange(listener: (merchantId: MerchantId) => void): () => void;
}
