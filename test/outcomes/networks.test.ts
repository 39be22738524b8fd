import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { allFinal, isPaid, OutcomeWorld, type Merchant, type OutcomeSession } from '../support/outcome-world.ts';
import { evmPayer, solanaPayer, tronPayer, type RawPayer } from '../support/raw-payers.ts';

/* Every outcome of a payment on every network, with real transactions on the local chains (docs/payments.md). */

const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'].filter(
  (network) => network !== 'solana' || findSurfpoolAddon() !== null,
);

let world: OutcomeWorld;
let patient: Merchant;
let hasty: Merchant;
let forgiving: Merchant;
/** Its transfers stay on their way for a while on every network. */
let slow: Merchant;
const strangers = new Map<string, RawPayer>();
const closing: (() => void)[] = [];

beforeAll(async () => {
  world = await OutcomeWorld.start();
  patient = await world.merchant('Patient');
  hasty = await world.merchant('Hasty', { sessionTtl: '8' });
  forgiving = await world.merchant('Forgiving', { tolerance: '0.50' });
  slow = await world.merchant('Slow', { ethereumConfirmations: '24' });
  for (const network of ['ethereum', 'bsc'] as const) {
    const session = await world.create(patient);
    await world.pay(patient, session, { network });
    const { deposits } = await world.settled(patient, session, (now) => now.deposits.length > 0);
    const payer = await evmPayer(world.sandbox, network, deposits[0]!.from_address);
    closing.push(payer.close);
    strangers.set(network, payer);
  }
  strangers.set('tron', await tronPayer(world.sandbox));
  if (NETWORKS.includes('solana')) strangers.set('solana', solanaPayer(world.sandbox));
});

afterAll(async () => {
  closing.forEach((close) => close());
  await world?.stop();
});

const addressOn = (network: string, { payment_options: options }: OutcomeSession): string =>
  options.find((option) => option.network === network)!.address;
const unitsOn = (network: string, micros: bigint): bigint => (network === 'bsc' ? micros * 10n ** 12n : micros);
const kinds = ({ deposits }: OutcomeSession): unknown[] =>
  deposits.map(({ kind, status, amount }) => [kind, status, amount]);

