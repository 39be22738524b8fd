/*
 * Draws every state of the payment page at the widths of a small phone, a phone and a desktop, light and dark, in
 * English or in the languages named: `npm run screenshots [-- folder [language ...]]`; `all` names every language. Needs
 * a Chromium on this machine, and fonts for the scripts to be seen.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { LANGUAGES } from '../../src/checkout/languages.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { mainNetwork, onEveryNetwork, SESSIONS } from '../support/page-sessions.ts';
import { servePages } from '../support/served-pages.ts';

const LOOKS = [
  { name: 'small', width: 320, height: 740, scheme: 'light' },
  { name: 'phone', width: 390, height: 844, scheme: 'light' },
  { name: 'phone-dark', width: 390, height: 844, scheme: 'dark' },
  { name: 'desktop', width: 1440, height: 900, scheme: 'light' },
  { name: 'desktop-dark', width: 1440, height: 900, scheme: 'dark' },
] as const;
const [, , target = 'screenshots', ...asked] = process.argv;
const languages = asked.includes('all') ? LANGUAGES.map(({ code }) => code) : asked.length > 0 ? asked : ['en', 'ar'];

const ORDER = {
  description: 'Two mugs for the office',
  lineItems: [
    { price_data: { currency: 'EUR', unit_amount: '3.50', product_data: { name: 'Blue mug' } }, quantity: 2 },
  ],
};

/** Not `fullPage`: that switches the touch screen off, and with it what the page does for one. */
async function draw(page: Page, name: string): Promise<void> {
  const { width, height } = page.viewportSize()!;
  const full = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width, height: Math.max(height, full) });
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.setViewportSize({ width, height });
}

const folder = resolve(target);
mkdirSync(folder, { recursive: true });
if (CHROMIUM === undefined) throw new Error('no Chromium on this machine');
const browser = await openBrowser();
const pages = await servePages(SESSIONS['awaiting']!, {}, mainNetwork);
try {
  for (const { name, width, height, scheme } of LOOKS) {
    const touch = width < 600;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      isMobile: touch,
      hasTouch: touch,
    });
    const page = await context.newPage();
    for (const [state, view] of Object.entries(SESSIONS)) {
      pages.show({ ...onEveryNetwork(view), personal: { ...view.personal, ...ORDER } });
      for (const part of ['', ...(state === 'refunded in part' ? ['/receipt', '/help'] : [])])
        for (const language of languages) {
          await page.goto(`${pages.url}${part}?lang=${language}`, { waitUntil: 'load' });
          await draw(page, `${state.replaceAll(' ', '-')}${part.replace('/', '-')}-${name}-${language}`);
        }
    }
    await context.close();
  }
} finally {
  await browser.close();
  await pages.close();
}
process.stdout.write(`${folder}\n`);
