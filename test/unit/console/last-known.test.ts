import { expect, it } from 'vitest';
import { LastKnown } from '../../../src/console/last-known.ts';

const soon = (): Promise<void> => new Promise((done) => setImmediate(done));

it('a slow answer is not waited for; until it comes, the last one is shown with its time', async () => {
  const known = new LastKnown<string>();
  const { promise, resolve } = Promise.withResolvers<string>();
  expect(await known.look('bsc', 100, () => Promise.resolve('old'))).toEqual({
    ...{ answer: 'old', atSec: 100, fault: null, isAsking: false },
  });
  const look = (nowSec: number) => known.look('bsc', nowSec, () => promise, 1);
  expect(await look(129)).toMatchObject({ answer: 'old', isAsking: false });
  expect(await look(130)).toMatchObject({ answer: 'old', atSec: 100, isAsking: true });
  resolve('new');
  await soon();
  expect(await look(131)).toMatchObject({ answer: 'new', atSec: 130, isAsking: false });
});

it('a question that is open is not asked twice, and no more than four are open at a time', async () => {
  const known = new LastKnown<string>();
  const never = new Promise<string>(() => undefined);
  const asked: string[] = [];
  for (const key of ['a', 'a', 'b', 'c', 'd', 'e'])
    expect(await known.look(key, 100, () => (asked.push(key), never), 1)).toMatchObject({ isAsking: true });
  expect(asked).toEqual(['a', 'b', 'c', 'd']);
});

it('a failure keeps the last answer, says why, and is not repeated at once', async () => {
  const known = new LastKnown<string>();
  await known.look('bsc', 100, () => Promise.resolve('old'));
  const failed = await known.look('bsc', 140, () => Promise.reject(new Error('no provider could answer')));
  expect(failed).toEqual({ answer: 'old', atSec: 100, fault: 'no provider could answer', isAsking: false });
  expect(await known.look('bsc', 150, () => Promise.resolve('too soon'))).toEqual(failed);
});
