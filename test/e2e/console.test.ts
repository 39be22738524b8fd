import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joined } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { axe, CHROMIUM, join, openBrowser, signTerms, type AtConsole } from '../support/console-browser.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';

/*
 * What only a browser can show: the ceremony of the passkey, forms as they are sent, and the proof that is checked where the auditor sits.
 * Roles, tenants and attacks are tested over the same app without a browser (test/unit/console).
 */

describe.skipIf(CHROMIUM === undefined)('the console in a browser', () => {
  let sandbox: RunningSandbox;
  let browser: Browser;
  let owner: AtConsole;
  let origin: string;
  const downloads = mkdtempSync(joined(tmpdir(), 'quittance-console-'));

  beforeAll(async () => {
    [sandbox, browser] = await Promise.all([startRunningSandbox({ env: { CONSOLE_PORT: '0', AUDIT_CHECKPOINT_SECONDS: '2' } }), openBrowser()]);
    const link = await eventually('the link', async () => /Console: (http:\S+\/join\/\S+)/.exec(sandbox.output())?.[1]);
    owner = await join(browser, link, { acceptDownloads: true });
    origin = new URL(link).origin;
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await sandbox?.stop();
    for (const path of [downloads, sandbox?.dataDir, `${sandbox?.dataDir}-signer`]) rmSync(path, { recursive: true, force: true });
  }, 60_000);

  const paid = async (order: string): Promise<string> => {
    const { base_url: base, merchant } = sandbox.facts;
    const made = await signedCall(base, merchant, 'POST', '/api/v1/checkout/sessions/create', { amount: '20.00', currency: 'USDT', order_id: order });
    const id = String(made.json['id']);
    await signedCall(base, merchant, 'POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc', case: 'exact' });
    await eventually(
      'the payment',
      async () => (await signedCall(base, merchant, 'GET', `/api/v1/checkout/sessions/${id}`)).json['status'] === 'paid',
    );
    return id;
  };
  const find = async (page: Page, text: string): Promise<void> => {
    await page.goto(origin);
    await page.getByLabel('Search', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Search' }).click();
  };

  it('a person finds an order, refunds a part after reading the terms, and sends its webhook again', async () => {
    const { page } = owner;
    const id = await paid('order-to-refund');
    await eventually('the order in the search', async () => {
      await find(page, 'order-to-refund');
      return page.url().endsWith(id);
    });
    expect(await axe(page)).toEqual([]);
    await page.getByLabel('Amount').fill('5.25');
    await page.getByLabel('Reason').first().fill('one item is missing');
    await page.getByRole('button', { name: 'Preview the refund' }).click();
    expect(await axe(page)).toEqual([]);
    const terms = await signTerms(page);
    expect(terms).toContain('amount: 5.25 USDT (partial)');
    expect(terms).toContain('reason: one item is missing\nby: Owner');
    expect(page.url()).toContain('done=refunded');
    await page.getByRole('link', { name: 'payment.completed' }).first().click();
    await page.getByLabel('Reason').fill('the shop was down');
    await page.getByRole('button', { name: 'Send it again' }).click();
    expect(page.url()).toContain('done=redelivered');
    const actions = (await callAdmin(sandbox.dataDir, 'people.actions', { search: 'payments.refund' })) as unknown as {
      outcome: string;
      detail: string;
    }[];
    expect(actions).toMatchObject([{ outcome: 'done', detail: expect.stringMatching(/^re_/) }]);
  }, 120_000);

  it('a proof is checked in the browser, and a changed one is not taken', async () => {
    const { page } = owner;
    const { link } = (await callAdmin(sandbox.dataDir, 'people.invite', { name: 'Auditor', roles: `auditor@${dayAhead()}` })) as { link: string };
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
      return (await auditor.page.locator('form[data-verify] :is(.notice, .problem):not([hidden])', { hasText: /hold/ }).textContent()) ?? '';
    };
    expect(await verify(JSON.stringify(proof))).toContain('The proof holds');
    expect(await verify(JSON.stringify(proof).replaceAll('order-to-prove', 'order-to-steal'))).toContain('It does not hold');
    expect(await verify(await (await auditor.context.request.get(`${origin}/audit/export.jsonl`)).text())).toContain('The export holds');
    expect(readFileSync(file, 'utf8')).toContain('"position":1,');
    expect((await auditor.page.goto(`${origin}/people`))?.status()).toBe(200);
    expect(await auditor.page.getByRole('button', { name: 'Make an invitation' }).count()).toBe(0);
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
});

const dayAhead = (): string => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
