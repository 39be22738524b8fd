import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { mainNetwork, onEveryNetwork, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { eventually } from '../support/running-sandbox.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';
import { violations } from './checkout-world.ts';

/* What those notice who read with a keyboard or a screen reader, or in another script. */

const lineItems = [
  { price_data: { currency: 'EUR', unit_amount: '3.50', product_data: { name: 'Blue mug' } }, quantity: 2 },
];
const full = (name: string) => ({
  ...onEveryNetwork(SESSIONS[name]!),
  personal: { ...OPEN.personal, lineItems },
});

describe.skipIf(CHROMIUM === undefined)('a page that changes', () => {
  let browser: Browser;
  let served: ServedPages;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePages(OPEN, {}, mainNetwork);
    page = await browser.newPage({ viewport: { width: 390, height: 844 }, hasTouch: true });
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });
  beforeEach(async () => {
    served.show(full('awaiting'));
    await page.goto(`${served.url}?lang=en`);
  });

  const becomes = async (name: string, state: string): Promise<void> => {
    served.show(full(name));
    await eventually(
      state,
      () => page.evaluate<boolean>(`document.documentElement.dataset.state === '${state}'`),
      10_000,
    );
  };

  it.each([
    ['the network', '#network-tron'],
    ['a button', '.panel[data-network=solana] .copy'],
    ['the wallet', '.panel[data-network=solana] .apps summary'],
    ['a link', '.next a >> nth=-1'],
    ['the language', 'footer summary'],
  ])('keeps the focus where it was: %s', async (_, selector) => {
    await page.locator(selector).first().focus();
    const before = await page.evaluate<string>('document.activeElement.outerHTML');
    await becomes('lost', 'awaiting');
    await eventually('the words', async () => (await page.textContent('h1'))!.includes('Transfer lost'), 10_000);
    served.show({ ...full('lost'), dueAmount: '11.00' });
    await eventually('the amount', async () => (await page.textContent('.panel .value'))! === '11.00', 10_000);
    const after = await page.evaluate<string>('document.activeElement.outerHTML');
    expect(after.slice(0, 20)).toBe(before.slice(0, 20));
    expect(await page.evaluate('document.activeElement !== document.body')).toBe(true);
  });

  it('keeps open what was open', async () => {
    await page.locator('.order summary').click();
    await page.locator('label[for=code-solana]').click();
    await becomes('underpaid', 'underpaid');
    expect(await page.evaluate("document.querySelector('.order details').open")).toBe(true);
    expect(await page.isChecked('#code-solana')).toBe(true);
  });

  it('moves the focus to what happened if its place is gone', async () => {
    await page.locator('.panel[data-network=solana] .copy').first().focus();
    await becomes('paid', 'paid');
    expect(await page.evaluate('document.activeElement.id')).toBe('status');
  });

  it('announces each headline once, and nothing that only counts on', async () => {
    const news = await page.locator('#news').elementHandle();
    const said = async (): Promise<string | null> => (await news?.textContent()) ?? null;
    expect(await said()).toBe('');
    await page.evaluate(
      "window.told = 0, new MutationObserver(() => (told += 1)).observe(document.getElementById('news'), { childList: true })",
    );
    await becomes('seen', 'seen');
    expect(await said()).toBe('Payment on its way');
    served.show(full('seen'), { confirmationsOf: () => 7 });
    await eventually('the count', async () => (await page.textContent('#status'))!.includes('7 of 12'), 10_000);
    expect(await page.evaluate('told')).toBe(1);
    await becomes('overpaid', 'overpaid');
    expect(await said()).toBe('Paid, 1.20 USDT more than due');
    expect(await page.evaluate('document.querySelector("#news").isConnected')).toBe(true);
    expect(await violations(page)).toEqual([]);
  });

  it.each([
    ['zh-TW', 'zh-Hant', '請支付'],
    ['zh-HK', 'zh-Hant', '請支付'],
    ['zh-Hant-MO', 'zh-Hant', '請支付'],
    ['zh-CN', 'zh', '请支付'],
    ['zh', 'zh', '请支付'],
    ['zh-SG', 'zh', '请支付'],
  ])('reads in the script of its reader: %s', async (locale, lang, says) => {
    const context = await browser.newContext({ locale });
    const reader = await context.newPage();
    await reader.goto(served.url);
    expect(await reader.getAttribute('html', 'lang')).toBe(lang);
    expect(await reader.textContent('h1')).toContain(says);
    await reader.goto(`${served.url}?lang=${locale}`);
    expect(await reader.getAttribute('html', 'lang')).toBe(lang);
    await context.close();
  });
});
