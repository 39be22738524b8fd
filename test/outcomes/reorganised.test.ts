import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Anvil } from '../support/anvil.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { startRunningProduction, type RunningProduction } from '../support/running-production.ts';
import { eventually, signedCall } from '../support/running-sandbox.ts';
import type { Merchant, OutcomeSession } from '../support/outcome-world.ts';

/* Outcomes that need a chain or a provider to misbehave at the right moment: `quittance serve` over a node of ours. */

let anvil: Anvil;
let provider: FaultProxy;
let service: RunningProduction;
let merchant: Merchant;
let token: string;
let orders = 0;

beforeAll(async () => {
  anvil = await Anvil.start({ chainId: 31_338, slotsInAnEpoch: 1 });
  token = await anvil.deployToken(18);
  provider = await FaultProxy.before(anvil.url);
  service = await startRunningProduction({
    TEST_BSC_RPC_URLS: provider.url,
    TEST_NETWORKS: JSON.stringify({
      bsc: { chain_id: '31338', tokens: [{ coin: 'USDT', address: token, decimals: 18 }] },
    }),
    EXPIRY_MAX_WAIT_SECONDS: '3',
  });
  merchant = (await service.cli('merchant', 'create', '--name', 'Shop', '--mode', 'test')) as Merchant;
});

afterAll(async () => {
  await service?.stop();
  await provider?.close();
  await anvil?.stop();
});

const call = (method: string, path: string, body?: unknown) =>
  signedCall(service.baseUrl, merchant, method, path, body);
async function create(ttlSec: number): Promise<OutcomeSession & { readonly address: string }> {
  await service.cli('merchant', 'set-policy', merchant.id, '--session-ttl', String(ttlSec));
  orders += 1;
  const { json } = await call('POST', '/api/v1/checkout/sessions/create', {
    amount: '10.00',
    currency: 'USDT',
    order_id: `order-${orders}`,
  });
  const session = json as unknown as OutcomeSession;
  return { ...session, address: session.payment_options[0]!.address };
}
const UNITS = 10n * 10n ** 18n;

/** Mines meanwhile, in step with the clock. */
const settled = (
  what: string,
  { id }: OutcomeSession,
  test: (now: OutcomeSession & { after_expiry?: boolean }) => boolean,
) =>
  eventually(
    what,
    async () => {
      await anvil.mine();
      await new Promise((wait) => setTimeout(wait, 300));
      const now = (await call('GET', `/api/v1/checkout/sessions/${id}`)).json as unknown as OutcomeSession;
      return test(now) ? now : null;
    },
    60_000,
  );
const eventsOf = async ({
  id,
}: OutcomeSession): Promise<{ type: string; data: { object: Record<string, unknown> } }[]> => {
  const { data } = (await call('GET', '/v1/events?page_size=100')).json as unknown as {
    data: { type: string; data: { object: Record<string, unknown> } }[];
  };
  return data.filter((event) => event.data.object.session_id === id);
};

describe('a payment', () => {
  it('in time, but found only after the session expired: paid after all, and the later webhook says so', async () => {
    const session = await create(8);
    provider.play(() => 'hang');
    await anvil.pay(token, session.address, UNITS);
    await settled('expiry without the network', session, ({ status }) => status === 'expired');
    provider.heal();
    const paid = await settled('payment after expiry', session, (now) => now.payment_status === 'paid');
    expect([paid.status, paid.received, paid.deposits[0]!.kind]).toEqual(['paid', '10.00', 'on_time']);
    expect(paid).toMatchObject({ after_expiry: true });
    const events = await eventually('both events', async () => {
      const found = await eventsOf(session);
      return found.length === 2 ? found : null;
    });
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['payment.expired', 'payment.completed']));
    expect(events.find(({ type }) => type === 'payment.completed')!.data.object).toMatchObject({
      after_expiry: true,
      amount: '10.00',
    });
  });

  it('final, then reorganised away: stays paid, is marked reversed, nothing is refundable, and the operator is notified', async () => {
    const session = await create(600);
    await anvil.pay(token, session.address, UNITS);
    const paid = await settled('payment', session, (now) => now.payment_status === 'paid');
    expect(paid.refundable).toBe('10.00');
    const { json } = await call('GET', `/v1/transactions?order_id=order-${orders}`);
    const [{ block_number: block }] = json.data as [{ block_number: number }];
    await anvil.reorg((await anvil.head()) - block + 1);
    const after = await settled('the reversal', session, ({ reversed }) => reversed);
    expect([after.status, after.payment_status, after.refundable, after.deposits[0]!.status]).toEqual([
      'paid',
      'paid',
      '0.00',
      'reverted',
    ]);
    expect(service.output()).toMatch(/"level":"error"[^\n]*"afterFinal":true[^\n]*a deposit was reverted/);
    expect((await eventsOf(session)).map(({ type }) => type)).toEqual(['payment.completed']);
    const refund = await call('POST', '/v1/refunds', { session_id: session.id });
    expect([refund.status, refund.json.error?.code]).toEqual([400, 'session_not_paid']);
  });

  it('seen, and back in another block without effect: failed at the deadline', async () => {
    const session = await create(12);
    const payer = anvil.account(1);
    await anvil.pay(token, payer, UNITS);
    const paid = await anvil.transfer(token, session.address, UNITS, payer);
    await anvil.mine();
    await eventually(
      'seen',
      async () =>
        ((await call('GET', `/api/v1/checkout/sessions/${session.id}`)).json.status as string) === 'processing',
    );
    const pause = await anvil.pause(token);
    await anvil.mine();
    await anvil.reorg(2, [
      [await anvil.rawTransaction(pause), 0],
      [await anvil.rawTransaction(paid), 1],
    ]);
    const after = await settled('the end', session, ({ status }) => status === 'failed');
    expect([after.payment_status, after.deposits[0]!.status]).toEqual(['unpaid', 'failed']);
    expect((await eventsOf(session)).map(({ type }) => type)).toEqual(['payment.failed']);
  });
});
