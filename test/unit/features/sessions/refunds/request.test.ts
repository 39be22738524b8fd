import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../../src/adapters/node/random.ts';
import type { Sender } from '../../../../../src/domain/networks/senders.ts';
import type { CreateSessionInput, RefundInput } from '../../../../../src/features/shared/merchant-api.ts';
import { Sessions } from '../../../../../src/features/sessions/sessions.ts';
import type { DepositView } from '../../../../../src/features/shared/views.ts';
import { depositFacts, depositConfirmed } from '../../../../support/session-facts.ts';
import { caller, order, sessionWorld, tellerOf } from '../../../../support/session-world.ts';

type Change = Parameters<typeof sessionWorld>[0];
const WALLET: Sender = { kind: 'wallet', name: null };

/** One session of an order, whose payments and refunds a test plays. */
async function world(input: Partial<CreateSessionInput> = {}, change: Change = {}) {
  const { deps } = sessionWorld(change);
  const asked: string[] = [];
  const kinds = new Map<string, Sender | null>();
  const senders = {
    of: async (_mode: string, _network: string, address: string) => {
      asked.push(address);
      return kinds.has(address) ? kinds.get(address)! : WALLET;
    },
  };
  const api = new Sessions({
    ...deps,
    senders,
    random: nodeRandom,
    sessionOfRefund: async () => null,
    onAddressesGiven: () => undefined,
    changes: { on: () => () => undefined },
  });
  const made = await api.createSession(caller, { ...order, ...input });
  if (!made.ok) throw new Error(made.refusal.message);
  const { sessionId, createdAtSec } = made.value;
  const tell = tellerOf(deps.sessions, sessionId);
  let paid = 0;
  const pay = async (
    fromAddress: string | null,
    amount: string,
    coin: 'USDT' | 'USDC' = 'USDT',
  ): Promise<DepositView> => {
    const blockTimeSec = createdAtSec + (paid += 1);
    const toAddress = made.value.paymentOptions[0]!.address;
    const facts = depositFacts({ fromAddress, toAddress, amount, coin, txHash: `0x${paid}`, blockTimeSec });
    await tell({ type: 'RecordDeposit', facts });
    const { data } = depositConfirmed(facts);
    await tell({ type: 'ConfirmDeposit', data, nowSec: blockTimeSec, valuation: null });
    return (await api.viewSession(sessionId))!.deposits.at(-1)!;
  };
  const refund = async (asking: Partial<RefundInput>, key?: string) => {
    const outcome = await api.requestRefund(
      { ...caller, ...(key !== undefined && { idempotencyKey: key }) },
      { sessionId, ...asking },
    );
    if (!outcome.ok) return outcome.refusal;
    const { coin, amount, payouts, refundId, type } = outcome.value;
    return { coin, amount, type, refundId, to: payouts.map(({ toAddress }) => toAddress) };
  };
  return { api, sessionId, tell, pay, refund, asked, kinds, view: async () => (await api.viewSession(sessionId))! };
}

describe('an order in a currency other than the coin that pays it', () => {
  it('is refunded in its currency at the locked rate, also when that is a coin of which a stranger sent some', async () => {
    const { pay, refund } = await world({ currency: 'USDC', targetCurrency: 'USDT' }, { rate: '1.001' });
    await pay('0xCustomer', '10.01');
    const strangers = await pay('0xStranger', '20.00', 'USDC');
    expect(await refund({ amount: { value: '4.00', currency: 'USDC' } })).toMatchObject({
      coin: 'USDT',
      amount: '4.004',
      to: ['0xCustomer'],
    });
    expect(
      await refund({ amount: { value: '4.00', currency: 'USDC' }, transactionId: strangers.transactionId }),
    ).toMatchObject({
      ...{ coin: 'USDC', amount: '4.00', to: ['0xStranger'] },
    });
    expect(await refund({ transactionId: strangers.transactionId })).toMatchObject({
      coin: 'USDC',
      amount: '16.00',
      to: ['0xStranger'],
    });
    expect(await refund({ amount: { value: '1.00', currency: 'USDT' } })).toMatchObject({
      coin: 'USDT',
      amount: '1.00',
      to: ['0xCustomer'],
    });
  });

  it('leaves no residue when all of it is refunded, at once or in parts', async () => {
    const price = { amount: '9.99', currency: 'EUR' };
    const atOnce = await world(price, { rate: '1.0837' });
    await atOnce.pay('0xCustomer', '10.83');
    expect(await atOnce.refund({ amount: { value: '9.990', currency: 'EUR' } })).toMatchObject({
      amount: '10.83',
      type: 'full',
    });
    expect((await atOnce.view()).refundable).toBe('0.00');

    const inParts = await world(price, { rate: '1.0837' });
    await inParts.pay('0xCustomer', '12.83');
    expect(await inParts.refund({ amount: { value: '5.00', currency: 'EUR' } })).toMatchObject({
      amount: '5.4185',
      type: 'partial',
    });
    expect(await inParts.refund({ amount: { value: '4.99', currency: 'EUR' } })).toMatchObject({ amount: '5.4115' });
    expect((await inParts.view()).refundable).toBe('2.00');
  });

  it('takes what paid it if a tolerance accepted less, and never more than that', async () => {
    const { pay, refund } = await world(
      { amount: '9.99', currency: 'EUR' },
      { rate: '1.0837', policy: { tolerance: '0.50' } },
    );
    await pay('0xCustomer', '10.50');
    await pay('0xStranger', '3.00');
    expect(await refund({ amount: { value: '9.99', currency: 'EUR' } })).toMatchObject({
      amount: '10.50',
      to: ['0xCustomer'],
    });
    expect(await refund({ amount: { value: '9.99', currency: 'EUR' } })).toMatchObject({ code: 'refund_exceeds_paid' });
  });

  it('is not refunded beyond what came while it is not paid', async () => {
    const { pay, refund } = await world({ amount: '9.99', currency: 'EUR' }, { rate: '1.0837' });
    await pay('0xCustomer', '4.00');
    expect(await refund({ amount: { value: '9.99', currency: 'EUR' } })).toMatchObject({ code: 'refund_exceeds_paid' });
  });
});

