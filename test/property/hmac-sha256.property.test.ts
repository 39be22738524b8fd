import { createHmac, createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hmacSha256Hex } from '../../src/runtime/hmac-sha256.ts';
import { runsOf } from '../support/runs.ts';

const key = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => createSecretKey(bytes));
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  // Around the length from which texts are left to the runtime.
  fc.integer({ min: 5_400, max: 5_500 }).map((length) => '\u20ac'.repeat(length)),
);

describe('the HMAC of webhooks', () => {
  it('is that of the runtime, for any keys and texts by turns', () => {
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 3 }), fc.array(text, { minLength: 1, maxLength: 5 }), (keys, texts) => {
        for (const one of texts) for (const by of keys) expect(hmacSha256Hex(by, one)).toBe(createHmac('sha256', by).update(one).digest('hex'));
      }),
      { numRuns: runsOf(200) },
    );
  });
});