describe.for(NETWORKS)('on %s', { concurrent: true }, (network) => {
  const pay = (merchant: Merchant, session: OutcomeSession, more: Record<string, string> = {}) =>
    world.pay(merchant, session, { network, ...more });

  it('exact: paid, notified once', async () => {
    const session = await world.create(patient);
    await pay(patient, session);
    const paid = await world.settled(patient, session, isPaid);
    expect([paid.received, paid.excess, kinds(paid)]).toEqual(['10.00', '0.00', [['on_time', 'final', '10.00']]]);
    const [webhook] = await world.told(session, 'payment.completed');
    expect(webhook!.body.data.object).toMatchObject({ status: 'completed', amount: '10.00', currency: 'USDT' });
  });

  it('in several transfers: paid with the last one', async () => {
    const session = await world.create(patient);
    await pay(patient, session, { amount: '4' });
    const part = await world.settled(patient, session, allFinal);
    expect([part.status, part.received]).toEqual(['open', '4.00']);
    await pay(patient, session);
    expect((await world.settled(patient, session, isPaid)).received).toBe('10.00');
  });

  it('two payers: paid, each refundable to its own address', async () => {
    const session = await world.create(patient);
    await pay(patient, session, { case: 'two_payers' });
    const paid = await world.settled(patient, session, isPaid);
    expect(new Set(paid.deposits.map((deposit) => deposit.from_address)).size).toBe(2);
  });

  it.each([
    ['contract_payer', 'contract'],
    ['exchange_payer', 'exchange'],
  ])('%s: paid, and a refund asks first', async (kind, sender) => {
    const session = await world.create(patient);
    await pay(patient, session, { case: kind });
    const paid = await world.settled(patient, session, isPaid);
    expect(paid.deposits[0]).toMatchObject({ sender: { kind: sender } });
    const refund = (body: object) => world.call(patient, 'POST', '/v1/refunds', { session_id: session.id, ...body });
    expect((await refund({})).json.error?.code).toBe('sender_not_acknowledged');
    expect((await refund({ acknowledge_sender: true })).status).toBe(200);
    await world.told(session, 'refund.succeeded');
  });

  it('a frozen payer: paid, and the refund fails, each time', async () => {
    for (let time = 0; time < 2; time += 1) {
      const session = await world.create(patient);
      await pay(patient, session, { case: 'frozen_payer' });
      await world.settled(patient, session, isPaid);
      await world.call(patient, 'POST', '/v1/refunds', { session_id: session.id });
      await world.told(session, 'refund.failed');
    }
  });

  it('under at the deadline: expired with what arrived, which is refundable', async () => {
    const session = await world.create(hasty);
    await pay(hasty, session, { amount: '4' });
    const expired = await world.settled(hasty, session, ({ status }) => status === 'expired');
    expect([expired.payment_status, expired.received, expired.refundable]).toEqual(['unpaid', '4.00', '4.00']);
    const [webhook] = await world.told(session, 'payment.expired');
    expect(webhook!.body.data.object).toMatchObject({ status: 'expired', amount: '4.00' });
  });

  it('within the tolerance: paid', async () => {
    const session = await world.create(forgiving);
    await pay(forgiving, session, { amount: '9.5' });
    expect((await world.settled(forgiving, session, isPaid)).received).toBe('9.50');
  });

  it('over: paid with the excess', async () => {
    const session = await world.create(patient);
    await pay(patient, session, { amount: '12.5' });
    const paid = await world.settled(patient, session, isPaid);
    expect([paid.received, paid.excess, paid.refundable]).toEqual(['12.50', '2.50', '12.50']);
  });

  it('late: recorded and refundable, never paid', async () => {
    const session = await world.create(hasty);
    await pay(hasty, session, { case: 'late' });
    const late = await world.settled(hasty, session, allFinal);
    expect([late.payment_status, late.received, late.refundable, kinds(late)]).toEqual([
      'unpaid',
      '0.00',
      '10.00',
      [['late', 'final', '10.00']],
    ]);
  });

  it('after a cancel, or to the address of an old session: recorded there and refundable, never paid', async () => {
    const session = await world.create(patient);
    await world.cancel(patient, session);
    await pay(patient, session);
    const after = await world.settled(patient, session, allFinal);
    expect([after.status, after.payment_status, after.refundable]).toEqual(['cancelled', 'unpaid', '10.00']);
    const old = await world.create(patient);
    await pay(patient, old);
    await world.settled(patient, old, isPaid);
    await strangers.get(network)!.sendMany([{ to: addressOn(network, old), units: unitsOn(network, 3_000_000n) }]);
    const again = await world.settled(patient, old, (now) => now.deposits.length === 2 && allFinal(now));
    expect([again.status, again.excess, again.refundable]).toEqual(['paid', '3.00', '13.00']);
    expect(world.toldSoFar(old, 'payment.completed')).toHaveLength(1);
  });

  it('cancelled in flight: stays cancelled, the money is refundable', async () => {
    const session = await world.create(slow);
    const paying = pay(slow, session);
    await world.settled(slow, session, ({ status }) => status === 'processing');
    await world.cancel(slow, session);
    await paying;
    const after = await world.settled(slow, session, allFinal);
    expect([after.status, after.payment_status, after.refundable]).toEqual(['cancelled', 'unpaid', '10.00']);
    expect(world.toldSoFar(session, 'payment.completed')).toEqual([]);
  });

  it('another coin: recorded as unmatched, the amount due stays due', async () => {
    const session = await world.create(patient);
    await pay(patient, session, { case: 'wrong_coin' });
    const wrong = await world.settled(patient, session, allFinal);
    expect([wrong.status, wrong.received, wrong.deposits[0]!.kind, wrong.deposits[0]!.coin]).toEqual([
      'open',
      '0.00',
      'wrong_coin',
      'USDC',
    ]);
    await pay(patient, session);
    expect((await world.settled(patient, session, isPaid)).received).toBe('10.00');
  });

  it('dust: recorded, changes nothing', async () => {
    const session = await world.create(patient);
    await pay(patient, session, { amount: '0.009' });
    const dusty = await world.settled(patient, session, allFinal);
    expect([dusty.status, dusty.received, dusty.deposits[0]!.kind]).toEqual(['open', '0.00', 'dust']);
  });

  it('zero-value poisoning, a fake token, a failed transaction and native coin: nothing at all', async () => {
    const session = await world.create(patient);
    const to = addressOn(network, session);
    const stranger = strangers.get(network)!;
    await stranger.sendZero(to);
    await stranger.sendFake?.(to);
    await stranger.sendFailing(to, unitsOn(network, 10_000_000n));
    await stranger.sendNative(to);
    await pay(patient, session);
    const paid = await world.settled(patient, session, isPaid);
    expect(kinds(paid)).toEqual([['on_time', 'final', '10.00']]);
  });

  it('several transfers in one transaction: each counts for its own session', async () => {
    const [one, other] = [await world.create(patient), await world.create(patient)];
    await strangers.get(network)!.sendMany([
      { to: addressOn(network, one), units: unitsOn(network, 6_000_000n) },
      { to: addressOn(network, other), units: unitsOn(network, 10_000_000n) },
      { to: addressOn(network, one), units: unitsOn(network, 4_000_000n) },
    ]);
    const paid = await Promise.all([one, other].map((session) => world.settled(patient, session, isPaid)));
    expect(paid.map(({ received }) => received)).toEqual(['10.00', '10.00']);
    // Solana tells what a transaction did to an account, so two transfers to one account are one deposit of their sum.
    expect(paid.map(({ deposits }) => deposits.length)).toEqual([network === 'solana' ? 1 : 2, 1]);
  });
});

