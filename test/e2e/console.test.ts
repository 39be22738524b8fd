import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joined } from 'node:path';
import { Wallet } from 'ethers';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { axe, CHROMIUM, join, openBrowser, signTerms, type AtConsole } from '../support/console-browser.ts';
import { freePort } from '../support/free-port.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';

/*
 * What only a browser can show: the ceremony of the passkey, forms as they are sent, and the proof that is checked
 * where the auditor sits. Roles, tenants and attacks are tested over the same app without a browser
 * (test/unit/console).
 */

const COLD = Wallet.createRandom().address;

describe.skipIf(CHROMIUM === undefined)('the console in a browser', () => {
  let sandbox: RunningSandbox;
  let browser: Browser;
  let owner: AtConsole;
  let origin: string;
  /** The console's port stays the same over a restart, as passkeys belong to it. */
  const env: Record<string, string> = {
    AUDIT_CHECKPOINT_SECONDS: '2',
    SANDBOX_NETWORKS: 'ethereum,bsc',
    WITHDRAWAL_ADDRESSES: JSON.stringify({ test: { ethereum: [COLD] } }),
  };
  const downloads = mkdtempSync(joined(tmpdir(), 'quittance-console-'));

  beforeAll(async () => {
    env['CONSOLE_PORT'] = String(await freePort());
    [sandbox, browser] = await Promise.all([startRunningSandbox({ env }), openBrowser()]);
    const link = await eventually('the link', async () => /Console: (http:\S+\/join\/\S+)/.exec(sandbox.output())?.[1]);
    owner = await join(browser, link, { acceptDownloads: true });
    origin = new URL(link).origin;
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await sandbox?.stop();
    for (const path of [downloads, sandbox?.dataDir, `${sandbox?.dataDir}-signer`])
      rmSync(path, { recursive: true, force: true });
  }, 60_000);

  const asked = async (method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> =>
    (await signedCall(sandbox.facts.base_url, sandbox.facts.merchant, method, path, body)).json;
  const created = async (order: string): Promise<string> =>
    String(
      (await asked('POST', '/api/v1/checkout/sessions/create', { amount: '20.00', currency: 'USDT', order_id: order }))[
        'id'
      ],
    );
  const until = (id: string, isThere: (session: Readonly<Record<string, unknown>>) => boolean): Promise<unknown> =>
    eventually('the payment', async () => isThere(await asked('GET', `/api/v1/checkout/sessions/${id}`)));
  const paid = async (order: string): Promise<string> => {
    const id = await created(order);
    await asked('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc', case: 'exact' });
    await until(id, ({ status }) => status === 'paid');
    return id;
  };
  /** Half of it came, and then the time was over. */
  const underpaid = async (order: string): Promise<string> => {
    const id = await created(order);
    await asked('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc', case: 'partial' });
    await until(id, ({ received }) => Number(received) === 10);
    await asked('POST', `/v1/sandbox/sessions/${id}/advance`, {});
    await until(id, ({ status }) => status === 'expired');
    return id;
  };
  const find = async (page: Page, text: string): Promise<void> => {
    await page.goto(origin);
    await page.getByLabel('Search', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Search' }).click();
  };

  it('no page that people see breaks a rule of accessibility, light or dark', async () => {
    const { base_url: base, ops_url: ops, webhook_inbox: inbox, merchant } = sandbox.facts;
    const id = await paid('order-for-every-page');
    const parts = [
      '',
      '/claims',
      '/keys',
      '/links',
      '/links/new',
      '/payments',
      `/payments/${id}`,
      '/requests',
      '/settings',
      '/statement',
      '/webhooks',
    ];
    const behindPasskey = [
      '/attention',
      '/actions',
      '/audit',
      '/books',
      '/canaries',
      '/chains',
      '/deliveries',
      '/me',
      '/merchants',
      '/people',
      '/search?q=x',
    ];
    const urls = [
      ...['/', '/docs/errors', `/pay/${id}`, `/pay/${id}/receipt`, `/pay/${id}/help`, `/pay/cs_${'a'.repeat(32)}`].map(
        (path) => base + path,
      ),
      ...[inbox, `${ops}/`],
      ...[
        '/',
        ...behindPasskey,
        '/treasury',
        '/unmatched',
        '/books/test',
        '/books/test/journal',
        '/books/test/months',
      ].map((path) => origin + path),
      ...parts.map((part) => `${origin}/m/${merchant.id}${part}`),
    ];
    const found: Record<string, readonly string[]> = {};
    const outside = await browser.newPage();
    const look = async (page: Page, url: string): Promise<void> => {
      const answer = await page.goto(url);
      expect([url, answer!.status()]).toEqual([url, url.includes('/pay/cs_a') ? 404 : 200]);
      await page.emulateMedia({ colorScheme: 'light' });
      found[url] = await axe(page);
      // Dark mode changes nothing but colours.
      await page.emulateMedia({ colorScheme: 'dark' });
      found[`${url} dark`] = await axe(page, ['color-contrast']);
    };
    const lookAt = async (page: Page, all: readonly string[]): Promise<void> => {
      for (const url of all) await look(page, url);
    };
    const isOfConsole = (url: string): boolean => url.startsWith(origin);
    await Promise.all([
      lookAt(owner.page, urls.filter(isOfConsole)),
      lookAt(
        outside,
        urls.filter((url) => !isOfConsole(url)),
      ),
    ]);
    await outside.close();
    expect(Object.fromEntries(Object.entries(found).filter(([, faults]) => faults.length > 0))).toEqual({});
  }, 120_000);

  it('a page renews itself, and leaves what is written, opened and read as it was', async () => {
    const { page } = owner;
    const { merchant } = sandbox.facts;
    const id = await created('order-to-watch');
    await page.setViewportSize({ width: 900, height: 120 });
    await page.goto(`${origin}/m/${merchant.id}/payments`);
    await page.getByLabel('Order').fill('half a word');
    const row = page.locator('tr', { hasText: 'order-to-watch' });
    await page.evaluate("document.querySelector('tbody tr').scrollIntoView()");
    const { y } = (await row.boundingBox())!;
    await created('order-of-somebody-else');
    await page.getByText('order-of-somebody-else').waitFor();
    expect(Math.abs((await row.boundingBox())!.y - y)).toBeLessThan(2);
    expect(await page.getByLabel('Order').inputValue()).toBe('half a word');
    await page.goto(`${origin}/m/${merchant.id}/payments/${id}`);
    await page.locator('main summary').first().click();
    await page.mouse.move(1, 1);
    await asked('POST', `/api/v1/checkout/sessions/${id}/cancel`, {});
    await page.locator('main .badge', { hasText: 'cancelled' }).first().waitFor();
    expect(await page.locator('main details').first().getAttribute('open')).toBe('');
    await page.setViewportSize({ width: 1280, height: 720 });
  }, 60_000);

  it('a person finds an underpaid order, refunds a part after reading the terms, sends its webhook again and closes a month', async () => {
    const { page } = owner;
    const id = await underpaid('order-to-refund');
    await eventually('the order in the search', async () => {
      await find(page, 'order-to-refund');
      return page.url().endsWith(id);
    });
    const conclusion = page.locator('main p.card').first();
    expect(await conclusion.textContent()).toMatch(/10\.00 .*20\.00|20\.00 .*10\.00/);
    expect(await axe(page)).toEqual([]);
    await page.getByLabel('Amount').fill('5.25');
    await page.getByLabel('Reason').first().fill('one item is missing');
    await page.getByRole('button', { name: 'Preview the refund' }).click();
    expect(await axe(page)).toEqual([]);
    const terms = await signTerms(page);
    expect(terms).toContain('amount: 5.25 USDT (partial)');
    expect(terms).toContain('reason: one item is missing\nby: Owner');
    expect(page.url()).toContain('done=refunded');
    await page.getByRole('link', { name: 'payment.expired' }).first().click();
    await page.getByLabel('Reason').fill('the shop was down');
    await page.getByRole('button', { name: 'Send it again' }).click();
    expect(page.url()).toContain('done=redelivered');
    await page.goto(`${origin}/books/test/months`);
    await page.getByLabel('Reason').fill('nothing is open');
    await page.getByRole('button', { name: 'Preview' }).click();
    expect(await signTerms(page)).toMatch(/action: close a month, for good\nmonth: \d{4}-\d\d\nmode: test\n/);
    expect(page.url()).toContain('done=closed');
    expect(await page.getByRole('row', { name: 'Owner' }).count()).toBe(1);
    const actions = (await callAdmin(sandbox.dataDir, 'people.actions', { search: 'payments.refund' })) as unknown as {
      outcome: string;
      detail: string;
    }[];
    expect(actions).toMatchObject([{ outcome: 'done', detail: expect.stringMatching(/^re_/) }]);
  }, 120_000);

  it('visitors of one link each pay a payment of their own, until it is switched off', async () => {
    const { page } = owner;
    const { merchant } = sandbox.facts;
    await page.goto(`${origin}/m/${merchant.id}/links/new`);
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Create the link for many payments' }) });
    await form.getByLabel('Amount').fill('7.5');
    await form.getByLabel('Currency').fill('USDT');
    await form.getByLabel('Description').fill('A ticket');
    await form.getByLabel('Maximum payments').fill('3');
    await form.getByRole('button').click();
    expect(page.url()).toContain('done=link');
    expect(await axe(page)).toEqual([]);
    const address = (await page.locator('.secret a').getAttribute('href'))!;
    expect(address).toMatch(new RegExp(`^${sandbox.facts.base_url}/l/pl_[a-z2-7]{20}$`));
    const visit = async (): Promise<string> => {
      const context = await browser.newContext({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false });
      const visitor = await context.newPage();
      await visitor.goto(address);
      expect(await visitor.getByRole('heading', { level: 1 }).textContent()).toBe('Pay 7.50 USDT');
      await visitor.getByRole('button').click();
      expect(await visitor.getByText('A ticket').count()).toBe(1);
      const payment = visitor.url();
      // Going back and pressing again makes no second payment.
      await visitor.goBack();
      await visitor.getByRole('button').click();
      expect(visitor.url()).toBe(payment);
      await context.close();
      return /\/pay\/(cs_\w+)/.exec(payment)![1]!;
    };
    const looked = await browser.newPage();
    await looked.goto(address);
    expect(await axe(looked)).toEqual([]);
    const [one, other] = [await visit(), await visit()];
    expect(one).not.toBe(other);
    await asked('POST', `/v1/sandbox/sessions/${one}/pay`, { network: 'bsc', case: 'exact' });
    await until(one, ({ status }) => status === 'paid');
    const session = await asked('GET', `/api/v1/checkout/sessions/${one}`);
    const id = address.slice(-23);
    expect(session).toMatchObject({ order_id: `${id}-1`, metadata: { payment_link: id }, description: 'A ticket' });
    await page.reload();
    expect(await page.locator('main').textContent()).toMatch(/1 of 3.*1, at most 20 at once/s);
    await page.getByRole('link', { name: `${id}-1` }).click();
    expect(await page.getByRole('link', { name: id, exact: true }).getAttribute('href')).toBe(
      `/m/${merchant.id}/links/${id}`,
    );
    await page.getByRole('link', { name: id, exact: true }).click();
    await page.getByLabel('Reason').fill('the show is over');
    await page.getByRole('button', { name: 'Switch the link off' }).click();
    expect(page.url()).toContain('done=link-off');
    expect((await looked.goto(address))!.status()).toBe(410);
    expect(await axe(looked)).toEqual([]);
    await looked.close();
    const csv = await (await owner.context.request.get(`${origin}/m/${merchant.id}/links.csv`)).text();
    expect(csv.split('\r\n')[1]).toContain(`${id},off,7.50 USDT,A ticket,1 of 3,1`);
    const shown = (await callAdmin(sandbox.dataDir, 'payment-link.show', {
      merchant_id: merchant.id,
      link_id: id,
    })) as {
      status: string;
      made: number;
    };
    expect(shown).toMatchObject({ status: 'off', made: 2 });
  }, 120_000);

  it('a proof is checked in the browser, and a changed one is not taken', async () => {
    const { page } = owner;
    const { link } = (await callAdmin(sandbox.dataDir, 'people.invite', {
      name: 'Auditor',
      roles: `auditor@${dayAhead()}`,
    })) as { link: string };
    const auditor = await join(browser, link);
    const id = await paid('order-to-prove');
    const proof = await eventually('a whole proof', async () => {
      const answer = await auditor.context.request.get(`${origin}/audit/proof?session=${id}`);
      const body = (await answer.json().catch(() => ({}))) as { pending_events?: number; events?: unknown[] };
      return body.pending_events === 0 && (body.events?.length ?? 0) > 2 ? body : null;
    });
    const file = joined(downloads, 'proof.json');
    const verify = async (text: string): Promise<string> => {
      writeFileSync(file, text);
      await auditor.page.goto(`${origin}/audit`);
      await auditor.page.locator('input[type=file]').setInputFiles(file);
      await auditor.page.getByRole('button', { name: 'Verify' }).click();
      return (
        (await auditor.page
          .locator('form[data-verify] :is(.notice, .problem):not([hidden])', { hasText: /hold/ })
          .textContent()) ?? ''
      );
    };
    expect(await verify(JSON.stringify(proof))).toContain('The proof holds');
    expect(await verify(JSON.stringify(proof).replaceAll('order-to-prove', 'order-to-steal'))).toContain(
      'It does not hold',
    );
    expect(await verify(await (await auditor.context.request.get(`${origin}/audit/export.jsonl`)).text())).toContain(
      'The export holds',
    );
    expect(readFileSync(file, 'utf8')).toContain('"position":1,');
    expect((await auditor.page.goto(`${origin}/people`))?.status()).toBe(200);
    expect(await auditor.page.getByRole('button', { name: 'Create the invitation' }).count()).toBe(0);
    await auditor.context.close();
    expect(page.isClosed()).toBe(false);
  }, 120_000);

  it('everything but the passkey works without a script, and no page breaks its own policy', async () => {
    const { context, complaints } = owner;
    const state = await context.storageState();
    const plain = await browser.newContext({ javaScriptEnabled: false, storageState: state });
    const page = await plain.newPage();
    await page.goto(`${origin}/attention`);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Needs attention');
    await find(page, sandbox.facts.merchant.id);
    expect(page.url()).toBe(`${origin}/m/${sandbox.facts.merchant.id}`);
    await page.goto(`${origin}/me`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(page.url()).toBe(`${origin}/sign-in`);
    await plain.close();
    expect(complaints).toEqual([]);
  }, 60_000);

  it('a withdrawal leaves once two people agreed by passkey; whom the signer does not know does not count, whatever their role', async () => {
    const invited = async (name: string, roles: string): Promise<AtConsole> => {
      const { link } = (await callAdmin(sandbox.dataDir, 'people.invite', { name, roles })) as { link: string };
      return join(browser, link);
    };
    const [olga, ada, ben, eve] = [
      await invited('Olga', 'operator'),
      await invited('Ada', 'approver'),
      await invited('Ben', 'approver'),
      await invited('Eve', 'approver'),
    ];
    const entriesOf = async ({ page }: AtConsole): Promise<object[]> => {
      await page.goto(`${origin}/me`);
      return JSON.parse((await page.locator('pre.terms').textContent())!) as object[];
    };
    // Whoever runs the signer names Ada and Ben, and not Eve.
    env['PAYOUT_APPROVERS'] = JSON.stringify([...(await entriesOf(ada)), ...(await entriesOf(ben))]);
    await sandbox.stop();
    sandbox = await startRunningSandbox({ dataDir: sandbox.dataDir, env });
    const moves = async () =>
      ((await callAdmin(sandbox.dataDir, 'treasury.moves', {})) as unknown as { moves: { approved_by: string[] }[] })
        .moves;

    await olga.page.goto(`${origin}/treasury`);
    await olga.page.getByText('A withdrawal', { exact: true }).click();
    const form = olga.page.locator('form[action="/treasury/withdraw"]');
    await form.getByLabel('Network').selectOption('ethereum');
    await form.getByLabel('Coin').selectOption('USDT');
    await form.getByLabel('Amount').fill('12.50');
    await form.getByLabel('To', { exact: true }).fill(COLD);
    await form.getByLabel('Reason').fill('to cold storage');
    await form.getByRole('button', { name: 'Preview' }).click();
    expect(await signTerms(olga.page)).toContain(`to: ${COLD}`);
    expect(olga.page.url()).toContain('done=proposed');

    const approve = async ({ page }: AtConsole): Promise<string> => {
      await page.goto(`${origin}/treasury`);
      await page
        .locator('form[action="/treasury/approve"]')
        .first()
        .getByRole('button', { name: 'Show the terms' })
        .click();
      expect(await axe(page)).toEqual([]);
      const terms = await signTerms(page);
      expect(terms).toContain('12.50');
      expect(terms.toLowerCase()).toContain(COLD.toLowerCase());
      return page.url().includes('done=approved')
        ? 'counted'
        : ((await page.locator('.problem:not([hidden])').first().textContent()) ?? '');
    };
    expect(await approve(ada)).toBe('counted');
    expect(await moves()).toMatchObject([{ approved_by: ['Ada'] }]);
    expect(await approve(eve)).toMatch(/Eve/);
    expect(await moves()).toMatchObject([{ approved_by: ['Ada'] }]);
    expect(await approve(ben)).toBe('counted');
    await eventually('the withdrawal in the chain', async () => (await moves()).length === 0);
    for (const { context } of [olga, ada, ben, eve]) await context.close();
  }, 180_000);
});

const dayAhead = (): string => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
