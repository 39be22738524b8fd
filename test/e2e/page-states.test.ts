import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../src/checkout/languages.ts';
import { pageStatus } from '../../src/checkout/page/model.ts';
import { createSessionPresenter } from '../../src/http/presenters/session.presenter.ts';
import { NETWORKS } from '../../src/domain/networks/networks.ts';
import type { SessionView } from '../../src/features/shared/views.ts';
import { inCoin } from '../../src/features/shared/coin-choice.ts';
import { CHOICE, DEPOSIT, FACTS, NOW_SEC, OPEN, SESSIONS } from '../support/page-sessions.ts';
import { eventually } from '../support/running-sandbox.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { layoutShift, violations } from './checkout-world.ts';

/*
 * Every state in a real browser, as an open page is told of it and as a reload shows it, against what the API answers.
 */

const api = createSessionPresenter({ publicUrl: 'https://pay.example', networks: () => [], deepLinks: () => ({}) });

/** The first view is on the screen long before. */
const LATE_MS = 120;
const SCRIPTS = '**/pay/assets/**';
const comesLate = (route: Route): Promise<void> => sleep(LATE_MS).then(() => route.continue());

const words = (text: string | null | undefined): string => (text ?? '').replaceAll(/\s+/g, ' ').trim();

/** What lies under a button for copying and is text of its own. */
const COVERED = `[...document.querySelectorAll('.copy')].filter((button) => button.offsetParent !== null).flatMap((button) => {
  const at = button.getBoundingClientRect();
  const texts = [...button.closest('dl > div').querySelectorAll('dt, .value')].map((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return [...range.getClientRects()].some((box) => box.left < at.right && at.left < box.right && box.top < at.bottom && at.top < box.bottom) ? element.textContent : null;
  });
  return texts.filter((text) => text !== null);
})`;

/** What a payer reads off the page. */
async function read(page: Page) {
  const texts = await page.locator('#status p, #status li').allTextContents();
  return {
    headline: words(await page.textContent('h1')),
    title: await page.title(),
    tone: await page.getAttribute('html', 'data-tone'),
    state: await page.getAttribute('html', 'data-state'),
    lines: texts.map(words),
    due: (await page.locator('.panel dd .value:not(.address)').allTextContents()).filter(
      (amount, at, all) => all.indexOf(amount) === at,
    ),
    network:
      (await page.locator('input[name=network]:checked').count()) === 0
        ? null
        : await page.inputValue('input[name=network]:checked'),
    next: (await page.locator('.next a').allTextContents()).map(words),
  };
}

