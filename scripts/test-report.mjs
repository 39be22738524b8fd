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

/**
 * What vitest's own summary leaves out: the files that did not end and how test processes ended, the tests that needed
 * a second try, the slowest files, and, with TEST_REPORT=<file>, one line in that file that counts the tests. A file
 * that could not be loaded counts as a failure.
 */
export default class TestReport {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    this.printLost(modules);
    this.printSecondTries(tests);
    this.printSlowest(modules);
    if (process.env.TEST_REPORT)
      writeFileSync(process.env.TEST_REPORT, `${this.count(modules, tests, unhandledErrors)}\n`);
  }

  count(modules, tests, unhandledErrors) {
    const of = (state) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter(
      (module) => module.state() === 'failed' && ![...module.children.allTests('failed')].length,
    ).length;
    return `${of('passed')} passed, ${of('failed') + broken + unhandledErrors.length} failed, ${of('skipped') + of('pending')} skipped`;
  }

  printLost(modules) {
    const lost = modules.filter((module) => ['queued', 'pending'].includes(module.state()));
    if (lost.length === 0) return;
    console.log(`\nFiles whose process ended before they did: ${lost.length}`);
    for (const module of lost) console.log(`  ${relative(process.cwd(), module.moduleId)}`);
    console.log('How the processes of all files ended:');
    for (const [how, count] of ends) console.log(`  ${how}: ${count}`);
  }

  printSecondTries(tests) {
    const again = tests.filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0);
    console.log(`\nTests that needed a second try: ${again.length}`);
    for (const test of again) console.log(`  ${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}`);
  }

  printSlowest(modules) {
    const seconds = (module) => (module.diagnostic().duration + module.diagnostic().collectDuration) / 1000;
    const slowest = [...modules].sort((a, b) => seconds(b) - seconds(a)).slice(0, SLOWEST);
    console.log('Slowest files:');
    for (const module of slowest)
      console.log(`  ${seconds(module).toFixed(0).padStart(4)} s  ${relative(process.cwd(), module.moduleId)}`);
  }
}
