import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { announce } from '../create-session/announce.ts';

/*
 * Receives webhooks as a merchant does: checks time and signature over the raw bytes, knows duplicates by their id,
 * answers 200.
 */

const FRESH_SEC = 300;
const secrets: Record<string, string> = {};
/** When the notice of each session's payment came first, in milliseconds of the system's clock. */
const paidMs: Record<string, number> = {};
const ids = new Set<string>();
let refused = 0;
let duplicates = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const arrivedMs = Date.now();
    const body = Buffer.concat(chunks);
    const {
      'x-service-timestamp': timestamp,
      'x-service-nonce': nonce,
      'x-service-signature': signature,
    } = request.headers;
    const expected = createHmac('sha256', secrets[request.url!]!)
      .update(`${String(timestamp)}.${String(nonce)}.`)
      .update(body)
      .digest();
    const given = Buffer.from(String(signature), 'hex');
    const fresh = Math.abs(arrivedMs / 1000 - Number(timestamp)) <= FRESH_SEC;
    response.setHeader('content-type', 'application/json');
    if (!fresh || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      refused += 1;
      response.statusCode = 401;
      return void response.end('{"error":"invalid signature"}');
    }
    const { id, type, data } = JSON.parse(body.toString('utf8')) as {
      id: string;
      type: string;
      data: { object: { session_id: string } };
    };
    if (ids.has(id)) duplicates += 1;
    else if (type === 'payment.completed') paidMs[data.object.session_id] = arrivedMs;
    ids.add(id);
    response.end('{"received":true}');
  });
});
server.keepAliveTimeout = 60_000;

export interface Received {
  readonly paidMs: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly duplicates: number;
}

process.on(
  'message',
  (
    message:
      | { readonly secrets: Record<string, string> }
      | { readonly id: number; readonly question: 'count' | 'report' },
  ) => {
    if ('secrets' in message) Object.assign(secrets, message.secrets);
    else
      process.send?.({
        id: message.id,
        answer: message.question === 'count' ? ids.size : ({ paidMs, refused, duplicates } satisfies Received),
      });
  },
);
announce(server.listen(0, '127.0.0.1'));
