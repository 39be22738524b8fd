import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHttpServer, DEFAULT_LIMITS } from '../../src/http/server.ts';
import { signedHeaders, startTestServer, type TestServer } from '../support/http-api.ts';
import { rawRequest } from '../support/raw-http.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const LIMIT = 256 * 1024;
const TIMEOUTS = { headersTimeoutMs: 500, requestTimeoutMs: 600, checkIntervalMs: 50 };
const MAX_CONNECTIONS = 300;
let service: TestServer;
let orders = 0;
const logged: object[] = [];

beforeAll(async () => {
  const limits = { ...DEFAULT_LIMITS, ...TIMEOUTS, inactivityTimeoutMs: 1_000, maxConnections: MAX_CONNECTIONS };
  service = await startTestServer({ publicUrl: 'https://pay.example' }, (app) =>
    createHttpServer(app, { debug: (fields) => void logged.push(fields) }, { limits, secure: true }),
  );
});
afterAll(() => service.close());

const head = (lines: readonly string[], method = 'POST', path = CREATE): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('\r\n')}\r\n\r\n`;
const signed = (body: string | Buffer): string[] =>
  Object.entries(signedHeaders(service.key, body)).map(([name, value]) => `${name}: ${value}`);
const order = (): string =>
  JSON.stringify({ amount: '10.00', currency: 'USD', order_id: `connection-${(orders += 1)}` });
const JSON_TYPE = 'Content-Type: application/json';
const codeOf = (answer: { readonly body: string }): string => JSON.parse(answer.body).error.code as string;

/** The service still answers a good request. */
async function expectAlive(): Promise<void> {
  expect((await service.call('POST', CREATE, order())).status).toBe(200);
}

describe('a body over 256 KiB', () => {
  it('gets 413 when its length is announced, before it was sent', async () => {
    const answer = await rawRequest(service.base, [head([JSON_TYPE, `Content-Length: ${LIMIT + 1}`])]);
    expect([answer.status, codeOf(answer)]).toEqual([413, 'body_too_large']);
    expect(answer.head).toMatch(/connection: close/i);
    await expectAlive();
  });

  it('gets 413 when the client sends all of it', async () => {
    const body = ' '.repeat(2 * 1024 * 1024);
    const answer = await service.call('POST', CREATE, body);
    expect([answer.status, answer.json.error.code]).toEqual([413, 'body_too_large']);
    await expectAlive();
  });

  it('gets 413 when it comes in chunks', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const answer = await rawRequest(
      service.base,
      [head([JSON_TYPE, 'Transfer-Encoding: chunked']), ...Array.from({ length: 6 }, () => chunk), '0\r\n\r\n'],
      { pauseMs: 5 },
    );
    expect([answer.status, codeOf(answer)]).toEqual([413, 'body_too_large']);
    await expectAlive();
  });

  it('is refused without being read when the client waits for 100 Continue', async () => {
    const answer = await rawRequest(service.base, [
      head([JSON_TYPE, `Content-Length: ${LIMIT + 1}`, 'Expect: 100-continue']),
    ]);
    expect(answer.status).toBe(413);
  });

  it('of exactly 256 KiB is read', async () => {
    const answer = await service.call('POST', CREATE, order().padEnd(LIMIT, ' '));
    expect(answer.status).toBe(200);
  });

  it('keeps the connection open while the client still sends, but no longer than 2 s', async () => {
    const answer = await rawRequest(service.base, [head([JSON_TYPE, `Content-Length: ${LIMIT * 2}`]), 'x'], {
      timeoutMs: 4_000,
    });
    expect([answer.status, answer.closed]).toEqual([413, true]);
  });
});

describe('a request is refused on its headers alone when it', () => {
  it.each([
    ['is a GET with a body', 'GET', ['Content-Length: 2'], '{}', 400, 'invalid_request'],
    ['is a GET with a chunked body', 'GET', ['Transfer-Encoding: chunked'], '0\r\n\r\n', 400, 'invalid_request'],
    [
      'is compressed',
      'POST',
      [JSON_TYPE, 'Content-Encoding: gzip', 'Content-Length: 2'],
      '{}',
      415,
      'unsupported_media_type',
    ],
    [
      'is a form',
      'POST',
      ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 2'],
      '{}',
      415,
      'unsupported_media_type',
    ],
    ['is plain text', 'POST', ['Content-Type: text/plain', 'Content-Length: 2'], '{}', 415, 'unsupported_media_type'],
    [
      'is JSON of another kind',
      'POST',
      ['Content-Type: application/json-patch+json', 'Content-Length: 2'],
      '{}',
      415,
      'unsupported_media_type',
    ],
    [
      'is JSON in another charset',
      'POST',
      ['Content-Type: application/json; charset=utf-16', 'Content-Length: 2'],
      '{}',
      415,
      'unsupported_media_type',
    ],
    [
      'names its type twice',
      'POST',
      [JSON_TYPE, 'Content-Type: text/plain', 'Content-Length: 2'],
      '{}',
      415,
      'unsupported_media_type',
    ],
  ] as const)('%s', async (_, method, lines, body, status, code) => {
    const answer = await rawRequest(service.base, [head(lines, method), body]);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  });

  it('carries a body without a type, once it is authenticated', async () => {
    const body = order();
    const lines = [...signed(body), `Content-Length: ${Buffer.byteLength(body)}`];
    const answer = await rawRequest(service.base, [head(lines), body]);
    expect([answer.status, codeOf(answer)]).toEqual([415, 'unsupported_media_type']);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'but not as %s',
    async (type) => {
      expect((await service.call('POST', CREATE, order(), { headers: { 'Content-Type': type } })).status).toBe(200);
    },
  );
});

describe('the response of a refusal arrives', () => {
  const big = ' '.repeat(LIMIT);
  /** A busy machine must read all of them within the 2 s that a client has for the rest of a body. */
  const AT_ONCE = 12;
  it.each([
    ['an unsigned create', 401, order(), { 'Content-Type': 'application/json' }],
    ['a large unsigned create', 401, big, { 'Content-Type': 'application/json' }],
    ['a large form', 415, big, { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['a body that is too large', 413, big.repeat(2), { 'Content-Type': 'application/json' }],
  ])('at each of many clients that send %s over kept-alive connections', async (_, status, body, headers) => {
    const post = async (): Promise<number> => {
      const answer = await fetch(service.base + CREATE, { method: 'POST', body, headers });
      await answer.text();
      return answer.status;
    };
    for (let round = 0; round < 2; round += 1)
      expect(await Promise.all(Array.from({ length: AT_ONCE }, post))).toEqual(
        Array.from({ length: AT_ONCE }, () => status),
      );
  });
});

describe('input that is not HTTP, or not in time', () => {
  it.each([
    ['garbage', 'hello\r\n\r\n'],
    ['a wrong length', head([JSON_TYPE, 'Content-Length: x'])],
    ['two lengths', head([JSON_TYPE, 'Content-Length: 2', 'Content-Length: 3'])],
    ['a length and chunks', head([JSON_TYPE, 'Content-Length: 2', 'Transfer-Encoding: chunked'])],
    ['a header of 64 KB', head([`X-Long: ${'x'.repeat(65_536)}`])],
    ['an address of 64 KB', `GET /v1/${'x'.repeat(65_536)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['a null byte in a header', head(['X-Null: a\0b'])],
  ])('%s is a 400 in the same form, and the connection ends', async (_, text) => {
    const answer = await rawRequest(service.base, [text]);
    expect([answer.status, codeOf(answer)]).toEqual([400, 'invalid_request']);
    await expectAlive();
  });

  it('a body that stalls is a 408', async () => {
    const body = order();
    const answer = await rawRequest(service.base, [
      head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]),
      body.slice(0, 5),
    ]);
    expect([answer.status, codeOf(answer), answer.closed]).toEqual([408, 'request_timeout', true]);
    const requestId = JSON.parse(answer.body).error.request_id as string;
    expect(requestId).toMatch(/^req_[a-z0-9]{16,}$/);
    expect(answer.head).toContain(`X-Request-Id: ${requestId}`);
    expect(logged).toContainEqual(expect.objectContaining({ requestId, code: 'request_timeout' }));
  });

  it('a body of one byte now and then is a 408', async () => {
    const body = order();
    const parts = [head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]), ...body];
    const answer = await rawRequest(service.base, parts, { pauseMs: 100 });
    expect([answer.status, codeOf(answer)]).toEqual([408, 'request_timeout']);
    expect(answer.tookMs).toBeLessThan(4_000);
  });

  it('headers that never end are a 408', async () => {
    expect((await rawRequest(service.base, ['GET /v1/refunds HTTP/1.1\r\nHost: x\r\nX-A: b\r\n'])).status).toBe(408);
  });

  it('a client that disconnects in the middle of its body leaves nothing behind', async () => {
    const body = order();
    const socket = connect({ port: Number(new URL(service.base).port), host: '127.0.0.1' });
    socket.write(head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]) + body.slice(0, 10));
    await new Promise((wake) => setTimeout(wake, 50));
    socket.resetAndDestroy();
    await expectAlive();
    expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

