import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  readonly body: {
    readonly id: string;
    readonly type: string;
    readonly created_at: number;
    readonly data: { readonly object: Record<string, unknown> };
  };
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  close(): Promise<void>;
}

/** A merchant's endpoint that keeps what it gets and answers 200. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      received.push({
        headers: request.headers,
        raw,
        body: JSON.parse(raw.toString('utf8')) as ReceivedWebhook['body'],
      });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"received":true}');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/** The specification's signature over the raw bytes, computed here from scratch. */
export function signatureOf(webhook: ReceivedWebhook, secret: string): string {
  const prefix = Buffer.from(
    `${webhook.headers['x-service-timestamp'] as string}.${webhook.headers['x-service-nonce'] as string}.`,
  );
  return createHmac('sha256', secret)
    .update(Buffer.concat([prefix, webhook.raw]))
    .digest('hex');
}
