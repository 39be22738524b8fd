import { createSecretKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signedHeaders } from '../../../../src/features/webhooks/signing.ts';
import type { WebhookEndpoint } from '../../../../src/ports/webhooks/endpoint-directory.ts';

/* The message that the libraries of Standard Webhooks test themselves with. */
const SECRET = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const MESSAGE = { eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', nowMs: 1_614_265_330_000, body: '{"test": 2432232314}' };
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

const key = (base64: string) => createSecretKey(Buffer.from(base64, 'base64'));
const headersOf = (change: Partial<WebhookEndpoint>): ReadonlyMap<string, string> => {
  const endpoint = { secret: key(SECRET), nextSecret: null, standardWebhooks: true, ...change } as WebhookEndpoint;
  const flat = signedHeaders({
    prefix: 'X-Service-',
    endpoint,
    eventType: 'payment.completed',
    nonce: 'n',
    ...MESSAGE,
  });
  return new Map(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1]!] as const] : [])));
};

describe('a request that is also signed by Standard Webhooks', () => {
  it('carries id, timestamp and signature as its libraries expect them, in addition to the usual headers', () => {
    const headers = headersOf({});
    expect(headers.get('webhook-id')).toBe(MESSAGE.eventId);
    expect(headers.get('webhook-timestamp')).toBe('1614265330');
    expect(headers.get('webhook-signature')).toBe(SIGNATURE);
    expect(headers.get('X-Service-Signature')).toMatch(/^[0-9a-f]{64}$/);
  });

  it('carries both signatures while a new secret waits, and the new one alone once it signs', () => {
    const other = key('c2VjcmV0LW9mLWFub3RoZXItcGFydHk=');
    const waiting = headersOf({ secret: other, nextSecret: { key: key(SECRET), activatesAtSec: 1_614_265_331 } });
    expect(waiting.get('webhook-signature')?.split(' ')).toEqual([expect.stringMatching(/^v1,/), SIGNATURE]);
    expect(
      headersOf({ secret: other, nextSecret: { key: key(SECRET), activatesAtSec: 1_614_265_330 } }).get(
        'webhook-signature',
      ),
    ).toBe(SIGNATURE);
  });

  it('has none of these headers unless requested', () => {
    expect([...headersOf({ standardWebhooks: false }).keys()].filter((name) => name.startsWith('webhook-'))).toEqual(
      [],
    );
  });
});
