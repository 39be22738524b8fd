import { basename } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * For two cores, which this many keep busy: an end-to-end file starts services of its own, and waits for them and for
 * chains.
 */
const FAST = { timeoutMs: 60_000, workers: 3 };
const SLOW = { timeoutMs: 240_000, workers: 5 };
/** Nodes, servers, browsers and clocks of a busy machine: what fails twice in a row is a fault. */
const PROCESSES = { retry: 1 };

const CLIENT = `${import.meta.dirname}/packages/client/src/`;

const REMOVE_FOLDERS = 'test/support/remove-folders.ts';
const KEEP_COMPILED = 'test/support/keep-compiled.ts';
const SETUP = ['test/support/property-seed.ts', REMOVE_FOLDERS, KEEP_COMPILED];

/**
 * Node loads the sources itself, as it does in the service: that takes a fraction of what Vite's module runner takes,
 * and the code also runs faster.
 */
const NATIVE = { viteModuleRunner: false, nodeLoader: false };

/**
 * They name other modules than Node would find, which takes Vite's module runner: modules of their own in the place of
 * Node's, or the sources of the client where its users have it built.
 */
const REPLACES_MODULES = [
  'test/unit/signer/journal/journal.test.ts',
  'test/unit/adapters/sqlite/anchor.test.ts',
  'test/unit/plugins/medusa.test.ts',
  'test/unit/plugins/medusa-plans.test.ts',
];

/**
 * The slowest first, or the last of them runs alone for minutes: in a fresh clone vitest goes by the size of a file.
 */
const SLOWEST = `
  simulation signer-search.property signer-moves-search.property projections.property ledger.property
  signer compare approver-commands log-shipping-tampered log-shipping-faults verify-proof doctor
  look-up-snapshots look-ups-on-servers event-store-sqlite chain-evm-faults audit-esdb redis-cluster
  refund-production checkout treasury-outflows treasury-moves refund-signer ops-backup ops-drill refund-life console-pages
  payment-outcomes edited-look-ups cluster first-payment refund-crash console-approvals evm-watch-evidence page-states
  checkout-wallets webhook-egress inbox webhook-crash audit-sandbox webhook-schedule checkout-reach console
  evm-watch-providers treasury-fundings sandbox-chains hostile-worker migrate serve-roles signer-approvals
  damaged-start solana-withheld evm-watch solana-surfpool ops webhook-delivery ledger provider-swap tron-watch
  http-client-package http-connections ops-traces look-up-archives
`
  .trim()
  .split(/\s+/)
  .map((name) => `${name}.test.ts`);

/** A process that has run files of one project ends before a file of another. */
const ONE_AFTER_ANOTHER = ['modules', 'property', 'unit', 'contract', 'e2e'];

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number =>
      [...SLOWEST, basename(moduleId)].indexOf(basename(moduleId));
    const projectOf = ({ project }: TestSpecification): number => ONE_AFTER_ANOTHER.indexOf(project.name);
    return (await super.sort(files)).sort((a, b) => projectOf(a) - projectOf(b) || placeOf(a) - placeOf(b));
  }
}

/** Vite's conditions name sources that some packages ship, which Node does not load. */
const nodesConditions: Plugin = {
  name: 'nodes-conditions',
  configResolved: ({ ssr }) => {
    ssr.resolve = { ...ssr.resolve, conditions: ['node'] };
  },
};

/** Tests whose modules Node loads: one process for many files, as loading the code anew takes longer than most tests. */
const native = (name: string, test: object) => ({
  plugins: [nodesConditions],
  test: { name, experimental: NATIVE, isolate: false, include: [`test/${name}/**/*.test.ts`], ...test },
});

const fast = {
  setupFiles: SETUP,
  testTimeout: FAST.timeoutMs,
  hookTimeout: FAST.timeoutMs,
  maxWorkers: FAST.workers,
  sequence: { groupOrder: 0 },
};

export default defineConfig({
  test: {
    watch: false,
    pool: 'forks',
    reporters: ['default'],
    sequence: { sequencer: SlowestFirst },
    projects: [
      native('unit', { ...fast, exclude: REPLACES_MODULES }),
      native('property', fast),
      {
        // Plugins name the client as their users do, who have it built.
        resolve: {
          alias: [
            { find: /^@quittance\/client$/, replacement: CLIENT + 'client.ts' },
            { find: /^@quittance\/client\/(\w+)$/, replacement: CLIENT + '$1.ts' },
          ],
        },
        test: { ...fast, name: 'modules', include: REPLACES_MODULES },
      },
      native('contract', {
        setupFiles: SETUP,
        testTimeout: 60_000,
        hookTimeout: 60_000,
        retry: PROCESSES.retry,
        maxWorkers: SLOW.workers,
        sequence: { groupOrder: 1 },
      }),
      native('e2e', {
        setupFiles: [REMOVE_FOLDERS, KEEP_COMPILED],
        testTimeout: SLOW.timeoutMs,
        hookTimeout: SLOW.timeoutMs,
        maxWorkers: SLOW.workers,
        retry: PROCESSES.retry,
        sequence: { groupOrder: 2 },
      }),
    ],
  },
});
