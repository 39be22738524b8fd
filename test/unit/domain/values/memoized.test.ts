import { describe, expect, it, vi } from 'vitest';
import { rememberingLast } from '../../../../src/domain/values/memoized.ts';

describe('a function that remembers its last call', () => {
  it('returns the cached result for the same arguments, and computes others', () => {
    const compute = vi.fn((row: object, id: string) => ({ row, id }));
    const remembering = rememberingLast(compute);
    const row = {};
    const first = remembering(row, 'a');
    expect(remembering(row, 'a')).toBe(first);
    expect(remembering({}, 'a')).not.toBe(first);
    expect(remembering(row, 'b')).toEqual({ row, id: 'b' });
    expect(compute).toHaveBeenCalledTimes(3);
  });

  it('remembers nothing of a call that failed', () => {
    const remembering = rememberingLast((id: string): string => {
      if (id === 'bad') throw new Error('no');
      return id;
    });
    expect(remembering('good')).toBe('good');
    expect(() => remembering('bad')).toThrow('no');
    expect(() => remembering('bad')).toThrow('no');
  });
});
