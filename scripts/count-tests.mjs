/* Prints `N passed, N failed, N skipped` from a vitest JSON report; a file that could not be loaded counts as one failure. */
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const brokenFiles = report.testResults.filter((file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'));
const failed = report.numFailedTests + brokenFiles.length;
console.log(`${report.numPassedTests} passed, ${failed} failed, ${report.numPendingTests + report.numTodoTests} skipped`);