describe.skipIf(CHROMIUM === undefined)('an open page and a reloaded one', () => {
  let browser: Browser;
  let served: ServedPages;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePages(OPEN);
    page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    // The payer had chosen this one before; money on another network must move the choice.
    await page.goto(served.url);
    await page.evaluate("localStorage.setItem('network', 'bsc')");
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  /** Asked from outside: the page's policy lets no script evaluate a text. */
  const holds = (expression: string): Promise<unknown> =>
    eventually(expression, () => page.evaluate<boolean>(expression), 10_000);

  it.each(Object.keys(SESSIONS))('agree with each other and with the API: %s', async (name) => {
    const session = SESSIONS[name]!;
    served.show(OPEN);
    await page.goto(served.url);
    const status = pageStatus(session, FACTS);
    const { headline } = await served.update(session);
    await holds(
      `document.querySelector('h1').textContent.replaceAll(/\\s+/g, ' ').trim() === ${JSON.stringify(headline)} && ` +
        `document.documentElement.dataset.state === '${status.state}' && !!document.querySelector('.pay') === ${status.toSend !== null}`,
    );
    if (status.network !== null && status.toSend !== null)
      await holds(`document.querySelector('input[name=network]:checked').value === '${status.network}'`);
    const live = await read(page);
    await page.reload();
    expect(await read(page)).toEqual(live);
    expect(live.headline).toBe(headline);

    const answer = api.session(session);
    const left = Number(answer.payment_options[0]!.amount) - Number(answer.received) - Number(answer.pending);
    const isOpen =
      (answer.status === 'open' || answer.status === 'processing') && NOW_SEC <= answer.expires_at && left > 0;
    expect(live.due.map(Number)).toEqual(isOpen ? [expect.closeTo(left, 9)] : []);
    if (isOpen) expect(live.headline).toContain(`${status.toSend} ${answer.settlement_currency}`);
    const there = answer.deposits.filter((deposit) => deposit.status !== 'reverted' && deposit.status !== 'failed');
    const offered = there.findLast((deposit) =>
      answer.payment_options.some(({ network }) => network === deposit.network),
    );
    if (isOpen) expect(live.network).toBe(offered?.network ?? 'bsc');
    if (name === 'expired' || session.status === 'paid')
      await receiptSays(answer.payment_status === 'paid', session.refunds.length);
  });

  async function receiptSays(isPaid: boolean, refunds: number): Promise<void> {
    await page.goto(`${served.url}/receipt`);
    const text = words(await page.textContent('main'));
    expect(text.includes('There is no receipt before')).toBe(!isPaid);
    if (isPaid) expect((text.match(/Refund of /g) ?? []).length).toBe(refunds);
  }

  it('break no rule of accessibility, nor does the page for the shop, light or dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [name, part] of [
        ['refunded in part', '/receipt'],
        ['refunded in part', '/help'],
        ['reversed', ''],
        ['underpaid', ''],
      ] as const) {
        served.show(SESSIONS[name]!);
        await page.goto(`${served.url}${part}`);
        expect(await violations(page), `${name}${part} ${colorScheme}`).toEqual([]);
      }
    }
  });

  it('break no rule of accessibility and fit a small phone in any language, nor move anything when the script comes late', async () => {
    await page.setViewportSize({ width: 320, height: 740 });
    await page.route(SCRIPTS, comesLate);
    served.show(OPEN);
    for (const { code, direction, locale } of LANGUAGES) {
      await page.goto(`${served.url}?lang=${code}`);
      const { shown, browsers } = await page.evaluate<Record<string, string>>(
        `(([time]) => ({ shown: time.textContent, browsers: new Date(time.dateTime).toLocaleTimeString('${locale}', { timeStyle: 'short' }) }))([document.querySelector('time')])`,
      );
      expect(words(shown), code).toBe(words(browsers));
      expect([await page.getAttribute('html', 'lang'), await page.getAttribute('html', 'dir')]).toEqual([
        code,
        direction,
      ]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), code).toBe(true);
      expect(await layoutShift(page), code).toBe(0);
      // The rules look at marks and colours, which follow the direction rather than the words.
      if (direction === 'rtl') expect(await violations(page), code).toEqual([]);
    }
    await page.unroute(SCRIPTS);
  });

  it('move nothing when the script loads after the page, whatever the width and the earlier choice', async () => {
    await page.route(SCRIPTS, comesLate);
    for (const [name, width, part] of [
      ['awaiting', 412, ''],
      ['awaiting', 1440, ''],
      ['underpaid', 412, ''],
      ['seen', 412, ''],
      ['expired', 412, '/help'],
    ] as const) {
      await page.setViewportSize({ width, height: 823 });
      served.show(SESSIONS[name]!);
      await page.goto(`${served.url}${part}?lang=en`);
      if (name === 'awaiting') expect(await page.inputValue('input[name=network]:checked')).toBe('bsc');
      expect(await layoutShift(page), `${name} ${width}`).toBe(0);
    }
    await page.unroute(SCRIPTS);
  });

  it.each([
    [
      'the payer declines',
      { eth_sendTransaction: { code: 4001, message: 'User rejected the request.' } },
      'You rejected the payment in the wallet.',
    ],
    [
      'the account holds too little of the coin',
      { eth_sendTransaction: { code: 4001, message: 'User rejected' }, eth_call: '0x1' },
      'This account holds less than 10.80 USDT on BNB Smart Chain.',
    ],
    [
      'the account cannot pay the network fee',
      { eth_sendTransaction: { code: 4001, message: 'User rejected' }, eth_getBalance: '0x1' },
      'too little BNB for the network fee',
    ],
    [
      'the node says so',
      { eth_sendTransaction: { code: -32000, message: 'insufficient funds for gas * price + value' } },
      'too little BNB',
    ],
    [
      'nobody knows why',
      { eth_sendTransaction: { code: -32603, message: 'timeout' } },
      'The wallet did not send the payment.',
    ],
    [
      'it stays on another network',
      { eth_chainId: '0x1', wallet_switchEthereumChain: { code: 4001, message: 'User rejected' } },
      'Switch it to BNB Smart',
    ],
    [
      'it does not know the network and the payer does not add it',
      {
        eth_chainId: '0x1',
        wallet_switchEthereumChain: { code: 4902, message: 'Unrecognized chain' },
        wallet_addEthereumChain: { code: 4001, message: 'no' },
      },
      'The wallet does not know BNB Smart Chain.',
    ],
  ])('show why a wallet did not pay: %s', async (_, answers, says) => {
    const usual = {
      eth_chainId: '0x38',
      eth_call: `0x${'f'.repeat(30)}`,
      eth_estimateGas: '0xffff',
      eth_gasPrice: '0xff',
      eth_getBalance: '0xffffffffff',
    };
    const context = await browser.newContext();
    const walletPage = await context.newPage();
    await walletPage.addInitScript(`
      const answers = ${JSON.stringify({ ...usual, ...answers })};
      window.asked = [];
      window.ethereum = { request: async ({ method, params }) => {
        asked.push({ method, params });
        if (method === 'eth_requestAccounts') return ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'];
        const answer = answers[method];
        if (typeof answer === 'string') return answer;
        throw Object.assign(new Error(answer?.message ?? method), { code: answer?.code });
      } };`);
    served.show(OPEN);
    await walletPage.goto(served.url);
    await walletPage.getByRole('button', { name: 'Pay with Ethereum' }).locator('visible=true').click();
    await walletPage.locator('.said.bad', { hasText: says }).waitFor({ timeout: 10_000 });
    const added = await walletPage.evaluate<{ params: { rpcUrls: string[] }[] }[]>(
      "asked.filter(({ method }) => method === 'wallet_addEthereumChain')",
    );
    expect(added.map(({ params }) => params[0]!.rpcUrls)).toEqual(
      'wallet_addEthereumChain' in answers ? [['https://bsc-dataseed.bnbchain.org']] : [],
    );
    await context.close();
  });

  it.each(['awaiting', 'awaiting either coin', 'underpaid'])(
    'keep amount, address and copying above the fold of a phone: %s',
    async (name) => {
      const context = await browser.newContext({
        viewport: { width: 390, height: 844 },
        isMobile: true,
        hasTouch: true,
      });
      const phone = await context.newPage();
      const session = SESSIONS[name]!;
      served.show({
        ...session,
        paymentOptions: NETWORKS.map((network) => ({ ...session.paymentOptions[0]!, network })),
      });
      await phone.goto(served.url);
      const bottom =
        "[...document.querySelectorAll('.address')].findLast((address) => address.offsetParent !== null).getBoundingClientRect().bottom";
      expect(await phone.evaluate<number>(bottom)).toBeLessThan(844);
      expect(await phone.evaluate(COVERED)).toEqual([]);
      expect(await phone.locator('svg.code').locator('visible=true').count()).toBe(0);
      await phone.getByText('Show the QR code').locator('visible=true').click();
      expect(await phone.locator('svg.code').locator('visible=true').count()).toBe(1);
      await context.close();
    },
  );

  it('let the payer choose the coin without a script, with the same look', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    served.show(CHOICE);
    await plain.goto(`${served.url}?lang=en`);
    expect(words(await plain.textContent('h1'))).toBe('Pay 10.80 USDT');
    await plain.getByRole('link', { name: 'USDC' }).click();
    expect(words(await plain.textContent('h1'))).toBe('Pay 10.79 USDC');
    expect(await plain.locator('.panel .value:not(.address)').allTextContents()).toEqual(['10.79']);
    await plain.getByRole('link', { name: 'USDT' }).click();
    expect(words(await plain.textContent('h1'))).toBe('Pay 10.80 USDT');
    await context.close();
  });

  it('show the coin that money chose, whichever the payer selected, and offer both again when that money is gone', async () => {
    const usdc = inCoin(CHOICE, 'USDC');
    const chosen = {
      ...usdc,
      alternative: null,
      received: '5.00',
      deposits: [{ ...DEPOSIT, coin: 'USDC' as const, amount: '5.00' }],
    };
    for (const query of ['?coin=USDT', '?coin=USDC']) {
      served.show(CHOICE);
      await page.goto(served.url + query);
      expect(await page.locator('.coins').count()).toBe(1);
      served.show(chosen);
      await holds(
        "document.querySelector('h1').textContent === 'Partly paid: 5.79 USDC still due' && !document.querySelector('.coins')",
      );
      const live = await read(page);
      await page.reload();
      expect(await read(page)).toEqual(live);
      served.show({ ...CHOICE, deposits: [{ ...DEPOSIT, coin: 'USDC', amount: '5.00', status: 'reverted' }] });
      await holds("!!document.querySelector('.coins')");
      expect(words(await page.textContent('h1'))).toBe(
        `Transfer lost: ${query === '?coin=USDC' ? '10.79 USDC' : '10.80 USDT'} still due`,
      );
    }
  });

  it('are not undone by an answer that was asked for before and arrives after', async () => {
    const status = ({ pathname }: URL): boolean => pathname.endsWith('/status');
    const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let answers = 0;
    served.show(OPEN);
    await page.goto(served.url);
    await page.route(status, async (route) => {
      const answer = await route.fetch();
      answers += 1;
      if (answers === 1) {
        asked.resolve();
        await release.promise;
      }
      await route.fulfill({ response: answer });
    });
    // As a browser does that shows a page again which was left.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await asked.promise;
    served.show(SESSIONS['paid']!);
    await holds("document.documentElement.dataset.state === 'paid'");
    const told = await read(page);
    const arrived = page.waitForResponse((response) => status(new URL(response.url())));
    release.resolve();
    await arrived;
    await page.evaluate('new Promise((done) => setTimeout(done, 500))');
    expect(await read(page)).toEqual(told);
    expect(answers, 'asked again, should the other have been the older one').toBe(2);
    await page.unroute(status);
  });

  it('list an order that adds up to its total, and name what is not listed', async () => {
    const item = (unitAmount: string, quantity: number, currency = 'EUR') => ({
      price_data: { currency, unit_amount: unitAmount, product_data: { name: 'Mug' } },
      quantity,
    });
    const rows = async (lineItems: ReturnType<typeof item>[], more: Partial<SessionView> = {}): Promise<string[]> => {
      served.show({ ...SESSIONS['paid']!, ...more, personal: { lineItems } });
      await page.goto(`${served.url}?lang=en`);
      return (await page.locator('.order tr').allTextContents()).map(words);
    };
    expect(await rows([item('3.50', 2)])).toEqual([
      'Mug2 × €3.50 €7.00',
      'Tax €1.00',
      'Shipping €2.00',
      'Total €10.00',
    ]);
    expect((await rows([item('4.00', 2)])).slice(-2)).toEqual(['Discounts and other amounts -€1.00', 'Total €10.00']);
    expect((await rows([item('7.00', 1, 'usd')])).slice(-2)).toEqual(['Discounts and other amounts', 'Total €10.00']);
    expect((await rows([], { amount: '1.00' })).slice(-2)).toEqual([
      'Discounts and other amounts -€2.00',
      'Total €1.00',
    ]);
  });

  it('give way to a plain one with amount and addresses if they cannot be drawn, and to the whole one later', async () => {
    const item = {
      price_data: { currency: 'EUR', unit_amount: '1.00', product_data: { name: 'Saffron' } },
      quantity: 1e-7,
    };
    const planted: SessionView = { ...OPEN, personal: { lineItems: [item] } };
    const plain = await browser.newPage({ viewport: { width: 320, height: 740 } });
    for (const [session, query, says] of [
      [planted, '?lang=en', 'Pay 10.80 USDT'],
      [planted, '?lang=ar', '10.80 USDT'],
      [inCoin({ ...planted, alternative: CHOICE.alternative }, 'USDC'), '?coin=USDC', 'Pay 10.79 USDC'],
      [{ ...SESSIONS['paid']!, personal: planted.personal }, '/receipt?lang=en', 'Paid'],
      [{ ...SESSIONS['expired']!, personal: planted.personal }, '', 'Do not send money to this address any more.'],
    ] as const) {
      served.show(session);
      const answer = await plain.goto(served.url + query);
      expect(answer?.status()).toBe(200);
      expect(words(await plain.textContent('h1'))).toContain(says);
      const text = words(await plain.textContent('body'));
      expect(session.paymentOptions.every(({ address }) => text.includes(address))).toBe(says.includes('10.'));
      expect(await plain.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(await violations(plain)).toEqual([]);
    }
    served.fail();
    for (const path of ['', '/receipt', '/status', '/qr/bsc.svg']) {
      const answer = await plain.goto(served.url + path);
      expect([answer?.status(), answer?.headers()['retry-after']], path).toEqual([503, '15']);
      expect(words(await plain.textContent('h1'))).toBe('The payment cannot be shown just now');
    }
    expect((await plain.goto(`${new URL(served.url).origin}/pay/%E0`))?.status()).toBe(404);
    expect(words(await plain.textContent('h1'))).toBe('No such payment');
    await plain.close();
  });
});
