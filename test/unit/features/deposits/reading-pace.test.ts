import { describe, expect, it } from 'vitest';
import { ReadingPace } from '../../../../src/features/deposits/chain/reading-pace.ts';

/** The chain makes two blocks a second. */
const blockAt = (number: number) => ({
  ...{ number, hash: `0x${number}`, parentHash: `0x${number - 1}`, timeSec: 1_000 + Math.floor(number / 2) },
});
const paceAfter = (reads: readonly (readonly [blocks: number, ms: number])[]): number | null => {
  const pace = new ReadingPace();
  let at = 100;
  for (const [blocks, ms] of reads) {
    at += blocks;
    pace.newHead(at, blocks);
    // Some networks are read block by block.
    for (let read = 1; read <= blocks; read += 1) pace.add(1, ms / blocks, blockAt(at - blocks + read));
  }
  return pace.ratio;
};

describe('the pace of reading', () => {
  it('is not known from a few blocks', () => {
    expect(paceAfter([])).toBeNull();
    expect(paceAfter([[1, 10]])).toBeNull();
    expect(paceAfter([...Array.from({ length: 15 }, () => [1, 10] as const)])).toBeNull();
  });

  it('compares what is read in a second of reading with what is made in one', () => {
    expect(paceAfter(Array.from({ length: 12 }, () => [10, 10_000]))).toBeCloseTo(0.5, 1);
    expect(paceAfter(Array.from({ length: 12 }, () => [10, 1_000]))).toBeCloseTo(5, 0);
    expect(paceAfter(Array.from({ length: 10 }, () => [100, 100]))).toBeCloseTo(500, -2);
  });

  it('follows a provider that gets faster or slower', () => {
    const slow = Array.from({ length: 30 }, () => [10, 10_000] as const);
    const quick = Array.from({ length: 30 }, () => [10, 1_000] as const);
    expect(paceAfter([...quick, ...slow])!).toBeLessThan(1);
    expect(paceAfter([...slow, ...quick, ...quick, ...quick])!).toBeGreaterThan(1);
  });

  it('suffices while each reading finds few new blocks, however long it takes', () => {
    expect(paceAfter(Array.from({ length: 60 }, () => [1, 1_000]))).toBe(1);
    expect(paceAfter([...Array.from({ length: 12 }, () => [10, 10_000] as const), [2, 1_000]])).toBe(1);
  });

  it('begins anew after a reorganisation', () => {
    const pace = new ReadingPace();
    for (let number = 200; number < 260; number += 1) pace.add(1, 100, blockAt(number));
    pace.add(1, 100, blockAt(150));
    expect(pace.ratio).toBeNull();
  });
});
