import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readResults, tableOf } from '../../simulation/unfixed/results.ts';
import { UNFIXED } from '../../simulation/unfixed/unfixed.ts';
import { REPOSITORY } from '../../support/repository.ts';

describe('the list of faults that the simulation finds', () => {
  it('names each fault once, and nothing that was removed', () => {
    const names = UNFIXED.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of Object.keys(readResults())) expect(names).toContain(name);
  });

  it('is in the documentation as measured', () => {
    const page = readFileSync(join(REPOSITORY, 'docs/simulation-unfixed.md'), 'utf8');
    expect(page).toBe(tableOf(readResults()));
  });

  it('is at least thirty-five faults', () => {
    const found = UNFIXED.filter(({ name }) => readResults()[name]?.outcome === 'found');
    expect(found.length).toBeGreaterThanOrEqual(35);
  });
});
