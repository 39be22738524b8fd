import { describe, expect, test } from 'vitest';
import type { Block } from '../../../../src/ports/chain/chain.ts';
import { KnownBlocks } from '../../../../src/features/deposits/chain/known-blocks.ts';

const block = (number: number, fork = 'a'): Block => ({
  number,
  hash: `${fork}${number}`,
  parentHash: `${fork}${number - 1}`,
  timeSec: number,
});
const known = (...numbers: number[]): KnownBlocks => {
  const blocks = new KnownBlocks();
  for (const number of numbers) blocks.add(block(number));
  return blocks;
};
const numbersDown = (blocks: KnownBlocks, from: number): number[] =>
  [...blocks.downFrom(from)].map(({ number }) => number);

describe('known blocks', () => {
  test('are walked down from a height, newest first', () => {
    expect(numbersDown(known(1, 4, 5, 9), 8)).toEqual([5, 4, 1]);
  });

  test('forget everything at and above a height that was read again', () => {
    const blocks = known(1, 2, 3, 4);
    blocks.add(block(3, 'b'));
    expect(numbersDown(blocks, 9)).toEqual([3, 2, 1]);
    expect(blocks.hashAt(3)).toBe('b3');
  });

  test('accept a block between others without forgetting those', () => {
    const blocks = known(1, 5, 9);
    blocks.insert(block(5, 'b'));
    blocks.insert(block(7));
    blocks.insert(block(12));
    expect(numbersDown(blocks, 20)).toEqual([12, 9, 7, 5, 1]);
    expect(blocks.hashAt(5)).toBe('b5');
  });

  test('can be cut at both ends', () => {
    const blocks = known(1, 2, 3, 4, 5);
    blocks.dropAbove(4);
    blocks.dropBelow(3);
    expect(numbersDown(blocks, 9)).toEqual([4, 3]);
    blocks.dropBelow(10);
    expect(numbersDown(blocks, 99)).toEqual([]);
    expect(blocks.newest).toBeNull();
  });

  test('know nothing about heights in between', () => {
    expect(known(1, 5).hashAt(3)).toBeNull();
  });

  test('are bounded', () => {
    const blocks = new KnownBlocks();
    for (let number = 0; number < 20_000; number += 1) blocks.add(block(number));
    expect(numbersDown(blocks, 20_000).length).toBeLessThanOrEqual(8_192);
    expect(blocks.newest?.number).toBe(19_999);
  });
});
