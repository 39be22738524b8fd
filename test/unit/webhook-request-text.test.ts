import { describe, expect, it } from 'vitest';
import { requestStart, requestText } from '../../src/adapters/webhook-http/request-text.ts';

const start = requestStart('shop.example:8443', '/hook?a=1');

describe('the request of a delivery', () => {
  it('is what the specification asks for, with the length in bytes', () => {
    expect(requestText(start, ['Content-Type', 'application/json', 'X-One', '1'], '{"ä":1}')).toBe(
      'POST /hook?a=1 HTTP/1.1\r\nhost: shop.example:8443\r\nconnection: keep-alive\r\n' +
        'Content-Type: application/json\r\nX-One: 1\r\ncontent-length: 8\r\n\r\n{"ä":1}',
    );
  });

  it.each(['a\r\nX-Two: 2', 'a\nb', 'a\0b', 'ä', 'a\u2028b'])('is never made with %j in a header', (odd) => {
    expect(() => requestText(start, ['X-One', odd], '')).toThrow(TypeError);
    expect(() => requestText(start, [odd, '1'], '')).toThrow(TypeError);
  });
});
