import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRangeWindow } from '../../../../src/adapters/evm/range-window.ts';

describe('the range window', () => {
  test('doubles with every full range that worked, up to its maximum', () => {
    const window = createRangeWindow({ initialBlocks: 10, maxBlocks: 64 });
    const widths = Array.from({ length: 5 }, () => (window.succeeded(window.blocks), window.blocks));
    expect(widths).toEqual([20, 40, 64, 64, 64]);
  });

  test('learns nothing from ranges that were shorter than allowed', () => {
    const window = createRangeWindow({ initialBlocks: 10, maxBlocks: 64 });
    window.succeeded(3);
    expect(window.blocks).toBe(10);
  });

  test('stays at a size that works, and tries a larger one after a while', () => {
    const window = createRangeWindow({ initialBlocks: 1_000, maxBlocks: 4_000 });
    window.refused(500, false);
    const widths = Array.from({ length: 8 }, () => (window.succeeded(window.blocks), window.blocks));
    expect(widths.slice(0, 7)).toEqual(Array.from({ length: 7 }, () => 500));
    expect(widths[7]).toBe(750);
  });

  test("keeps to a plan's cap far longer", () => {
    const window = createRangeWindow({ initialBlocks: 1_000, maxBlocks: 4_000 });
    window.refused(10, true);
    for (let times = 0; times < 200; times += 1) window.succeeded(window.blocks);
    expect(window.blocks).toBe(10);
  });

  test('is at least one block and at most its maximum, whatever happens', () => {
    const step = fc.oneof(
      fc.constant('ok'),
      fc.record({ next: fc.double({ min: 0, max: 10_000, noNaN: true }), fixed: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const window = createRangeWindow({ initialBlocks: 100, maxBlocks: 5_000 });
        return steps.every((next) => {
          if (typeof next === 'string') window.succeeded(window.blocks);
          else window.refused(Math.min(next.next, window.blocks / 2), next.fixed);
          return Number.isInteger(window.blocks) && window.blocks >= 1 && window.blocks <= 5_000;
        });
      }),
    );
  });
});
