import { defineConfig } from 'vitest/config';

/** Two cores are enough for the whole suite. End-to-end files start services of their own and mostly wait for chains, so four at a time fit. */
const FAST = { timeoutMs: 20_000, workers: 2 };
const SLOW = { timeoutMs: 240_000, workers: 4 };
/** Nodes, servers, browsers and clocks of a busy machine: what fails twice in a row is a fault. */
const PROCESSES = { retry: 1 };

const SETUP = ['test/support/property-seed.ts'];

/** They put modules of their own in the place of Node's, which only a process that loaded nothing before lets them. */
const REPLACES_MODULES = ['test/unit/signer/journal.test.ts', 'test/unit/adapters/sqlite/anchor.test.ts'];

/** One process for many files, since loading the code anew takes longer than most of the tests. */
const fast = (name: string, files: { readonly include?: string[]; readonly exclude?: string[] }) => ({
  test: {
    name,
    setupFiles: SETUP,
    include: [`test/${name}/**/*.test.ts`],
    ...files,
    isolate: files.include !== undefined,
    testTimeout: FAST.timeoutMs,
    hookTimeout: FAST.timeoutMs,
    maxWorkers: FAST.workers,
    sequence: { groupOrder: 0 },
  },
});

export default defineConfig({
  test: {
    watch: false,
    pool: 'forks',
    reporters: ['default'],
    projects: [
      fast('unit', { exclude: REPLACES_MODULES }),
      fast('modules', { include: REPLACES_MODULES }),
      fast('property', {}),
      {
        test: {
          name: 'contract',
          setupFiles: SETUP,
          include: ['test/contract/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: PROCESSES.retry,
          maxWorkers: FAST.workers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: SLOW.timeoutMs,
          hookTimeout: SLOW.timeoutMs,
          maxWorkers: SLOW.workers,
          retry: PROCESSES.retry,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
