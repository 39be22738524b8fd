import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../src/checkout/languages.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { CHOICE, mainNetwork, onEveryNetwork, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';
import { violations } from './checkout-world.ts';

/* A payer with a phone has the wallet on it: one button leads there, and the order stands at the top. */

/** What a browser leaves of a common phone's 844 pixels. */
const VISIBLE = { width: 390, height: 664 };

const lineItems = [
  { price_data: { currency: 'EUR', unit_amount: '3.50', product_data: { name: 'Blue mug' } }, quantity: 2 },
];
const order = { ...onEveryNetwork(OPEN), mode: 'live' as const, personal: { ...OPEN.personal, lineItems } };

describe.skipIf(CHROMIUM === undefined)('a touch screen', () => {
  let browser: Browser;
  let served: ServedPages;
  let phone: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePages(order, {}, mainNetwork);
    phone = await browser.newContext({ viewport: VISIBLE, isMobile: true, hasTouch: true });
    page = await phone.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  it('shows the one button to a wallet without scrolling, and below it address and code, in any language', async () => {
    served.show(order);
    for (const { code } of LANGUAGES) {
      await page.goto(`${served.url}?lang=${code}`);
      const button = page.locator('.apps summary').locator('visible=true');
      const box = (await button.boundingBox())!;
      expect(box.y + box.height, code).toBeLessThanOrEqual(VISIBLE.height);
      expect(box.height).toBeGreaterThanOrEqual(40);
      for (const below of ['.address', '.fold + label'])
        expect((await page.locator(below).locator('visible=true').boundingBox())!.y, code).toBeGreaterThan(box.y);
    }
  });

  it('opens the apps of the chosen network behind that button', async () => {
    await page.goto(`${served.url}?lang=en`);
    for (const [network, app] of [
      ['tron', 'Trust Wallet'],
      ['ethereum', 'MetaMask'],
      ['solana', 'Trust Wallet'],
    ] as const) {
      await page.locator(`label[for=network-${network}]`).tap();
      await page.locator('.apps summary').locator('visible=true').tap();
      const link = page.getByRole('link', { name: app }).locator('visible=true');
      expect(await link.getAttribute('href')).toMatch(/^https:\/\/link\./);
    }
    expect(await violations(page)).toEqual([]);
  });

  it('shows the order at the top, in its own currency, and its lines on request', async () => {
    await page.goto(`${served.url}?lang=en`);
    const total = page.locator('.order summary');
    expect(await total.innerText()).toBe('Total €10.00');
    expect((await total.boundingBox())!.y).toBeLessThan((await page.locator('h1').boundingBox())!.y);
    await total.tap();
    expect(await page.locator('.order table').innerText()).toContain('Blue mug');
    // The outcome comes first once nothing is to be sent.
    served.show({ ...SESSIONS['paid']!, personal: order.personal });
    await page.goto(`${served.url}?lang=en`);
    expect((await page.locator('.order').boundingBox())!.y).toBeGreaterThan(
      (await page.locator('h1').boundingBox())!.y,
    );
  });

  it('shows coins and networks by their icons, and by their names to those who hear them', async () => {
    served.show({ ...CHOICE, ...onEveryNetwork(CHOICE) });
    await page.goto(`${served.url}?lang=en`);
    for (const { network } of order.paymentOptions)
      expect(await page.locator(`label[for=network-${network}] svg.icon[aria-hidden=true]`).count(), network).toBe(1);
    expect(await page.locator('.coins li svg.icon[aria-hidden=true]').count()).toBe(2);
    await page.getByRole('radio', { name: 'TRON' }).waitFor({ state: 'attached' });
  });
});