describe.for(NETWORKS.filter((network) => network !== 'solana'))(
  'a reorganisation on %s',
  { concurrent: true },
  (network) => {
    it('that moves the transfer: paid once', async () => {
      const session = await world.create(patient);
      await world.pay(patient, session, { network, case: 'reorg' });
      expect((await world.settled(patient, session, isPaid)).received).toBe('10.00');
      expect(await world.told(session, 'payment.completed')).toHaveLength(1);
    });

    it('that loses it before it was final: failed at the deadline', async () => {
      const session = await world.create(hasty);
      await world.pay(hasty, session, { network, case: 'lost' });
      const after = await world.settled(hasty, session, ({ status }) => status === 'failed' || status === 'expired');
      // The block may be gone before the watcher saw it; then nothing was ever seen and the session simply expires.
      const seen = after.deposits.length > 0;
      expect([after.payment_status, after.received, after.status]).toEqual([
        'unpaid',
        '0.00',
        seen ? 'failed' : 'expired',
      ]);
      await world.told(session, seen ? 'payment.failed' : 'payment.expired');
    });
  },
);

it.sequential('nothing was ever paid twice, and no two sessions share an address', async () => {
  const { json } = await world.call(patient, 'GET', '/v1/payment/sessions?page_size=100');
  const sessions = json.data as OutcomeSession[];
  for (const { id, received, excess } of sessions)
    expect([id, Number(received) <= 13, Number(excess) <= 3]).toEqual([id, true, true]);
  const addresses = await Promise.all(
    sessions.map(async ({ id }) => (await world.read(patient, { id })).payment_options.map(({ address }) => address)),
  );
  const perSession = addresses.map((list) => [...new Set(list)]);
  expect(new Set(perSession.flat()).size).toBe(perSession.flat().length);
});
