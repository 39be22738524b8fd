import { describe, expect, it } from 'vitest';
import { InvalidAnswer } from '../../src/adapters/webhook-http/answer-head.ts';
import { AnswerReader } from '../../src/adapters/webhook-http/answer-reader.ts';

interface Read {
  readonly status: number | null;
  readonly body: string;
  readonly isOver: boolean;
  readonly keepAliveMs: number;
}

/** Bytes as latin1, handed over at once. */
function read(text: string): Read {
  let body = '';
  const reader = new AnswerReader((bytes) => (body += Buffer.from(bytes).toString('latin1')));
  const isOver = reader.read(Buffer.from(text, 'latin1'));
  return { status: reader.head?.status ?? null, body, isOver, keepAliveMs: reader.keepAliveMs };
}

const withFields = (fields: string, body = ''): string => `HTTP/1.1 200 OK\r\n${fields}\r\n${body}`;
const chunked = (body: string): string => withFields('Transfer-Encoding: chunked\r\n', body);

describe('an answer', () => {
  it.each([
    ['with a length', withFields('Content-Length: 2\r\n', 'ok')],
    ['with blanks around a length', withFields('Content-Length: \t 2 \t\r\n', 'ok')],
    ['in chunks', chunked('1\r\no\r\n1\r\nk\r\n0\r\n\r\n')],
    ['in chunks with extensions', chunked('2;name="a;b"\r\nok\r\n0;x\r\n\r\n')],
    ['in chunks with a trailer', chunked('2\r\nok\r\n0\r\nX-One: 1\r\nX-Two:\r\n\r\n')],
    ['in chunks of something packed', withFields('Transfer-Encoding: gzip, Chunked\r\n', '2\r\nok\r\n0\r\n\r\n')],
    ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok'],
    ['with an empty reason', 'HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok'],
    ['with a reason in any alphabet', 'HTTP/1.1 200 \xc3\x96k\r\nContent-Length: 2\r\n\r\nok'],
    ['after informational ones', `${'HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n'.repeat(8)}${withFields('Content-Length: 2\r\n', 'ok')}`],
  ])('%s is read whole, and its connection may go on', (_, text) => {
    expect(read(text)).toEqual({ status: 200, body: 'ok', isOver: true, keepAliveMs: 4_000 });
  });

  it.each([204, 304])('%i has no body, whatever its headers say', (status) => {
    expect(read(`HTTP/1.1 ${status} X\r\nContent-Length: 5\r\n\r\n`)).toMatchObject({ status, body: '', isOver: true, keepAliveMs: 4_000 });
  });

  it.each([
    ['neither a length nor chunks', withFields('', 'ok')],
    ['another coding after the chunks', withFields('Transfer-Encoding: chunked, gzip\r\n', 'ok')],
    ['a coding with a name like it', withFields('Transfer-Encoding: xchunked\r\n', 'ok')],
  ])('with %s goes on until the connection is closed', (_, text) => {
    let body = '';
    const reader = new AnswerReader((bytes) => (body += Buffer.from(bytes).toString('latin1')));
    expect(reader.read(Buffer.from(text))).toBe(false);
    expect(reader.end()).toBe(true);
    expect([body, reader.keepAliveMs]).toEqual(['ok', 0]);
  });

  it.each([
    ['its head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['its length', withFields('Content-Length: 3\r\n', 'ok')],
    ['its last chunk', chunked('2\r\nok\r\n')],
    ['the end of its trailer', chunked('2\r\nok\r\n0\r\n')],
  ])('that is closed before %s is not complete', (_, text) => {
    const reader = new AnswerReader(() => undefined);
    expect(reader.read(Buffer.from(text))).toBe(false);
    expect(reader.end()).toBe(false);
  });

  it.each([
    ['nothing like HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['one letter too few', 'HTTQ'],
    ['another version', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['version 2', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['small letters', 'http/1.1 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['two blanks', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['an empty line first', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['lines that end in LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ['one line that ends in LF', withFields('A: b\nContent-Length: 0\r\n')],
    ['a line that goes on in the next', withFields('A: b\r\n c\r\n')],
    ['a bare CR', withFields('A: b\rc\r\n')],
    ['NUL in a header', withFields('A: b\0c\r\n')],
    ['NUL in the reason', 'HTTP/1.1 200 O\0K\r\n\r\n'],
    ['a control character in a header', withFields('A: \x01\r\n')],
    ['a blank before the colon', withFields('A : b\r\n')],
    ['a header without a name', withFields(': b\r\n')],
    ['a header without a colon', withFields('nonsense\r\n')],
    ['two lengths', withFields('Content-Length: 2\r\nContent-Length: 2\r\n', 'ok')],
    ['a list of lengths', withFields('Content-Length: 2, 2\r\n', 'ok')],
    ['a length with a sign', withFields('Content-Length: +2\r\n', 'ok')],
    ['a length with another blank', withFields('Content-Length: 2\xa0\r\n', 'ok')],
    ['an empty length', withFields('Content-Length:\r\n', 'ok')],
    ['a length beyond all numbers', withFields('Content-Length: 99999999999999999999\r\n', 'ok')],
    ['a length beside chunks', withFields('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '2\r\nok\r\n0\r\n\r\n')],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n'],
    ['a flood of informational answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(9)],
    ['a head without end', withFields(`A: ${'a'.repeat(17 * 1024)}`)],
    ['a chunk without a size', chunked('\r\nok\r\n0\r\n\r\n')],
    ['a chunk size that is no number', chunked('zz\r\nok\r\n0\r\n\r\n')],
    ['a chunk size with a sign', chunked('+2\r\nok\r\n0\r\n\r\n')],
    ['a chunk size with a blank', chunked('2 \r\nok\r\n0\r\n\r\n')],
    ['a chunk size beyond all numbers', chunked(`${'f'.repeat(13)}\r\nok`)],
    ['a chunk line that ends in LF', chunked('2\nok\n0\n\n')],
    ['a chunk line with a bare CR', chunked('2;a\rb\r\nok\r\n0\r\n\r\n')],
    ['a chunk that is longer than it says', chunked('2\r\nokay\r\n0\r\n\r\n')],
    ['a chunk line without end', chunked(`2;${'a'.repeat(5 * 1024)}`)],
    ['a trailer that is no header', chunked('0\r\nnonsense\r\n\r\n')],
  ])('with %s is refused at once', (_, text) => {
    expect(() => read(text)).toThrow(InvalidAnswer);
  });
});

describe('the connection after an answer', () => {
  const keepAliveMs = (fields: string, rest = ''): number => read(withFields(`${fields}Content-Length: 0\r\n`, rest)).keepAliveMs;

  it.each([
    ['nothing is said', '', 4_000],
    ['the receiver says how long', 'Keep-Alive: timeout=10, max=5\r\n', 8_000],
    ['the receiver keeps it for long', 'Keep-Alive: max=5, timeout=9999\r\n', 60_000],
    ['the receiver keeps it for a moment only', 'Keep-Alive: timeout=2\r\n', 0],
    ['the receiver closes it', 'Connection: close\r\n', 0],
    ['the receiver closes it among other things', 'Connection: Upgrade\r\nConnection: x, Close\r\n', 0],
    ['something is called almost like close', 'Connection: closed, not-close\r\n', 4_000],
  ])('is kept as long as it is safe: %s', (_, fields, expected) => {
    expect(keepAliveMs(fields)).toBe(expected);
  });

  it('is not kept when more than the answer came', () => {
    expect(keepAliveMs('', 'HTTP/1.1 500 Smuggled\r\n\r\n')).toBe(0);
    expect(read(chunked('0\r\n\r\nx'))).toMatchObject({ isOver: true, keepAliveMs: 0 });
  });

  it('is not kept by HTTP/1.0', () => {
    const text = 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok';
    expect(read(text)).toMatchObject({ status: 200, body: 'ok', isOver: true, keepAliveMs: 0 });
  });
});

describe('Retry-After', () => {
  const retryAfter = (fields: string): string | null | undefined => {
    const reader = new AnswerReader(() => undefined);
    reader.read(Buffer.from(`HTTP/1.1 503 Later\r\n${fields}Content-Length: 0\r\n\r\n`));
    return reader.head?.retryAfter;
  };

  it('is what the header says, in any spelling of its name', () => {
    expect(retryAfter('retry-AFTER:  Wed, 21 Oct 2026 07:28:00 GMT \r\n')).toBe('Wed, 21 Oct 2026 07:28:00 GMT');
  });

  it('is nothing when it is absent or said twice', () => {
    expect(retryAfter('')).toBeNull();
    expect(retryAfter('Retry-After: 1\r\nRetry-After: 2\r\n')).toBeNull();
  });
});
