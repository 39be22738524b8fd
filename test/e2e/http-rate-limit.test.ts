import { afterEach, describe, expect, it } from 'vitest';
import { createTokenBucketLimiter } from '../../src/adapters/memory/token-bucket.ts';
import { createClientAddress } from '../../src/runtime/http/client-address.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { foreignRequest } from '../../src/runtime/http/loopback-request.ts';
import { rawRequest } from '../support/raw-http.ts';
import { newKey, startTestServer, type TestServer } from '../support/http-api.ts';

let service: TestServer;
afterEach(() => service.close());

describe('the rate limit', () => {
  it('drives a key into 429 and out again, with the headers that say so', async () => {
    let nowMs = 1_767_225_600_000;
    service = await startTestServer({
      rateLimiter: createTokenBucketLimiter({ ratePerSec: 1, burst: 3 }),
      clock: { nowMs: () => nowMs },
    });
    const call = () => service.call('GET', '/v1/payment/sessions', undefined, { timestamp: nowMs / 1000 });
    const first = await call();
    expect(['limit', 'remaining', 'reset'].map((name) => first.headers.get(`ratelimit-${name}`))).toEqual([
      '3',
      '2',
      '1',
    ]);
    await call();
    await call();
    const refused = await call();
    expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '1',
    ]);
    expect(refused.headers.get('ratelimit-remaining')).toBe('0');
    nowMs += 1000;
    expect((await call()).status).toBe(200);
    expect((await call()).status).toBe(429);
  });

  it('counts only what was authenticated, and each key for itself', async () => {
    service = await startTestServer({ rateLimiter: createTokenBucketLimiter({ ratePerSec: 1e-3, burst: 2 }) });
    for (let i = 0; i < 20; i += 1) await service.call('GET', '/v1/refunds', undefined, { signature: '0'.repeat(64) });
    const other = service.keys.add(newKey('alpha'));
    expect((await service.call('GET', '/v1/refunds')).status).toBe(200);
    expect((await service.call('GET', '/v1/refunds')).status).toBe(200);
    expect((await service.call('GET', '/v1/refunds')).status).toBe(429);
    expect((await service.call('GET', '/v1/refunds', undefined, { key: other })).status).toBe(200);
  });

  it('runs no command and does not spend the nonce when it refuses', async () => {
    service = await startTestServer({ rateLimiter: createTokenBucketLimiter({ ratePerSec: 1e-3, burst: 1 }) });
    const body = { amount: '10.00', currency: 'USD', order_id: 'limited' };
    await service.call('GET', '/v1/refunds');
    expect((await service.call('POST', '/api/v1/checkout/sessions/create', body, { nonce: 'limited' })).status).toBe(
      429,
    );
    expect(service.api.sessions.size).toBe(0);
    expect(service.nonces.settled).toEqual([`${service.key.keyId}/limited`]);
  });
});

describe('the limit on callers without a key', () => {
  const limited = (trustedProxies: number, burst: number) => ({
    addresses: {
      limiter: createTokenBucketLimiter({ ratePerSec: 1e-3, burst }),
      clientAddress: createClientAddress(trustedProxies),
    },
  });
  const guess = (forwarded?: string) =>
    service.call('GET', '/v1/refunds', undefined, {
      signature: '0'.repeat(64),
      ...(forwarded === undefined ? {} : { headers: { 'X-Forwarded-For': forwarded } }),
    });

  it('ends guessing, says when to come back, and lets a valid key of the same address through', async () => {
    service = await startTestServer(limited(0, 3));
    const statuses = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await guess()).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const refused = await guess();
    expect([refused.json.error.code, refused.headers.get('retry-after')]).toEqual(['rate_limited', '1000']);
    expect((await service.call('GET', '/v1/refunds')).status).toBe(200);
  });

  it('counts pages and guesses together, and what leads nowhere, too', async () => {
    service = await startTestServer(limited(0, 3));
    const statuses = [];
    for (const path of ['/docs', '/nothing', '/openapi.json', '/docs'])
      statuses.push((await fetch(service.base + path)).status);
    expect(statuses).toEqual([200, 404, 200, 429]);
    expect((await guess()).status).toBe(429);
  });

  it('is not escaped by a header that nobody trusted writes', async () => {
    service = await startTestServer(limited(0, 2));
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await guess(`10.0.0.${i}`)).status);
    expect(statuses).toEqual([401, 401, 429, 429]);
  });

  it('distinguishes the clients of a trusted proxy, whatever they put in front', async () => {
    service = await startTestServer(limited(1, 2));
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await guess(`10.0.0.${i}, 203.0.113.7`)).status);
    expect(statuses).toEqual([401, 401, 429, 429]);
    expect((await guess('203.0.113.8')).status).toBe(401);
  });
});

describe('a server of the sandbox', () => {
  it('serves nothing to a page whose name was rebound to this machine', async () => {
    service = await startTestServer({}, (app) =>
      createHttpServer(app, { debug: () => {} }, { foreign: ({ headers, method }) => foreignRequest(headers, method) }),
    );
    for (const path of ['/docs', '/v1/refunds', '/pay/cs_1', '/nothing']) {
      const answer = await rawRequest(service.base, [`GET ${path} HTTP/1.1\r\nHost: rebound.example:8080\r\n\r\n`]);
      expect([path, answer.status, JSON.parse(answer.body).error.message]).toEqual([
        path,
        400,
        expect.stringMatching(/^Host/),
      ]);
    }
    expect((await fetch(`${service.base}/docs`)).status).toBe(200);
  });
});
