import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import type { Nonces } from '../../src/ports/event-log/nonces.ts';
import { FAKE_DESKS } from '../support/fake-executors.ts';
import { newKey, signedHeaders, startTestServer, type CallOptions, type TestServer } from '../support/http-api.ts';
import { rawRequest } from '../support/raw-http.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const NOW_SEC = 1_767_225_600;
const LIST = '/v1/payment/sessions';
let service: TestServer;
let orders = 0;
const order = () => ({ amount: '10.00', currency: 'USD', order_id: `auth-${(orders += 1)}` });

beforeAll(async () => {
  service = await startTestServer({ clock: { nowMs: () => NOW_SEC * 1000 } });
});
afterAll(() => service.close());

const get = (options: CallOptions) => service.call('GET', LIST, undefined, { timestamp: NOW_SEC, ...options });
const post = (body: string | Buffer | object, options: CallOptions = {}) =>
  service.call('POST', CREATE, body, { timestamp: NOW_SEC, ...options });

/** A request whose headers may repeat, as raw text. */
function rawText(path: string, headers: readonly (readonly [string, string])[], body = '', method = 'GET'): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
const signedPairs = (body = ''): [string, string][] =>
  Object.entries(signedHeaders(service.key, body, { timestamp: NOW_SEC }));

describe('authentication refuses', () => {
  const other = () => 'sk_test_' + 'x'.repeat(48);
  const cases: Record<
    string,
    () => Promise<{ status: number; json: { error: { request_id: string } }; headers: Headers }>
  > = {
    'no Authorization': () => get({ drop: ['Authorization'] }),
    'another scheme': () => get({ authorization: `Basic ${service.key.apiKey}` }),
    'an empty key': () => get({ authorization: 'Bearer ' }),
    'two keys in one header': () =>
      get({ authorization: `Bearer ${service.key.apiKey}, Bearer ${service.key.apiKey}` }),
    'an unknown key': () => get({ authorization: `Bearer ${other()}` }),
    'a key of 10 KB': () => get({ authorization: `Bearer sk_test_${'x'.repeat(10_000)}` }),
    'no timestamp': () => get({ drop: ['X-Service-Timestamp'] }),
    'no nonce': () => get({ drop: ['X-Service-Nonce'] }),
    'no signature': () => get({ drop: ['X-Service-Signature'] }),
    'a timestamp 301 s old': () => get({ timestamp: NOW_SEC - 301 }),
    'a timestamp 301 s ahead': () => get({ timestamp: NOW_SEC + 301 }),
    'a timestamp in milliseconds': () => get({ timestamp: NOW_SEC * 1000 }),
    'a timestamp with a plus': () => get({ timestamp: `+${NOW_SEC}` }),
    'a timestamp with an exponent': () => get({ timestamp: '1.7672256e9' }),
    'a padded timestamp': () => get({ timestamp: `0${NOW_SEC}` }),
    'a timestamp with a fraction': () => get({ timestamp: `${NOW_SEC}.0` }),
    'a negative timestamp': () => get({ timestamp: `-${NOW_SEC}` }),
    'a hexadecimal timestamp': () => get({ timestamp: `0x${NOW_SEC.toString(16)}` }),
    'an empty timestamp': () => get({ timestamp: '' }),
    'an empty nonce': () => get({ nonce: '' }),
    'a nonce with a dot': () => get({ nonce: 'a.b' }),
    'a nonce of 129 characters': () => get({ nonce: 'n'.repeat(129) }),
    'a nonce of 10 KB': () => get({ nonce: 'n'.repeat(10_000) }),
    'a nonce that is not ASCII': () => get({ nonce: 'n\u00e9', signature: '0'.repeat(64) }),
    'a nonce with a tab': () => get({ nonce: 'a\tb' }),
    'a signature of 63 characters': () => get({ signature: 'a'.repeat(63) }),
    'a signature of 65 characters': () => get({ signature: 'a'.repeat(65) }),
    'an empty signature': () => get({ signature: '' }),
    'a signature that is not hex': () => get({ signature: 'z'.repeat(64) }),
    'a signature with another secret': () =>
      get({
        signature: signedHeaders({ ...service.key, secret: 'nope' }, '', { timestamp: NOW_SEC })[
          'X-Service-Signature'
        ]!,
      }),
    'a signature of another nonce': () =>
      get({
        nonce: 'one',
        signature: signedHeaders(service.key, '', { timestamp: NOW_SEC, nonce: 'two' })['X-Service-Signature']!,
      }),
    'a signature of another timestamp': () =>
      get({
        nonce: 'one',
        signature: signedHeaders(service.key, '', { timestamp: NOW_SEC - 1, nonce: 'one' })['X-Service-Signature']!,
      }),
    'a signature of another body': () => post(order(), { signedBody: '{}' }),
    'a body changed by one space': () => post('{"amount": "1.00"}', { signedBody: '{"amount":"1.00"}' }),
    'a body with a trailing newline that was not signed': () => post('{}\n', { signedBody: '{}' }),
    'a body with CRLF for LF': () => post('{\r\n}', { signedBody: '{\n}' }),
    'a body with keys in another order': () => post('{"b":1,"a":1}', { signedBody: '{"a":1,"b":1}' }),
    'a byte order mark that was not signed': () => post('\ufeff{}', { signedBody: '{}' }),
    'UTF-16 for UTF-8': () => post(Buffer.from('{}', 'utf16le'), { signedBody: '{}' }),
  };

  it.each(Object.keys(cases))('%s, with the one identical 401', async (name) => {
    const { status, json, headers } = await cases[name]!();
    expect(status).toBe(401);
    expect(json).toEqual({
      error: {
        code: 'authentication_failed',
        message: 'Authentication failed.',
        request_id: json.error.request_id,
        doc_url: expect.stringMatching(/\/docs\/errors#authentication_failed$/),
      },
    });
    expect(headers.get('www-authenticate')).toBe('Bearer');
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('names the failed check to holders of test-mode keys only', async () => {
    const faultOf = async (name: string): Promise<string | null> =>
      (await cases[name]!()).headers.get('quittance-authentication-fault');
    expect(await faultOf('a signature with another secret')).toBe('signature');
    expect(await faultOf('an empty signature')).toMatch(/^header_/);
    expect((await get({ timestamp: NOW_SEC - 301 })).headers.get('quittance-authentication-fault')).toBe('timestamp');
    const nonce = 'spent-once';
    expect((await get({ nonce })).status).toBe(200);
    expect((await get({ nonce })).headers.get('quittance-authentication-fault')).toBe('nonce_used');
    const [live, unknown] = [service.keys.add(newKey('delta', 'live')), newKey('epsilon')];
    for (const key of [live, unknown]) {
      const refused = await service.call('GET', LIST, undefined, {
        key: { ...key, secret: 'nope' },
        timestamp: NOW_SEC,
      });
      expect([refused.status, refused.headers.get('quittance-authentication-fault')]).toEqual([401, null]);
    }
  });

  it.each(['Authorization', 'X-Service-Timestamp', 'X-Service-Nonce', 'X-Service-Signature'])(
    '%s sent twice, even with one value',
    async (name) => {
      const pairs = signedPairs();
      const twin = pairs.find(([header]) => header === name)!;
      const { status, body } = await rawRequest(service.base, [rawText(LIST, [...pairs, twin])]);
      expect([status, JSON.parse(body).error.code]).toEqual([401, 'authentication_failed']);
    },
  );

  it('a second key after the right one', async () => {
    const { status } = await rawRequest(service.base, [
      rawText(LIST, [...signedPairs(), ['authorization', 'Bearer sk_test_other_key']]),
    ]);
    expect(status).toBe(401);
  });

  it('a revoked key from then on', async () => {
    const key = service.keys.add(newKey('gamma'));
    expect((await service.call('GET', LIST, undefined, { key, timestamp: NOW_SEC })).status).toBe(200);
    service.keys.revoke(key);
    expect((await service.call('GET', LIST, undefined, { key, timestamp: NOW_SEC })).status).toBe(401);
  });

  it.each([
    ['GET', LIST],
    ['GET', '/v1/refunds'],
    ['POST', '/v1/refunds'],
    ['GET', '/v1/transactions'],
    ['POST', CREATE],
    ['GET', '/api/v1/nothing'],
    ['POST', '/v1/nothing'],
    ['DELETE', LIST],
    ['OPTIONS', LIST],
    ['GET', '/v1'],
    ['GET', '/api/v1/'],
    ['GET', '/v1/refunds/%zz'],
    ['GET', `/api/v1/checkout/sessions/${'x'.repeat(4000)}`],
  ])('%s %s without a signature, known path or not', async (method, path) => {
    const response = await fetch(service.base + path, { method });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      'authentication_failed',
    ]);
  });
});

describe('authentication accepts', () => {
  it.each([-300, -299, 0, 299, 300])('a timestamp %i s off', async (offset) =>
    expect((await get({ timestamp: NOW_SEC + offset })).status).toBe(200),
  );

  it('a signature in upper case', async () => {
    const signature = signedHeaders(service.key, '', { timestamp: NOW_SEC, nonce: 'upper' })[
      'X-Service-Signature'
    ]!.toUpperCase();
    expect((await get({ nonce: 'upper', signature })).status).toBe(200);
  });

  it('header names and the scheme in any case', async () => {
    const pairs = signedPairs().map(([name, value]): [string, string] => [
      name.toUpperCase(),
      value.replace('Bearer', 'bearer'),
    ]);
    expect((await rawRequest(service.base, [rawText(LIST, pairs)])).status).toBe(200);
  });

  it.each(['x', 'n'.repeat(128), '~!@#$%^&*()_+-=[]{}|;:,<>?/', 'a b'])('the nonce %s', async (nonce) =>
    expect((await get({ nonce })).status).toBe(200),
  );

  it('the signed bytes, however they are written', async () => {
    const raw = `{ "currency":"USD",\r\n\t"amount": "10.00" , "order_id":"\\u00fc\u00e9-1" }\n`;
    expect((await post(raw)).status).toBe(200);
  });

  it('a chunked body', async () => {
    const body = JSON.stringify(order());
    const pairs: [string, string][] = [
      ...signedPairs(body),
      ['Content-Type', 'application/json'],
      ['Transfer-Encoding', 'chunked'],
    ];
    const chunks = body.match(/.{1,7}/gs)!.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    const { status, body: answer } = await rawRequest(
      service.base,
      [rawText(CREATE, pairs, '', 'POST'), ...chunks, '0\r\n\r\n'],
      { pauseMs: 2 },
    );
    expect(status).toBe(200);
    expect(JSON.parse(answer).amount_total).toBe('10.00');
  });

  it('another header prefix when one is set', async () => {
    const other = await startTestServer({ headerPrefix: 'X-Shop-' });
    try {
      expect((await other.call('GET', LIST, undefined, { prefix: 'X-Shop-' })).status).toBe(200);
      expect((await other.call('GET', LIST)).status).toBe(401);
    } finally {
      await other.close();
    }
  });
});

describe('a nonce', () => {
  it('is refused the second time, on any path', async () => {
    expect((await get({ nonce: 'used-1' })).status).toBe(200);
    expect((await get({ nonce: 'used-1' })).status).toBe(401);
    expect((await service.call('GET', '/v1/refunds', undefined, { nonce: 'used-1', timestamp: NOW_SEC })).status).toBe(
      401,
    );
  });

  it('can be used by another key', async () => {
    const key = service.keys.add(newKey('delta'));
    expect((await get({ nonce: 'shared' })).status).toBe(200);
    expect((await service.call('GET', LIST, undefined, { nonce: 'shared', key, timestamp: NOW_SEC })).status).toBe(200);
  });

  it('lets one of 100 parallel identical requests through', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => get({ nonce: 'parallel' })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(99);
  });

  it('is not burnt by a bad signature', async () => {
    const before = service.nonces.burnt.size;
    for (let i = 0; i < 20; i += 1) await get({ nonce: `flood-${i}`, signature: '0'.repeat(64) });
    expect(service.nonces.burnt.size).toBe(before);
    expect((await get({ nonce: 'flood-1' })).status).toBe(200);
  });

  it('is burnt by a request that authenticates and is then refused', async () => {
    expect((await post('{', { nonce: 'spent' })).status).toBe(400);
    expect((await get({ nonce: 'spent' })).status).toBe(401);
  });
});

