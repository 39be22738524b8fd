/*
 * Draws every state of the payment page, at the widths of a phone and a desktop, light and dark, and one language that
 * is written from right to left: `npm run screenshots [-- folder]`. Needs a Chromium on this machine.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { SESSIONS } from '../support/page-sessions.ts';
import { servePages } from '../support/served-pages.ts';

const LOOKS = [
  { name: 'phone-light', width: 390, height: 844, scheme: 'light', language: 'en' },
  { name: 'phone-dark', width: 390, height: 844, scheme: 'dark', language: 'en' },
  { name: 'phone-rtl', width: 390, height: 844, scheme: 'light', language: 'ar' },
  { name: 'desktop-light', width: 1440, height: 900, scheme: 'light', language: 'en' },
  { name: 'desktop-dark', width: 1440, height: 900, scheme: 'dark', language: 'en' },
] as const;

/** Not `fullPage`: that switches the touch screen off, and with it what the page does for one. */
async function draw(page: Page, name: string): Promise<void> {
  const { width, height } = page.viewportSize()!;
  const full = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width, height: Math.max(height, full) });
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.setViewportSize({ width, height });
}

const folder = resolve(process.argv[2] ?? 'screenshots');
mkdirSync(folder, { recursive: true });
if (CHROMIUM === undefined) throw new Error('no Chromium on this machine');
const browser = await openBrowser();
const pages = await servePages(SESSIONS['awaiting']!);
try {
  for (const { name, width, height, scheme, language } of LOOKS) {
    const touch = width < 600;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      isMobile: touch,
      hasTouch: touch,
    });
    const page = await context.newPage();
    for (const [state, view] of Object.entries(SESSIONS)) {
      pages.show(view);
      for (const part of ['', ...(state === 'refunded in part' ? ['/receipt', '/help'] : [])]) {
        await page.goto(`${pages.url}${part}?lang=${language}`, { waitUntil: 'load' });
        await draw(page, `${state.replaceAll(' ', '-')}${part.replace('/', '-')}-${name}`);
      }
    }
    await context.close();
  }
} finally {
  await browser.close();
  await pages.close();
}
process.stdout.write(`${folder}\n`);
