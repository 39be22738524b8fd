import { defineConfig } from 'vitest/config';

/** The contract suites against real programs: `npm run test:nodes`. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    watch: false,
    pool: 'forks',
    fileParallelism: false,
    setupFiles: ['test/support/property-seed.ts', 'test/support/remove-folders.ts', 'test/support/keep-compiled.ts'],
    experimental: { viteModuleRunner: false, nodeLoader: false },
    isolate: false,
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
