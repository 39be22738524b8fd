import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join as joined } from 'node:path';
import { promisify } from 'node:util';
import { openBrowser } from '../support/browser.ts';
import { axe, join } from '../support/console-browser.ts';
import { eachPage } from '../support/console-pages.ts';

/*
 * Pictures of every page of the console, on a desktop and a phone, light and dark, with what axe finds, their weight
 * and the server's time. Run it beside a sandbox with data of every kind: DATA_DIR=<its folder> node
 * test/console/pictures.ts <folder for the pictures> [paths instead of all pages...]
 */

const [folder = 'pictures', ...paths] = process.argv.slice(2);
const run = promisify(execFile);
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
const MAX_BYTES = 100 * 1024;

const cli = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await run('node', ['bin/quittance.mjs', ...args, '--json'])).stdout);

const [merchant] = (await cli('merchant', 'list')) as { id: string }[];
const name = `Photographer ${Date.now()}`;
const roles = `operator,finance,approver,merchant_admin:${merchant!.id},auditor@${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}`;
const { link } = (await cli('people', 'invite', name, '--roles', roles)) as { link: string };
const browser = await openBrowser();
const { page, complaints } = await join(browser, link, { viewport: DESKTOP });
const origin = new URL(page.url()).origin;
mkdirSync(folder, { recursive: true });

let wrong = 0;
async function draw(path: string): Promise<void> {
  for (const [device, viewport, scheme] of [
    ['desktop', DESKTOP, 'light'],
    ['desktop', DESKTOP, 'dark'],
    ['phone', PHONE, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: scheme });
    const startedMs = performance.now();
    const answer = await page.goto(origin + path);
    const tookMs = Math.round(performance.now() - startedMs);
    const body = (await answer?.body())?.length ?? 0;
    const found = await axe(page);
    const wide = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    wrong += found.length + (wide > 0 ? 1 : 0) + (answer!.status() === 200 ? 0 : 1) + (body > MAX_BYTES ? 1 : 0);
    const file = joined(folder, `${path.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 90)}.${device}.${scheme}.png`);
    await page.screenshot({ path: file, fullPage: true });
    process.stdout.write(
      `${answer!.status()} ${path} ${device} ${scheme}: ${body} bytes, ${tookMs} ms, ${found.length} of axe${wide > 0 ? `, ${wide} px too wide` : ''}\n`,
    );
    for (const one of found) process.stdout.write(`    ${one}\n`);
  }
}

if (paths.length > 0) for (const path of paths) await draw(path.replace('MERCHANT', merchant!.id));
else {
  const left = await eachPage(page, origin, (_, path) => draw(path));
  wrong += left.length;
  for (const route of left) process.stdout.write(`no link leads to ${route}\n`);
}
for (const complaint of complaints) process.stdout.write(`browser: ${complaint}\n`);
await browser.close();
process.exitCode = wrong + complaints.length > 0 ? 1 : 0;
