import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { allFinal, isPaid, OutcomeWorld, type Merchant, type OutcomeSession } from '../support/outcome-world.ts';
import { eventually } from '../support/running-sandbox.ts';

/* A slice of the matrix of `npm run test:outcomes`: every outcome once, on one network or another. */

const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'].filter(
  (network) => network !== 'solana' || findSurfpoolAddon() !== null,
);

const ENDINGS = {
  expired: { part: '4', title: 'Too little arrived in time', told: 'payment.expired' },
  cancelled: { part: null, title: 'The shop cancelled this payment', told: 'payment.cancelled' },
};
/** Where the shop takes its payers back. */
const SHOP = 'https://shop.example/orders';

let world: OutcomeWorld;
let patient: Merchant;
/** Sessions of six seconds, for outcomes at the deadline. */
let hasty: Merchant;
let forgiving: Merchant;
let sharing: Merchant;
/** Is told of late money, too. */
let curious: Merchant;
/** Lets its payers choose the coin. */
let open: Merchant;

const conclusion = async (merchant: Merchant, session: OutcomeSession): Promise<string> =>
  (await world.call(merchant, 'GET', `/v1/payment/sessions/${session.id}/timeline`)).json.conclusion as string;

const words = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const pageOf = async ({ url }: OutcomeSession): Promise<string> => (await fetch(`${url}?lang=en`)).text();
const panelOf = (network: string, page: string): string =>
  words(page.split(`<div class="panel" data-network="${network}"`)[1]!.split('class="panel"')[0]!);
/** Where the buttons of a page lead, and what they say. */
const buttonsOf = (page: string): string[] =>
  [...page.matchAll(/<a class="button" href="([^"?]*)[^>]*>([^<]*)</g)].map(([, to, says]) => `${says}: ${to}`);

beforeAll(async () => {
  world = await OutcomeWorld.start();
  patient = await world.merchant('Patient');
  hasty = await world.merchant('Hasty', { sessionTtl: '6' });
  // More than the operator's share of what is due, 0.50 of 10.00.
  forgiving = await world.merchant('Forgiving', { tolerance: '2' });
  sharing = await world.merchant('Sharing', { tolerancePercent: '1.5', tolerance: '0.12' });
  curious = await world.merchant('Curious', undefined, 'payment.late');
  open = await world.merchant('Open', { offerBothCoins: 'true' });
});

afterAll(async () => world?.stop());

