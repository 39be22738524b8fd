import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SpilledMap } from '../../src/adapters/sqlite/read-model/spilled-map.ts';
import { KeyedMemoryFailed } from '../../src/ports/read-model/keyed-memory.ts';
import { runsOf } from '../support/runs.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const value = fc.record({
  text: fc.oneof(fc.string(), fc.constantFrom('\u0000n7', '\u0000nothing', '\u0000s', '\u0000')),
  units: fc.bigInt(),
  nested: fc.array(fc.option(fc.integer())),
});
const step = fc.oneof(fc.record({ key, value }), fc.record({ key }));

describe('a map that spills', () => {
  it('acts like a map in memory, whatever part of it is in memory', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (live, steps) => {
        const spilled = new SpilledMap<unknown>(live);
        const plain = new Map<string, unknown>();
        for (const one of steps) {
          if ('value' in one) {
            spilled.set(one.key, one.value);
            plain.set(one.key, one.value);
          }
          expect(spilled.get(one.key)).toEqual(plain.get(one.key));
          expect(spilled.size).toBe(plain.size);
        }
        for (const [each, expected] of plain) expect(spilled.get(each)).toEqual(expected);
        spilled.close();
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('reports a failure of its files, not of a value', () => {
    const spilled = new SpilledMap<number>(1);
    spilled.set('a', 1);
    spilled.close();
    expect(() => ['b', 'c'].forEach((key) => spilled.set(key, 2))).toThrow(KeyedMemoryFailed);
  });
});
