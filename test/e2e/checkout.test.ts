import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM } from '../support/browser.ts';
import { CheckoutWorld, PHONE, eventually, readCode, violations, type Keys } from './checkout-world.ts';

/* The payer's page over the real sandbox: every state is reached by real transactions on the local chains. */

const NAMES: Readonly<Record<string, string>> = {
  ethereum: 'Ethereum',
  bsc: 'BNB Smart Chain',
  tron: 'TRON',
  solana: 'Solana',
};
/** The most confirmations there can be: a transfer stays on its way for about half a minute. */
const SLOW = { ethereumConfirmations: '96' };

if (CHROMIUM === undefined)
  console.warn('checkout: no Chromium on this machine, the tests of the payment page in a browser are skipped');

describe.skipIf(CHROMIUM === undefined)('the payment page', () => {
  let world: CheckoutWorld;
  let shop: Keys;
  let slowShop: Keys;
  let hastyShop: Keys;

  beforeAll(async () => {
    world = await CheckoutWorld.start();
    shop = await world.merchant('Mug shop');
    slowShop = await world.merchant('Slow shop', SLOW);
    hastyShop = await world.merchant('Hasty shop', { sessionTtl: '8' });
  });
  afterEach(() => world?.closePages());
  afterAll(async () => world?.stop());

  const order = {
    description: 'Two mugs',
    line_items: [
      {
        price_data: { currency: 'EUR', unit_amount: '4.75', product_data: { name: 'Mug', description: 'Blue' } },
        quantity: 2,
      },
    ],
    tax_amount: '1.00',
    shipping_amount: '2.00',
    success_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
  };
  /**
   * What every state owes: no incident, no accessibility violation, no sideways scrolling on a phone, a picture to look
   * at.
   */
  const sound = async (name: string, url: string): Promise<void> => {
    const { page, incidents } = await world.openOnPhone(url);
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(incidents).toEqual([]);
    await world.pictures(name, url);
  };
  const words = (text: string | null): string => (text ?? '').replaceAll(/\s+/g, ' ');

  it('shows the same amount, address and deadline on the page, in the QR code and in the API', async () => {
    const session = await world.create(shop, order);
    const { page, incidents } = await world.open(session.url);
    expect(await page.title()).toBe('Pay 13.50 USDT · Mug shop');
    expect(words(await page.textContent('#status'))).toMatch(/Send exactly 13\.50 USDT before [\d:]+ [AP]M\./);
    expect(await page.textContent('#timer')).toMatch(/^(29|30):\d\d$/);
    for (const option of session.payment_options) {
      await page.locator(`label[for=network-${option.network}]`).click();
      const panel = `.panel[data-network=${option.network}]`;
      expect(await page.textContent(`${panel} .address`)).toBe(option.address);
      expect(await page.textContent(`${panel} dd .value`)).toBe(option.amount);
      expect(await readCode(page, `${panel} svg.code`)).toBe(option.address);
      expect(option.qr_payload).toBe(option.address);
      expect(words(await page.textContent(`${panel} .warning`))).toContain(
        `Send only ${option.coin} on ${NAMES[option.network]}`,
      );
    }
    expect(incidents).toEqual([]);
    await sound('awaiting', session.url);
  });

  it('offers the payment link as a second, labelled code that names token, chain, address and exact units', async () => {
    const session = await world.create(shop);
    const { page, incidents } = await world.open(session.url);
    const option = session.payment_options.find(({ network }) => network === 'ethereum')!;
    await page.locator('label[for=network-ethereum]').click();
    const panel = '.panel[data-network=ethereum]';
    expect(await page.locator(`${panel} img.code`).isVisible()).toBe(false);
    await page.getByText('Code with the amount').locator('visible=true').click();
    await eventually('the code', () =>
      page.evaluate<boolean>(`document.querySelector('${panel} img.code').naturalWidth > 0`),
    );
    expect(await readCode(page, `${panel} img.code`)).toBe(
      `ethereum:${option.token_address}@${option.chain_id}/transfer?address=${option.address}&uint256=13500000`,
    );
    expect(incidents).toEqual([]);
  });

  it('copies exactly what it shows, and says when the clipboard holds something else', async () => {
    const session = await world.create(shop);
    const { page } = await world.open(session.url);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('label[for=network-ethereum]').click();
    const copy = page.getByRole('button', { name: 'Copy address' }).locator('visible=true');
    await copy.click();
    await page.waitForSelector('.said');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      session.payment_options.find(({ network }) => network === 'ethereum')!.address,
    );
    expect(await page.textContent('.said')).toBe('The clipboard holds exactly what this page shows.');
    await page.evaluate(
      "void (navigator.clipboard.readText = async () => '0x0000000000000000000000000000000000000bad')",
    );
    await copy.click();
    await page.waitForSelector('.said.bad');
    expect(await page.textContent('.said.bad')).toContain('Do not paste it');
  });

  it('counts confirmations and turns to Paid by itself, then leads back to the shop and to a receipt', async () => {
    const session = await world.create(shop, order);
    const { page, incidents } = await world.open(session.url);
    await page.locator('label[for=network-ethereum]').click();
    await page.getByRole('button', { name: 'Pay with the test wallet' }).locator('visible=true').click();
    await world.shows(page, 'seen');
    expect(await page.locator('.pay').count()).toBe(0);
    expect(words(await page.textContent('#status'))).toMatch(/Confirmations: \d+ of \d+/);
    await world.shows(page, 'paid');
    expect(words(await page.textContent('#status'))).toContain('13.50 USDT received. Thank you.');
    expect(await page.title()).toBe('Paid · Mug shop');
    expect(await page.getByRole('link', { name: 'Back to the shop' }).getAttribute('href')).toBe(
      'https://shop.example/thanks',
    );
    expect(incidents).toEqual([]);
    await sound('paid', session.url);
  });

  it('shows a transfer on its way with its confirmations, and nothing more to send', async () => {
    const session = await world.create(slowShop, order);
    await world.pay(slowShop, session.id, { case: 'exact' });
    const { page } = await world.open(session.url);
    await world.shows(page, 'seen');
    expect(words(await page.textContent('#status'))).toMatch(/Confirmations: \d+ of 96/);
    expect(await page.locator('.address').count()).toBe(0);
    await sound('seen', session.url);
  });

  it('asks for the rest while a part is still in flight', async () => {
    const session = await world.create(slowShop, order);
    await world.pay(slowShop, session.id, { case: 'partial' });
    const { page } = await world.open(session.url);
    await world.shows(page, 'seen');
    expect(words(await page.textContent('#status'))).toContain('6.75 USDT is on its way. Send the remaining 6.75 USDT');
    expect(await page.locator('dd .value').first().textContent()).toBe('6.75');
    await sound('seen-part', session.url);
  });

  it('shows the missing amount after a payment that is too small, and accepts the rest', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url);
    await world.pay(shop, session.id, { case: 'partial' });
    await world.shows(page, 'underpaid');
    expect(words(await page.textContent('#status'))).toContain('6.75 USDT arrived. Send the remaining 6.75 USDT');
    expect(await page.locator('dd .value').first().textContent()).toBe('6.75');
    await sound('underpaid', session.url);
    await world.pay(shop, session.id, { case: 'exact' });
    await world.shows(page, 'paid');
  });

  it('shows an excess', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url);
    await world.pay(shop, session.id, { case: 'over' });
    await world.shows(page, 'overpaid');
    expect(words(await page.textContent('#status'))).toMatch(/received, [\d.]+ USDT more than due/);
    await sound('overpaid', session.url);
  });

  it('shows money in a coin that does not count, and still accepts the right one', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url);
    await world.pay(shop, session.id, { case: 'wrong_coin' });
    await world.says(page, '13.50 USDC arrived, but this order is paid in USDT');
    expect(await page.getAttribute('html', 'data-state')).toBe('awaiting');
    await sound('wrong-coin', session.url);
    await world.pay(shop, session.id, { case: 'exact' });
    await world.shows(page, 'paid');
  });

  it('says that the time is over and what happens to money that arrives too late', async () => {
    const session = await world.create(hastyShop, order);
    const { page, incidents } = await world.open(session.url);
    const paying = world.pay(hastyShop, session.id, { case: 'late' });
    await world.shows(page, 'expired');
    expect(words(await page.textContent('#status'))).toContain('Do not send money to this address any more.');
    expect(await page.locator('.address').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Pay again at the shop' }).getAttribute('href')).toBe(
      'https://shop.example/cart',
    );
    await paying;
    await world.says(page, 'arrived too late');
    expect(incidents).toEqual([]);
    await sound('late', session.url);
    const unpaid = await world.create(hastyShop, order);
    const other = await world.open(unpaid.url);
    await world.shows(other.page, 'expired');
    await sound('expired', unpaid.url);
  });

  it('says that the shop cancelled, and links to the next attempt as soon as there is one', async () => {
    const again = { ...order, order_id: `again-${crypto.randomUUID()}` };
    const session = await world.create(shop, again);
    const { page } = await world.open(session.url);
    await world.cancel(shop, session.id);
    await world.shows(page, 'cancelled');
    expect(await page.locator('.address').count()).toBe(0);
    await sound('cancelled', session.url);
    const next = await world.create(shop, { ...again, supersedes: session.id });
    // Long before the page is looked at without a reason.
    const link = page.locator(`.next a[href^="/pay/${next.id}"]`);
    await link.waitFor({ timeout: 5_000 });
    expect(await page.textContent('#status')).toContain('The shop opened a new payment for this order.');
  });

  it('removes its address even if the page could not be fetched for a while after the shop cancelled', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url);
    let fetched = 0;
    await page.route(
      ({ pathname }) => pathname === new URL(session.url).pathname,
      (route) => ((fetched += 1) <= 3 ? route.fulfill({ status: 502 }) : route.continue()),
    );
    await world.cancel(shop, session.id);
    await page.waitForSelector('html[data-state="cancelled"]', { timeout: 15_000 });
    expect(await page.locator('.address').count()).toBe(0);
  });

  it('says what becomes of money that is on its way while the shop cancels', async () => {
    const session = await world.create(slowShop, order);
    const { page } = await world.open(session.url);
    await world.pay(slowShop, session.id, { case: 'exact' });
    await world.shows(page, 'seen');
    await world.cancel(slowShop, session.id);
    await world.shows(page, 'cancelled');
    expect(words(await page.textContent('#status'))).toContain(
      '13.50 USDT is on its way. Once it is final, the shop can return it',
    );
    await sound('cancelled-coming', session.url);
  });

  it('survives a reorganisation: the transfer counts again', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url);
    await world.pay(shop, session.id, { case: 'reorg' });
    await world.shows(page, 'paid');
  });

  it('warns when the network dropped a transfer, and fails when it is permanently lost', async () => {
    const loser = await world.merchant('Unlucky shop', { sessionTtl: '12', ...SLOW });
    const session = await world.create(loser, order);
    const { page } = await world.open(session.url);
    await world.pay(loser, session.id, { case: 'lost' });
    await world.says(page, 'dropped a transfer');
    await sound('lost', session.url);
    await world.shows(page, 'failed');
    expect(words(await page.textContent('#status'))).toContain('no money arrived');
    await sound('failed', session.url);
  });

  it('can be read and paid without JavaScript', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url, { ...PHONE, javaScriptEnabled: false });
    expect(words(await page.textContent('#status'))).toMatch(/Send exactly 13\.50 USDT before [\d:]+ [AP]M UTC\./);
    expect(await page.getByRole('button', { name: 'Copy address' }).locator('visible=true').count()).toBe(0);
    expect(await page.getByText('Reload this page').isVisible()).toBe(true);
    await page.locator('label[for=network-bsc]').click();
    const option = session.payment_options.find(({ network }) => network === 'bsc')!;
    expect(await page.locator('.address').locator('visible=true').textContent()).toBe(option.address);
    await page.getByRole('button', { name: 'Pay with the test wallet' }).locator('visible=true').click();
    await page.waitForURL(session.url);
    await eventually('payment', async () => (await world.get(shop, session.id)).status === 'paid');
    await page.reload();
    expect(await page.getAttribute('html', 'data-state')).toBe('paid');
  });

  it('shows hostile texts as plain text', async () => {
    const hostile = await world.merchant('"><img src=x onerror=alert(1)>');
    const nasty = [
      '"><img src=x onerror=alert(1)>',
      '</script><script>alert(2)</script>',
      "';alert(3)//{{7*7}}",
      'W'.repeat(250),
    ];
    const session = await world.create(hostile, {
      description: `${'<b>'.repeat(100)}${'M'.repeat(600)}`,
      line_items: nasty.map((name) => ({
        price_data: { currency: 'EUR', unit_amount: '999999999999.99', product_data: { name, description: name } },
        quantity: 1e9,
      })),
      amounts_differ: true,
      metadata: { key: '<svg onload=alert(4)>' },
      cancel_url: 'https://shop.example/?q=%22%3E%3Cscript%3E',
    });
    const { page, incidents } = await world.open(
      `${session.url}?lang="><script>alert(5)</script>&success_url=https://evil.example`,
      PHONE,
    );
    const text = (await page.textContent('body')) ?? '';
    for (const name of nasty) expect(text).toContain(name);
    expect(await page.locator('main img[src=x], main script').count()).toBe(0);
    expect(await page.content()).not.toContain('evil.example');
    expect(incidents).toEqual([]);
    await sound('hostile', session.url);
  });

  it('keeps working over polling when the stream is refused, and catches up after a pause', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open('about:blank').then(async ({ page }) => {
      await page.route('**/events*', (route) => route.abort());
      await page.goto(session.url);
      return { page };
    });
    await world.pay(shop, session.id, { case: 'exact' });
    await world.shows(page, 'paid');
  });

  it('refuses to be framed, to run foreign scripts and to send forms elsewhere', async () => {
    const session = await world.create(shop);
    const response = await fetch(session.url);
    const policy = response.headers.get('content-security-policy') ?? '';
    for (const rule of [
      `default-src 'none'`,
      `script-src 'self'`,
      `connect-src 'self'`,
      `base-uri 'none'`,
      `frame-ancestors 'none'`,
    ])
      expect(policy).toContain(rule);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('shows the same plain page for unknown and malformed ids', async () => {
    const base = world.sandbox.facts.base_url;
    for (const id of ['cs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'nonsense', '%3Cscript%3E', 'cs_']) {
      const response = await fetch(`${base}/pay/${id}`);
      expect(response.status).toBe(404);
      expect(await response.text()).toContain('No such payment');
    }
  });
});
