import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/features/shared/views.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { NOW_SEC, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { eventually } from '../support/running-sandbox.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';

/* How the payer gets back to the shop. The browser's clock is wound by hand. */

const personal = {
  successUrl: 'https://shop.example/{ORDER_ID}/thanks?session={SESSION_ID}',
  cancelUrl: 'https://shop.example/cart?order={ORDER_ID}',
};
const orderId = 'A/1 &?ü';
const order = { personal, orderId };
const PAID: SessionView = { ...SESSIONS['paid']!, ...order, refunds: [] };
const THANKS = `https://shop.example/A%2F1%20%26%3F%C3%BC/thanks?session=${OPEN.sessionId}`;
const CART = 'https://shop.example/cart?order=A%2F1%20%26%3F%C3%BC';

/** One state of each kind. */
const OPEN_OR_TO_BE_READ = 'awaiting,seen,overpaid,reversed,refunded in part,late and on its way back,cancelled'.split(
  ',',
);

describe.skipIf(CHROMIUM === undefined)('the way back to the shop', () => {
  let browser: Browser;
  let served: ServedPages;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    served = await servePages({ ...OPEN, ...order });
    page = await browser.newPage();
    await page.clock.install({ time: NOW_SEC * 1000 });
    await page.route('https://shop.example/**', (route) => route.fulfill({ contentType: 'text/html', body: 'Thanks' }));
  });
  afterEach(async () => {
    await page.close();
    await served.close();
  });

  const show = (name: string): void => served.show({ ...SESSIONS[name]!, ...order });
  const turns = (state: string): Promise<unknown> =>
    eventually(state, () => page.evaluate<boolean>(`document.documentElement.dataset.state === '${state}'`), 10_000);

  it('is taken by itself once the payment is final, after a countdown, with the placeholders replaced', async () => {
    await page.goto(`${served.url}?lang=en`);
    show('seen');
    await turns('seen');
    await page.clock.runFor(60_000);
    expect(page.url()).toContain(served.url);
    served.show(PAID);
    await turns('paid');
    await page.clock.runFor(2_000);
    expect(await page.locator('#return').innerText()).toMatch(/^You go back to the shop in [1-8] sec Stay here$/);
    await page.clock.runFor(8_000);
    await page.waitForURL(THANKS);
  });

  it('is not taken once the payer wants to stay, nor a second time by the same tab', async () => {
    served.show(PAID);
    await page.goto(`${served.url}?lang=en`);
    await page.clock.runFor(1_000);
    await page.getByRole('button', { name: 'Stay here' }).click();
    await page.clock.runFor(60_000);
    expect(page.url()).toContain(served.url);
    expect(await page.getByRole('link', { name: 'Back to the shop' }).getAttribute('href')).toBe(THANKS);
    await page.reload();
    await page.clock.runFor(60_000);
    expect(page.url()).toContain(served.url);
    expect(await page.locator('#return').isVisible()).toBe(false);
  });

  it.each(OPEN_OR_TO_BE_READ)('is not taken by itself while anything is open or to be read: %s', async (name) => {
    show(name);
    await page.goto(`${served.url}?lang=en`);
    await page.clock.runFor(20_000);
    expect(page.url()).toContain(served.url);
    const links = page.locator('.next a[href^="https://shop.example"]');
    for (const link of await links.all())
      expect(await link.getAttribute('href')).toBe(SESSIONS[name]!.paidAtSec === null ? CART : THANKS);
  });

  it('is not taken when the payment was made long before, or the shop named no place', async () => {
    for (const session of [
      { ...PAID, paidAtSec: NOW_SEC - 7200 },
      { ...PAID, personal: {} },
    ] satisfies SessionView[]) {
      served.show(session);
      await page.goto(`${served.url}?lang=en`);
      await page.clock.runFor(20_000);
      expect(page.url()).toContain(served.url);
    }
  });

  it('is told to the shop whose page frames this one, and taken by that page or not', async () => {
    const { origin } = new URL(served.url);
    const shop = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<div id="here"></div><script src="${origin}/pay/embed.js"></script>
        <script>window.heard = []; Quittance.mount(here, '${served.url}', { onStatus: (told) => heard.push(told) });</script>`);
    });
    await new Promise<void>((done) => shop.listen(0, '127.0.0.1', done));
    const shopUrl = `http://localhost:${(shop.address() as AddressInfo).port}/`;
    await page.goto(shopUrl);
    await page.frameLocator('iframe').locator('.address').locator('visible=true').waitFor();
    served.show(PAID);
    await eventually(
      'the message',
      () => page.evaluate<boolean>("heard.some(({ status }) => status === 'paid')"),
      10_000,
    );
    await page.clock.runFor(20_000);
    expect(page.url()).toBe(shopUrl);
    expect(await page.evaluate('heard.map(({ status, return_url }) => [status, return_url])')).toEqual([
      ['awaiting', CART],
      ['paid', THANKS],
    ]);
    await page.goto('about:blank');
    shop.closeAllConnections();
    shop.close();
  });
});