describe.concurrent('an outcome of a payment', () => {
  /*
   * The first session of an order ends with a part of its money or none; the order is paid in another one, and more
   * money comes to the first.
   */
  it.for(
    NETWORKS.flatMap((network) => (['expired', 'cancelled'] as const).map((ending) => [ending, network] as const)),
  )(
    '%s on %s and paid again: what comes late stays in the first session, refundable, and pays nothing',
    async ([ending, network]) => {
      const { part, title, told } = ENDINGS[ending];
      const first = await world.create(curious, 'USDT', { cancel_url: SHOP });
      if (part !== null) {
        await world.pay(curious, first, { network, amount: part });
        await world.settled(curious, first, allFinal);
      }
      await (ending === 'expired' ? world.expire(curious, first) : world.cancel(curious, first));
      const over = await world.settled(curious, first, ({ status }) => status === ending);
      const held = part === null ? '0.00' : '4.00';
      expect([over.payment_status, over.received, over.refundable]).toEqual(['unpaid', held, held]);
      expect((await world.told(first, told))[0]!.body.data.object).toMatchObject({ amount: held });
      const ended = await world.page(first);
      expect(ended).toMatchObject({ state: ending, headline: title, amount_due: null });
      expect(words(ended.html).includes(`${held} USDT arrived`)).toBe(part !== null);
      const lastPage = await pageOf(first);
      expect([buttonsOf(lastPage), lastPage.includes('class="address')]).toEqual([
        [`Pay again at the shop: ${SHOP}`],
        false,
      ]);

      const order = { amount: '10.00', currency: 'USDT', order_id: first.order_id, cancel_url: SHOP };
      const repeated = await world.call(curious, 'POST', '/api/v1/checkout/sessions/create', order);
      expect([repeated.status, repeated.json.error]).toMatchObject([
        400,
        { code: 'session_expired', param: 'order_id' },
      ]);
      expect(repeated.json.error!.message).toContain(first.id);
      const again = { cancel_url: SHOP, order_id: first.order_id, supersedes: first.id };
      const second = await world.create(curious, 'USDT', again);
      expect(second).toMatchObject({
        supersedes: first.id,
        order_id: first.order_id,
        status: 'open',
        received: '0.00',
        deposits: [],
      });
      expect((await world.create(curious, 'USDT', again)).id).toBe(second.id);
      expect((await world.read(curious, first)).superseded_by).toBe(second.id);
      const addresses = [first, second].map(({ payment_options: options }) => options.map(({ address }) => address));
      expect(addresses[0]!.filter((address) => addresses[1]!.includes(address))).toEqual([]);
      expect(buttonsOf(await pageOf(first))).toEqual([`Go to the new payment: /pay/${second.id}`]);

      await world.pay(curious, first, { network, amount: '10' });
      const late = await world.settled(
        curious,
        first,
        (now) => now.deposits.length === (part === null ? 1 : 2) && allFinal(now),
      );
      const refundable = part === null ? '10.00' : '14.00';
      expect([late.status, late.payment_status, late.received, late.refundable]).toEqual([
        ending,
        'unpaid',
        held,
        refundable,
      ]);
      expect(late.deposits.find(({ amount }) => amount === '10.00')).toMatchObject({ kind: 'late', network });
      expect((await world.told(first, 'payment.late'))[0]!.body.data.object).toMatchObject({
        amount: held,
        transfer: { amount: '10.00', network },
      });
      expect(await world.read(curious, second)).toMatchObject({
        status: 'open',
        received: '0.00',
        pending: '0.00',
        deposits: [],
      });
      expect(await world.page(second)).toMatchObject({ state: 'awaiting', amount_due: '10.00' });

      await world.pay(curious, second, { network });
      expect((await world.settled(curious, second, isPaid)).received).toBe('10.00');
      expect((await world.told(second, 'payment.completed'))[0]!.body.data.object).toMatchObject({
        order_id: first.order_id,
        amount: '10.00',
      });
      expect((await world.call(curious, 'POST', '/v1/refunds', { session_id: first.id })).status).toBe(200);
      await world.told(first, 'refund.succeeded');
      expect(await world.read(curious, first)).toMatchObject({
        status: ending,
        payment_status: 'unpaid',
        refunded: refundable,
        refundable: '0.00',
      });
      expect(await world.page(first)).toMatchObject({
        state: 'refunded',
        tone: 'back',
        headline: `Refunded: ${refundable} USDT`,
      });
      expect(await world.read(curious, second)).toMatchObject({
        payment_status: 'paid',
        received: '10.00',
        refunded: '0.00',
      });
      expect(world.toldSoFar(first, 'payment.completed')).toEqual([]);
    },
  );

  it.for(NETWORKS)('exact on %s: paid', async (network) => {
    const session = await world.create(patient);
    await world.pay(patient, session, { network });
    const paid = await world.settled(patient, session, isPaid);
    expect([paid.received, paid.excess, paid.deposits.map(({ kind, status }) => [kind, status])]).toEqual([
      '10.00',
      '0.00',
      [['on_time', 'final']],
    ]);
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
    expect(await conclusion(hasty, session)).toMatch(/^Not paid: it expired with 4\.00 of 10\.00 USDT received\./);
  });

  it('late: recorded and refundable, never paid', async () => {
    const session = await world.create(hasty);
    await world.pay(hasty, session, { network: 'bsc', case: 'late' });
    const late = await world.settled(hasty, session, allFinal);
    expect([late.payment_status, late.received, late.refundable, late.deposits[0]!.kind]).toEqual([
      'unpaid',
      '0.00',
      '10.00',
      'late',
    ]);
  });

  it('nothing at the deadline: expired, and the timeline says what was read by whom', async () => {
    const session = await world.create(hasty);
    await world.settled(hasty, session, (now) => now.status === 'expired');
    await eventually('the evidence', async () =>
      /^Not paid: it expired\. Nothing arrived on ethereum in blocks \d+ to \d+, per \S+/.test(
        await conclusion(hasty, session),
      ),
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
    expect([wrong.status, wrong.received, wrong.deposits[0]!.kind, wrong.deposits[0]!.coin]).toEqual([
      'open',
      '0.00',
      'wrong_coin',
      'USDC',
    ]);
  });

  it('in the other coin, where the payer may choose: paid, notified and refunded in that coin, and the first one comes too late', async () => {
    const session = await world.create(open, 'EUR');
    expect(session).toMatchObject({
      target_currency: 'USDT',
      target_amount_total: '10.80',
      alternative: { target_currency: 'USDC' },
    });
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
    const { status, json } = await world.call(open, 'POST', '/v1/refunds', {
      session_id: session.id,
      amount: { value: '10.00', currency: 'EUR' },
    });
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
    expect([after.payment_status, after.received, after.status]).toEqual([
      'unpaid',
      '0.00',
      seen ? 'failed' : 'expired',
    ]);
    expect(await world.told(session, seen ? 'payment.failed' : 'payment.expired')).toHaveLength(1);
  });

  it.for(NETWORKS)('short on %s: due to the last cent beyond what is tolerated, paid within it', async (network) => {
    const session = await world.create(forgiving);
    const pay = (amount: string) => world.pay(forgiving, session, { network, amount });
    expect(panelOf(network, await pageOf(session))).toMatch(
      /Paying from an exchange\? .* withdraw enough that 10\.00 USDT arrives here\./,
    );
    // Who withdrew 10.00 and was charged more than is tolerated.
    await pay('9.49');
    const short = await world.settled(forgiving, session, allFinal);
    expect([short.status, short.payment_status, short.received]).toEqual(['open', 'unpaid', '9.49']);
    expect(await world.page(session)).toMatchObject({ state: 'underpaid', tone: 'warn', amount_due: '0.51', network });
    await pay('0.01');
    const paid = await world.settled(forgiving, session, isPaid);
    expect([paid.received, paid.excess, paid.refundable]).toEqual(['9.50', '0.00', '9.50']);
    expect(await world.page(session)).toMatchObject({ state: 'paid', headline: 'Paid', amount_due: null });
    const [webhook, ...more] = await world.told(session, 'payment.completed');
    expect(webhook!.body.data.object).toMatchObject({ status: 'completed', amount: '9.50', currency: 'USDT' });
    expect(more).toEqual([]);
  });

  it('short by less than the share of a merchant, as its amount caps it: paid, and a cent less is due to the last cent', async () => {
    const session = await world.create(sharing);
    const pay = (amount: string) => world.pay(sharing, session, { network: 'bsc', amount });
    await pay('9.87');
    const short = await world.settled(sharing, session, allFinal);
    expect([short.status, short.received]).toEqual(['open', '9.87']);
    expect(await world.page(session)).toMatchObject({ state: 'underpaid', amount_due: '0.13' });
    await pay('0.01');
    const paid = await world.settled(sharing, session, isPaid);
    expect([paid.received, paid.excess, paid.refundable]).toEqual(['9.88', '0.00', '9.88']);
  });
});
