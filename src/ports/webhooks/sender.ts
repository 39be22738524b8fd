import type { AttemptFailure } from '../../domain/events/delivery-events.ts';
import type { MerchantId } from '../../domain/values/ids.ts';

/** One POST to a merchant's endpoint. */
export interface WebhookRequest {
  /** Connections are never shared between merchants. */
  readonly merchantId: MerchantId;
  readonly url: string;
  /** Alternating names and values, in sending order. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Counts from 1; distributes attempts over the addresses of a host. */
  readonly attempt: number;
}

/** The raw result. Never thrown: a misbehaving endpoint is a result too. */
export interface WebhookAnswer {
  /** Null if no complete head arrived. */
  readonly status: number | null;
  /** Null if a complete head arrived. */
  readonly fault: Extract<
    AttemptFailure,
    'network' | 'dns' | 'tls' | 'timeout' | 'invalid_response' | 'blocked'
  > | null;
  /** Printable ASCII, at most 100 characters; null if there is nothing to report. */
  readonly detail: string | null;
  /** IP address that was used; null if no connection was attempted. */
  readonly address: string | null;
  readonly durationMs: number;
  readonly retryAfter: string | null;
  /** The first 4 KB of the body, as received (never decompressed). */
  readonly body: Uint8Array;
  /** The body was cut: too long, too slow, or the connection broke after the head. */
  readonly incomplete: boolean;
}

/** Sends signed notifications. Follows no redirect, enforces every limit of the design, resolves within its timeout. */
export interface WebhookSender {
  send(request: WebhookRequest): Promise<WebhookAnswer>;
  close(): Promise<void>;
}

/** Whether a URL may become a webhook endpoint; `url` is its normal form. */
export type WebhookUrlVetting = (
  url: string,
) => { readonly ok: true; readonly url: string } | { readonly ok: false; readonly reason: string };
