import { relative, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { planted } from '../support/planted-change.ts';
import { WEBHOOK_MUTANTS } from './webhook-mutants.ts';

const root = resolve(import.meta.dirname, '../..');
/** One of the mutants, by what it is without; none for the sources as they are. */
const mutant = WEBHOOK_MUTANTS.find(({ without }) => without === process.env['WITHOUT']);

/** Takes a protection out of the sources as they are loaded. Tests that start processes of their own start them whole. */
export default defineConfig({
  root,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(source, id) {
        const own = mutant?.changes.filter(({ file }) => file === relative(root, id.split('?')[0]!)) ?? [];
        return own.length === 0 ? undefined : { code: planted(source, own), map: null };
      },
    },
  ],
  test: {
    watch: false,
    pool: 'forks',
    include: ['test/e2e/webhook-*.test.ts', 'test/unit/webhook-*.test.ts'],
    exclude: ['test/e2e/webhook-crash.test.ts'],
    testTimeout: 20_000,
    maxWorkers: 2,
    bail: 0,
  },
});
