import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { foreignRequest } from '../runtime/http/loopback-request.ts';
import { INBOX_HEADERS, inboxPage } from './webhook-inbox-page.ts';
import type { InboxVerdict, InboxDelivery } from './inbox-delivery.ts';
import { must } from '../domain/values/must.ts';
import { bodyOf } from '../runtime/http/body-of.ts';
import { portOf } from '../runtime/util/port-of.ts';

/*
 * The demo merchant's webhook receiver. It checks signatures with its own code, written from the interface
 * specification alone, so that a mistake in the sender cannot hide here.
 */

export interface WebhookInboxOptions {
  readonly headerPrefix: string;
  /** 0 picks a free port; when the requested one is in use, a free one is used instead. */
  readonly port?: number;
}

export interface WebhookInbox {
  /** The webhook URL for the merchant to register. */
  readonly webhookUrl: string;
  readonly pageUrl: string;
  readonly port: number;
  /** Accepts deliveries signed with this secret from now on, in addition to earlier ones. */
  trust(secret: string): void;
  /** Newest first. */
  deliveries(): readonly InboxDelivery[];
  close(): Promise<void>;
}

const KEPT_DELIVERIES = 200;
const KEPT_BODY_CHARACTERS = 16_384;
const KEPT_EVENT_IDS = 10_000;
const MAX_BODY_BYTES = 1024 * 1024;
/** Specification, "Delivery request": the receiver rejects a difference over five minutes. */
const TOLERANCE_SEC = 300;
const WEBHOOK_PATH = '/webhook';

export async function startWebhookInbox(options: WebhookInboxOptions): Promise<WebhookInbox> {
  const secrets = new Set<string>();
  const deliveries: InboxDelivery[] = [];
  const seenIds = new Set<string>();
  const headerOf = (headers: IncomingHttpHeaders, name: string): string => {
    const value = headers[`${options.headerPrefix}${name}`.toLowerCase()];
    return typeof value === 'string' ? value : '';
  };

  const receive = (headers: IncomingHttpHeaders, body: Buffer): InboxVerdict => {
    const [timestamp, nonce, signature] = [
      headerOf(headers, 'Timestamp'),
      headerOf(headers, 'Nonce'),
      headerOf(headers, 'Signature'),
    ];
    const [eventId, eventType] = [headerOf(headers, 'Event-ID'), headerOf(headers, 'Event-Type')];
    const receivedAtMs = Date.now();
    const verdict = judge({ timestamp, nonce, signature, eventId, eventType }, body, secrets, receivedAtMs);
    const repeated = seenIds.has(eventId);
    if (verdict === 'valid') remember(seenIds, eventId);
    const text = body.toString('utf8').slice(0, KEPT_BODY_CHARACTERS);
    deliveries.unshift({ receivedAtMs, verdict, repeated, eventId, eventType, timestamp, nonce, body: text });
    deliveries.length = Math.min(deliveries.length, KEPT_DELIVERIES);
    return verdict;
  };

  const server = createServer((request, response) => {
    route(request, response, { receive, deliveries }).catch(() => response.destroy());
  });
  const port = await listen(server, options.port ?? 0);
  const origin = `http://127.0.0.1:${port}`;
  return {
    webhookUrl: `${origin}${WEBHOOK_PATH}`,
    pageUrl: `${origin}/`,
    port,
    trust: (secret) => void secrets.add(secret),
    deliveries: () => deliveries,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Routes {
  readonly receive: (headers: IncomingHttpHeaders, body: Buffer) => InboxVerdict;
  readonly deliveries: readonly InboxDelivery[];
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  { receive, deliveries }: Routes,
): Promise<void> {
  const fault = foreignRequest(request.headers, request.method);
  if (fault !== null) return json(response, 400, { error: fault });
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://inbox');
  if (request.method === 'POST' && pathname === WEBHOOK_PATH) {
    const body = await bodyOf(request, MAX_BODY_BYTES);
    if (body === null) return json(response, 413, { error: 'body too large' });
    const verdict = receive(request.headers, body);
    return verdict === 'valid' ? json(response, 200, { received: true }) : json(response, 401, { error: verdict });
  }
  if (request.method !== 'GET') return json(response, 404, { error: 'not found' });
  if (pathname === '/deliveries.json') return json(response, 200, { deliveries });
  if (pathname !== '/') return json(response, 404, { error: 'not found' });
  response.writeHead(200, INBOX_HEADERS).end(inboxPage(deliveries, searchParams.get('open')));
}

function judge(
  {
    timestamp,
    nonce,
    signature,
    eventId,
    eventType,
  }: Record<'timestamp' | 'nonce' | 'signature' | 'eventId' | 'eventType', string>,
  body: Buffer,
  secrets: ReadonlySet<string>,
  nowMs: number,
): InboxVerdict {
  if (!timestamp || !nonce || !signature || !eventId || !eventType) return 'header_missing';
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_SEC)
    return 'timestamp_refused';
  const given = Buffer.from(signature, 'utf8');
  for (const secret of secrets) {
    const hmac = createHmac('sha256', secret);
    hmac.update(`${timestamp}.${nonce}.`);
    hmac.update(body);
    const expected = Buffer.from(hmac.digest('hex'), 'utf8');
    if (given.length === expected.length && timingSafeEqual(given, expected)) return 'valid';
  }
  return 'signature_wrong';
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size > KEPT_EVENT_IDS) ids.delete(must(ids.values().next().value));
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(JSON.stringify(body));
}

async function listen(server: Server, wanted: number): Promise<number> {
  try {
    return await tryToListen(server, wanted);
  } catch (error) {
    if (wanted === 0) throw error;
    return tryToListen(server, 0);
  }
}

function tryToListen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve(portOf(server));
    });
  });
}
