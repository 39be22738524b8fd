import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM } from '../support/browser.ts';
import {
  CheckoutWorld,
  DESKTOP,
  PHONE,
  eventually,
  picture,
  readCode,
  violations,
  type Keys,
  type Session,
} from './checkout-world.ts';

/* How far the page reaches: small, in the payer's language, on paper, inside a shop's own page. */

/** Bytes over the wire. */
const CRITICAL_BYTES = 12_000;
const TOTAL_BYTES = 20_000;

if (CHROMIUM === undefined)
  console.warn('checkout: no Chromium on this machine, the tests of the payment page in a browser are skipped');

describe.skipIf(CHROMIUM === undefined)('the payment page', () => {
  let world: CheckoutWorld;
  let shop: Keys;
  const servers: Server[] = [];

  beforeAll(async () => {
    world = await CheckoutWorld.start();
    shop = await world.merchant('Mug shop');
  });
  afterEach(() => world?.closePages());
  afterAll(async () => {
    for (const server of servers) server.close();
    await world?.stop();
  });
  const order = {
    description: 'Two mugs',
    success_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
    tax_amount: '1.00',
  };

  /** A shop's page on its own origin (another host than the payment page's). */
  async function shopPage(script: string): Promise<string> {
    const base = world.sandbox.facts.base_url;
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(
        `<!doctype html><title>Shop</title><div id="here"></div><button id="pay">Pay</button><script src="${base}/pay/embed.js"></script><script>window.heard = []; ${script}</script>`,
      );
    });
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return `http://localhost:${(server.address() as AddressInfo).port}/`;
  }

  it('is complete in one round of requests within its budget', async () => {
    const session = await world.create(shop, order);
    const context = await world.context(PHONE);
    const page = await context.newPage();
    const network = await context.newCDPSession(page);
    const names = new Map<string, string>();
    const bytes = new Map<string, number>();
    const encodings = new Map<string, string | undefined>();
    await network.send('Network.enable');
    network.on('Network.requestWillBeSent', ({ requestId, request }) =>
      names.set(requestId, new URL(request.url).pathname),
    );
    network.on('Network.responseReceived', ({ requestId, response }) =>
      encodings.set(requestId, response.headers['Content-Encoding']),
    );
    network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) =>
      bytes.set(names.get(requestId)!, encodedDataLength),
    );
    await page.goto(session.url, { waitUntil: 'load' });
    const own = `/pay/${session.id}`;
    const scripts = [...bytes.keys()].filter((name) => name.startsWith('/pay/assets/'));
    // Style and codes are inside the page: it is readable and payable after its first answer, and the scripts come
    // together.
    expect(
      [...names.values()]
        .filter((name) => name !== '' && !name.endsWith('/events') && !name.startsWith('image'))
        .sort(),
    ).toEqual([own, '/pay/assets/checkout.js', '/pay/assets/wallets.js'].sort());
    expect(scripts).toHaveLength(2);
    expect(bytes.get(own)).toBeLessThan(CRITICAL_BYTES);
    expect([...bytes.values()].reduce((sum, size) => sum + size, 0)).toBeLessThan(TOTAL_BYTES);
    for (const [id, name] of names)
      if (name === own || scripts.includes(name)) expect(['br', 'gzip'], name).toContain(encodings.get(id));
    console.info(
      `checkout: ${bytes.get(own)} bytes to read and pay, ${[...bytes.values()].reduce((sum, size) => sum + size, 0)} in all`,
    );
  });

  it('shows the same address and code from right to left', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url, { ...PHONE, locale: 'ar' });
    const option = session.payment_options.find(({ network }) => network === 'ethereum')!;
    await page.locator('label[for=network-ethereum]').click();
    expect(await page.locator('.address').locator('visible=true').textContent()).toBe(option.address);
    await page.locator('.panel[data-network=ethereum] .fold + label').click();
    expect(await readCode(page, '.panel[data-network=ethereum] svg.code')).toBe(option.address);
  });

  it('changes its language by the switch without script', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url, { ...DESKTOP, locale: 'zh', javaScriptEnabled: false });
    await page.getByText('(Language)').click();
    await page.locator('nav a[hreflang=fr]').click();
    await page.waitForURL(/[?&]lang=/);
    expect(await page.getAttribute('html', 'lang')).toBe('fr');
  });

  it('keeps its language through live updates', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(`${session.url}?lang=tr`, PHONE);
    await world.pay(shop, session.id, { case: 'exact' });
    await world.shows(page, 'paid');
    expect(await page.textContent('#status')).toContain('13.50 USDT alındı. Teşekkürler.');
    expect(await page.getByRole('link', { name: 'Mağazaya dön' }).getAttribute('href')).toBe(
      'https://shop.example/thanks',
    );
  });

  it('holds still for those who want less motion, and is usable with the keyboard alone', async () => {
    const session = await world.create(shop, order);
    const { page } = await world.open(session.url, { ...DESKTOP, reducedMotion: 'reduce' });
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await page.locator('#network-bsc').focus();
    await page.keyboard.press('ArrowRight');
    const shown = page.locator('.panel').locator('visible=true');
    expect(await shown.getAttribute('data-network')).not.toBe('bsc');
    await page.reload();
    expect(await page.locator('.panel').locator('visible=true').getAttribute('data-network')).not.toBe('bsc');
  });

  it('gives a receipt to print once the payment is complete, and none before', async () => {
    const session = await world.create(shop, { ...order, order_id: `receipt-${crypto.randomUUID()}` });
    const early = await world.open(`${session.url}/receipt`);
    expect(await early.page.textContent('main')).toContain('There is no receipt before the payment is complete.');
    const { page, incidents } = await world.open(session.url);
    await world.pay(shop, session.id, { case: 'exact' });
    await world.shows(page, 'paid');
    await page.getByRole('link', { name: 'Receipt' }).click();
    await page.waitForURL(/receipt/);
    const text = (await page.textContent('main')) ?? '';
    const { deposits } = (await world.get(shop, session.id)) as Session & {
      deposits: { tx_hash: string; from_address: string }[];
    };
    for (const part of ['Mug shop', '13.50 USDT', session.id, deposits[0]!.tx_hash, deposits[0]!.from_address])
      expect(text).toContain(part);
    expect(await violations(page)).toEqual([]);
    expect(incidents).toEqual([]);
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('#print').isVisible()).toBe(false);
    await world.pictures('receipt', page.url());
    await page.emulateMedia({ media: 'screen' });
    // Once a checkpoint covers the payment, its proof can be taken along.
    const link = page.getByRole('link', { name: 'Download the proof' });
    await eventually('the proof', async () => {
      await page.reload();
      return (await link.count()) === 1;
    });
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    const file = await download.path();
    const proof = JSON.parse(readFileSync(file, 'utf8')) as { events: { type: string; text: string }[] };
    expect(new Set(proof.events.map(({ type }) => type))).toEqual(
      new Set(['DepositDetected', 'DepositConfirmed', 'SessionPaid']),
    );
    expect(proof.events.map(({ text }) => text).join()).toContain(deposits[0]!.tx_hash);
    expect((await fetch(`${(await world.create(shop, order)).url}/proof.json`)).status).toBe(404);
  });

  it('works in a frame of a registered shop and notifies it when the payment is complete', async () => {
    const merchant = await world.merchant('Framing shop');
    await world.admin('merchant.add-domain', { merchant_id: merchant.id, host: 'localhost', name: 'Framing shop' });
    const framed = await world.create(merchant, order);
    const url = await shopPage(`
      Quittance.mount(document.getElementById('here'), '${framed.url}', { onStatus: (told) => heard.push(told) });`);
    const context = await world.context();
    const page = await context.newPage();
    await page.goto(url);
    await page.frameLocator('iframe').locator('.address').locator('visible=true').waitFor();
    await world.pay(merchant, framed.id, { case: 'exact' });
    for (const { id } of [framed])
      await page.waitForFunction(
        ([wanted]) =>
          (globalThis as unknown as { heard: { session_id: string; status: string }[] }).heard.some(
            (told) => told.session_id === wanted && told.status === 'paid',
          ),
        [id],
      );
    expect(await page.evaluate("parseInt(document.querySelector('iframe').style.height)")).not.toBe(780);
    await picture(page, 'embedded-desktop');
  });

  it('opens in a popup of a registered shop on a click and notifies the opener when the payment is complete', async () => {
    const merchant = await world.merchant('Window shop');
    await world.admin('merchant.add-domain', { merchant_id: merchant.id, host: 'localhost', name: 'Window shop' });
    const session = await world.create(merchant, order);
    const url = await shopPage(`
      document.getElementById('pay').onclick = () => Quittance.popup('${session.url}', { onStatus: (told) => heard.push(told) });`);
    const context = await world.context();
    const page = await context.newPage();
    await page.goto(url);
    const [opened] = await Promise.all([page.waitForEvent('popup'), page.locator('#pay').click()]);
    await opened.locator('.address').locator('visible=true').waitFor();
    // A page that severs its opener (`Cross-Origin-Opener-Policy`) could tell nothing.
    expect(await opened.evaluate('opener !== null')).toBe(true);
    await world.pay(merchant, session.id, { case: 'exact' });
    await page.waitForFunction(
      `heard.some(({ session_id, status }) => session_id === '${session.id}' && status === 'paid')`,
      null,
      {
        timeout: 60_000,
      },
    );
  });

  it('refuses other frames and notifies nobody else', async () => {
    const stranger = await world.create(shop, order);
    const url = await shopPage(`Quittance.mount(document.getElementById('here'), '${stranger.url}', {});`);
    const origin = new URL(url).origin;
    expect((await fetch(`${stranger.url}/embed?origin=${encodeURIComponent(origin)}`)).status).toBe(404);
    const merchant = await world.merchant('Strict shop');
    await world.admin('merchant.add-domain', { merchant_id: merchant.id, host: 'shop.example', name: 'Strict shop' });
    const session = await world.create(merchant, order);
    const answer = await fetch(`${session.url}/embed?origin=https://shop.example`);
    expect(answer.headers.get('content-security-policy')).toContain('frame-ancestors https://shop.example');
    for (const asked of [
      'https://evil.example',
      'http://shop.example',
      'https://shop.example.evil.example',
      'https://shop.example/',
      '*',
      'null',
      `https://shop.example; script-src *`,
      '',
    ]) {
      expect((await fetch(`${session.url}/embed?origin=${encodeURIComponent(asked)}`)).status, asked).toBe(404);
    }
    expect((await fetch(session.url)).headers.get('content-security-policy')).toContain(`frame-ancestors 'none'`);
  });
});
