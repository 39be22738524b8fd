import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXPECTED, whyNever } from '../../simulation/coverage.ts';
import { readSituations, situationsPage } from '../../simulation/situations.ts';
import { readResults, tableOf } from '../../simulation/unfixed/results.ts';
import { ALL_FAULTS, UNFIXED } from '../../simulation/unfixed/unfixed.ts';
import { REPOSITORY } from '../../support/repository.ts';

describe('the list of faults that the simulation finds', () => {
  it('names each fault once, and nothing that was removed', () => {
    const names = ALL_FAULTS.map(({ name }) => name);
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

/** They could occur, and have not in the runs that were counted. */
const MOST_UNEXPLAINED = 5;

describe('the situations of the simulation', () => {
  const { met } = readSituations();

  it('have a reason where they never occurred, but for a few, and none where they did', () => {
    const isOpen = (situation: string): boolean => met[situation] === undefined && whyNever(situation) === null;
    expect(EXPECTED.filter(isOpen).length).toBeLessThanOrEqual(MOST_UNEXPLAINED);
    expect(Object.keys(met).filter((situation) => whyNever(situation) !== null)).toEqual([]);
  });

  it('are in the documentation as counted', () => {
    expect(readFileSync(join(REPOSITORY, 'docs/simulation-situations.md'), 'utf8')).toBe(
      situationsPage(readSituations()),
    );
  });
});
