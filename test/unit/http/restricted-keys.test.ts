import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../../src/domain/api-keys.ts';
import type { ActiveRestrictions } from '../../../src/features/shared/merchant-api.ts';
import type { HttpAppOptions } from '../../../src/http/app.ts';
import { createClientAddress } from '../../../src/runtime/http/client-address.ts';
import { parseAddressList } from '../../../src/runtime/http/address-list.ts';
import { newKey, signedHeaders, startTestServer, type TestKey, type TestServer } from '../../support/http-api.ts';

/* Keys that are held back, against the routes that the server really has. */

/** What is behind a route does not matter here: that it was reached does. */
const reached = (): never => {
  throw new Error('reached');
};
const anything: unknown = new Proxy(reached, { get: () => reached });
const ALL_PARTS = {
  settings: anything,
  timeline: anything,
  audit: anything,
  ledger: anything,
  webhooks: anything,
  sandbox: anything,
};

interface Route {
  readonly method: string;
  readonly path: string;
  readonly scope: unknown;
  readonly fieldScopes: Readonly<Record<string, unknown>>;
}

let server: TestServer;
let routes: Route[];

beforeAll(async () => {
  server = await startTestServer({
    ...(ALL_PARTS as unknown as Partial<HttpAppOptions>),
    addresses: {
      limiter: { take: () => ({ allowed: true, limit: 0, remaining: 0, retryAfterSec: 0, resetSec: 0 }) },
      clientAddress: createClientAddress(1),
    },
  });
  const document = (await (await fetch(`${server.base}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
  };
  routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4'),
      scope: operation['x-scope'],
      fieldScopes: (operation['x-field-scopes'] ?? {}) as Route['fieldScopes'],
    })),
  );
});
afterAll(() => server.close());

function keyWith(restrictions: Partial<ActiveRestrictions>): TestKey {
  return server.keys.add(newKey('alpha'), {
    scopes: null,
    allowsAddress: () => true,
    signatureVersion: 1,
    ...restrictions,
  });
}

const only = (...scopes: Scope[]): TestKey => keyWith({ scopes: new Set(scopes) });
const bodyOf = ({ method }: Route): object | undefined => (method === 'GET' ? undefined : {});

/** As a client of version 2 signs; `signed` is what the signature covers instead. */
function headersV2(
  key: TestKey,
  method: string,
  target: string,
  body: string,
  signed: { method?: string; target?: string; nonce?: string } = {},
) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = signed.nonce ?? randomUUID();
  const text = `v2\n${timestamp}\n${nonce}\n${signed.method ?? method}\n${signed.target ?? target}\n${body}`;
  return {
    Authorization: `Bearer ${key.apiKey}`,
    'X-Service-Timestamp': timestamp,
    'X-Service-Nonce': nonce,
    'X-Service-Signature': createHmac('sha256', key.secret).update(text).digest('hex'),
    'X-Service-Signature-Version': '2',
    ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }),
  };
}

async function send(
  method: string,
  target: string,
  headers: Record<string, string>,
): Promise<{ status: number; code: string | undefined }> {
  const response = await fetch(server.base + target, { method, headers });
  const json = (await response.json()) as { error?: { code: string } };
  return { status: response.status, code: json.error?.code };
}

describe('every route', () => {
  it('names a scope that exists, and every scope is used', () => {
    expect(routes.length).toBeGreaterThan(22);
    for (const { method, path, scope, fieldScopes } of routes)
      for (const named of [scope, ...Object.values(fieldScopes)]) expect(SCOPES, `${method} ${path}`).toContain(named);
    expect(new Set(routes.flatMap(({ scope, fieldScopes }) => [scope, ...Object.values(fieldScopes)]))).toEqual(
      new Set(SCOPES),
    );
  });

  it.each(SCOPES)(
    'accepts a key with only %s where that is the scope, and refuses it by name everywhere else',
    async (scope) => {
      const key = only(scope);
      for (const route of routes) {
        const { status, json } = await server.call(route.method, route.path, bodyOf(route), { key });
        const where = `${route.method} ${route.path}`;
        if (route.scope === scope) expect(status, where).not.toBe(403);
        else {
          expect([status, json.error.code], where).toEqual([403, 'insufficient_scope']);
          expect(json.error.message).toBe(`This key lacks the scope ${String(route.scope)}.`);
        }
      }
    },
  );

  it('refuses a key without any scope, whatever the request contains', async () => {
    const key = only();
    for (const route of routes) {
      for (const path of [route.path, `${route.path}?page=1`]) {
        const { status, json } = await server.call(route.method, path, bodyOf(route), {
          key,
          headers: { 'Idempotency-Key': 'k', 'X-HTTP-Method-Override': 'GET' },
        });
        expect([status, json.error.code], `${route.method} ${path}`).toEqual([403, 'insufficient_scope']);
      }
    }
    const head = await server.call('HEAD', '/api/v1/checkout/sessions/cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4', undefined, {
      key,
    });
    expect(head.status).toBe(403);
  });

  it('is open to a key that nothing holds back', async () => {
    for (const route of routes)
      expect((await server.call(route.method, route.path, bodyOf(route))).status).not.toBe(403);
  });

  it('is not reached under another spelling of its path', async () => {
    const key = only('payments:read');
    for (const path of [
      '/v1/refunds/',
      '/V1/refunds',
      '/v1//refunds',
      '/v1/./refunds',
      '/v1/refunds%2f',
      '/v1/%72efunds',
    ]) {
      const { status } = await server.call('POST', path, {}, { key });
      expect([403, 404, 405], path).toContain(status);
    }
  });

  it('requires the scope of each changed field', async () => {
    const change = async (key: TestKey, body: object) =>
      (await server.call('PATCH', '/v1/merchant', body, { key })).json.error;
    const webhooks = only('webhooks:manage');
    const settings = only('settings:manage');
    expect(await change(webhooks, { webhook: { url: null } })).not.toMatchObject({ code: 'insufficient_scope' });
    expect(await change(settings, { tolerance: '1' })).not.toMatchObject({ code: 'insufficient_scope' });
    expect(await change(settings, { webhook: { url: null } })).toMatchObject({
      message: 'This key lacks the scope webhooks:manage.',
    });
    expect(await change(webhooks, { tolerance: '1' })).toMatchObject({
      message: 'This key lacks the scope settings:manage.',
    });
    expect(await change(webhooks, { webhook: { url: null }, domains: [] })).toMatchObject({
      message: 'This key lacks the scope settings:manage.',
    });
    expect(await change(settings, { tolerance: '1', webhook: {} })).toMatchObject({
      message: 'This key lacks the scope webhooks:manage.',
    });
  });
});

describe('a key with a list of addresses', () => {
  const from = (...entries: string[]): TestKey =>
    keyWith({ allowsAddress: (parseAddressList(entries) as { allows: (address: string) => boolean }).allows });
  const called = async (key: TestKey, forwarded?: string) => {
    const { status, json } = await server.call('GET', '/v1/refunds', undefined, {
      key,
      headers: forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded },
    });
    return status === 403 ? json.error.code : status;
  };

  it('is taken from there alone', async () => {
    const key = from('203.0.113.0/24', '2001:db8::/32');
    expect(await called(key, '203.0.113.9')).toBe(200);
    expect(await called(key, '2001:db8::1')).toBe(200);
    expect(await called(key, '198.51.100.1')).toBe('address_not_allowed');
    expect(await called(key)).toBe('address_not_allowed');
  });

  it('does not believe what the client itself says of where it is', async () => {
    const key = from('203.0.113.7');
    for (const forged of [
      '203.0.113.7, 198.51.100.1',
      '203.0.113.7,198.51.100.1',
      '203.0.113.7, not an address',
      ' 203.0.113.7 ,::1',
    ])
      expect(await called(key, forged), forged).toBe('address_not_allowed');
    for (const name of ['Forwarded', 'X-Real-IP', 'True-Client-IP', 'CF-Connecting-IP', 'X-Client-IP'])
      expect(
        (await server.call('GET', '/v1/refunds', undefined, { key, headers: { [name]: 'for=203.0.113.7' } })).status,
        name,
      ).toBe(403);
  });

  it('spends nothing of its owner from elsewhere: neither a nonce nor the rate limit', async () => {
    const key = from('203.0.113.7');
    const nonce = randomUUID();
    await server.call('GET', '/v1/refunds', undefined, { key, nonce, headers: { 'X-Forwarded-For': '198.51.100.1' } });
    expect([...server.nonces.burnt.keys()].some((name) => name.endsWith(nonce))).toBe(false);
  });

  it('reveals nothing of the list without a valid signature', async () => {
    const { status, json } = await server.call('GET', '/v1/refunds', undefined, {
      key: from('203.0.113.7'),
      signature: '0'.repeat(64),
    });
    expect([status, json.error.code]).toEqual([401, 'authentication_failed']);
  });
});

describe('a list of addresses', () => {
  const allows = (entries: string[], address: string): boolean => {
    const list = parseAddressList(entries);
    if ('invalid' in list) throw new Error(list.invalid);
    return list.allows(address);
  };

  it.each([
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['203.0.113.9/30', '203.0.113.11', true],
    ['203.0.113.9/30', '203.0.113.12', false],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['2001:DB8:0::/48', '2001:db8::ffff', true],
    ['2001:db8::/48', '2001:db9::1', false],
    ['::/0', '203.0.113.7', false],
    ['203.0.113.7', '::ffff:203.0.113.7', true],
    ['203.0.113.7', 'unknown', false],
  ])('%s and a caller from %s: %s', (entry, address, expected) => {
    expect(allows([entry], address)).toBe(expected);
  });

  it.each([
    '',
    'localhost',
    '203.0.113',
    '203.0.113.7/33',
    '203.0.113.7/',
    '203.0.113.7/-1',
    '203.0.113.7/08',
    '0xcb.0.113.7',
    '010.0.0.1',
    '::1/129',
    'fe80::1%eth0',
    '::ffff:203.0.113.7',
    '203.0.113.7/24/1',
    '203.0.113.7:80',
  ])('does not take %j', (entry) => {
    expect(parseAddressList(['10.0.0.1', entry])).toEqual({ invalid: entry });
  });
});

describe('a signature of version 2', () => {
  const SESSION = '/api/v1/checkout/sessions/cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4';

  it('is accepted for every key, and covers method, path and query', async () => {
    const key = server.key;
    const target = '/v1/refunds?page_size=5';
    expect(await send('GET', target, headersV2(key, 'GET', target, ''))).toEqual({ status: 200, code: undefined });
    for (const other of [
      { method: 'POST' },
      { target: '/v1/refunds?page_size=6' },
      { target: '/v1/refunds' },
      { target: '/v1/transactions?page_size=5' },
    ])
      expect(await send('GET', target, headersV2(key, 'GET', target, '', other)), JSON.stringify(other)).toEqual({
        status: 401,
        code: 'authentication_failed',
      });
  });

  it('of an unsent GET cancels nothing', async () => {
    const headers = { ...headersV2(server.key, 'GET', SESSION, ''), 'Content-Type': 'application/json' };
    expect(await send('POST', `${SESSION}/cancel`, headers)).toEqual({ status: 401, code: 'authentication_failed' });
  });

  it('cannot be passed off as one of version 1, nor the other way round', async () => {
    const key = server.key;
    const second = headersV2(key, 'GET', '/v1/refunds', '');
    for (const version of [undefined, '1']) {
      const headers: Record<string, string> = { ...second };
      delete headers['X-Service-Signature-Version'];
      if (version) headers['X-Service-Signature-Version'] = version;
      expect(await send('GET', '/v1/refunds', headers)).toEqual({ status: 401, code: 'authentication_failed' });
    }
    expect(await send('GET', '/v1/refunds', { ...signedHeaders(key, ''), 'X-Service-Signature-Version': '2' })).toEqual(
      {
        status: 401,
        code: 'authentication_failed',
      },
    );
  });

  it('and one of version 1 share their nonces: none is taken again under the other', async () => {
    const key = server.key;
    for (const [first, again] of [
      ['v1', 'v2'],
      ['v2', 'v1'],
      ['v2', 'v2'],
    ] as const) {
      const nonce = randomUUID();
      const headers = (version: 'v1' | 'v2') =>
        version === 'v1' ? signedHeaders(key, '', { nonce }) : headersV2(key, 'GET', '/v1/refunds', '', { nonce });
      expect((await send('GET', '/v1/refunds', headers(first))).status).toBe(200);
      expect(await send('GET', '/v1/refunds', headers(again))).toEqual({ status: 401, code: 'authentication_failed' });
    }
  });

  it('is all that a key takes that requires it: version 1 is refused by name, to its owner only', async () => {
    const key = keyWith({ signatureVersion: 2 });
    expect(await send('GET', '/v1/refunds', headersV2(key, 'GET', '/v1/refunds', ''))).toEqual({
      status: 200,
      code: undefined,
    });
    for (const version of [{}, { 'X-Service-Signature-Version': '1' }] as Record<string, string>[])
      expect(await send('GET', '/v1/refunds', { ...signedHeaders(key, ''), ...version })).toEqual({
        status: 401,
        code: 'signature_version_required',
      });
    expect(await send('GET', '/v1/refunds', signedHeaders(key, '', { signature: '0'.repeat(64) }))).toEqual({
      status: 401,
      code: 'authentication_failed',
    });
  });

  it.each(['', '0', '3', '02', '2 ', 'v2', '1, 2'])(
    'of a version that does not exist is named: %j',
    async (version) => {
      const headers = { ...headersV2(server.key, 'GET', '/v1/refunds', ''), 'X-Service-Signature-Version': version };
      const { status, code } = await send('GET', '/v1/refunds', headers);
      // Clients trim the ends of a header.
      expect([status, code]).toEqual(version === '2 ' ? [200, undefined] : [400, 'invalid_request']);
    },
  );
});
