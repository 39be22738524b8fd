import { request } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidAnswer } from '../../src/adapters/webhook-http/answer-head.ts';
import { AnswerReader } from '../../src/adapters/webhook-http/answer-reader.ts';
import { runsOf } from '../support/runs.ts';

interface Read {
  readonly status: number | null;
  readonly body: string;
  readonly ending: 'over' | 'open' | 'invalid';
}

/** Reads the pieces, then the end of the connection. Anything but a refusal that is thrown fails the test. */
function read(pieces: readonly Buffer[]): Read & { readonly keepAliveMs: number } {
  let body = '';
  const reader = new AnswerReader((bytes) => (body += Buffer.from(bytes).toString('latin1')));
  const result = (ending: Read['ending']) => ({ status: reader.head?.status ?? null, body, ending, keepAliveMs: reader.keepAliveMs });
  try {
    // The buffer that is read into is used again and again.
    for (const piece of pieces) {
      const window = Buffer.from(piece);
      reader.read(window);
      window.fill(0x41);
    }
    return result(reader.end() ? 'over' : 'open');
  } catch (error) {
    if (!(error instanceof InvalidAnswer)) throw error;
    return result('invalid');
  }
}

/** Cut at the drawn places, of which those beyond the end do not count. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...new Set(places.map((place) => place % (bytes.length + 1)).sort((one, other) => one - other)), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

/** What answers are made of, rightly and wrongly put together. */
const SCRAPS = [
  ...[
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.0 200 OK\r\n',
    'HTTP/1.1 204 X\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 ',
    '503',
    '\r\n',
    '\r\n\r\n',
    '\r',
    '\n',
  ],
  ...[
    'Content-Length: 3\r\n',
    'Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
    'Keep-Alive: timeout=9\r\n',
    'X: y\r\n',
  ],
  ...['abc', '3\r\nabc\r\n', '0\r\n', '0\r\n\r\n', 'ff\r\n', ';', ':', ' ', '\0', '\xff'],
];
const soup = fc.array(fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...SCRAPS) }, { weight: 1, arbitrary: fc.string({ maxLength: 5 }) }), {
  maxLength: 12,
});

const field = fc.constantFrom(
  'Date: Sun, 22 Nov 2026 10:00:00 GMT',
  'Server: x/1.0 (y)',
  'X-Empty:',
  'X-High: \xe4',
  'Connection: keep-alive',
  'X:\t z \t',
);
const data = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '\0', '0', '\xff'), maxLength: 40 });

/** A sound answer: its status, its headers and a body in any framing. */
const sound = fc
  .record({
    version: fc.constantFrom('1.1', '1.1', '1.0'),
    status: fc.constantFrom(200, 201, 299, 302, 404, 410, 429, 500, 503, 999),
    reason: fc.constantFrom('', ' ', ' OK', ' Very \xe4 long'),
    fields: fc.array(field, { maxLength: 5 }),
    body: fc.oneof(
      data.map((text) => [`Content-Length: ${text.length}\r\n\r\n`, text]),
      fc.array(data, { maxLength: 4 }).map((chunks) => ['Transfer-Encoding: chunked\r\n\r\n', inChunks(chunks.filter((chunk) => chunk !== ''))]),
      data.map((text) => ['\r\n', text]),
    ),
  })
  .map(({ version, status, reason, fields, body }) => {
    const lines = fields.map((line) => `${line}\r\n`).join('');
    return Buffer.from(`HTTP/${version} ${status}${reason}\r\n${lines}${body.join('')}`, 'latin1');
  });

const inChunks = (chunks: readonly string[]): string => `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;

/** The same bytes as Node's own client reads them. */
function readByNode(bytes: Buffer): Promise<Read> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    const asked = request({ method: 'POST', createConnection: () => socket, headers: { 'content-length': '0' } });
    asked.on('error', () => resolve({ status: null, body: '', ending: 'invalid' }));
    asked.on('response', (response) => {
      let body = '';
      response.setEncoding('latin1').on('data', (text: string) => (body += text));
      response.on('error', () => undefined);
      response.on('close', () => resolve({ status: response.statusCode!, body, ending: response.complete ? 'over' : 'open' }));
    });
    asked.end();
    socket.push(bytes);
    socket.push(null);
  });
}

describe('the reader of answers', () => {
  it('understands a sound answer as the client of the runtime does', async () => {
    await fc.assert(
      fc.asyncProperty(sound, async (bytes) => {
        const { keepAliveMs, ...ours } = read([bytes]);
        expect(ours).toEqual(await readByNode(bytes));
        expect(ours.ending).toBe('over');
        expect(keepAliveMs).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('reads bytes the same however they are cut up, sound or not, and throws nothing but refusals', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          sound,
          soup.map((scraps) => Buffer.from(scraps.join(''), 'latin1')),
          fc.tuple(sound, fc.nat(), fc.nat(255)).map(([bytes, place, byte]) => {
            const spoilt = Buffer.from(bytes);
            spoilt[place % spoilt.length] = byte;
            return spoilt;
          }),
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        ),
        fc.array(fc.nat(), { maxLength: 8 }),
        (bytes, places) => {
          const whole = read([bytes]);
          expect(read(cut(bytes, places))).toEqual(whole);
          expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
        },
      ),
      { numRuns: runsOf(1_500) },
    );
  });
});