/** Sockets that send the text and then neither read on nor close, whatever they are answered. */
async function deadSockets(count: number, text: string): Promise<Socket[]> {
  const port = Number(new URL(service.base).port);
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {}).on('data', () => {});
      await once(socket, 'connect');
      socket.write(text);
      return socket;
    }),
  );
}

const openConnections = (): Promise<number> =>
  new Promise((resolve, reject) =>
    service.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

describe('a client that never closes its end', () => {
  beforeEach(() => service.server.closeAllConnections());

  it.each([
    ['its headers were not in time', 'GET /v1/refunds HTTP/1.1\r\nHost: localhost\r\n'],
    ['its body was not in time', head([JSON_TYPE, 'Content-Length: 10'])],
    ['it did not speak HTTP', 'hello\r\n\r\n'],
    ['its body was too long', head([JSON_TYPE, `Content-Length: ${LIMIT + 1}`])],
  ])('is rid of within seconds when %s', async (_, text) => {
    const sockets = await deadSockets(200, text);
    try {
      await expect.poll(openConnections, { timeout: 6_000 }).toBe(0);
      await expectAlive();
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('is disconnected when it does not read its responses', async () => {
    const socket = connect({ port: Number(new URL(service.base).port), host: '127.0.0.1' }).pause();
    socket.on('error', () => {});
    const flood = head([], 'GET', '/openapi.json').repeat(500);
    socket.write(flood);
    await expect.poll(openConnections, { timeout: 6_000 }).toBe(1);
    await expect.poll(openConnections, { timeout: 6_000 }).toBe(0);
    socket.destroy();
  });

  it('does not execute a request that it has already refused as too late', async () => {
    const body = order();
    const socket = connect({ port: Number(new URL(service.base).port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write(head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 408/);
    const before = service.observed.length;
    socket.write(body);
    await new Promise((wake) => setTimeout(wake, 200));
    expect(service.observed.length).toBe(before);
    socket.destroy();
  });
});

describe('more connections than the limit', () => {
  it('are closed at once, and others continue', async () => {
    const dropped = vi.fn();
    service.server.on('drop', dropped);
    const sockets = await deadSockets(MAX_CONNECTIONS, '');
    const further = await deadSockets(20, '');
    await expect.poll(() => dropped.mock.calls.length).toBeGreaterThanOrEqual(20);
    await expect.poll(() => further.every((socket) => socket.readableEnded || socket.destroyed)).toBe(true);
    for (const socket of [...sockets, ...further]) socket.destroy();
    await expect.poll(openConnections).toBeLessThan(MAX_CONNECTIONS);
    await expectAlive();
  });
});

describe('Strict-Transport-Security is on every response', () => {
  const get = (path: string, lines: readonly string[] = []): string => head(lines, 'GET', path);
  it.each([
    ['a 200 of the docs', get('/docs'), 200],
    ['a 200 of the OpenAPI document', get('/openapi.json'), 200],
    ['a 304', get('/docs', ['If-None-Match: *']), 200],
    ['a 401', head([JSON_TYPE, 'Content-Length: 2']) + '{}', 401],
    ['a 404', get('/nothing'), 404],
    ['an OPTIONS', head([], 'OPTIONS', '/docs'), 404],
    ['an expectation nobody knows', get('/docs', ['Expect: miracles']), 200],
    ['a 400 for garbage', 'hello\r\n\r\n', 400],
    ['a 400 for headers too long', get(`/${'x'.repeat(65_536)}`), 400],
    ['a 400 without Host', 'GET /docs HTTP/1.1\r\n\r\n', 400],
    ['a 400 without Host, of the API', 'GET /v1/refunds HTTP/1.1\r\n\r\n', 400],
    ['a 408', 'GET /docs HTTP/1.1\r\n', 408],
    ['a 413', head([JSON_TYPE, `Content-Length: ${LIMIT + 1}`]), 413],
  ])('%s', async (_, text, status) => {
    const answer = await rawRequest(service.base, [text]);
    expect(answer.status).toBe(status);
    expect(answer.head.match(/strict-transport-security: max-age=31536000/gi)).toHaveLength(1);
  });
});

describe('a kept-alive connection', () => {
  it('carries a request in many pieces, then further ones', async () => {
    const bodies = [order(), order(), order()];
    const requests = bodies.map(
      (body) => head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]) + body,
    );
    const socket = connect({ port: Number(new URL(service.base).port), host: '127.0.0.1', noDelay: true });
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    for (const piece of requests[0]!.match(/.{1,100}/gs)!) {
      socket.write(piece);
      await new Promise((wake) => setTimeout(wake, 2));
    }
    socket.write(requests[1]! + requests[2]!);
    await expect.poll(() => received.match(/HTTP\/1\.1 200/g)?.length).toBe(3);
    socket.destroy();
  });
});
