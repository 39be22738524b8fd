import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

/* Every row of docs/payments.md that a payer can cause, with real transfers on the local chains. */

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../..');

interface Merchant {
  readonly id: string;
  readonly api_key: string;
  readonly api_secret: string;
}
interface Deposit {
  readonly kind: string;
  readonly status: string;
  readonly amount: string;
  readonly coin: string;
  readonly from_address: string;
}
interface Session {
  readonly id: string;
  readonly status: string;
  readonly payment_status: string;
  readonly received: string;
  readonly pending: string;
  readonly excess: string;
  readonly refundable: string;
  readonly deposits: readonly Deposit[];
  readonly expires_at: number;
}

let sandbox: RunningSandbox;
let receiver: WebhookReceiver;
let patient: Merchant;
/** Sessions of six seconds, for outcomes at the deadline. */
let hasty: Merchant;
let orders = 0;

const cli = async (...args: string[]): Promise<unknown> => {
  const { stdout } = await run(process.execPath, [resolve(repository, 'bin/quittance.mjs'), ...args, '--json'], {
    env: { ...process.env, DATA_DIR: sandbox.dataDir },
  });
  return JSON.parse(stdout);
};
const call = (merchant: Merchant, method: string, path: string, body?: unknown) => signedCall(sandbox.facts.base_url, merchant, method, path, body);
const create = async (merchant: Merchant = patient): Promise<Session> => {
  orders += 1;
  const { status, json } = await call(merchant, 'POST', '/api/v1/checkout/sessions/create', {
    amount: '10.00',
    currency: 'USDT',
    order_id: `outcome-${orders}`,
  });
  expect(status).toBe(200);
  return json as unknown as Session;
};
const read = async (session: Session, merchant: Merchant = patient): Promise<Session> =>
  (await call(merchant, 'GET', `/api/v1/checkout/sessions/${session.id}`)).json as unknown as Session;
const pay = async (merchant: Merchant, session: Session, body: Record<string, string>) => {
  const { status, json } = await call(merchant, 'POST', `/v1/sandbox/sessions/${session.id}/pay`, body);
  expect(json.error ?? null).toBeNull();
  expect(status).toBe(200);
};
const settled = (session: Session, merchant: Merchant, test: (now: Session) => boolean, timeoutMs = 30_000): Promise<Session> =>
  eventually(
    `outcome of ${session.id}`,
    async () => {
      const now = await read(session, merchant);
      return test(now) ? now : null;
    },
    timeoutMs,
  );
const allFinal = (now: Session): boolean => now.deposits.length > 0 && now.deposits.every(({ status }) => status === 'final');
const told = (session: Session, type: string) =>
  receiver.received.filter(({ body }) => body.type === type && body.data.object.session_id === session.id);
const conclusion = async (merchant: Merchant, session: Session): Promise<string> =>
  (await call(merchant, 'GET', `/v1/payment/sessions/${session.id}/timeline`)).json.conclusion as string;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  sandbox = await startRunningSandbox();
  patient = (await cli('merchant', 'create', '--name', 'Patient', '--mode', 'test', '--webhook-url', receiver.url)) as Merchant;
  hasty = (await cli('merchant', 'create', '--name', 'Hasty', '--mode', 'test', '--webhook-url', receiver.url)) as Merchant;
  await cli('merchant', 'set-policy', hasty.id, '--session-ttl', '6');
});

afterAll(async () => {
  await sandbox?.stop();
  await receiver?.close();
  if (sandbox) rmSync(sandbox.dataDir, { recursive: true, force: true });
});

