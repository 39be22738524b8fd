import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { badLine, type BadLine } from '../support/bad-line.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { NOW_SEC, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { eventually } from '../support/running-sandbox.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';

/*
 * An open page learns what happened, whatever becomes of its event stream: a payer who is still asked for money pays
 * twice. The browser's clock is wound by hand; the line and the service are real.
 */

describe.skipIf(CHROMIUM === undefined)('a page whose event stream went dead', () => {
  let browser: Browser;
  let served: ServedPages;
  let line: BadLine;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    served = await servePages(OPEN);
    line = await badLine(new URL(served.url).origin);
    page = await browser.newPage();
    await page.clock.install({ time: NOW_SEC * 1000 });
  });
  afterEach(async () => {
    await page.close();
    await line.close();
    await served.close();
  });

  const open = async (): Promise<void> => {
    await page.goto(`${line.url}${new URL(served.url).pathname}?lang=en`);
    await says('Pay 10.80 USDT');
  };
  const headline = async (): Promise<string> => (await page.textContent('h1')) ?? '';
  const says = (text: string): Promise<unknown> =>
    eventually(text, async () => (await headline()).includes(text), 10_000);
  const streams = (count: number): Promise<unknown> =>
    eventually(`stream ${count}`, async () => (line.passed.get('events') ?? 0) >= count, 10_000);
  /** Lets browser and line do their work between steps of the clock. */
  const wind = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 1) {
      await page.clock.runFor(1000);
      await page.evaluate('fetch(document.body.dataset.status.replace("status", "logo.png")).catch(() => 0)');
    }
  };

  it('on which nothing more comes through turns to Paid within half a minute', async () => {
    await open();
    await streams(1);
    line.set('frozen stream');
    served.show(SESSIONS['paid']!);
    await wind(30);
    await says('Paid');
    expect(await page.locator('.address').count()).toBe(0);
  });

  it('that a proxy holds back turns to Paid within seconds', async () => {
    line.set('buffered stream');
    await open();
    await streams(1);
    served.show(SESSIONS['paid']!);
    await wind(7);
    await says('Paid');
  });

  it('because the device slept asks at once when it wakes', async () => {
    await open();
    await streams(1);
    line.set('frozen stream');
    served.show(SESSIONS['paid']!);
    await page.clock.fastForward('00:05:00');
    await says('Paid');
  });

  it.each(['visibilitychange', 'resume'])('behind other tabs of a phone asks at once on return: %s', async (event) => {
    await open();
    await streams(1);
    line.set('frozen stream');
    served.show(SESSIONS['paid']!);
    await page.evaluate(`document.dispatchEvent(new Event('${event}'))`);
    await says('Paid');
  });

  it('asks at once when the line comes back, and opens another stream', async () => {
    await open();
    await streams(1);
    await page.context().setOffline(true);
    served.show(SESSIONS['underpaid']!);
    await page.context().setOffline(false);
    await says('Partly paid');
    await streams(2);
    served.show(SESSIONS['paid']!);
    await says('Paid');
  });

  it('with a line that answers nothing says so, and asks again until it answers', async () => {
    await open();
    await streams(1);
    line.set('dead');
    served.show(SESSIONS['paid']!);
    await page.clock.fastForward('00:40');
    await page.locator('#paused').waitFor({ timeout: 30_000 });
    line.set('none');
    await wind(12);
    await says('Paid');
    expect(await page.locator('#paused').isVisible()).toBe(false);
  });

  it('asks again and again once the deadline has passed, until it learns what became of the payment', async () => {
    await open();
    await streams(1);
    line.set('frozen stream');
    await page.clock.fastForward('00:10:05');
    await eventually('a look', async () => (line.passed.get('status') ?? 0) >= 1, 10_000);
    await says('Pay 10.80 USDT');
    served.show(SESSIONS['expired']!);
    await wind(12);
    await says('The time to pay is over');
    expect(await page.locator('.address').count()).toBe(0);
  });

  it('also asks now and then while its stream works, since the stream itself may have stopped looking', async () => {
    await open();
    await streams(1);
    const before = line.passed.get('status') ?? 0;
    await wind(35);
    expect(line.passed.get('status') ?? 0).toBeGreaterThan(before);
  });
});
