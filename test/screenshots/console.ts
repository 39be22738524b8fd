/*
 * Draws the pictures of docs/console.md, for each kind of person, beside a sandbox that runs with payments of its own:
 * `DATA_DIR=<its folder> npm run screenshots:console [-- folder]`. Needs a Chromium on this machine.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join as joined, resolve } from 'node:path';
import { cli } from '../console/everybody.ts';
import { openBrowser } from '../support/browser.ts';
import { join } from '../support/console-browser.ts';

const PICTURE = { width: 1000, height: 640 };
/** Of 100; flat colours need no more. */
const QUALITY = 60;

const folder = resolve(process.argv[2] ?? 'docs/images');
const dataDir = process.env['DATA_DIR'];
if (dataDir === undefined) throw new Error('DATA_DIR must name the folder of a running sandbox');
const trigger = (kind: string) =>
  cli<{ session_id: string }>('trigger', kind, '--network', 'bsc', '--credentials', joined(dataDir, 'sandbox.json'));

const [merchant] = await cli<{ id: string }[]>('merchant', 'list');
for (const kind of ['exact', 'late', 'exact', 'over']) await trigger(kind);
const underpaid = await trigger('partial');
const shop = `/m/${merchant!.id}`;
/** A day ahead, as roles are written. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
const PEOPLE = [
  ['support', `support:${merchant!.id}`, `${shop}/payments/${underpaid.session_id}`],
  ['merchant', `merchant_admin:${merchant!.id}`, shop],
  ['finance', 'finance', '/books/test'],
  ['operator', 'operator', '/attention'],
  ['approver', 'approver,operator', '/treasury'],
  ['auditor', `auditor@${tomorrow}`, '/audit'],
] as const;

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const [kind, roles, path] of PEOPLE) {
  const name = `${kind[0]!.toUpperCase()}${kind.slice(1)} ${Date.now() % 10_000}`;
  const { link } = await cli<{ link: string }>('people', 'invite', name, '--roles', roles);
  const { page, context } = await join(browser, link, { viewport: PICTURE });
  await page.goto(new URL(path, link).href);
  const client = await context.newCDPSession(page);
  const { data } = await client.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  const file = joined(folder, `console-${kind}.webp`);
  writeFileSync(file, Buffer.from(data, 'base64'));
  process.stdout.write(`${file} ${Math.round(Buffer.byteLength(data, 'base64') / 1024)} KB\n`);
  await context.close();
}
await browser.close();