describe.concurrent('an outcome of a payment', () => {
  it.for(['ethereum', 'bsc', 'tron'])('exact on %s: paid', async (network) => {
    const session = await create();
    await pay(patient, session, { network });
    const paid = await settled(session, patient, (now) => now.payment_status === 'paid');
    expect([paid.received, paid.excess, paid.deposits.map(({ kind, status }) => [kind, status])]).toEqual(['10.00', '0.00', [['on_time', 'final']]]);
  });

  it('in several transfers on several networks: paid with the last one', async () => {
    const session = await create();
    await pay(patient, session, { network: 'bsc', case: 'partial' });
    const part = await settled(session, patient, allFinal);
    expect([part.payment_status, part.received]).toEqual(['unpaid', '5.00']);
    await pay(patient, session, { network: 'ethereum' });
    expect((await settled(session, patient, (now) => now.payment_status === 'paid')).received).toBe('10.00');
  });

  it('two payers: paid, each refundable to its own address', async () => {
    const session = await create();
    await pay(patient, session, { network: 'bsc', case: 'two_payers' });
    const paid = await settled(session, patient, (now) => now.payment_status === 'paid');
    expect(new Set(paid.deposits.map((deposit) => deposit.from_address)).size).toBe(2);
  });

  it('too much: paid, with the excess', async () => {
    const session = await create();
    await pay(patient, session, { network: 'bsc', case: 'over', amount: '12.5' });
    const paid = await settled(session, patient, (now) => now.payment_status === 'paid');
    expect([paid.received, paid.excess, paid.refundable]).toEqual(['12.50', '2.50', '12.50']);
  });

  it('too little at the deadline: expired with what arrived, which is refundable', async () => {
    const session = await create(hasty);
    await pay(hasty, session, { network: 'bsc', amount: '4' });
    const expired = await settled(session, hasty, (now) => now.status === 'expired');
    expect([expired.payment_status, expired.received, expired.refundable]).toEqual(['unpaid', '4.00', '4.00']);
    const [webhook] = await eventually('payment.expired', async () =>
      told(session, 'payment.expired').length > 0 ? told(session, 'payment.expired') : null,
    );
    expect(webhook!.body.data.object).toMatchObject({ status: 'expired', amount: '4.00', currency: 'USDT' });
    expect(await conclusion(hasty, session)).toMatch(/^Not paid: it expired\. 4\.00 of 10\.00 USDT is final/);
  });

  it('late: recorded and refundable, never paid', async () => {
    const session = await create(hasty);
    await pay(hasty, session, { network: 'bsc', case: 'late' });
    const late = await settled(session, hasty, allFinal);
    expect([late.payment_status, late.received, late.refundable, late.deposits[0]!.kind]).toEqual(['unpaid', '0.00', '10.00', 'late']);
  });

  it('nothing at the deadline: expired, and the timeline says what was read by whom', async () => {
    const session = await create(hasty);
    await settled(session, hasty, (now) => now.status === 'expired');
    await eventually('the evidence', async () =>
      /Nothing else arrived on ethereum in blocks \d+ to \d+, per \S+/.test(await conclusion(hasty, session)),
    );
  });

  it('after a cancel: recorded and refundable, never paid', async () => {
    const session = await create();
    expect((await call(patient, 'POST', `/api/v1/checkout/sessions/${session.id}/cancel`)).status).toBe(200);
    await pay(patient, session, { network: 'bsc' });
    const after = await settled(session, patient, allFinal);
    expect([after.status, after.payment_status, after.refundable]).toEqual(['cancelled', 'unpaid', '10.00']);
  });

  it('cancelled while the money is on its way: cancelled stays cancelled', async () => {
    const session = await create();
    const payment = pay(patient, session, { network: 'ethereum' });
    await settled(session, patient, (now) => now.status === 'processing');
    expect((await call(patient, 'POST', `/api/v1/checkout/sessions/${session.id}/cancel`)).status).toBe(200);
    await payment;
    const after = await settled(session, patient, allFinal);
    expect([after.status, after.payment_status, after.refundable]).toEqual(['cancelled', 'unpaid', '10.00']);
    expect(told(session, 'payment.completed')).toEqual([]);
  });

  it('another coin: recorded as unmatched, the amount due stays due', async () => {
    const session = await create();
    await pay(patient, session, { network: 'bsc', case: 'wrong_coin' });
    const wrong = await settled(session, patient, allFinal);
    expect([wrong.status, wrong.received, wrong.deposits[0]!.kind, wrong.deposits[0]!.coin]).toEqual(['open', '0.00', 'wrong_coin', 'USDC']);
  });

  it('dust: recorded, changes nothing', async () => {
    const session = await create();
    await pay(patient, session, { network: 'bsc', amount: '0.009' });
    const dusty = await settled(session, patient, allFinal);
    expect([dusty.status, dusty.received, dusty.deposits[0]!.kind]).toEqual(['open', '0.00', 'dust']);
  });

  it('moved by a reorganisation: paid once', async () => {
    const session = await create();
    await pay(patient, session, { network: 'ethereum', case: 'reorg' });
    const paid = await settled(session, patient, (now) => now.payment_status === 'paid', 60_000);
    expect(paid.received).toBe('10.00');
    await eventually('payment.completed', async () => told(session, 'payment.completed').length === 1);
  });

  it('lost for good before it was final: failed at the deadline', async () => {
    const session = await create(hasty);
    await pay(hasty, session, { network: 'ethereum', case: 'lost' });
    const after = await settled(session, hasty, (now) => now.status === 'failed' || now.status === 'expired', 60_000);
    // The block may be gone before the watcher saw it; then nothing was ever seen and the session simply expires.
    const seen = after.deposits.length > 0;
    expect([after.payment_status, after.received, after.status]).toEqual(['unpaid', '0.00', seen ? 'failed' : 'expired']);
    await eventually('the webhook', async () => told(session, seen ? 'payment.failed' : 'payment.expired').length === 1);
  });
});

describe('a merchant that tolerates a shortfall', () => {
  it('is paid by an amount short by no more than that', async () => {
    await cli('merchant', 'set-policy', patient.id, '--tolerance', '0.50');
    const session = await create();
    await pay(patient, session, { network: 'bsc', amount: '9.5' });
    expect((await settled(session, patient, (now) => now.payment_status === 'paid')).received).toBe('9.50');
  });
});
