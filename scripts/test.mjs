/*
 * `npm test`: makes sure the programs that some tests drive are there, says what could not be had and why, then runs
 * vitest, whose own summary comes last. Arguments are handed on to vitest. `test-report.mjs` adds what its summary
 * leaves out, and with TEST_REPORT=<file> a line that counts the tests.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const localPrograms = join(root, 'node_modules', '.bin');
const path = `${localPrograms}${delimiter}${process.env.PATH ?? ''}`;

/** What the tests use beside npm packages, and what is lost without it. */
const PROGRAMS = [
  { names: ['redis-server'], package: 'redis-server', without: 'the Redis contract tests are skipped' },
  {
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    package: 'chromium',
    without: 'the tests of the payment page in a browser are skipped',
  },
  { names: ['php'], package: 'php-cli', without: 'the PHP example of the integration guide is not run' },
  { names: ['prometheus'], package: 'prometheus', without: 'the tests of alert rules and dashboards are skipped' },
];

const found = (name) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));
const missing = () => PROGRAMS.filter((program) => !program.names.some(found));

function whyNotInstallable() {
  if (process.env.TEST_INSTALL === 'no') return 'TEST_INSTALL=no';
  if (process.getuid?.() !== 0) return 'installing system packages needs root';
  if (!found('apt-get')) return 'there is no apt-get here';
  return null;
}

function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return (
    spawnSync('apt-get', ['-q', '-y', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 600_000 })
      .status === 0
  );
}

function installMissing() {
  const wanted = missing();
  if (wanted.length === 0) return;
  const reason = whyNotInstallable();
  const packages = wanted.map((program) => program.package);
  if (reason === null) {
    console.log(`test: installing ${packages.join(', ')}`);
    aptGet('update');
    for (const name of packages) aptGet('install', '--no-install-recommends', name);
  }
  for (const program of missing()) {
    console.log(
      `test: ${program.without}: no ${program.names.join(' or ')} (${reason ?? `apt-get could not install ${program.package}`})`,
    );
  }
}

function runVitest() {
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'test-report.mjs')}`];
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const node = join(localPrograms, process.platform === 'win32' ? 'node.exe' : 'node');
  const child = spawn(
    existsSync(node) ? node : process.execPath,
    [vitest, 'run', ...reporters, ...process.argv.slice(2)],
    {
      cwd: root,
      stdio: 'inherit',
      // Services that tests start read their compiled modules from here, a quarter of what starting one costs.
      env: { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'), ...process.env, PATH: path },
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
}

installMissing();
runVitest();
