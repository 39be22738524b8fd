import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WEBHOOK_TYPES } from '../../src/domain/notifications/types.ts';
import { axeScript, CHROMIUM, openBrowser } from '../support/browser.ts';
import { startTestServer, type TestServer } from '../support/http-api.ts';
import { layoutShift } from './checkout-world.ts';

describe.skipIf(CHROMIUM === undefined)('the documentation page in Chromium', () => {
  let service: TestServer;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];
  const requested: string[] = [];

  beforeAll(async () => {
    service = await startTestServer();
    browser = await openBrowser();
    page = await browser.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(`${service.base}/docs`);
    await page.locator('#createPaymentSession').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  it('shows every operation from this server alone, under a strict policy', async () => {
    expect(await page.locator('#operations details[id]').count()).toBe(8);
    expect(await page.locator('#events details[id]').count()).toBe(WEBHOOK_TYPES.length);
    expect(requested.every((url) => url.startsWith(service.base))).toBe(true);
    expect(faults).toEqual([]);
    const policy = (await fetch(`${service.base}/docs`)).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it('signs and sends a request with a test key, and none with a live key', async () => {
    await page.locator('#createPaymentSession > summary').click();
    const send = page.locator('#createPaymentSession form button');
    const output = page.locator('#createPaymentSession form pre');
    await page.fill('#api-key', 'sk_live_0123456789');
    await page.fill('#api-secret', 'secret');
    await send.click();
    await expect.poll(() => output.textContent()).toContain('sk_test_');
    expect(await page.locator('#live-warning').isVisible()).toBe(true);

    await page.fill('#api-key', service.key.apiKey);
    await page.fill('#api-secret', service.key.secret);
    await send.click();
    await expect.poll(() => output.textContent()).toMatch(/^200 OK[\s\S]*"payment_status": "unpaid"/);
    expect(service.api.sessions.size).toBe(1);

    await page.fill('#api-secret', 'wrong');
    await send.click();
    await expect.poll(() => output.textContent()).toMatch(/^401/);
  });

  it('fills in path and query parameters', async () => {
    await page.fill('#api-secret', service.key.secret);
    await page.locator('#getPaymentSession > summary').click();
    await page.fill('#getPaymentSession-id', [...service.api.sessions.keys()][0]!);
    await page.locator('#getPaymentSession form button').click();
    await expect.poll(() => page.locator('#getPaymentSession form pre').textContent()).toMatch(/^200/);
    await page.locator('#listRefunds > summary').click();
    await page.fill('#listRefunds-page_size', '101');
    await page.locator('#listRefunds form button').click();
    await expect.poll(() => page.locator('#listRefunds form pre').textContent()).toMatch(/^400[\s\S]*page_size/);
  });

  it('keeps the chosen language for every operation, also with the keyboard', async () => {
    await page.locator('#createPaymentSession').getByRole('tab', { name: 'Python' }).click();
    expect(await page.locator('#getPaymentSession').getByRole('tab', { selected: true }).textContent()).toBe('Python');
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('#createPaymentSession [role=tabpanel]:visible').textContent()).toContain('<?php');
  });

  it('moves nothing that is already on the screen while it loads', async () => {
    const fresh = await browser.newPage({ viewport: { width: 412, height: 823 } });
    await fresh.goto(`${service.base}/docs`);
    await fresh.locator('#createPaymentSession').waitFor();
    expect(await layoutShift(fresh)).toBeLessThan(0.02);
    await fresh.close();
  });

  it('has no violation that axe can find, with an operation open, light or dark', async () => {
    await page.locator('[id="event-payment.late"] > summary').click();
    // The page's own policy forbids foreign script, so the checker is put in through the debugger.
    await page.evaluate(axeScript());
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        'axe.run()',
      );
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
    }
  });
});
