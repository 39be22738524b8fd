import { rmSync } from 'node:fs';
import { join } from 'node:path';
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { callAdmin } from '../../src/cli/admin-client.ts';
import type { AdminArguments } from '../../src/operator/server/commands.ts';
import { axeScript, openBrowser } from '../support/browser.ts';
import {
  eventually,
  signedCall,
  startRunningSandbox,
  type ApiAnswer,
  type RunningSandbox,
} from '../support/running-sandbox.ts';

/** Where pictures go for people to look at: CHECKOUT_PICTURES=<folder>. Nothing is drawn without it. */
const PICTURES = process.env['CHECKOUT_PICTURES'];

export const PHONE: BrowserContextOptions = {
  viewport: { width: 360, height: 740 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
};
export const DESKTOP: BrowserContextOptions = { viewport: { width: 1280, height: 900 } };

export interface Keys {
  readonly id: string;
  readonly api_key: string;
  readonly api_secret: string;
}

export interface Session {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly expires_at: number;
  readonly amount_total: string;
  readonly payment_options: readonly {
    readonly network: string;
    readonly coin: string;
    readonly amount: string;
    readonly address: string;
    readonly decimals: number;
    readonly chain_id: string;
    readonly token_address: string;
    readonly qr_payload: string;
  }[];
}

const REPORT_POLICY_VIOLATIONS =
  "document.addEventListener('securitypolicyviolation', (event) => console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI))";
const RUN_AXE = 'axe.run().then(({ violations }) => violations)';

interface WatchedPage {
  readonly page: Page;
  readonly incidents: string[];
}

/** A sandbox, a browser and merchants to try the payment page with. */
export class CheckoutWorld {
  readonly sandbox: RunningSandbox;
  readonly browser: Browser;
  readonly #contexts = new Set<BrowserContext>();
  #phone: WatchedPage | null = null;

  constructor(sandbox: RunningSandbox, browser: Browser) {
    this.sandbox = sandbox;
    this.browser = browser;
  }

  static async start(): Promise<CheckoutWorld> {
    const sandbox = await startRunningSandbox({ env: { AUDIT_CHECKPOINT_SECONDS: '3' } });
    const browser = await openBrowser();
    return new CheckoutWorld(sandbox, browser);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.sandbox.stop();
    for (const path of [this.sandbox.dataDir, `${this.sandbox.dataDir}-signer`])
      rmSync(path, { recursive: true, force: true });
  }

  /** As the command line asks it. */
  async admin(command: string, args: AdminArguments): Promise<unknown> {
    return callAdmin(this.sandbox.dataDir, command, args);
  }

  /** A merchant of its own; `policy` as `merchant.set-policy` takes it. */
  async merchant(name: string, policy?: AdminArguments): Promise<Keys> {
    const keys = (await this.admin('merchant.create', { name, mode: 'test' })) as Keys;
    if (policy) await this.admin('merchant.set-policy', { merchant_id: keys.id, ...policy });
    return keys;
  }

  /**
   * A call of the merchant; once more when a connection that lay idle was closed before the request reached the
   * service.
   */
  async call(keys: Keys, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const call = (): Promise<ApiAnswer> => signedCall(this.sandbox.facts.base_url, keys, method, path, body);
    return call().catch(call);
  }

  async create(keys: Keys, body: object = {}): Promise<Session> {
    const order = { amount: '12.50', currency: 'EUR', order_id: `order-${crypto.randomUUID()}`, ...body };
    const { status, json } = await this.call(keys, 'POST', '/api/v1/checkout/sessions/create', order);
    if (status !== 200) throw new Error(JSON.stringify(json));
    return json as unknown as Session;
  }

  async get(keys: Keys, id: string): Promise<Session> {
    return (await this.call(keys, 'GET', `/api/v1/checkout/sessions/${id}`)).json as unknown as Session;
  }

  async cancel(keys: Keys, id: string): Promise<void> {
    const { status, json } = await this.call(keys, 'POST', `/api/v1/checkout/sessions/${id}/cancel`, {});
    if (status !== 200) throw new Error(JSON.stringify(json));
  }

  async pay(
    keys: Keys,
    id: string,
    body: { readonly case?: string; readonly network?: string; readonly amount?: string },
  ): Promise<{ readonly transfers: readonly { readonly from_address: string }[] }> {
    const { status, json } = await this.call(keys, 'POST', `/v1/sandbox/sessions/${id}/pay`, {
      network: 'ethereum',
      ...body,
    });
    if (status !== 200) throw new Error(JSON.stringify(json));
    return json as unknown as { transfers: { from_address: string }[] };
  }

  /** Ended by `closePages`. */
  async context(options: BrowserContextOptions = DESKTOP): Promise<BrowserContext> {
    const context = await this.#newContext(options);
    this.#contexts.add(context);
    return context;
  }

  /** After each test: an open page counts down and listens, each in a process of its own. */
  async closePages(): Promise<void> {
    for (const context of this.#contexts) await context.close();
    this.#contexts.clear();
  }

  /** Opens the page and writes down everything that should not happen on it. */
  async open(url: string, options: BrowserContextOptions = DESKTOP): Promise<WatchedPage> {
    const opened = await this.#watched(await this.context(options));
    await opened.page.goto(url, { waitUntil: 'load' });
    return opened;
  }

  /** The same on one phone that shows page after page, which costs less than a phone each. */
  async openOnPhone(url: string): Promise<WatchedPage> {
    this.#phone ??= await this.#watched(await this.#newContext(PHONE));
    this.#phone.incidents.length = 0;
    await this.#phone.page.goto(url, { waitUntil: 'load' });
    return this.#phone;
  }

  #newContext(options: BrowserContextOptions): Promise<BrowserContext> {
    return this.browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  }

  async #watched(context: BrowserContext): Promise<WatchedPage> {
    const page = await context.newPage();
    const incidents: string[] = [];
    page.on('dialog', (dialog) => {
      incidents.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') incidents.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => incidents.push(`script: ${error.message}`));
    page.on('request', (request) => {
      if (!request.url().startsWith(this.sandbox.facts.base_url) && !request.url().startsWith('data:'))
        incidents.push(`foreign request: ${request.url()}`);
    });
    await page.addInitScript(REPORT_POLICY_VIOLATIONS);
    return { page, incidents };
  }

  /** Until the status holds the text, without any help. */
  async says(page: Page, text: string): Promise<void> {
    await page.locator('#status', { hasText: text }).waitFor({ timeout: 60_000 });
  }

  /** Until the page shows the state, without any help. */
  async shows(page: Page, state: string): Promise<void> {
    await page.waitForSelector(`html[data-state="${state}"]`, { timeout: 60_000 });
  }

  /** Pictures of one state on a phone, on a desktop and in the dark. */
  async pictures(name: string, url: string): Promise<void> {
    if (PICTURES === undefined) return;
    const looks: [string, BrowserContextOptions][] = [
      ['phone', PHONE],
      ['desktop', DESKTOP],
      ['dark', { ...PHONE, colorScheme: 'dark' }],
    ];
    for (const [look, options] of looks) {
      const context = await this.context(options);
      const page = await context.newPage();
      await page.goto(url, { waitUntil: 'load' });
      await picture(page, `${name}-${look}`);
      await context.close();
    }
  }
}

export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

export interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Accessibility rules of WCAG 2.2 A and AA and best practices that the page breaks. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated over the debugger, which the content security policy does not bind.
  await page.evaluate(axeScript());
  const found: AxeViolation[] = await page.evaluate(RUN_AXE);
  return found.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map((node) => `${node.html}\n${node.failureSummary}`).join('\n')}`,
  );
}

/**
 * How far what was on the screen already moved while the page loaded, as web vitals count it; 0.1 is the most that
 * passes as good.
 */
export async function layoutShift(page: Page): Promise<number> {
  return page.evaluate<number>(`new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (sum += value))).observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum))));
  })`);
}

/** Reads the QR code that is shown in the element, from its pixels. */
export async function readCode(page: Page, selector: string): Promise<string | null> {
  const png = await page.locator(selector).screenshot();
  const { data, width, height } = PNG.sync.read(png);
  const decode = jsQR as unknown as (data: Uint8ClampedArray, width: number, height: number) => { data: string } | null;
  return decode(Uint8ClampedArray.from(data), width, height)?.data ?? null;
}

export { eventually };
