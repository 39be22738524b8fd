import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode } from '../../../src/domain/errors.ts';
import type { SandboxApi } from '../../../src/http/routes/sandbox.routes.ts';
import { newKey, startTestServer, type TestKey, type TestServer } from '../../support/http-api.ts';

/* Every error code on demand, so that a shop can test what it does about each. */

const sandbox: SandboxApi = {
  pay: () => Promise.reject(new Error('not asked')),
  advance: () => Promise.reject(new Error('not asked')),
};
const ORDER = { amount: '10.00', currency: 'USD', order_id: 'ordered' };

let service: TestServer;
let production: TestServer;
beforeAll(async () => {
  [service, production] = await Promise.all([startTestServer({ sandbox }), startTestServer()]);
});
afterAll(() => Promise.all([service.close(), production.close()]));

const ordered = (code: string, at = service, key: TestKey = at.key) =>
  at.call('POST', '/api/v1/checkout/sessions/create', ORDER, { key, headers: { 'Quittance-Sandbox-Error': code } });

describe('an ordered error', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])(
    '%s comes as it would come by itself, and nothing is done',
    async (code) => {
      const { status, json, headers } = await ordered(code);
      expect(status).toBe(ERRORS[code].status);
      expect(json.error).toMatchObject({
        code,
        request_id: headers.get('X-Request-Id'),
        doc_url: expect.stringContaining(`#${code}`) as string,
      });
      expect(headers.get('Retry-After')).toBe(status === 429 || status === 503 ? '1' : null);
      expect(service.api.sessions.size).toBe(0);
    },
  );

  it('must be a known code, and has no effect without a key', async () => {
    expect((await ordered('teapot')).json.error).toMatchObject({
      code: 'invalid_request',
      param: 'Quittance-Sandbox-Error',
    });
    const { status } = await ordered('rate_limited', service, { ...service.key, secret: 'wrong' });
    expect(status).toBe(401);
  });

  it('is not heard with keys of the live mode, nor outside a sandbox', async () => {
    expect((await ordered('rate_limited', service, service.keys.add(newKey('gamma', 'live')))).status).toBe(200);
    expect((await ordered('rate_limited', production)).status).toBe(200);
  });
});
