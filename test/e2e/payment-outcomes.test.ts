import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { allFinal, isPaid, OutcomeWorld, type Merchant, type OutcomeSession } from '../support/outcome-world.ts';
import { eventually } from '../support/running-sandbox.ts';

/* A slice of the matrix of `npm run test:outcomes`: every outcome once, on one network or another. */

const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'].filter((network) => network !== 'solana' || findSurfpoolAddon() !== null);

let world: OutcomeWorld;
let patient: Merchant;
/** Sessions of six seconds, for outcomes at the deadline. */
let hasty: Merchant;
let forgiving: Merchant;
/** Lets its payers choose the coin. */
let open: Merchant;

const conclusion = async (merchant: Merchant, session: OutcomeSession): Promise<string> =>
  (await world.call(merchant, 'GET', `/v1/payment/sessions/${session.id}/timeline`)).json.conclusion as string;

beforeAll(async () => {
  world = await OutcomeWorld.start();
  patient = await world.merchant('Patient');
  hasty = await world.merchant('Hasty', { sessionTtl: '6' });
  forgiving = await world.merchant('Forgiving', { tolerance: '0.50' });
  open = await world.merchant('Open', { offerBothCoins: 'true' });
});

afterAll(async () => world?.stop());

describe.concurrent('an outcome of a payment', () => {
  it.for(NETWORKS)('exact on %s: paid', async (network) => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network });
    const paid = await world.settled(patient, session, isPaid);
    expect([paid.received, paid.excess, paid.deposits.map(({ kind, status }) => [kind, status])]).toEqual(['10.00', '0.00', [['on_time', 'final']]]);
  });

  it('in several transfers on several networks: paid with the last one', async () => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network: 'bsc', case: 'partial' });
    const part = await world.settled(patient, session, allFinal);
    expect([part.payment_status, part.received]).toEqual(['unpaid', '5.00']);
    await world.pay(patient, session, { network: 'ethereum' });
    expect((await world.settled(patient, session, isPaid)).received).toBe('10.00');
  });

  it('two payers: paid, each refundable to its own address', async () => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network: 'bsc', case: 'two_payers' });
    const paid = await world.settled(patient, session, isPaid);
    expect(new Set(paid.deposits.map((deposit) => deposit.from_address)).size).toBe(2);
  });

  it('too much: paid, with the excess', async () => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network: 'bsc', case: 'over', amount: '12.5' });
    const paid = await world.settled(patient, session, isPaid);
    expect([paid.received, paid.excess, paid.refundable]).toEqual(['12.50', '2.50', '12.50']);
  });

  it('too little at the deadline: expired with what arrived, which is refundable', async () => {
    const session = await world.create(hasty);
    await world.pay(hasty, session, { network: 'bsc', amount: '4' });
    const expired = await world.settled(hasty, session, (now) => now.status === 'expired');
    expect([expired.payment_status, expired.received, expired.refundable]).toEqual(['unpaid', '4.00', '4.00']);
    const [webhook] = await world.told(session, 'payment.expired');
    expect(webhook!.body.data.object).toMatchObject({ status: 'expired', amount: '4.00', currency: 'USDT' });
    expect(await conclusion(hasty, session)).toMatch(/^Not paid: it expired\. 4\.00 of 10\.00 USDT is final/);
  });

  it('late: recorded and refundable, never paid', async () => {
    const session = await world.create(hasty);
    await world.pay(hasty, session, { network: 'bsc', case: 'late' });
    const late = await world.settled(hasty, session, allFinal);
    expect([late.payment_status, late.received, late.refundable, late.deposits[0]!.kind]).toEqual(['unpaid', '0.00', '10.00', 'late']);
  });

  it('nothing at the deadline: expired, and the timeline says what was read by whom', async () => {
    const session = await world.create(hasty);
    await world.settled(hasty, session, (now) => now.status === 'expired');
    await eventually('the evidence', async () =>
      /Nothing else arrived on ethereum in blocks \d+ to \d+, per \S+/.test(await conclusion(hasty, session)),
    );
  });

  it('after a cancel: recorded and refundable, never paid', async () => {
    const session = await world.create(patient);
    await world.cancel(patient, session);
    await world.pay(patient, session, { network: 'bsc' });
    const after = await world.settled(patient, session, allFinal);
    expect([after.status, after.payment_status, after.refundable]).toEqual(['cancelled', 'unpaid', '10.00']);
  });

  it('cancelled while the money is on its way: cancelled stays cancelled', async () => {
    const session = await world.create(patient);
    const payment = world.pay(patient, session, { network: 'ethereum' });
    await world.settled(patient, session, (now) => now.status === 'processing');
    await world.cancel(patient, session);
    await payment;
    const after = await world.settled(patient, session, allFinal);
    expect([after.status, after.payment_status, after.refundable]).toEqual(['cancelled', 'unpaid', '10.00']);
    expect(world.toldSoFar(session, 'payment.completed')).toEqual([]);
  });

  it('another coin: recorded as unmatched, the amount due stays due', async () => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network: 'bsc', case: 'wrong_coin' });
    const wrong = await world.settled(patient, session, allFinal);
    expect([wrong.status, wrong.received, wrong.deposits[0]!.kind, wrong.deposits[0]!.coin]).toEqual(['open', '0.00', 'wrong_coin', 'USDC']);
  });

  it('in the other coin, where the payer may choose: paid, told and refunded in that coin, and the first one comes too late', async () => {
    const session = await world.create(open, 'EUR');
    expect(session).toMatchObject({ target_currency: 'USDT', target_amount_total: '10.80', alternative: { target_currency: 'USDC' } });
    const due = session.alternative!.target_amount_total;
    expect(Number(due)).toBeCloseTo(10.8 / 0.996, 1);
    await world.pay(open, session, { network: 'bsc', coin: 'USDC' });
    const paid = await world.settled(open, session, isPaid);
    expect(paid).toMatchObject({ target_currency: 'USDC', target_amount_total: due, received: due, excess: '0.00' });
    expect(paid.alternative).toBeUndefined();
    const [webhook] = await world.told(session, 'payment.completed');
    const told = { status: 'completed', amount: due, currency: 'USDC' };
    expect(webhook!.body.data.object).toMatchObject(told);
    expect(Number(webhook!.body.data.object['exchange_rate'])).toBeCloseTo(1.08 / 0.996, 4);
    await world.pay(open, session, { network: 'bsc', coin: 'USDT', amount: '10.80' });
    const both = await world.settled(open, session, (now) => now.deposits.length === 2 && allFinal(now));
    expect(both.deposits.map(({ coin, kind }) => [coin, kind])).toEqual([
      ['USDC', 'on_time'],
      ['USDT', 'wrong_coin'],
    ]);
    // The order's total at the rate of the coin that paid it.
    const { status, json } = await world.call(open, 'POST', '/v1/refunds', { session_id: session.id, amount: { value: '10.00', currency: 'EUR' } });
    expect([status, json.amount]).toEqual([200, { value: due, currency: 'USDC' }]);
    const refunded = await world.settled(open, session, (now) => now.refunded === due);
    expect([refunded.received, refunded.refundable, refunded.payment_status]).toEqual(['0.00', '0.00', 'paid']);
  });

  it('dust: recorded, changes nothing', async () => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network: 'bsc', amount: '0.009' });
    const dusty = await world.settled(patient, session, allFinal);
    expect([dusty.status, dusty.received, dusty.deposits[0]!.kind]).toEqual(['open', '0.00', 'dust']);
  });

  it('moved by a reorganisation: paid once', async () => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network: 'ethereum', case: 'reorg' });
    const paid = await world.settled(patient, session, isPaid);
    expect(paid.received).toBe('10.00');
    expect(await world.told(session, 'payment.completed')).toHaveLength(1);
  });

  it('lost for good before it was final: failed at the deadline', async () => {
    const session = await world.create(hasty);
    await world.pay(hasty, session, { network: 'ethereum', case: 'lost' });
    const after = await world.settled(hasty, session, (now) => now.status === 'failed' || now.status === 'expired');
    // The block may be gone before the watcher saw it; then nothing was ever seen and the session simply expires.
    const seen = after.deposits.length > 0;
    expect([after.payment_status, after.received, after.status]).toEqual(['unpaid', '0.00', seen ? 'failed' : 'expired']);
    expect(await world.told(session, seen ? 'payment.failed' : 'payment.expired')).toHaveLength(1);
  });

  it('short by no more than the merchant tolerates: paid', async () => {
    const session = await world.create(forgiving);
    await world.pay(forgiving, session, { network: 'bsc', amount: '9.5' });
    expect((await world.settled(forgiving, session, isPaid)).received).toBe('9.50');
  });
});
