import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../src/checkout/languages.ts';
import type { SessionView } from '../../src/features/shared/views.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { CHOICE, DEPOSIT, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';

/* Amounts as a payer reads them: each number on one line, with one sign for decimals. */

/** Numbers whose digits stand on more than one line of the screen, in every text that is shown. */
const BROKEN = `(() => {
  const broken = [];
  const blocks = 'h1, h2, p, td, th, dt, dd, li, label, summary, small';
  for (const block of document.querySelectorAll(blocks)) {
    if (block.offsetParent === null || block.querySelector(blocks)) continue;
    const pieces = [];
    for (const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT); walker.nextNode();) pieces.push(walker.currentNode);
    const at = (offset) => {
      for (const piece of pieces) {
        if (offset <= piece.length) return [piece, offset];
        offset -= piece.length;
      }
    };
    const text = pieces.map(({ data }) => data).join('');
    for (const { 0: number, index } of text.matchAll(/(?<![\\w.])\\d(?:[\\d.,\\u202f\\u00a0]*\\d)?(?!\\w)/g)) {
      const range = document.createRange();
      range.setStart(...at(index));
      range.setEnd(...at(index + number.length));
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ bottom }) => Math.round(bottom / 8)));
      if (lines.size > 1) broken.push(text.slice(0, 60) + ': ' + number);
    }
  }
  return broken;
})()`;

const WIDTHS = [320, 360, 390, 1440];
const item = (name: string, unitAmount: string, quantity: number) => ({
  price_data: { currency: 'EUR', unit_amount: unitAmount, product_data: { name } },
  quantity,
});
const priced = (amount: string, dueAmount: string, lineItems: ReturnType<typeof item>[]): Partial<SessionView> => ({
  ...{ amount, dueAmount, taxAmount: '23.99', shippingAmount: null },
  personal: { lineItems },
});
const ORDERS = {
  usual: priced('143.99', '155.405', [item('A hand-made mug with an unusually long name', '40.00', 3)]),
  large: priced('999999999999.99', '999999999999.999999', [
    item('Donaudampfschifffahrtsgesellschaft', '333333333325.33', 3),
  ]),
};

describe.skipIf(CHROMIUM === undefined)('amounts on the page', () => {
  let browser: Browser;
  let served: ServedPages;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePages(OPEN);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  const views = (order: Partial<SessionView>): (readonly [string, SessionView])[] => [
    ['', { ...CHOICE, ...order, alternative: { ...CHOICE.alternative!, dueAmount: order.dueAmount! } }],
    ['', { ...SESSIONS['underpaid']!, ...order, received: '0.405', deposits: [{ ...DEPOSIT, amount: '0.405' }] }],
    ['', { ...SESSIONS['paid']!, ...order, paidWith: order.dueAmount! }],
    ['/receipt', { ...SESSIONS['paid']!, ...order, paidWith: order.dueAmount! }],
  ];

  it('never break inside a number, however narrow the screen', async () => {
    for (const [name, order] of Object.entries(ORDERS))
      for (const [part, view] of views(order)) {
        served.show(view);
        for (const { code } of name === 'usual' ? LANGUAGES : LANGUAGES.slice(0, 2)) {
          await page.goto(`${served.url}${part}?lang=${code}`);
          await page.evaluate("document.querySelectorAll('details.items').forEach((details) => (details.open = true))");
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 844 });
            const shown = `${name} ${part} ${code} ${width}`;
            expect(await page.evaluate(BROKEN), shown).toEqual([]);
            expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), shown).toBe(true);
          }
        }
      }
  });

  it('have one sign for decimals, and never three decimals that read as thousands', async () => {
    const order = priced('1143.99', '1155.405', [item('Mug', '0.405', 1.125)]);
    for (const { code, locale } of LANGUAGES)
      for (const [part, view] of views(order)) {
        served.show(view);
        await page.goto(`${served.url}${part}?lang=${code}`);
        const text = await page.evaluate<string>('document.querySelector("main").textContent');
        for (const number of text.match(/\d[\d.,]*\d/g) ?? []) {
          expect(number, code).not.toMatch(/,\d{1,2}$|,\d{4,}/);
          const usesComma = Intl.NumberFormat(locale).format(1.5) === '1,5';
          if (usesComma) expect(number, code).not.toMatch(/,|\.\d{3}$/);
        }
      }
  });

  it('stand in line with the rest of the page on a desktop', async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    served.show(CHOICE);
    await page.goto(`${served.url}?lang=en`);
    const [main, footer] = [await page.locator('main').boundingBox(), await page.locator('footer').boundingBox()];
    expect(footer!.x).toBe(main!.x);
    const [rate, next] = [await page.locator('.rate').boundingBox(), await page.locator('.next').boundingBox()];
    expect(next!.y - rate!.y - rate!.height).toBeLessThan(60);
  });

  it('are copied as they are shown', async () => {
    served.show({ ...OPEN, dueAmount: '5.405' });
    await page.goto(`${served.url}?lang=de`);
    const amount = page.locator('.panel .value:not(.address)').locator('visible=true');
    expect(await amount.textContent()).toBe('5.4050');
    expect(await page.locator('.panel [data-copy="5.4050"]').count()).toBe(OPEN.paymentOptions.length);
    expect(await page.getAttribute('.browser-wallet[data-chain="1"]', 'data-units')).toBe('5405000');
  });
});
