import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { eachPage } from '../support/console-pages.ts';
import { joinWithAllRoles } from './everybody.ts';

/*
 * Lighthouse's marks for every page of the console, as it measures a phone on a slow network. Run it beside a sandbox
 * with data of every kind, on a machine that does nothing else: DATA_DIR=<its folder> npm run lighthouse:console
 * [-- paths instead of all pages...]. Lighthouse is fetched when it is needed, since nothing else uses it.
 */

const LIGHTHOUSE = 'lighthouse@12.8.2';
const RUNS = Number(process.env['RUNS'] ?? 3);
const MIN_MARK = 95;
const CATEGORIES = ['performance', 'accessibility', 'best-practices'] as const;
const OPTIONS = [
  '--quiet',
  '--output=json',
  `--only-categories=${CATEGORIES.join(',')}`,
  '--chrome-flags=--headless=new --no-sandbox',
];
const MAX_REPORT_BYTES = 64 * 1024 * 1024;

interface Report {
  readonly categories: Readonly<Record<string, { readonly score: number | null }>>;
  readonly audits: Readonly<Record<string, { readonly score: number | null; readonly title: string }>>;
}

const run = promisify(execFile);

/** A load that Chromium did not trace has no marks, and is tried again. */
async function measured(url: string, cookie: string, tries = 3): Promise<Report> {
  const headers = `--extra-headers=${JSON.stringify({ Cookie: cookie })}`;
  try {
    const { stdout } = await run('npx', ['--yes', LIGHTHOUSE, url, ...OPTIONS, headers], {
      env: { ...process.env, CHROME_PATH: CHROMIUM },
      maxBuffer: MAX_REPORT_BYTES,
    });
    return JSON.parse(stdout) as Report;
  } catch {
    // What is thrown names the command, and with it the cookie.
    if (tries === 1) throw new Error(`Lighthouse could not measure ${url}`);
    return measured(url, cookie, tries - 1);
  }
}

const mark = (report: Report, category: string): number => Math.round((report.categories[category]?.score ?? 0) * 100);
const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
const titlesOfFailures = ({ audits }: Report): string[] =>
  Object.values(audits)
    .filter(({ score }) => score !== null && score < 0.9)
    .map(({ title }) => title);

const browser = await openBrowser();
const { page, context, merchant } = await joinWithAllRoles(browser, {});
const origin = new URL(page.url()).origin;
const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');

let tooLow = 0;
async function measure(path: string): Promise<void> {
  const reports: Report[] = [];
  for (let count = 0; count < RUNS; count++) reports.push(await measured(origin + path, cookie));
  const marks = CATEGORIES.map((category) => median(reports.map((report) => mark(report, category))));
  process.stdout.write(`${marks.join(' ')} ${path}\n`);
  if (marks.every((one) => one >= MIN_MARK)) return;
  tooLow += 1;
  process.stdout.write(`    ${titlesOfFailures(reports[0]!).join('\n    ')}\n`);
}

process.stdout.write(`${CATEGORIES.join(' ')}, the median of ${RUNS}\n`);
const paths = process.argv.slice(2).map((path) => path.replace('MERCHANT', merchant));
if (paths.length > 0) for (const path of paths) await measure(path);
else {
  const found: string[] = [];
  await eachPage(page, origin, async (_, path) => void found.push(path));
  for (const path of found) await measure(path);
}
await browser.close();
process.exitCode = tooLow > 0 ? 1 : 0;
