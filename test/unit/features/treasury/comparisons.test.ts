import { expect, it } from 'vitest';
import { Comparisons, keepsFailing } from '../../../../src/features/treasury/comparisons.ts';

const bsc = { mode: 'live', network: 'bsc' } as const;

it('a comparison of the books keeps failing from the second failure in a row on, each treasury for itself', async () => {
  const comparisons = new Comparisons();
  const fails = () =>
    comparisons
      .run(bsc, 'treasury', () => Promise.reject(new Error('no provider')))
      .catch((error: Error) => error.message);
  const failing = () => comparisons.all.filter(keepsFailing);
  expect(await comparisons.run(bsc, 'addresses', () => Promise.resolve(7))).toBe(7);
  expect(await fails()).toBe('no provider');
  expect(failing()).toEqual([]);
  await fails();
  expect(failing()).toEqual([{ ...bsc, kind: 'treasury', failures: 2, why: 'no provider' }]);
  await comparisons.run(bsc, 'treasury', () => Promise.resolve());
  expect(failing()).toEqual([]);
  expect(comparisons.all).toHaveLength(2);
});
