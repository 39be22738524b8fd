import { expect, it } from 'vitest';
import { rowPages } from '../../../../src/ports/read-model/row-pages.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';

async function filled(keys: readonly string[]): Promise<MemoryReadModel> {
  const readModel = new MemoryReadModel();
  await readModel.apply(
    'p@1',
    keys.map((key) => ({ op: 'put', table: 't', key, row: { key } }) as const),
    '1',
  );
  return readModel;
}

async function keysOf(...given: Parameters<typeof rowPages>): Promise<string[][]> {
  const pages: string[][] = [];
  for await (const page of rowPages(...given)) pages.push(page.map(({ key }) => key));
  return pages;
}

it.each<[string, string[], NonNullable<Parameters<typeof rowPages>[2]>, string[]]>([
  ['an empty table', [], {}, []],
  ['pages that are not full', ['a', 'b', 'c'], { limit: 2 }, ['a', 'b', 'c']],
  ['pages that are all full', ['a', 'b', 'c', 'd'], { limit: 2 }, ['a', 'b', 'c', 'd']],
  ['those after a key', ['a', 'b', 'c', 'd'], { limit: 2, after: 'b' }, ['c', 'd']],
  [
    'those of a prefix, which end within a page',
    ['a/1', 'b/1', 'b/2', 'b/3', 'c/1'],
    { limit: 2, prefix: 'b/' },
    ['b/1', 'b/2', 'b/3'],
  ],
  [
    'those of a prefix after a key',
    ['b/1', 'b/2', 'b/3', 'c/1'],
    { limit: 2, prefix: 'b/', after: 'b/1' },
    ['b/2', 'b/3'],
  ],
  ['none of a prefix that is behind the last key', ['a/1'], { limit: 2, prefix: 'b/' }, []],
])('gives %s, each row once and in order', async (_, keys, options, expected) => {
  const pages = await keysOf(await filled(keys), 't', options);
  expect(pages.flat()).toEqual(expected);
  expect(pages.every((page) => page.length <= (options.limit ?? 1_000))).toBe(true);
});
