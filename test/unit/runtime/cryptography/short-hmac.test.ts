import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ShortHmac } from '../../../../src/runtime/cryptography/short-hmac.ts';

const keys = fc.uint8Array({ minLength: 1, maxLength: 64 });
const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { minLength: 1, maxLength: 5 });

test('is the HMAC of every text, one after another', () => {
  fc.assert(
    fc.property(keys, texts, (key, all) => {
      const hmac = new ShortHmac(key);
      for (const text of all) expect(hmac.of(text)).toEqual(createHmac('sha256', key).update(text).digest());
    }),
  );
});

test('is that of RFC 4231, test case 2', () => {
  const key = Buffer.from('Jefe');
  expect(new ShortHmac(key).of('what do ya want for nothing?').toString('hex')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
});
