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
  expect(failing()).toEqual([{ ...bsc, kind: 'treasury', failures: 2, why: 'no provider', overdueSec: 0 }]);
  await comparisons.run(bsc, 'treasury', () => Promise.resolve());
  expect(failing()).toEqual([]);
  expect(comparisons.all).toHaveLength(2);
  const tron = { mode: 'live', network: 'tron' } as const;
  comparisons.overdue(bsc, 60);
  comparisons.overdue(tron, 70);
  const overdue = () => comparisons.all.map(({ network, kind, overdueSec }) => `${network} ${kind} ${overdueSec}`);
  expect(overdue()).toEqual(['bsc addresses 0', 'bsc treasury 60', 'tron treasury 70']);
  await fails();
  await comparisons.run(tron, 'treasury', () => Promise.resolve());
  expect(overdue()).toEqual(['bsc addresses 0', 'bsc treasury 60', 'tron treasury 0']);
});
