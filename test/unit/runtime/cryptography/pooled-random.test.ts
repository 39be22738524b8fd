import { describe, expect, it } from 'vitest';
import { randomBytesPooled } from '../../../../src/runtime/cryptography/pooled-random.ts';

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('random bytes drawn in advance', () => {
  it('are as many as requested, and no two draws are alike, also across refills', () => {
    const lengths = [12, 16, 32, 64, 1, 0, 33];
    const seen = new Set<string>();
    for (let draw = 0; draw < 3_000; draw += 1) {
      const length = lengths[draw % lengths.length]!;
      const bytes = randomBytesPooled(length);
      expect(bytes).toHaveLength(length);
      if (length < 12) continue;
      expect(seen.has(hexOf(bytes))).toBe(false);
      seen.add(hexOf(bytes));
    }
  });

  it('have memory of their own, so that no later draw can show or change them', () => {
    const first = randomBytesPooled(32);
    const before = hexOf(first);
    expect(first.buffer.byteLength).toBe(32);
    first.fill(0);
    for (let draw = 0; draw < 300; draw += 1) expect(hexOf(randomBytesPooled(32))).not.toBe(before);
    expect(hexOf(first)).toBe('00'.repeat(32));
  });

  it('contain every byte value at every position', () => {
    const counts = Array.from({ length: 8 }, () => new Set<number>());
    for (let draw = 0; draw < 8_000; draw += 1) randomBytesPooled(8).forEach((byte, place) => counts[place]!.add(byte));
    expect(counts.map((values) => values.size)).toEqual(counts.map(() => 256));
  });
});
