import { rmSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { openBrowser } from './browser.ts';
import { join, type AtConsole } from './console-browser.ts';
import { freePort } from './free-port.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from './running-sandbox.ts';

type Session = Readonly<Record<string, unknown>>;

/** A running sandbox and a browser in which the first person has registered a passkey. */
export class ConsoleSandbox {
  sandbox: RunningSandbox;
  readonly browser: Browser;
  readonly owner: AtConsole;
  readonly origin: string;
  readonly #env: Record<string, string>;

  private constructor(sandbox: RunningSandbox, browser: Browser, owner: AtConsole, env: Record<string, string>) {
    this.sandbox = sandbox;
    this.browser = browser;
    this.owner = owner;
    this.origin = new URL(owner.page.url()).origin;
    this.#env = env;
  }

  static async start(more: Record<string, string> = {}): Promise<ConsoleSandbox> {
    const env = {
      ...{ AUDIT_CHECKPOINT_SECONDS: '2', SANDBOX_NETWORKS: 'ethereum,bsc', ...more },
      // Stays the same over a restart, as passkeys belong to it.
      CONSOLE_PORT: String(await freePort()),
    };
    const [sandbox, browser] = await Promise.all([startRunningSandbox({ env }), openBrowser()]);
    const link = await eventually('the link', async () => /Console: (http:\S+\/join\/\S+)/.exec(sandbox.output())?.[1]);
    return new ConsoleSandbox(sandbox, browser, await join(browser, link, { acceptDownloads: true }), env);
  }

  async restart(more: Record<string, string>): Promise<void> {
    await this.sandbox.stop();
    this.sandbox = await startRunningSandbox({ dataDir: this.sandbox.dataDir, env: { ...this.#env, ...more } });
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.sandbox.stop();
    for (const path of [this.sandbox.dataDir, `${this.sandbox.dataDir}-signer`])
      rmSync(path, { recursive: true, force: true });
  }

  /** An answer of the merchant's API. */
  async asked(method: string, path: string, body?: object): Promise<Session> {
    const { base_url: base, merchant } = this.sandbox.facts;
    return (await signedCall(base, merchant, method, path, body)).json;
  }

  /** What a command answers with `--json`. */
  async command<Answer>(name: string, args: Parameters<typeof callAdmin>[2] = {}): Promise<Answer> {
    return (await callAdmin(this.sandbox.dataDir, name, args)) as Answer;
  }

  async invited(name: string, roles: string): Promise<AtConsole> {
    const { link } = await this.command<{ link: string }>('people.invite', { name, roles });
    return join(this.browser, link);
  }

  async created(order: string): Promise<string> {
    const body = { amount: '20.00', currency: 'USDT', order_id: order };
    return String((await this.asked('POST', '/api/v1/checkout/sessions/create', body))['id']);
  }

  until(id: string, isThere: (session: Session) => boolean): Promise<unknown> {
    return eventually('the payment', async () => isThere(await this.asked('GET', `/api/v1/checkout/sessions/${id}`)));
  }

  async paid(order: string): Promise<string> {
    const id = await this.created(order);
    await this.asked('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc', case: 'exact' });
    await this.until(id, ({ status }) => status === 'paid');
    return id;
  }

  /** Half of it came, and then the time was over. */
  async underpaid(order: string): Promise<string> {
    const id = await this.created(order);
    await this.asked('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc', case: 'partial' });
    await this.until(id, ({ received }) => Number(received) === 10);
    await this.asked('POST', `/v1/sandbox/sessions/${id}/advance`, {});
    await this.until(id, ({ status }) => status === 'expired');
    return id;
  }

  /** Paid in full after the time was over, so that the money waits for a decision. */
  async late(order: string): Promise<string> {
    const id = await this.created(order);
    await this.asked('POST', `/v1/sandbox/sessions/${id}/advance`, {});
    await this.until(id, ({ status }) => status === 'expired');
    await this.asked('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc', case: 'exact' });
    await eventually('the unmatched transfer', async () => {
      const { transfers } = await this.command<{ transfers: object[] }>('inbox.list', { mode: 'test' });
      return transfers.length > 0;
    });
    return id;
  }

  async find(page: Page, text: string): Promise<void> {
    await page.goto(this.origin);
    await page.getByLabel('Search', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Search' }).click();
  }
}
