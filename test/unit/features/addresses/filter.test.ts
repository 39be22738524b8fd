import { describe, expect, test } from 'vitest';
import { AddressFilter } from '../../../../src/features/addresses/filter.ts';
import { loadFilter, saveFilter } from '../../../../src/features/addresses/filter-file.ts';
import { bytesInMemory } from '../../../support/kept-bytes.ts';

const MIXED = 0x9e3779b1;
const keyOf = (number: number): [number, number] => [
  Math.imul(number + 1, MIXED) >>> 0,
  Math.imul(number + 1, 0x85ebca6b) >>> 0,
];
const filled = (keys: number): AddressFilter => {
  const filter = new AddressFilter();
  for (let number = 0; number < keys; number += 1) filter.add(...keyOf(number));
  return filter;
};
const held = (filter: AddressFilter, from: number, to: number): number => {
  let count = 0;
  for (let number = from; number < to; number += 1) if (filter.mayHave(...keyOf(number))) count += 1;
  return count;
};

describe('the address filter', () => {
  test('has every key that was added, over all of its layers, and one stranger in thirty at most', () => {
    const filter = filled(200_000);
    expect(filter.layers.length).toBeGreaterThan(3);
    expect(held(filter, 0, 200_000)).toBe(200_000);
    expect(held(filter, 1_000_000, 1_100_000)).toBeLessThan(3_300);
    expect((filter.memoryBytes * 8) / 200_000).toBeLessThan(26);
  });

  test('takes no memory until there is a key', () => {
    expect(new AddressFilter().memoryBytes).toBe(0);
    expect(new AddressFilter().mayHave(0, 0)).toBe(false);
  });

  test('comes back as it was saved, and continues', async () => {
    const kept = bytesInMemory();
    await saveFilter(kept, { layers: filled(100_000).layers, generation: '7', place: 42 });
    const found = (await loadFilter(kept))!;
    expect([found.generation, found.place]).toEqual(['7', 42]);
    const again = new AddressFilter();
    again.add(...keyOf(500_000));
    again.adopt(found.layers);
    for (let number = 100_000; number < 150_000; number += 1) again.add(...keyOf(number));
    expect(held(again, 0, 150_000) + held(again, 500_000, 500_001)).toBe(150_001);
  });

  test('is rejected if one bit differs or the end is missing', async () => {
    const kept = bytesInMemory();
    await saveFilter(kept, { layers: filled(1_000).layers, generation: '7', place: 42 });
    const whole = kept.bytes!;
    for (const at of [0, 5, 40, 5_000, whole.length - 1]) {
      kept.bytes = Uint8Array.from(whole, (byte, index) => (index === at ? byte ^ 4 : byte));
      expect(await loadFilter(kept)).toBeNull();
    }
    kept.bytes = whole.subarray(0, -100);
    expect(await loadFilter(kept)).toBeNull();
    kept.bytes = new Uint8Array(0);
    expect(await loadFilter(kept)).toBeNull();
    kept.bytes = null;
    expect(await loadFilter(kept)).toBeNull();
  });

  test('can grow while it is being saved', async () => {
    const kept = bytesInMemory();
    const filter = filled(300_000);
    let added = 300_000;
    const { layers } = filter;
    await saveFilter(
      {
        ...kept,
        save: (parts) =>
          kept.save(
            (function* () {
              for (const part of parts) {
                for (const until = added + 30_000; added < until; added += 1) filter.add(...keyOf(added));
                yield part;
              }
            })(),
          ),
      },
      { layers, generation: '7', place: 300_000 },
    );
    expect(added).toBeGreaterThan(400_000);
    const again = new AddressFilter();
    again.adopt((await loadFilter(kept))!.layers);
    expect(held(again, 0, 300_000)).toBe(300_000);
  });
});
