import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM } from '../support/browser.ts';
import { axe, signTerms, type AtConsole } from '../support/console-browser.ts';
import { ConsoleSandbox } from '../support/console-sandbox.ts';
import { createRpc } from '../../src/sandbox/json-rpc.ts';
import { eventually } from '../support/running-sandbox.ts';

const COLD = Wallet.createRandom().address;

describe.skipIf(CHROMIUM === undefined)('approvals in a browser', () => {
  let at: ConsoleSandbox;
  beforeAll(async () => {
    at = await ConsoleSandbox.start({ WITHDRAWAL_ADDRESSES: JSON.stringify({ test: { ethereum: [COLD] } }) });
  }, 180_000);
  afterAll(() => at?.close(), 60_000);

  it('a withdrawal is paid once two people approved it by passkey; people unknown to the signer do not count, whatever their role', async () => {
    const [olga, ada, ben, eve] = [
      await at.invited('Olga', 'operator'),
      await at.invited('Ada', 'approver'),
      await at.invited('Ben', 'approver'),
      await at.invited('Eve', 'approver'),
    ];
    const entriesOf = async ({ page }: AtConsole): Promise<object[]> => {
      await page.goto(`${at.origin}/me`);
      return JSON.parse((await page.locator('pre.terms').textContent())!) as object[];
    };
    // Whoever runs the signer names Ada and Ben, and not Eve.
    await at.restart({ PAYOUT_APPROVERS: JSON.stringify([...(await entriesOf(ada)), ...(await entriesOf(ben))]) });
    const moves = async () => (await at.command<{ moves: { approved_by: string[] }[] }>('treasury.moves')).moves;

    await olga.page.goto(`${at.origin}/treasury`);
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

    const approve = async ({ page }: AtConsole, amount = '12.50', to = COLD): Promise<string> => {
      await page.goto(`${at.origin}/treasury`);
      await page
        .locator('form[action="/treasury/approve"]')
        .first()
        .getByRole('button', { name: 'Show the terms' })
        .click();
      expect(await axe(page)).toEqual([]);
      const terms = await signTerms(page);
      expect(terms).toContain(`amount: ${amount}`);
      expect(terms.toLowerCase()).toContain(to.toLowerCase());
      return page.url().includes('done=approved')
        ? 'counted'
        : ((await page.locator('.problem:not([hidden])').first().textContent()) ?? '');
    };
    const signedByAda = ada.page.waitForRequest((request) => request.postData()?.includes('response-0') === true);
    expect(await approve(ada)).toBe('counted');
    const sent = new URLSearchParams((await signedByAda).postData()!);
    const proof = { kind: 'webauthn', response: JSON.parse(sent.get('response-0')!) as object };
    const withdrawal = sent.get('id')!;
    /** Past the console: the signer itself has to refuse. */
    const replayed = (approver: string, number: string) =>
      at.command('treasury.approve', { id: withdrawal, approvals: [{ approver, number, proof }] as never });
    const { to_sign: terms } = await at.command<{ to_sign: { number: string }[] }>('treasury.approve', {
      id: withdrawal,
    });
    await expect(replayed('Ada', sent.get('number-0')!)).rejects.toThrow('the one-time number was already used');
    await expect(replayed('Ben', terms[0]!.number)).rejects.toThrow('the passkey does not belong to the approver');
    await expect(replayed('Ada', terms[0]!.number)).rejects.toThrow('the passkey did not sign these terms');
    expect(await moves()).toMatchObject([{ approved_by: ['Ada'] }]);
    expect(await approve(eve)).toMatch(/Eve/);
    expect(await moves()).toMatchObject([{ approved_by: ['Ada'] }]);
    expect(await approve(ben)).toBe('counted');
    await eventually('the withdrawal in the chain', async () => (await moves()).length === 0);

    // Native coin goes back to its sender once a comparison has put it into the books.
    const id = await at.created('sends-ether');
    const { payment_options: options } = await at.asked('GET', `/api/v1/checkout/sessions/${id}`);
    const { address } = (options as { network: string; address: string }[]).find(
      ({ network }) => network === 'ethereum',
    )!;
    const giver = Wallet.createRandom().address;
    const rpc = createRpc(at.sandbox.facts.networks['ethereum']!.rpc_url);
    await rpc('anvil_setBalance', [giver, '0xde0b6b3a7640000']);
    await rpc('anvil_impersonateAccount', [giver]);
    const tx = await rpc<string>('eth_sendTransaction', [{ from: giver, to: address, value: '0x2386f26fc10000' }]);
    await eventually('the ether in the books', async () => {
      await olga.page.goto(`${at.origin}/treasury/balances`);
      const comparison = olga.page.locator('form[action="/treasury/compare"]');
      await comparison.getByLabel('Network').selectOption('ethereum');
      await comparison.getByLabel('Reason').fill('somebody sent ether');
      await comparison.getByRole('button').click();
      return (await olga.page.getByText('found, and booked as owed to its sender').count()) > 0;
    });
    expect(await axe(olga.page)).toEqual([]);
    await olga.page.goto(`${at.origin}/treasury`);
    await olga.page.getByText('A return of native coin', { exact: true }).click();
    const giveBack = olga.page.locator('form[action="/treasury/return"]');
    await giveBack.locator('select[name="network"]').selectOption('ethereum');
    await giveBack.getByLabel('Transaction').fill(tx);
    await giveBack.getByLabel('Collection address').fill(address);
    await giveBack.getByLabel('Reason').fill('sent by mistake');
    await giveBack.getByRole('button').click();
    await signTerms(olga.page);
    for (const person of [ada, ben]) expect(await approve(person, '0.00', giver)).toBe('counted');
    await eventually('the ether at its sender', async () => (await moves()).length === 0);
    const held = BigInt(await rpc<string>('eth_getBalance', [giver, 'latest']));
    expect(held).toBeGreaterThan(99n * 10n ** 16n);

    // Whoever sees a theft stops everything at once; the signer counts two others before it signs again.
    const stopForm = ada.page.locator('form[action="/treasury/stop"]');
    await ada.page.goto(`${at.origin}/treasury`);
    await stopForm.getByLabel('Reason').fill('an odd withdrawal');
    await stopForm.getByRole('button').click();
    await olga.page.goto(`${at.origin}/treasury`);
    expect(await olga.page.getByText('Two approvers decide it on this page').count()).toBe(1);
    const isStopped = async () =>
      (await at.command<{ signers: { stopped: boolean }[] }>('treasury.status')).signers[0]!.stopped;
    const resume = async ({ page }: AtConsole): Promise<string> => {
      await page.goto(`${at.origin}/treasury`);
      const form = page.locator('form[action="/treasury/resume"]');
      await form.getByLabel('Proposed by').fill('Olga');
      await form.getByRole('button').click();
      return signTerms(page);
    };
    expect(await resume(ada)).toContain('let the signer sign again, which Ada stopped');
    expect(await resume(ada)).toContain('proposed by: Olga');
    expect(ada.page.url()).toContain('done=approved-before');
    expect(await isStopped()).toBe(true);
    await resume(ben);
    expect(await isStopped()).toBe(false);

    // Nothing is settled to an address on which two people have not agreed.
    const merchant = at.sandbox.facts.merchant.id;
    const settle = () =>
      at.command('treasury.settle', {
        merchant_id: merchant,
        network: 'bsc',
        coin: 'USDT',
        amount: '1',
        operator: 'Olga',
      });
    const agreeOn = async ({ page }: AtConsole): Promise<string> => {
      await page.goto(`${at.origin}/treasury`);
      await page.getByText("A merchant's settlement address").click();
      const form = page.locator('form[action="/treasury/settlement-address"]');
      await form.getByLabel('Merchant').selectOption(merchant);
      await form.getByLabel('Network').selectOption('bsc');
      await form.getByLabel('Address').fill(COLD);
      await form.getByLabel('Proposed by').fill('Olga');
      await form.getByRole('button').click();
      return signTerms(page);
    };
    const agreed = await agreeOn(ada);
    expect(agreed).toContain(merchant);
    expect(agreed.toLowerCase()).toContain(COLD.toLowerCase());
    await expect(settle()).rejects.toThrow('no settlement address on bsc');
    await agreeOn(ben);
    await expect(settle()).rejects.toThrow('the books owe the merchant 0.00 USDT on bsc');
    for (const { context } of [olga, ada, ben, eve]) await context.close();
  }, 180_000);
});
