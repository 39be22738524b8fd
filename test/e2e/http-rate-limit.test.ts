import { afterEach, describe, expect, it } from 'vitest';
import { createTokenBucketLimiter } from '../../src/adapters/memory/token-bucket.ts';
import { newKey, startTestServer, type TestServer } from '../support/http-api.ts';

let service: TestServer;
afterEach(() => service.close());

describe('the rate limit', () => {
  it('drives a key into 429 and out again, with the headers that say so', async () => {
    let nowMs = 1_767_225_600_000;
    service = await startTestServer({ rateLimiter: createTokenBucketLimiter({ ratePerSec: 1, burst: 3 }), clock: { nowMs: () => nowMs } });
    const call = () => service.call('GET', '/v1/payment/sessions', undefined, { timestamp: nowMs / 1000 });
    const first = await call();
    expect(['limit', 'remaining', 'reset'].map((name) => first.headers.get(`ratelimit-${name}`))).toEqual(['3', '2', '1']);
    await call();
    await call();
    const refused = await call();
    expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '1']);
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

  it('runs no command and keeps the nonce when it refuses', async () => {
    service = await startTestServer({ rateLimiter: createTokenBucketLimiter({ ratePerSec: 1e-3, burst: 1 }) });
    const body = { amount: '10.00', currency: 'USD', order_id: 'limited' };
    await service.call('GET', '/v1/refunds');
    expect((await service.call('POST', '/api/v1/checkout/sessions/create', body, { nonce: 'limited' })).status).toBe(429);
    expect(service.api.sessions.size).toBe(0);
    expect(service.nonces.settled).toEqual([`${service.key.keyId}/limited`]);
  });
});