describe('a deposit named by the request', () => {
  it('must be one of the session, in whose coin the amount is', async () => {
    const { pay, refund } = await world();
    await pay('0xCustomer', '10.00');
    const strangers = await pay('0xStranger', '3.00', 'USDC');
    const other = { transactionId: `txn_${'a'.repeat(26)}` as never };
    expect(await refund(other)).toMatchObject({ code: 'invalid_request', param: 'transaction_id' });
    expect(
      await refund({ transactionId: strangers.transactionId, amount: { value: '1.00', currency: 'USDT' } }),
    ).toMatchObject({
      ...{ code: 'invalid_request', param: 'amount.currency', message: 'amount.currency must be the coin paid (USDC)' },
    });
  });

  it('shows what is left of it', async () => {
    const { pay, refund, view } = await world();
    const paid = await pay('0xCustomer', '10.00');
    await pay(null, '2.00');
    expect(paid.refundable).toBe('10.00');
    await refund({ amount: { value: '4.00', currency: 'USDT' }, transactionId: paid.transactionId });
    const { deposits, refundable } = await view();
    expect([deposits.map((deposit) => deposit.refundable), refundable]).toEqual([['6.00', '0.00'], '6.00']);
  });
});

describe('who paid', () => {
  it('is needed only for the money that the refund takes', async () => {
    const { pay, refund, asked, kinds } = await world();
    kinds.set('0xContract', { kind: 'contract', name: null }).set('0xUnknown', null);
    await pay('0xCustomer', '10.00');
    await pay('0xContract', '0.000001');
    await pay('0xUnknown', '3.00');
    expect(await refund({ amount: { value: '10.00', currency: 'USDT' } })).toMatchObject({ to: ['0xCustomer'] });
    expect(asked).toEqual(['0xCustomer']);
    expect(await refund({})).toMatchObject({ code: 'service_unavailable' });
  });
});

describe('the idempotency key of a request', () => {
  it('is for the amount, however it is written, and for the deposit', async () => {
    const { pay, refund } = await world();
    const paid = await pay('0xCustomer', '10.00');
    const first = await refund({ amount: { value: '1.00', currency: 'USDT' }, reason: 'a mug' }, 'k1');
    expect(first).toMatchObject({ amount: '1.00' });
    expect(await refund({ reason: 'a mug', amount: { currency: 'USDT', value: '1.0' } }, 'k1')).toEqual(first);
    expect(await refund({ reason: 'a mug', amount: { currency: 'USDT', value: '1' } }, 'k1')).toEqual(first);
    const other = { code: 'idempotency_conflict' };
    expect(await refund({ reason: 'a mug', amount: { currency: 'USDT', value: '1.01' } }, 'k1')).toMatchObject(other);
    const named = { reason: 'a mug', amount: { currency: 'USDT', value: '1.00' }, transactionId: paid.transactionId };
    expect(await refund(named, 'k1')).toMatchObject(other);
  });
});

describe('money without a single payer', () => {
  it('pays the order, is not shown as refundable, and is named as the reason', async () => {
    const { pay, refund, view } = await world();
    await pay(null, '10.00');
    expect(await view()).toMatchObject({ status: 'paid', refundable: '0.00', received: '10.00' });
    expect(await refund({ amount: { value: '10.00', currency: 'USDT' } })).toMatchObject({ code: 'payer_ambiguous' });
  });
});
