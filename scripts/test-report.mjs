import { writeFileSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import { relative } from 'node:path';

/** How many of the slowest files are named. */
const SLOWEST = 12;

/** How often each test process ended by itself, by exit code or signal, which vitest does not say. */
const ends = new Map();
subscribe('child_process', ({ process: child }) =>
  child.once('exit', (code, signal) => {
    const isTestProcess = child.spawnargs.some((argument) => /vitest.+workers.+forks/.test(argument));
    const how = signal ?? `exit code ${code}`;
    if (isTestProcess) ends.set(how, (ends.get(how) ?? 0) + 1);
  }),
);

const isLost = (module) => ['queued', 'pending'].includes(module.state());
const nameOf = (module) => relative(process.cwd(), module.moduleId);
const testsOf = (modules) => modules.flatMap((module) => [...module.children.allTests()]);

/** What `test.mjs` passes to the run of the files whose process ended early: the counts of all others. */
const BEFORE = JSON.parse(process.env.TEST_BEFORE ?? '{}');

/**
 * What vitest's own summary leaves out: the files that did not end and how test processes ended, the tests that needed
 * a second try, the slowest files, and, with TEST_REPORT=<file>, one line in that file that counts the tests. A file
 * that could not be loaded counts as a failure. If lost processes are all that failed, TEST_LOST=<file> gets the names
 * of their files and the counts of the others.
 */
export default class TestReport {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = testsOf(modules);
    this.printLost(modules);
    this.printSecondTries(tests);
    this.printSlowest(modules);
    if (process.env.TEST_LOST) this.writeLost(modules, unhandledErrors);
    if (!process.env.TEST_REPORT) return;
    const { passed, failed, skipped } = this.count(modules, tests, unhandledErrors);
    writeFileSync(process.env.TEST_REPORT, `${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }

  count(modules, tests, unhandledErrors) {
    const of = (state) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter(
      (module) => module.state() === 'failed' && ![...module.children.allTests('failed')].length,
    ).length;
    return {
      passed: of('passed') + (BEFORE.passed ?? 0),
      failed: of('failed') + broken + unhandledErrors.length,
      skipped: of('skipped') + of('pending') + (BEFORE.skipped ?? 0),
    };
  }

  writeLost(modules, unhandledErrors) {
    const lost = modules.filter(isLost);
    const ended = modules.filter((module) => !isLost(module));
    const otherErrors = unhandledErrors.filter(({ cause }) => cause?.message !== 'Worker exited unexpectedly');
    const counts = this.count(ended, testsOf(ended), otherErrors);
    if (lost.length === 0 || counts.failed > 0) return;
    writeFileSync(process.env.TEST_LOST, JSON.stringify({ files: lost.map(nameOf), counts }));
  }

  printLost(modules) {
    const lost = modules.filter(isLost);
    if (lost.length === 0) return;
    console.log(`\nFiles whose process ended before they did: ${lost.length}`);
    for (const module of lost) console.log(`  ${nameOf(module)}`);
    console.log('How the processes of all files ended:');
    for (const [how, count] of ends) console.log(`  ${how}: ${count}`);
  }

  printSecondTries(tests) {
    const again = tests.filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0);
    console.log(`\nTests that needed a second try: ${again.length}`);
    for (const test of again) console.log(`  ${nameOf(test.module)} > ${test.fullName}`);
  }

  printSlowest(modules) {
    const seconds = (module) => (module.diagnostic().duration + module.diagnostic().collectDuration) / 1000;
    const slowest = [...modules].sort((a, b) => seconds(b) - seconds(a)).slice(0, SLOWEST);
    console.log('Slowest files:');
    for (const module of slowest) console.log(`  ${seconds(module).toFixed(0).padStart(4)} s  ${nameOf(module)}`);
  }
}
