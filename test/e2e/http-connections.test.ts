import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpServer, DEFAULT_LIMITS } from '../../src/http/server.ts';
import { signedHeaders, startTestServer, type TestServer } from '../support/http-api.ts';
import { rawRequest } from '../support/raw-http.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const LIMIT = 256 * 1024;
const REQUEST_TIMEOUT_MS = 600;
let service: TestServer;
let orders = 0;
const logged: object[] = [];

beforeAll(async () => {
  const limits = { ...DEFAULT_LIMITS, headersTimeoutMs: 500, requestTimeoutMs: REQUEST_TIMEOUT_MS, checkIntervalMs: 50 };
  service = await startTestServer({}, (app) => createHttpServer(app, { debug: (fields) => void logged.push(fields) }, limits));
});
afterAll(() => service.close());

const head = (lines: readonly string[], method = 'POST', path = CREATE): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('\r\n')}\r\n\r\n`;
const signed = (body: string | Buffer): string[] => Object.entries(signedHeaders(service.key, body)).map(([name, value]) => `${name}: ${value}`);
const order = (): string => JSON.stringify({ amount: '10.00', currency: 'USD', order_id: `connection-${(orders += 1)}` });
const JSON_TYPE = 'Content-Type: application/json';
const codeOf = (answer: { readonly body: string }): string => JSON.parse(answer.body).error.code as string;

/** The service still answers a good request. */
async function expectAlive(): Promise<void> {
  expect((await service.call('POST', CREATE, order())).status).toBe(200);
}

describe('a body over 256 KiB', () => {
  it('is answered 413 when its length is announced, before it was sent', async () => {
    const answer = await rawRequest(service.base, [head([JSON_TYPE, `Content-Length: ${LIMIT + 1}`])]);
    expect([answer.status, codeOf(answer)]).toEqual([413, 'body_too_large']);
    expect(answer.head).toMatch(/connection: close/i);
    await expectAlive();
  });

  it('is answered 413 when the client sends all of it', async () => {
    const body = ' '.repeat(2 * 1024 * 1024);
    const answer = await service.call('POST', CREATE, body);
    expect([answer.status, answer.json.error.code]).toEqual([413, 'body_too_large']);
    await expectAlive();
  });

  it('is answered 413 when it comes in chunks', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const answer = await rawRequest(
      service.base,
      [head([JSON_TYPE, 'Transfer-Encoding: chunked']), ...Array.from({ length: 6 }, () => chunk), '0\r\n\r\n'],
      { pauseMs: 5 },
    );
    expect([answer.status, codeOf(answer)]).toEqual([413, 'body_too_large']);
    await expectAlive();
  });

  it('is refused without being asked for when the client waits for 100 Continue', async () => {
    const answer = await rawRequest(service.base, [head([JSON_TYPE, `Content-Length: ${LIMIT + 1}`, 'Expect: 100-continue'])]);
    expect(answer.status).toBe(413);
  });

  it('of exactly 256 KiB is read', async () => {
    const answer = await service.call('POST', CREATE, order().padEnd(LIMIT, ' '));
    expect(answer.status).toBe(200);
  });

  it('leaves the connection open for as long as the client still sends, but no longer than 2 s', async () => {
    const answer = await rawRequest(service.base, [head([JSON_TYPE, `Content-Length: ${LIMIT * 2}`]), 'x'], { timeoutMs: 4_000 });
    expect([answer.status, answer.closed]).toEqual([413, true]);
  });
});

describe('a request is refused by its headers alone when it', () => {
  it.each([
    ['is a GET with a body', 'GET', ['Content-Length: 2'], '{}', 400, 'invalid_request'],
    ['is a GET with a chunked body', 'GET', ['Transfer-Encoding: chunked'], '0\r\n\r\n', 400, 'invalid_request'],
    ['is compressed', 'POST', [JSON_TYPE, 'Content-Encoding: gzip', 'Content-Length: 2'], '{}', 415, 'unsupported_media_type'],
    ['is a form', 'POST', ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 2'], '{}', 415, 'unsupported_media_type'],
    ['is plain text', 'POST', ['Content-Type: text/plain', 'Content-Length: 2'], '{}', 415, 'unsupported_media_type'],
    ['is JSON of another kind', 'POST', ['Content-Type: application/json-patch+json', 'Content-Length: 2'], '{}', 415, 'unsupported_media_type'],
    [
      'is JSON in another charset',
      'POST',
      ['Content-Type: application/json; charset=utf-16', 'Content-Length: 2'],
      '{}',
      415,
      'unsupported_media_type',
    ],
    ['names its type twice', 'POST', [JSON_TYPE, 'Content-Type: text/plain', 'Content-Length: 2'], '{}', 415, 'unsupported_media_type'],
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

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])('but not as %s', async (type) => {
    expect((await service.call('POST', CREATE, order(), { headers: { 'Content-Type': type } })).status).toBe(200);
  });
});

describe('what is not HTTP, or not in time', () => {
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

  it('a client that goes away in the middle of its body leaves nothing behind', async () => {
    const body = order();
    const socket = connect({ port: Number(new URL(service.base).port), host: '127.0.0.1' });
    socket.write(head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]) + body.slice(0, 10));
    await new Promise((wake) => setTimeout(wake, 50));
    socket.resetAndDestroy();
    await expectAlive();
    expect(service.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('a kept-alive connection', () => {
  it('carries a request in many pieces, then further ones', async () => {
    const bodies = [order(), order(), order()];
    const requests = bodies.map((body) => head([...signed(body), JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`]) + body);
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
