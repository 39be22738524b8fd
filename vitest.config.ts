import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Two cores are enough for the whole suite. End-to-end files start services of their own and mostly wait for chains, so
 * four at a time fit.
 */
const FAST = { timeoutMs: 20_000, workers: 2 };
const SLOW = { timeoutMs: 240_000, workers: 4 };
/** Nodes, servers, browsers and clocks of a busy machine: what fails twice in a row is a fault. */
const PROCESSES = { retry: 1 };

const CLIENT = `${import.meta.dirname}/packages/client/src/`;

const REMOVE_FOLDERS = 'test/support/remove-folders.ts';
const SETUP = ['test/support/property-seed.ts', REMOVE_FOLDERS];

/** They put modules of their own in the place of Node's, which only a process that loaded nothing before lets them. */
const REPLACES_MODULES = ['test/unit/signer/journal.test.ts', 'test/unit/adapters/sqlite/anchor.test.ts'];

/**
 * The slowest first, or the last of them runs alone for minutes: in a fresh clone vitest goes by the size of a file.
 */
const SLOWEST = [
  ...[
    'checkout',
    'first-payment',
    'treasury-outflows',
    'refund-production',
    'refund-crash',
    'webhook-schedule',
    'webhook-crash',
  ],
  ...[
    'refund-signer',
    'signer-approvals',
    'damaged-start',
    'cluster',
    'refund-life',
    'treasury-moves',
    'ops-drill',
    'page-states',
  ],
  ...[
    'payment-outcomes',
    'console',
    'checkout-reach',
    'inbox',
    'ops-backup',
    'serve-roles',
    'checkout-wallets',
    'claims',
  ],
  ...['evm-watch-evidence', 'webhook-egress', 'provider-swap', 'edited-look-ups', 'console-pages', 'console-approvals'],
].map((name) => `${name}.test.ts`);
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number =>
      [...SLOWEST, basename(moduleId)].indexOf(basename(moduleId));
    const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b));
  }
}

/** One process for many files, since loading the code anew takes longer than most of the tests. */
const fast = (name: string, files: { readonly include?: string[]; readonly exclude?: string[] }) => ({
  // Plugins name the client as their users do, who have it built.
  resolve: {
    alias: [
      { find: /^@quittance\/client$/, replacement: CLIENT + 'client.ts' },
      { find: /^@quittance\/client\/(\w+)$/, replacement: CLIENT + '$1.ts' },
    ],
  },
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
    sequence: { sequencer: SlowestFirst },
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
          setupFiles: [REMOVE_FOLDERS],
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
