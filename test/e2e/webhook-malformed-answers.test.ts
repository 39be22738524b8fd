import { afterEach, describe, expect, it } from 'vitest';
import { HttpWebhookSender } from '../../src/adapters/webhook-http/sender.ts';
import type { WebhookAnswer } from '../../src/ports/webhooks/sender.ts';
import { answer, HostileReceiver, write, type Behaviour } from '../support/hostile-receiver.ts';
import { merchantId, until } from '../support/webhook-world.ts';

/* Answers that parsers might read differently, and answers without end, against real sockets. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function receiver(behave: Behaviour): Promise<HostileReceiver> {
  const started = await HostileReceiver.start(behave);
  cleanups.push(() => started.close());
  return started;
}

function sender(): HttpWebhookSender {
  const made = new HttpWebhookSender({ allowInsecure: true, ownHosts: [], timeoutMs: 5_000 });
  cleanups.push(() => made.close());
  return made;
}

const post = (through: HttpWebhookSender, url: string, headers: readonly string[] = []): Promise<WebhookAnswer> =>
  through.send({ merchantId: merchantId(1), url, headers, body: '{}', attempt: 1 });

const answerTo = async (bytes: string): Promise<WebhookAnswer> =>
  post(sender(), (await receiver(write(Buffer.from(bytes, 'latin1')))).url);

const withFields = (fields: string, body = ''): string => `HTTP/1.1 200 OK\r\n${fields}\r\n${body}`;
const chunked = (body: string): string => withFields('Transfer-Encoding: chunked\r\n', body);

describe('a response', () => {
  it.each([
    ['with blanks before a length', withFields('Content-Length: \t 2\r\n', 'ok')],
    ['in chunks', chunked('1\r\no\r\n1\r\nk\r\n0\r\n\r\n')],
    ['in chunks with extensions', chunked('2;name="a;b"\r\nok\r\n0;x\r\n\r\n')],
    ['in chunks with a trailer', chunked('2\r\nok\r\n0\r\nX-One: 1\r\n\r\n')],
    ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok'],
    ['with a reason in any alphabet', 'HTTP/1.1 200 \xc3\x96k\r\nContent-Length: 2\r\n\r\nok'],
  ])('%s is complete, however its bytes are cut up', async (_, bytes) => {
    const hook = await receiver((_request, socket) => {
      let sent = 0;
      hook.every(1, () => void (sent < bytes.length && socket.writable && socket.write(bytes[sent++]!, 'latin1')));
    });
    for (const got of [await answerTo(bytes), await post(sender(), hook.url)]) {
      expect(got).toMatchObject({ status: 200, fault: null, incomplete: false });
      expect(Buffer.from(got.body).toString()).toBe('ok');
    }
  });

  it('without a length ends with the connection', async () => {
    const hook = await receiver((_, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok'));
    const got = await post(sender(), hook.url);
    expect(got).toMatchObject({ status: 200, fault: null, incomplete: false });
    expect(Buffer.from(got.body).toString()).toBe('ok');
  });

  it.each([
    ['another version', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['small letters', 'http/1.1 200 OK\r\n\r\n'],
    ['two blanks', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['lines that end in LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ['one line that ends in LF', withFields('A: b\nContent-Length: 0\r\n')],
    ['a line that goes on in the next', withFields('A: b\r\n c\r\n')],
    ['a control character in a header', withFields('A: \x01\r\n')],
    ['a blank before the colon', withFields('A : b\r\n')],
    ['a header without a name', withFields(': b\r\n')],
    ['two lengths', withFields('Content-Length: 2\r\nContent-Length: 2\r\n', 'ok')],
    ['a list of lengths', withFields('Content-Length: 2, 2\r\n', 'ok')],
    ['a length with a sign', withFields('Content-Length: +2\r\n', 'ok')],
    ['an empty length', withFields('Content-Length:\r\n', 'ok')],
    ['a length beyond all numbers', withFields('Content-Length: 99999999999999999999\r\n', 'ok')],
    [
      'a length beside chunks',
      withFields('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '2\r\nok\r\n0\r\n\r\n'),
    ],
    [
      'chunks beside a length',
      withFields('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n', '2\r\nok\r\n0\r\n\r\n'),
    ],
    ['a header of 17 KB', withFields(`A: ${'a'.repeat(17 * 1024)}`)],
    ['headers of 17 KB', withFields('A: bcdefgh\r\n'.repeat(2_200))],
    ['a reason without end', `HTTP/1.1 200 ${'a'.repeat(1024 * 1024)}`],
  ])('with %s is refused at once', async (_, bytes) => {
    const got = await answerTo(bytes);
    expect(got).toMatchObject({ status: null, fault: 'invalid_response' });
    expect(got.durationMs).toBeLessThan(4_000);
  });

  it('with a status below 100 is invalid', async () => {
    expect((await answerTo('HTTP/1.1 099 OK\r\n\r\n')).fault).not.toBeNull();
  });

  it.each([
    ['a chunk without a size', '\r\nok\r\n0\r\n\r\n'],
    ['a chunk size that is no number', 'zz\r\nok\r\n0\r\n\r\n'],
    ['a chunk size with a sign', '+2\r\nok\r\n0\r\n\r\n'],
    ['a chunk size with a blank', '2 \r\nok\r\n0\r\n\r\n'],
    ['a chunk size beyond all numbers', `${'f'.repeat(17)}\r\nok`],
    ['a chunk line that ends in LF', '2\nok\n0\n\n'],
    ['a chunk line with a bare CR', '2;a\rb\r\nok\r\n0\r\n\r\n'],
    ['a chunk that is longer than it says', '2\r\nokay\r\n0\r\n\r\n'],
    ['a chunk line without end', `2;${'a'.repeat(1024 * 1024)}`],
    ['chunks of one byte without end', '1\r\na\r\n'.repeat(200_000)],
    ['a trailer without end', `0\r\n${'A: b\r\n'.repeat(200_000)}`],
    ['a trailer that is no header', '0\r\nnonsense\r\n\r\n'],
  ])('with %s is cut off at once, and its status counts', async (_, body) => {
    const hook = await receiver(write(chunked(body)));
    const got = await post(sender(), hook.url);
    expect(got).toMatchObject({ status: 200, fault: null, incomplete: true });
    expect(got.durationMs).toBeLessThan(4_000);
    await until('the connection to close', () => hook.openSockets === 0);
  });

  it('may be as long as the bound again and again over one connection', async () => {
    const half = 'a'.repeat(30 * 1024);
    const hook = await receiver((_, socket) => {
      socket.write(withFields(`Content-Length: ${half.length * 2}\r\n`, half));
      hook.later(20, () => void (socket.writable && socket.write(half)));
    });
    const through = sender();
    for (let round = 0; round < 5; round++)
      expect(await post(through, hook.url)).toMatchObject({ status: 200, incomplete: false });
    expect(hook.connections).toBe(1);
  });
});

describe('the connection after a response', () => {
  it.each([
    ['is closed by the receiver', 'Connection: close\r\n'],
    ['is closed by the receiver among other things', 'Connection: x, Close\r\n'],
    ['is kept by the receiver for a moment only', 'Keep-Alive: timeout=2\r\n'],
  ])('that %s is not reused', async (_, fields) => {
    const hook = await receiver(write(withFields(`${fields}Content-Length: 0\r\n`)));
    const through = sender();
    for (let round = 0; round < 2; round++) expect((await post(through, hook.url)).status).toBe(200);
    expect(hook.connections).toBe(2);
  });
});

describe('Retry-After', () => {
  const later = (fields: string): Promise<WebhookAnswer> =>
    answerTo(`HTTP/1.1 503 Later\r\n${fields}Content-Length: 0\r\n\r\n`);

  it('is what the header says, in any spelling of its name', async () => {
    expect((await later('retry-AFTER:  Wed, 21 Oct 2026 07:28:00 GMT \r\n')).retryAfter).toBe(
      'Wed, 21 Oct 2026 07:28:00 GMT',
    );
  });

  it('is nothing when it is absent or said twice', async () => {
    expect((await later('')).retryAfter).toBeNull();
    expect((await later('Retry-After: 1\r\nRetry-After: 2\r\n')).retryAfter).toBeNull();
  });
});

describe('a request', () => {
  it.each(['a\r\nX-Two: 2', 'a\nb', 'a\0b', 'a\u2028b'])('is never sent with %j in a header', async (odd) => {
    const hook = await receiver(answer(200));
    for (const headers of [
      ['X-One', odd],
      [odd, '1'],
    ])
      expect((await post(sender(), hook.url, headers)).fault).not.toBeNull();
    expect(hook.received).toHaveLength(0);
  });
});
