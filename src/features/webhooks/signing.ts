import { createHmac, type KeyObject } from 'node:crypto';
import { toSec } from '../../ports/clock.ts';
import type { WebhookEndpoint } from '../../ports/webhooks/endpoint-directory.ts';

export interface SignedHeadersInput {
  /** For example `X-Service-`. */
  readonly prefix: string;
  readonly endpoint: Pick<WebhookEndpoint, 'secret' | 'nextSecret' | 'standardWebhooks'>;
  readonly eventType: string;
  readonly eventId: string;
  readonly body: string;
  readonly nowMs: number;
  /** UUID v4. */
  readonly nonce: string;
}

/**
 * The headers of one attempt (specification, "Delivery request"), alternating names and values. While a new secret is
 * issued but not active, `<prefix>Signature-Next` carries its signature in addition to the main one.
 */
export function signedHeaders({
  prefix,
  endpoint,
  eventType,
  eventId,
  body,
  nowMs,
  nonce,
}: SignedHeadersInput): string[] {
  const nowSec = toSec(nowMs);
  const { main, next } = secretsAt(endpoint, nowSec);
  const timestamp = String(nowSec);
  const headers = [
    'Content-Type',
    'application/json',
    `${prefix}Signature`,
    sign(main, timestamp, nonce, body),
    `${prefix}Timestamp`,
    timestamp,
    `${prefix}Nonce`,
    nonce,
    `${prefix}Event-Type`,
    eventType,
    `${prefix}Event-ID`,
    eventId,
    'User-Agent',
    'Service-Webhook/1.0',
  ];
  if (next) headers.push(`${prefix}Signature-Next`, sign(next, timestamp, nonce, body));
  if (endpoint.standardWebhooks) {
    const signatures = [main, ...(next ? [next] : [])].map(
      (secret) => `v1,${signStandard(secret, eventId, timestamp, body)}`,
    );
    headers.push('webhook-id', eventId, 'webhook-timestamp', timestamp, 'webhook-signature', signatures.join(' '));
  }
  return headers;
}

/** The old secret signs the main header until the new one is activated, by request or automatically. */
function secretsAt(
  { secret, nextSecret }: Pick<WebhookEndpoint, 'secret' | 'nextSecret'>,
  nowSec: number,
): { main: KeyObject; next: KeyObject | null } {
  if (nextSecret === null) return { main: secret, next: null };
  return nowSec >= nextSecret.activatesAtSec
    ? { main: nextSecret.key, next: null }
    : { main: secret, next: nextSecret.key };
}

/** HMAC-SHA256 of `timestamp.nonce.body`, hex (specification, "Delivery request"). */
function sign(secret: KeyObject, timestamp: string, nonce: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${nonce}.${body}`).digest('hex');
}

/** HMAC-SHA256 of `id.timestamp.body`, base64 (Standard Webhooks 1.0.0, "Signature scheme"). */
const signStandard = (secret: KeyObject, id: string, timestamp: string, body: string): string =>
  createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
