import { expect, it } from 'vitest';
import { HeadComparison } from '../../../../src/adapters/rpc/head-comparison.ts';
import { answeringProvider } from '../../../support/answering-provider.ts';
import { ModelPool } from '../../../support/lying-evm.ts';

it('asks each provider for its head, except the one that has told it this moment, and not before its time', async () => {
  const pool = new ModelPool(['one', 'two', 'three'].map((name) => answeringProvider({}, { name })));
  const asked: string[] = [];
  const heads = new HeadComparison(pool, async ({ name }) => asked.push(name));
  await heads.now('one');
  expect(asked).toEqual(['two', 'three']);
  heads.nowAndThen('two');
  expect(asked).toHaveLength(2);
  await heads.now();
  expect(asked.slice(2)).toEqual(['one', 'two', 'three']);
});
