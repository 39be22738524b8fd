import { readFileSync, writeFileSync } from 'node:fs';
import { join as joined } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM } from '../support/browser.ts';
import { axe, signTerms } from '../support/console-browser.ts';
import { ConsoleSandbox } from '../support/console-sandbox.ts';
import { eventually } from '../support/running-sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * What only a browser can show: the ceremony of the passkey, forms as they are sent, and the proof that is checked
 * where the auditor sits. Roles, tenants and attacks are tested over the same app without a browser
 * (test/unit/console).
 */

describe.skipIf(CHROMIUM === undefined)('the console in a browser', () => {
  const downloads = temporaryFolder('console');
  let at: ConsoleSandbox;
  beforeAll(async () => {
    at = await ConsoleSandbox.start();
  }, 180_000);
  afterAll(async () => {
    await at?.close();
  }, 60_000);

  it('a person finds an underpaid order, refunds a part after reading the terms, sends its webhook again and closes a month', async () => {
    const { page } = at.owner;
    const id = await at.underpaid('order-to-refund');
    await eventually('the order in the search', async () => {
      await at.find(page, 'order-to-refund');
      return page.url().endsWith(id);
    });
    const conclusion = page.locator('main p.card').first();
    expect(await conclusion.textContent()).toContain('Not paid: it expired with 10.00 of 20.00 USDT received.');
    await page.goto(`${at.origin}/m/${at.sandbox.facts.merchant.id}/payments?order=order-to-refund`);
    expect(await page.getByRole('row', { name: 'USDT 1 20.00 10.00 0.00', exact: true }).count()).toBe(1);
    expect(
      await at.command('session.totals', { merchant_id: at.sandbox.facts.merchant.id, order: 'order-to-refund' }),
    ).toMatchObject({ totals: [{ coin: 'USDT', payments: 1, due: '20.00', received: '10.00', refunded: '0.00' }] });
    await page.getByRole('link', { name: 'order-to-refund' }).click();
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
    // The checklist, which is part of the terms, counts payouts in progress.
    await at.until(id, ({ refunded }) => Number(refunded) === 5.25);
    await page.goto(`${at.origin}/books/test/months`);
    await page.getByLabel('Reason').fill('nothing is open');
    await page.getByRole('button', { name: 'Preview' }).click();
    expect(await signTerms(page)).toMatch(/action: close a month permanently\nmonth: \d{4}-\d\d\nmode: test\n/);
    expect(page.url()).toContain('done=closed');
    expect(await page.getByRole('row', { name: 'Owner' }).count()).toBe(1);
    const actions = await at.command<object>('people.actions', { search: 'payments.refund' });
    expect(actions).toMatchObject([{ outcome: 'done', detail: expect.stringMatching(/^re_/) }]);
  }, 120_000);

  it('visitors of one link each pay a payment of their own, until it is switched off', async () => {
    const { page } = at.owner;
    const { merchant } = at.sandbox.facts;
    await page.goto(`${at.origin}/m/${merchant.id}/links/new`);
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Create the link for many payments' }) });
    await form.getByLabel('Amount').fill('7.5');
    await form.getByLabel('Currency').fill('USDT');
    await form.getByLabel('Description').fill('A ticket');
    await form.getByLabel('Maximum payments').fill('3');
    await form.getByRole('button').click();
    expect(page.url()).toContain('done=link');
    expect(await axe(page)).toEqual([]);
    const address = (await page.locator('.secret a').getAttribute('href'))!;
    expect(address).toMatch(new RegExp(`^${at.sandbox.facts.base_url}/l/pl_[a-z2-7]{20}$`));
    const visit = async (): Promise<string> => {
      const context = await at.browser.newContext({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false });
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
    const looked = await at.browser.newPage();
    await looked.goto(address);
    expect(await axe(looked)).toEqual([]);
    const [one, other] = [await visit(), await visit()];
    expect(one).not.toBe(other);
    await at.asked('POST', `/v1/sandbox/sessions/${one}/pay`, { network: 'bsc', case: 'exact' });
    await at.until(one, ({ status }) => status === 'paid');
    const session = await at.asked('GET', `/api/v1/checkout/sessions/${one}`);
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
    const csv = await (await at.owner.context.request.get(`${at.origin}/m/${merchant.id}/links.csv`)).text();
    expect(csv.split('\r\n')[1]).toContain(`${id},off,7.50 USDT,A ticket,1 of 3,1`);
    const shown = await at.command<object>('payment-link.show', { merchant_id: merchant.id, link_id: id });
    expect(shown).toMatchObject({ status: 'off', made: 2 });
  }, 120_000);

  it('a proof is checked in the browser, and a changed one is not taken', async () => {
    const { page } = at.owner;
    const auditor = await at.invited('Auditor', `auditor@${dayAhead()}`);
    const id = await at.paid('order-to-prove');
    const proof = await eventually('a whole proof', async () => {
      const answer = await auditor.context.request.get(`${at.origin}/audit/proof?session=${id}`);
      const body = (await answer.json().catch(() => ({}))) as { pending_events?: number; events?: unknown[] };
      return body.pending_events === 0 && (body.events?.length ?? 0) > 2 ? body : null;
    });
    const file = joined(downloads, 'proof.json');
    const verify = async (text: string): Promise<string> => {
      writeFileSync(file, text);
      await auditor.page.goto(`${at.origin}/audit`);
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
    expect(await verify(await (await auditor.context.request.get(`${at.origin}/audit/export.jsonl`)).text())).toContain(
      'The export holds',
    );
    expect(readFileSync(file, 'utf8')).toContain('"position":1,');
    expect((await auditor.page.goto(`${at.origin}/people`))?.status()).toBe(200);
    expect(await auditor.page.getByRole('button', { name: 'Create the invitation' }).count()).toBe(0);
    await auditor.context.close();
    expect(page.isClosed()).toBe(false);
  }, 120_000);

  it('everything but the passkey works without a script, and no page breaks its own policy', async () => {
    const { context, complaints } = at.owner;
    const state = await context.storageState();
    const plain = await at.browser.newContext({ javaScriptEnabled: false, storageState: state });
    const page = await plain.newPage();
    await page.goto(`${at.origin}/attention`);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Needs attention');
    await at.find(page, at.sandbox.facts.merchant.id);
    expect(page.url()).toBe(`${at.origin}/m/${at.sandbox.facts.merchant.id}`);
    await page.goto(`${at.origin}/me`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(page.url()).toBe(`${at.origin}/sign-in`);
    await plain.close();
    expect(complaints).toEqual([]);
  }, 60_000);
});

const dayAhead = (): string => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
