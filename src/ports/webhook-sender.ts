import type { AttemptFailure } from '../domain/events/delivery-events.ts';
import type { MerchantId } from '../domain/ids.ts';

/** One POST to a merchant's endpoint. */
export interface WebhookRequest {
  /** Connections are never shared between merchants. */
  readonly merchantId: MerchantId;
  readonly url: string;
  /** Names and values by turns, in the order they are sent. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Counts from 1; spreads attempts over the addresses of a host. */
  readonly attempt: number;
}

/** What came back, unjudged. Never thrown: an endpoint that misbehaves is an answer. */
export interface WebhookAnswer {
  /** Null when no complete head arrived. */
  readonly status: number | null;
  /** Null when a complete head arrived. */
  readonly fault: Extract<
    AttemptFailure,
    'network' | 'dns' | 'tls' | 'timeout' | 'invalid_response' | 'blocked'
  > | null;
  /** Printable ASCII, at most 100 characters; null when there is nothing to say. */
  readonly detail: string | null;
  /** IP address that was used; null when it never came to a connection. */
  readonly address: string | null;
  readonly durationMs: number;
  readonly retryAfter: string | null;
  /** The first 4 KB of the body, as received (never decompressed). */
  readonly body: Uint8Array;
  /** The body was cut: too long, too slow, or the connection broke after the head. */
  readonly incomplete: boolean;
}

/**
 * Carries signed notifications out. Follows no redirect, keeps every bound of the design, answers within its timeout.
 */
export interface WebhookSender {
  send(request: WebhookRequest): Promise<WebhookAnswer>;
  close(): Promise<void>;
}

/** Whether a URL may become a webhook endpoint; `url` is its normal form. */
export type WebhookUrlVetting = (
  url: string,
) => { readonly ok: true; readonly url: string } | { readonly ok: false; readonly reason: string };
