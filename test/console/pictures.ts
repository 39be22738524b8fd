import { mkdirSync } from 'node:fs';
import { join as joined } from 'node:path';
import { openBrowser } from '../support/browser.ts';
import { axe } from '../support/console-browser.ts';
import { eachPage } from '../support/console-pages.ts';
import { cli, joinWithAllRoles } from './everybody.ts';

/*
 * Pictures of every page of the console, on a desktop, a phone and paper, light and dark, with what axe finds, their weight
 * and the server's time. Run it beside a sandbox with data of every kind: DATA_DIR=<its folder> npm run
 * pictures:console -- <folder for the pictures> [paths instead of all pages...]
 */

const [folder = 'pictures', ...paths] = process.argv.slice(2);
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
/** A4 without the margins of the printer. */
const PAPER = { width: 718, height: 1000 };
const MAX_BYTES = 100 * 1024;
/** By how much the page, or the widest of its tables, is wider than there is room. */
const TOO_WIDE =
  "Math.max(...[document.documentElement, ...document.querySelectorAll('.scroll')].map((part) => part.scrollWidth - part.clientWidth))";

const browser = await openBrowser();
const { page, complaints, merchant } = await joinWithAllRoles(browser, { viewport: DESKTOP });
const origin = new URL(page.url()).origin;
mkdirSync(folder, { recursive: true });

let wrong = 0;
async function draw(path: string): Promise<void> {
  const startedMs = performance.now();
  const answer = await page.goto(origin + path);
  const tookMs = Math.round(performance.now() - startedMs);
  const body = (await answer?.body())?.length ?? 0;
  wrong += (answer!.status() === 200 ? 0 : 1) + (body > MAX_BYTES ? 1 : 0);
  process.stdout.write(`${answer!.status()} ${path}: ${body} bytes, ${tookMs} ms\n`);
  await shoot(path);
}

/** The page as it is now. */
async function shoot(name: string): Promise<void> {
  for (const [device, viewport, colorScheme, media] of [
    ['desktop', DESKTOP, 'light', 'screen'],
    ['desktop', DESKTOP, 'dark', 'screen'],
    ['phone', PHONE, 'light', 'screen'],
    ['phone', PHONE, 'dark', 'screen'],
    ['paper', PAPER, 'light', 'print'],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, media });
    const found = await axe(page);
    const wide = await page.evaluate<number>(TOO_WIDE);
    wrong += found.length + (wide > 0 ? 1 : 0);
    const file = joined(folder, `${name.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 90)}.${device}.${colorScheme}.png`);
    await page.screenshot({ path: file, fullPage: true });
    if (wide > 0) process.stdout.write(`    ${device} ${colorScheme}: ${wide} px too wide\n`);
    for (const one of found) process.stdout.write(`    ${device} ${colorScheme}: ${one}\n`);
  }
}

/** What only a form leads to: the terms that a passkey signs, and a link for one payment. */
async function drawAnswers(): Promise<void> {
  const answerTo = async (path: string, button: string, fields: Readonly<Record<string, string>>): Promise<void> => {
    await page.goto(origin + path);
    const form = page.locator('form', { has: page.getByRole('button', { name: button, exact: true }) }).first();
    for (const [field, value] of Object.entries(fields)) await form.locator(`[name=${field}]`).fill(value);
    await form.getByRole('button', { name: button, exact: true }).click();
    process.stdout.write(`${path}: ${button}\n`);
    await shoot(`${path} ${button}`);
  };
  await answerTo(`/m/${merchant}/links/new`, 'Create the link', { amount: '12', order: `chair-${Date.now()}` });
  await answerTo('/people', 'Create the invitation', { name: 'Grace', reason: 'joins support', roles: 'viewer' });
}

/** So that pages which show only what somebody made are drawn with it. */
async function make(): Promise<void> {
  const month = new Date(new Date().setUTCDate(0)).toISOString().slice(0, 7);
  const { periods } = await cli<{ periods: { period: string }[] }>('ledger', 'periods', '--mode', 'test');
  if (!periods.some(({ period }) => period === month)) await cli('ledger', 'close', month, '--mode', 'test');
  await cli('payment-link', 'create', merchant, '--amount', '7.50', '--currency', 'USDT', '--description', 'A ticket');
}

if (paths.length > 0) for (const path of paths) await draw(path.replace('MERCHANT', merchant));
else {
  await make();
  const left = await eachPage(page, origin, (_, path) => draw(path));
  wrong += left.length;
  for (const route of left) process.stdout.write(`no link leads to ${route}\n`);
  await drawAnswers();
}
for (const complaint of complaints) process.stdout.write(`browser: ${complaint}\n`);
await browser.close();
process.exitCode = wrong + complaints.length > 0 ? 1 : 0;
