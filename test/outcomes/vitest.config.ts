import { defineConfig } from 'vitest/config';

/** The whole matrix of payment outcomes: `npm run test:outcomes`. Too long for `npm test`, which runs a slice of it. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/outcomes/**/*.test.ts'],
    watch: false,
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 120_000,
    maxConcurrency: 12,
  },
});
