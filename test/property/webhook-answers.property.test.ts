import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpWebhookSender } from '../../src/adapters/webhook-http/sender.ts';
import type { WebhookAnswer } from '../../src/ports/webhooks/sender.ts';
import { answer, HostileReceiver } from '../support/hostile-receiver.ts';
import { runsOf } from '../support/runs.ts';
import { merchantId } from '../support/webhook-world.ts';

let hook: HostileReceiver;
let sender: HttpWebhookSender;
beforeAll(async () => {
  hook = await HostileReceiver.start();
  sender = new HttpWebhookSender({ allowInsecure: true, ownHosts: [], timeoutMs: 2_000 });
});
afterAll(async () => {
  await sender.close();
  await hook.close();
});

/** The pieces one after the other, then the end of the connection. */
function answeredWith(pieces: readonly Buffer[]): Promise<WebhookAnswer> {
  hook.behave = (_, socket) => {
    for (const piece of pieces) socket.write(piece);
    socket.end();
  };
  // Over a connection of its own: one that is kept may be ending under the next request.
  merchant += 1;
  return post();
}

let merchant = 0;
const post = (): Promise<WebhookAnswer> =>
  sender.send({ merchantId: merchantId(merchant), url: hook.url, headers: [], body: '{}', attempt: 1 });

/** Cut at the drawn places, of which those beyond the end do not count. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [
    0,
    ...new Set(places.map((place) => place % (bytes.length + 1)).sort((one, other) => one - other)),
    bytes.length,
  ];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

/** What answers are made of, rightly and wrongly put together. */
const SCRAPS = [
  ...[
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.0 200 OK\r\n',
    'HTTP/1.1 204 X\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 103 X\r\n\r\n',
    'HTTP/1.1 ',
  ],
  ...['503', '\r\n', '\r\n\r\n', '\r', '\n'],
  ...[
    'Content-Length: 3\r\n',
    'Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
    'Keep-Alive: timeout=9\r\n',
  ],
  ...[
    'Connection: upgrade\r\nUpgrade: x\r\n',
    'X: y\r\n',
    'abc',
    '3\r\nabc\r\n',
    '0\r\n',
    '0\r\n\r\n',
    'ff\r\n',
    ';',
    ':',
    ' ',
    '\0',
    '\xff',
  ],
];
const soup = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...SCRAPS) },
      { weight: 1, arbitrary: fc.string({ maxLength: 5 }) },
    ),
    { maxLength: 12 },
  )
  .map((scraps) => Buffer.from(scraps.join(''), 'latin1'));

const field = fc.constantFrom(
  'Date: Sun, 22 Nov 2026 10:00:00 GMT',
  'Server: x/1.0 (y)',
  'X-Empty:',
  'X-High: \xe4',
  'X:\t z \t',
);
const data = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '\0', '0', '\xff'), maxLength: 40 });
const inChunks = (chunks: readonly string[]): string =>
  `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;

/** A sound answer: its status, its headers and a body in any framing. */
const sound = fc
  .record({
    version: fc.constantFrom('1.1', '1.1', '1.0'),
    status: fc.constantFrom(200, 201, 299, 302, 404, 410, 429, 500, 503, 999),
    reason: fc.constantFrom('', ' ', ' OK', ' Very \xe4 long'),
    fields: fc.array(field, { maxLength: 5 }),
    body: fc.oneof(
      data.map((text) => ({ text, framed: `Content-Length: ${text.length}\r\n\r\n${text}` })),
      fc.array(data, { maxLength: 4 }).map((chunks) => ({
        text: chunks.join(''),
        framed: `Transfer-Encoding: chunked\r\n\r\n${inChunks(chunks.filter((chunk) => chunk !== ''))}`,
      })),
      data.map((text) => ({ text, framed: `\r\n${text}` })),
    ),
  })
  .map(({ version, status, reason, fields, body: { text, framed } }) => {
    const lines = fields.map((line) => `${line}\r\n`).join('');
    return { status, text, bytes: Buffer.from(`HTTP/${version} ${status}${reason}\r\n${lines}${framed}`, 'latin1') };
  });

const places = fc.array(fc.nat(), { maxLength: 8 });

describe('the responses of receivers', () => {
  it('are understood when they are sound, however they are cut up', async () => {
    await fc.assert(
      fc.asyncProperty(sound, places, async ({ status, text, bytes }, at) => {
        const got = await answeredWith(cut(bytes, at));
        expect(got).toMatchObject({ status, fault: null, incomplete: false });
        expect(Buffer.from(got.body).toString('latin1')).toBe(text);
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('end whatever they are, and leave nothing behind for the next one', async () => {
    const spoilt = fc.tuple(sound, fc.nat(), fc.nat(255)).map(([{ bytes }, place, byte]) => {
      const copy = Buffer.from(bytes);
      copy[place % copy.length] = byte;
      return copy;
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          soup,
          spoilt,
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        ),
        places,
        async (bytes, at) => {
          const got = await answeredWith(cut(bytes, at));
          expect(got.status === null).toBe(got.fault !== null);
          expect(got.fault).not.toBe('timeout');
          hook.behave = answer(200, 'next');
          // The connection may be ending under this request, if it was kept.
          const next = await post();
          if (next.status !== null) expect(Buffer.from(next.body).toString()).toBe('next');
        },
      ),
      { numRuns: runsOf(300) },
    );
  });
});
