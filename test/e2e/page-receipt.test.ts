import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { DEPOSIT, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';

/* What a payer keeps or sends on: the receipt, the record, and what is copied. */

const words = (text: string | null): string => (text ?? '').replaceAll(/\s+/g, ' ').trim();

/** As a page without a certificate, or a browser inside an app: no clipboard, and what is copied is the selection. */
const NO_CLIPBOARD = `
  Object.defineProperty(navigator, 'clipboard', { value: undefined });
  document.addEventListener('copy', () => (window.copied = document.activeElement.value));`;

/** One state of each kind. */
const OPEN_AND_ENDED = 'awaiting,underpaid,seen in part,paid,expired,late,cancelled,wrong coin'.split(',');

describe.skipIf(CHROMIUM === undefined)('what a payer takes along', () => {
  let browser: Browser;
  let served: ServedPages;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePages(OPEN, { contact: 'mailto:help@mugs.example' });
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });
  beforeEach(async () => {
    context = await browser.newContext({ timezoneId: 'Asia/Tokyo' });
    page = await context.newPage();
  });
  afterEach(() => context.close());

  it.each(OPEN_AND_ENDED)('is an address only while anything is to be sent: %s', async (name) => {
    served.show(SESSIONS[name]!);
    await page.goto(served.url);
    const isPayable = (await page.locator('.address').count()) > 0;
    for (const network of ['ethereum', 'ethereum-link'])
      expect((await page.goto(`${served.url}/qr/${network}.svg`))?.status(), network).toBe(isPayable ? 200 : 404);
  });

  it('is a receipt that names everything, in the time of its reader', async () => {
    const personal = { ...OPEN.personal, description: 'Two mugs for the office' };
    served.show({ ...SESSIONS['refunded in part']!, personal });
    await page.goto(`${served.url}/receipt?lang=en`);
    const text = words(await page.textContent('main'));
    for (const part of [
      'Received 10.80 USDT',
      'Due 10.80 USDT',
      'Exchange rate 1 EUR = 1.08 USDT',
      'help@mugs.example',
      'mugs.example',
      'Description Two mugs for the office',
      DEPOSIT.txHash,
      `0x${'ab'.repeat(32)}`,
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('…');
    expect(text).toMatch(/Paid on January 1, 2026 at 9:00:00 AM GMT\+9/);
    expect(text).toMatch(/Block 100, January 1, 2026 at 8:59:50 AM GMT\+9/);
    expect(text).not.toContain('UTC');
  });

  it('is written in UTC without a script', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false, timezoneId: 'Asia/Tokyo' });
    const silent = await plain.newPage();
    served.show(SESSIONS['paid']!);
    await silent.goto(`${served.url}/receipt?lang=en`);
    expect(words(await silent.textContent('main'))).toContain('Paid on January 1, 2026 at 12:00 AM UTC');
    await plain.close();
  });

  it('is copied where the browser has no clipboard: everything, the address and the amount', async () => {
    await page.addInitScript(NO_CLIPBOARD);
    served.show(SESSIONS['refunded in part']!);
    await page.goto(`${served.url}/help?lang=en`);
    await page.getByRole('button', { name: 'Copy everything' }).click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate('copied')).toContain(DEPOSIT.txHash);
    served.show(OPEN);
    await page.goto(`${served.url}?lang=en`);
    for (const [name, wanted] of [
      ['Copy address', OPEN.paymentOptions[0]!.address],
      ['Copy amount', '10.80'],
    ] as const) {
      const button = page.getByRole('button', { name }).locator('visible=true');
      await button.click();
      await page.getByText('Copied. After pasting').last().waitFor();
      expect(await page.evaluate('copied')).toBe(wanted);
      expect(await page.evaluate('document.activeElement.textContent')).toBe(name);
    }
  });
});
