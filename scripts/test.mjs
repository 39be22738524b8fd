/*
 * `npm test`: makes sure the programs that some tests drive are there, says what could not be had and why, then runs
 * vitest, whose own summary comes last. Files whose process ended early are run a second time. Arguments are handed on
 * to vitest. `test-report.mjs` adds what its summary leaves out, and with TEST_REPORT=<file> a line that counts the
 * tests.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const localPrograms = join(root, 'node_modules', '.bin');
const path = `${localPrograms}${delimiter}${process.env.PATH ?? ''}`;

/** What the tests use beside npm packages, and what is lost without it. */
const PROGRAMS = [
  { names: ['redis-server'], package: 'redis-server', without: 'the Redis contract tests are skipped' },
  {
    names: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
    package: 'chromium-headless-shell',
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

const compiled = join(root, 'node_modules', '.cache', 'compiled');
/** Several runs of all tests. */
const MOST_COMPILED = 30_000;

/** Vitest loads a test file under a new name in each run, whose compiled code nobody reads again. */
function forgetCompiled() {
  if (existsSync(compiled) && readdirSync(compiled, { recursive: true }).length > MOST_COMPILED)
    rmSync(compiled, { recursive: true });
}

function runVitest(args, env, ended) {
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'test-report.mjs')}`];
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const node = join(localPrograms, process.platform === 'win32' ? 'node.exe' : 'node');
  const child = spawn(existsSync(node) ? node : process.execPath, [vitest, 'run', ...reporters, ...args], {
    cwd: root,
    stdio: 'inherit',
    // Tests and the services that they start read compiled modules from here.
    env: {
      NODE_COMPILE_CACHE: compiled,
      ...process.env,
      PATH: path,
      ...env,
    },
  });
  const pass = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, pass);
  child.on('exit', (code, signal) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.off(name, pass);
    ended(signal === null ? (code ?? 1) : 1);
  });
}

/** A test process that ends early takes its file with it; the file gets one more run, and what it finds there counts. */
function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-test-'));
  const lostFile = join(folder, 'lost.json');
  runVitest(process.argv.slice(2), { TEST_LOST: lostFile }, (code) => {
    const lost = existsSync(lostFile) ? JSON.parse(readFileSync(lostFile, 'utf8')) : null;
    rmSync(folder, { recursive: true });
    if (lost === null) process.exit(code);
    console.log(`\nSecond try of the files whose process ended early: ${lost.files.join(', ')}`);
    runVitest(lost.files, { TEST_BEFORE: JSON.stringify(lost.counts) }, (again) => process.exit(again));
  });
}

installMissing();
forgetCompiled();
runTests();
