import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../../support/repository.ts';

const text = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

it('docs/operations.md names every setting that src/config.ts reads', () => {
  const settings = [...text('src/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map((match) => match[1]!);
  expect(settings.length).toBeGreaterThan(30);
  const documented = text('docs/operations.md');
  expect(settings.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
});

it('docs/security.md names tests that are there', () => {
  const named = [...text('docs/security.md').matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1]!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
});
