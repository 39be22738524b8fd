import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { planted } from '../support/planted-change.ts';
import { chosenChanges, chosenSet } from './mutant-sets.ts';

const root = resolve(import.meta.dirname, '../..');
const { include, exclude, always } = chosenSet();
const changes = [...always, ...chosenChanges()];

/** Takes a protection out of the sources as they are loaded. */
export default defineConfig({
  root,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(source, id) {
        const own = changes.filter(({ file }) => file === relative(root, id.split('?')[0]!));
        return own.length === 0 ? undefined : { code: planted(source, own), map: null };
      },
    },
  ],
  test: {
    watch: false,
    pool: 'forks',
    env: { PLANT_HOOK: pathToFileURL(join(import.meta.dirname, 'plant.mjs')).href },
    setupFiles: ['test/mutants/no-shrinking.ts', 'test/support/remove-folders.ts'],
    include: [...include],
    exclude: [...exclude],
    testTimeout: 20_000,
    maxWorkers: 2,
    bail: 0,
  },
});
