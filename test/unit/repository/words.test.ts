import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../../support/repository.ts';

const sources = ['src', 'state-machines', 'projections'].flatMap((folder) =>
  readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(REPOSITORY, folder, name)),
);

/** Private words that the glossary replaces, as whole identifiers or their parts. */
const REPLACED =
  /(?<![a-z])(?:[bB]oards?|[dD]esks?|[lL]anes?|[sS]hel(?:f|ves)|[rR]iders?|[sS]trays?)(?![a-z])|\b\w*(?:Board|Desk|Lane|Shelf|Rider|Stray)s?(?![a-z])/;

describe('the words of the glossary', () => {
  it('are the only ones in the sources', () => {
    const offenders = sources.flatMap((file) => {
      const found = REPLACED.exec(readFileSync(file, 'utf8'));
      return found ? [`${relative(REPOSITORY, file)}: ${found[0]}`] : [];
    });
    expect(offenders).toEqual([]);
  });

  it('are defined once each', () => {
    const words = [...readFileSync(join(REPOSITORY, 'docs/glossary.md'), 'utf8').matchAll(/^\| ([^|]+?) \|/gm)].map(
      ([, word]) => word,
    );
    const twice = words.filter((word, index) => word !== 'word' && words.indexOf(word) !== index);
    expect(words.length).toBeGreaterThan(50);
    expect(twice).toEqual([]);
  });
});

describe.each([
  ['tour', 20],
  ['glossary', 9],
])('the %s', (name, least) => {
  it('leads only to files that exist', () => {
    const page = join(REPOSITORY, `docs/${name}.md`);
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(least);
    expect(links.filter((link) => !existsSync(join(dirname(page), link)))).toEqual([]);
  });
});
