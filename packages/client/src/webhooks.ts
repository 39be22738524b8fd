import { verifySignature } from './signing.ts';
import type * as wire from './wire.ts';

export type WebhookEvent = wire.WebhookEvent;
export type PaymentEvent = wire.PaymentEvent;
/** What happens to a payment apart from its outcome, for endpoints that subscribe to it. */
export type PaymentNoticeEvent = wire.PaymentNoticeEvent;
export type RefundEvent = wire.RefundEvent;

/** Largest accepted difference between the sender's clock and ours (specification, "Delivery request"). */
const TOLERANCE_SEC = 300;
const MAX_BODY_BYTES = 256 * 1024;

export interface WebhookOptions {
  /** The endpoint's webhook secret, or both the old and the new one during a rotation. */
  readonly secret: string | readonly string[];
  /** Prefix of the headers; must match the service's setting (default `X-Service-`). */
  readonly headerPrefix?: string;
  /** Returns Unix seconds; for tests. */
  readonly nowSec?: () => number;
}

/** `Headers`, Node's `request.headers`, or any record of header names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/**
 * Verifies a webhook and returns its event. `body` must be the raw bytes or text as received; parsed and re-serialised
 * JSON fails. Rejects with `WebhookVerificationError` when the signature does not match or the message is older than
 * 300 s.
 *
 * Deduplicate by `event.id` for 7 to 30 days: the same event can arrive more than once.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  options: WebhookOptions,
): Promise<WebhookEvent> {
  if (typeof body !== 'string' && !((body as unknown) instanceof Uint8Array))
    throw new TypeError(
      'verifyWebhook needs the raw body, as text or bytes: this one was parsed, and written again it has another signature',
    );
  const secrets = secretsIn(options);
  const prefix = options.headerPrefix ?? 'X-Service-';
  const timestamp = headerOf(headers, `${prefix}Timestamp`);
  const nonce = headerOf(headers, `${prefix}Nonce`);
  const signatures = ['Signature', 'Signature-Next']
    .map((name) => headerOf(headers, prefix + name))
    .filter((value) => value !== null);
  if (timestamp === null || nonce === null || signatures.length === 0)
    throw new WebhookVerificationError('a signature header is missing');
  const nowSec = options.nowSec?.() ?? Math.floor(Date.now() / 1000);
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowSec - Number(timestamp)) > TOLERANCE_SEC)
    throw new WebhookVerificationError('the timestamp is too far from now');

  let verified = false;
  for (const secret of secrets)
    for (const signature of signatures)
      if (await verifySignature(secret, signature, timestamp, nonce, body)) verified = true;
  if (!verified) throw new WebhookVerificationError('the signature is wrong');
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as WebhookEvent;
}

/** Without a secret anybody could sign. Throws `TypeError`. */
function secretsIn({ secret }: WebhookOptions): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const texts = secrets.filter((one): one is string => typeof one === 'string' && one.trim() !== '');
  if (texts.length === 0 || texts.length < secrets.length)
    throw new TypeError('the webhook secret is missing or empty');
  return texts;
}

function headerOf(headers: WebhookHeaders, name: string): string | null {
  if (typeof headers.get === 'function') return (headers as { get(name: string): string | null }).get(name);
  const wanted = name.toLowerCase();
  const values = Object.entries(headers as Readonly<Record<string, string | readonly string[] | undefined>>).filter(
    ([key, value]) => key.toLowerCase() === wanted && value !== undefined,
  );
  const [first, ...others] = values;
  const value = others.length === 0 ? first?.[1] : null;
  return typeof value === 'string' ? value : null;
}

/** What the handler needs of a request: Node's own, whether or not middleware has read the body. */
export interface NodeRequest extends AsyncIterable<Uint8Array | string> {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
}

export interface NodeResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  end(text: string): unknown;
}

export interface WebhookHandlerOptions {
  /**
   * Called with the reason whenever a request is not answered with 200, for your log. Errors that it throws are
   * ignored.
   */
  readonly onError?: (error: unknown, request: NodeRequest) => void;
}

/**
 * An Express (or plain Node) handler that verifies the webhook, calls `onEvent` and answers 200 when it resolves, 401
 * when the signature is wrong, and 500 when it rejects, so that the service sends the event again. Mount it before
 * `express.json()`, or behind `express.raw({ type: 'application/json' })`.
 *
 * @example
 * app.post('/webhooks', webhookHandler({ secret }, async (event) => {
 *   if (event.type === 'payment.completed') await fulfil(event.data.object.order_id);
 * }));
 */
export function webhookHandler(
  options: WebhookOptions & WebhookHandlerOptions,
  onEvent: (event: WebhookEvent) => Promise<void> | void,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const answer = (response: NodeResponse, status: number, body: object): void => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  // A shop that was set up without its secret does not start.
  secretsIn(options);
  return async (request, response) => {
    try {
      const event = await verifyWebhook(await rawBodyOf(request), request.headers, options);
      await onEvent(event);
      answer(response, 200, { received: true });
    } catch (error) {
      tell(options.onError, error, request);
      if (error instanceof WebhookVerificationError) answer(response, 401, { error: error.message });
      else
        answer(response, 500, {
          error: error instanceof RawBodyMissing ? error.message : 'the event could not be handled',
        });
    }
  };
}

function tell(onError: WebhookHandlerOptions['onError'], error: unknown, request: NodeRequest): void {
  try {
    onError?.(error, request);
  } catch {
    // A failing log must not leave the service without an answer.
  }
}

class RawBodyMissing extends Error {
  override readonly name = 'RawBodyMissing';
}

async function rawBodyOf(request: NodeRequest): Promise<string | Uint8Array> {
  const { body } = request;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body !== undefined && body !== null)
    throw new RawBodyMissing(
      'the body was parsed before it was verified: mount the webhook handler before express.json()',
    );
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
    length += bytes.length;
    if (length > MAX_BODY_BYTES) throw new WebhookVerificationError('the body is too large');
    chunks.push(bytes);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
