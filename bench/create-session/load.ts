import { createHmac, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { percentile } from '../section.ts';

export interface BenchKey {
  readonly apiKey: string;
  readonly secret: string;
}

export interface LoadResult {
  readonly requestsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers by HTTP status. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** The order of the benches: one line item, two return URLs, two metadata keys, about 500 bytes. */
function orderBody(): string {
  return JSON.stringify({
    amount: '10.00',
    currency: 'USD',
    order_id: randomUUID(),
    description: 'Two blue mugs',
    line_items: [
      {
        price_data: { currency: 'USD', unit_amount: '3.50', product_data: { name: 'Mug', description: 'Blue' } },
        quantity: 2,
      },
    ],
    tax_amount: '1.00',
    shipping_amount: '2.00',
    success_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
    metadata: { customer: 'c-1042', channel: 'web' },
  });
}

/** A create request ready for the socket, signed now with a nonce of its own. */
export const signedCreate = (key: BenchKey): Buffer =>
  signedRequest(key, 'POST', '/api/v1/checkout/sessions/create', orderBody());

/** The same for any request; the body of a GET is empty. */
export function signedRequest(key: BenchKey, method: 'GET' | 'POST', path: string, body = ''): Buffer {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = randomUUID();
  const signature = createHmac('sha256', key.secret).update(`${timestamp}.${nonce}.${body}`).digest('hex');
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key.apiKey}\r\n` +
      `X-Service-Timestamp: ${timestamp}\r\nX-Service-Nonce: ${nonce}\r\nX-Service-Signature: ${signature}\r\n` +
      `${body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`,
  );
}

export const helloRequest = (): Buffer => Buffer.from('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');

/** Sends every request once over `connections` kept-alive sockets, one in flight on each, and times the answers. */
export async function load(port: number, requests: readonly Buffer[], connections: number): Promise<LoadResult> {
  const latenciesMs = Array.from({ length: requests.length }, () => 0);
  const statuses: Record<string, number> = {};
  let next = 0;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, () =>
      drive(port, () => {
        const index = next;
        next += 1;
        return index < requests.length
          ? {
              bytes: requests[index]!,
              done: (status, ms) => ((latenciesMs[index] = ms), (statuses[status] = (statuses[status] ?? 0) + 1)),
            }
          : null;
      }),
    ),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const [p50Ms, p99Ms] = [percentile(latenciesMs, 0.5), percentile(latenciesMs, 0.99)];
  return { requestsPerSec: requests.length / seconds, p50Ms, p99Ms, statuses };
}

interface Shot {
  readonly bytes: Buffer;
  readonly done: (status: string, ms: number) => void;
}

function drive(port: number, nextShot: () => Shot | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let shot: Shot | null = null;
    let sentMs = 0;
    let awaited = -1;
    let status = '';
    let head = '';
    const fire = (): void => {
      shot = nextShot();
      if (shot === null) {
        resolve();
        socket.end();
        return;
      }
      awaited = -1;
      head = '';
      sentMs = performance.now();
      socket.write(shot.bytes);
    };
    socket.on('connect', fire);
    socket.on('error', reject);
    socket.on('close', () => (shot === null ? undefined : reject(new Error('the server closed the connection'))));
    socket.on('data', (chunk: Buffer) => {
      if (awaited < 0) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        status = head.slice(9, 12);
        awaited = end + 4 + Number(/content-length: (\d+)/i.exec(head)![1]) - head.length;
      } else awaited -= chunk.length;
      if (awaited > 0) return;
      shot!.done(status, performance.now() - sentMs);
      fire();
    });
  });
}
