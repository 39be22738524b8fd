import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PLANTS } from '../../crash/plants.ts';
import { MUTANT_SETS } from '../../mutants/mutant-sets.ts';
import { ALL_FAULTS } from '../../simulation/unfixed/unfixed.ts';
import { planted, type PlantedChange } from '../../support/planted-change.ts';
import { REPOSITORY } from '../../support/repository.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The changed sources, by their files. */
function changed(changes: readonly PlantedChange[]): string[] {
  const files = [...new Set(changes.map((change) => change.file))];
  return files.map((file) =>
    planted(
      readFileSync(join(REPOSITORY, file), 'utf8'),
      changes.filter((change) => change.file === file),
    ),
  );
}

/* A planted bug that does not fit its source finds nothing, and is noticed late: these tests are slow. */
describe('each planted bug', () => {
  it.each(Object.entries(PLANTS))('%s fits the sources, which run with it', (_, changes) => {
    const directory = temporaryFolder('planted-changes');
    for (const source of changed(changes)) {
      const file = join(directory, 'planted.mjs');
      writeFileSync(file, stripTypeScriptTypes(source));
      execFileSync(process.execPath, ['--check', file], { stdio: 'pipe' });
    }
  });
});

describe.each(Object.entries(MUTANT_SETS))(
  'each protection of %s that the tests must notice',
  (_, { mutants, always }) => {
    it.each(mutants.map((mutant) => [mutant.without, mutant] as const))(
      '%s can still be taken out',
      (_name, { changes }) => {
        for (const source of changed([...always, ...changes])) expect(() => stripTypeScriptTypes(source)).not.toThrow();
      },
    );
  },
);

describe('each fault that the simulation must find', () => {
  it.each(ALL_FAULTS.map((fault) => [fault.name, fault] as const))('%s can still be put back', (_, { changes }) => {
    for (const source of changed(changes)) expect(() => stripTypeScriptTypes(source)).not.toThrow();
  });
});
