import { execFile } from 'node:child_process';
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { signatureOf, startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../..');

interface Session {
  readonly id: string;
  readonly url: string;
  readonly payment_status: string;
  readonly target_amount_total: string;
  readonly payment_options: readonly { readonly network: string; readonly address: string }[];
}

describe.skipIf(!existsSync(join(repository, '.git')))('a first payment, from a clean clone', () => {
  const clone = temporaryFolder('clone');
  let sandbox: RunningSandbox;
  let receiver: WebhookReceiver;
  let browser: Browser | null = null;
  let merchant: { id: string; api_key: string; api_secret: string; webhook_secret: string };

  const cli = async (...args: string[]): Promise<unknown> => {
    const { stdout } = await run(
      join(clone, 'node_modules/.bin/node'),
      [join(clone, 'bin/quittance.mjs'), ...args, '--json'],
      {
        env: { ...process.env, DATA_DIR: sandbox.dataDir },
      },
    );
    return JSON.parse(stdout);
  };
  const call = (method: string, path: string, body?: unknown) =>
    signedCall(sandbox.facts.base_url, merchant, method, path, body);
  const create = async (orderId: string): Promise<Session> =>
    (await call('POST', '/api/v1/checkout/sessions/create', { amount: '12.50', currency: 'EUR', order_id: orderId }))
      .json as unknown as Session;
  const paid = async (id: string): Promise<boolean> =>
    (await call('GET', `/api/v1/checkout/sessions/${id}`)).json.payment_status === 'paid';
  const completions = (id: string) =>
    receiver.received.filter(({ body }) => body.type === 'payment.completed' && body.data.object.session_id === id);

  beforeAll(async () => {
    await run('git', ['clone', '--quiet', repository, clone]);
    // `.ci/run` installs a clean clone itself; doing it here once more is half a minute.
    symlinkSync(join(repository, 'node_modules'), join(clone, 'node_modules'));
    receiver = await startWebhookReceiver();
    sandbox = await startRunningSandbox({ directory: clone });
    merchant = (await cli(
      'merchant',
      'create',
      '--name',
      'Mug shop',
      '--mode',
      'test',
      '--webhook-url',
      receiver.url,
    )) as typeof merchant;
    browser = CHROMIUM === undefined ? null : await openBrowser();
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    await sandbox?.stop();
    await receiver?.close();
    if (sandbox) rmSync(sandbox.dataDir, { recursive: true, force: true });
  });

  it('shows the page turn to Paid by itself and delivers a webhook whose signature verifies', async () => {
    const session = await create('first');
    expect(session.target_amount_total).toBe('13.50');
    const page = await browser?.newPage();
    await page?.goto(session.url);
    if (page)
      expect((await page.textContent('body'))?.replaceAll(/\s/g, '')).toContain(
        session.payment_options.find(({ network }) => network === 'ethereum')!.address,
      );
    await cli('sandbox', 'pay', session.id, '--network', 'ethereum');
    await eventually('the payment', () => paid(session.id));
    await page?.waitForSelector('[data-state="paid"]', { timeout: 15_000 });
    const [webhook] = await eventually('the webhook', async () =>
      completions(session.id).length > 0 ? completions(session.id) : null,
    );
    expect(webhook!.headers['x-service-signature']).toBe(signatureOf(webhook!, merchant.webhook_secret));
    expect(webhook!.headers['x-service-signature']).not.toBe(signatureOf(webhook!, merchant.api_secret));
    expect(webhook!.body.data.object).toEqual({
      amount: '13.50',
      status: 'completed',
      currency: 'USDT',
      exchange_rate: '1.08',
      order_id: 'first',
      session_id: session.id,
      source: 'api',
    });
  });

  it('neither loses nor duplicates anything when it is killed during payments', async () => {
    const before = await create('before');
    const during = await Promise.all(['a', 'b', 'c', 'd'].map((name) => create(`during-${name}`)));
    await cli('sandbox', 'pay', before.id, '--network', 'bsc');
    const networks = ['ethereum', 'bsc', 'ethereum', 'bsc'];
    await Promise.all(during.map((session, index) => cli('sandbox', 'pay', session.id, '--network', networks[index]!)));
    // The transfers are in blocks; whether the service has seen, confirmed or told any of them is left to chance.
    await sandbox.stop('SIGKILL');
    sandbox = await startRunningSandbox({ directory: clone, dataDir: sandbox.dataDir });
    for (const session of [before, ...during]) {
      await eventually(`payment of ${session.id}`, () => paid(session.id));
      await eventually(`webhook of ${session.id}`, async () => completions(session.id).length > 0);
      const ids = new Set(completions(session.id).map(({ body }) => body.id));
      expect(ids.size).toBe(1);
    }
    const again = await create('before');
    expect([again.id, again.payment_status]).toEqual([before.id, 'paid']);
    const { json } = await call('GET', '/v1/transactions?page_size=100');
    const transactions = json.data as readonly { session_id: string; type: string; status: string; amount: string }[];
    for (const session of [before, ...during]) {
      const deposits = transactions.filter(
        (transaction) => transaction.session_id === session.id && transaction.type === 'deposit',
      );
      expect(deposits.map(({ status, amount }) => [status, amount])).toEqual([['final', '13.50']]);
    }
    expect((json.pagination as { total: number }).total).toBe(6);
  });

  it('ends in order, leaving nothing behind', async () => {
    await sandbox.stop('SIGTERM');
    await eventually('the end of every process it started', async () => {
      const { stdout } = await run('sh', [
        '-c',
        `grep -lsa "DATA_DIR=${sandbox.dataDir}" /proc/[0-9]*/environ || true`,
      ]);
      return stdout.trim() === '';
    });
    sandbox = await startRunningSandbox({ directory: clone, dataDir: sandbox.dataDir });
    expect((await call('GET', '/v1/payment/sessions')).status).toBe(200);
  });
});
