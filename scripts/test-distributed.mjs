/*
 * `npm run test:distributed`: the contract suites of the shared stores, the process cluster, the acceptance of one
 * cluster under faults, and a plain word about what it ran against. With EVENTSTORE_URL it is that server, else the
 * wire-level double. Arguments choose chaos rounds.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const env = { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}` };
const target = process.env.EVENTSTORE_URL
  ? 'a REAL event store, the one at EVENTSTORE_URL'
  : 'the wire-level DOUBLE of EventStoreDB (test/support/esdb-double); no real server took part';

const SUITES = [
  'event-store-esdb',
  'esdb-server-rules',
  'audit-esdb',
  'personal-keys-esdb',
  'read-model-redis',
  'projections-redis',
  'shared-projections',
  'nonces-redis',
  'rate-limiter-redis',
  'leases-redis',
  'redis-cluster',
];
const rounds = process.argv.slice(2);
const steps = [
  ['contract suites', 'vitest', ['run', ...SUITES.map((name) => `test/contract/${name}`)]],
  ['cluster', 'vitest', ['run', 'test/e2e/cluster.test.ts', 'test/e2e/serve-roles.test.ts']],
  [
    'chaos',
    'node',
    ['test/cluster/chaos.ts', ...(rounds.length > 0 ? rounds : ['kill -9', 'FLUSHALL', 'store restarts'])],
  ],
];

console.log(`Running against ${target}.\n`);
const failed = steps.filter(([name, command, args]) => {
  console.log(`== ${name}`);
  return spawnSync(command, args, { cwd: root, env, stdio: 'inherit' }).status !== 0;
});
console.log(
  `\nRan against ${target}: ${failed.length === 0 ? 'all passed' : `FAILED: ${failed.map(([name]) => name).join(', ')}`}.`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