describe('after the loss of used nonces', () => {
  const forgetful: Nonces = {
    burn: (_keyId, _nonce, _nowSec, _durable, mayRepeat) =>
      mayRepeat
        ? Promise.resolve({ accepted: true, mayBeReplay: true })
        : Promise.reject(new StoreUnavailable('used nonces were lost')),
    settle: async () => undefined,
    close: async () => undefined,
  };

  it('an idempotency key, which no signature covers, lets commands that honour it pass and no change of settings', async () => {
    let changes = 0;
    const setPolicy: typeof FAKE_DESKS.settings.setPolicy = (...given) => {
      changes += 1;
      return FAKE_DESKS.settings.setPolicy(...given);
    };
    const settings = { ...FAKE_DESKS.settings, setPolicy };
    const lossy = await startTestServer({ ...FAKE_DESKS, settings, nonces: forgetful });
    try {
      const headers = { 'Idempotency-Key': 'of-whoever-sends-it-again' };
      expect((await lossy.call('POST', CREATE, order(), { headers })).status).toBe(200);
      expect((await lossy.call('PATCH', '/v1/merchant', { tolerance: '1.00' }, { headers })).status).toBe(503);
      expect(changes).toBe(0);
    } finally {
      await lossy.close();
    }
  });
});

describe('the nonce of a command', () => {
  const nameOf = (nonce: string) => `${service.key.keyId}/${nonce}`;

  it('is stored with the command, not after it', async () => {
    expect((await post(order(), { nonce: 'ride-1' })).status).toBe(200);
    expect(service.nonces.burnt.get(nameOf('ride-1'))).toBe('with-command');
    expect(service.api.callers.at(-1)?.nonceCoCommit).toEqual({ kind: 'nonce', values: [service.key.keyId, 'ride-1'] });
    expect(service.nonces.settled).not.toContain(nameOf('ride-1'));
  });

  it('is settled when nothing was appended: a refusal, a safe retry, a crash', async () => {
    const body = order();
    await post(body);
    await post(body, { nonce: 'repeat' });
    await post({ ...body, amount: '11.00' }, { nonce: 'conflict' });
    await post({ ...body, surprise: 1 }, { nonce: 'invalid' });
    service.api.failNext = new Error('bug');
    expect((await post(order(), { nonce: 'crash' })).status).toBe(500);
    for (const nonce of ['repeat', 'conflict', 'invalid', 'crash'])
      expect(service.nonces.settled).toContain(nameOf(nonce));
  });

  it('is stored at once for reads', async () => {
    await get({ nonce: 'read-1' });
    expect(service.nonces.burnt.get(nameOf('read-1'))).toBe('now');
  });
});
