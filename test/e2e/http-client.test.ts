import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Quittance } from '../../packages/client/src/client.ts';
import {
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
} from '../../packages/client/src/errors.ts';
import { FAKE_DESKS } from '../support/fake-executors.ts';
import { startTestServer, type TestServer } from '../support/http-api.ts';

let service: TestServer;
let quittance: Quittance;
beforeAll(async () => {
  service = await startTestServer(FAKE_DESKS);
  quittance = createClient({ baseUrl: service.base, apiKey: service.key.apiKey, apiSecret: service.key.secret });
});
afterAll(() => service.close());

describe('the client against the API', () => {
  it('creates, reads and cancels a session', async () => {
    const session = await quittance.sessions.create({
      amount: '10.5',
      currency: 'USD',
      order_id: 'ünïcode ☕',
      metadata: { note: '東京' },
    });
    expect(session).toMatchObject({
      amount_total: '10.50',
      payment_status: 'unpaid',
      metadata: { note: '東京', order_id: 'ünïcode ☕' },
    });
    expect(await quittance.sessions.get(session.id)).toEqual(session);
    expect((await quittance.sessions.cancel(session.id)).status).toBe('cancelled');
    await expect(quittance.sessions.cancel(session.id)).rejects.toMatchObject({
      name: 'InvalidRequestError',
      code: 'session_expired',
      status: 400,
    });
  });

  it('refunds a paid session', async () => {
    const session = await quittance.sessions.create({ amount: '3.00', currency: 'USDC', order_id: 'refunded' });
    service.api.pay(session.id);
    const refund = await quittance.refunds.create({ session_id: session.id, reason: 'broken' });
    expect(refund).toMatchObject({ type: 'full', status: 'PENDING', amount: { value: '3.00', currency: 'USDC' } });
    expect(await quittance.refunds.get(refund.id)).toEqual(refund);
  });

  it('reaches every other endpoint', async () => {
    expect((await quittance.sessions.page({ page: 2, page_size: 10, status: 'unpaid' })).data).toEqual([]);
    expect((await quittance.transactions.page({ type: 'fee', coin: 'ETH' })).pagination.has_more).toBe(false);
    expect((await quittance.merchant.get()).name).toBe('Alpha');
    expect((await quittance.merchant.change({ settlement_currency: 'USDC' })).mode).toBe('test');
    expect((await quittance.merchant.pendingChanges()).data).toEqual([]);
    expect((await quittance.merchant.withdrawChange('chg_1')).data).toEqual([]);
    const [delivery] = (await quittance.deliveries.page({ status: 'exhausted' })).data;
    expect((await quittance.deliveries.get(delivery!.id)).log).toHaveLength(1);
    expect((await quittance.deliveries.redeliver(delivery!.id)).status).toBe('pending');
    expect(await quittance.deliveries.replay({ created_from: 1 })).toEqual({ requested: 3 });
    expect((await quittance.deliveries.test('refund.failed')).sample).toBe(true);
    expect((await quittance.events.after('', { page_size: 5 })).data).toHaveLength(1);
    expect((await quittance.events.get(delivery!.id)).id).toBe(delivery!.id);
    const [endpoint] = (await quittance.endpoints.list()).data;
    expect(await quittance.endpoints.get(endpoint!.id)).toEqual(endpoint);
    const { webhook_secret: issued, standard_webhooks_secret: standard } = await quittance.endpoints.issueSecret(
      endpoint!.id,
    );
    expect(Buffer.from(standard.slice('whsec_'.length), 'base64').toString()).toBe(issued);
    expect(await quittance.endpoints.activateSecret(endpoint!.id)).toEqual(endpoint);
    expect(await quittance.endpoints.resume(endpoint!.id)).toEqual(endpoint);
    const further = await quittance.endpoints.create({
      url: 'https://books.example/hook',
      events: ['payment.late'],
      fields: ['tx_hash'],
    });
    expect(further).toMatchObject({
      url: 'https://books.example/hook',
      events: ['payment.late'],
      webhook_secret: expect.stringMatching(/^whs_/),
    });
    expect((await quittance.endpoints.change(endpoint!.id, { disabled: true })).disabled).toBe(true);
    const requests = [];
    for await (const request of quittance.requests.all({ status: 200 })) requests.push(request);
    expect(requests[0]).toMatchObject({ operation: 'changeWebhookEndpoint', status: 200, error_code: null });
    expect(await quittance.requests.get(requests[0]!.id)).toEqual(requests[0]);
    const session = await quittance.sessions.create({ amount: '1.00', currency: 'USD', order_id: 'sandbox' });
    expect((await quittance.sessions.timeline(session.id)).conclusion).toBe('Not paid yet.');
    expect((await quittance.refunds.page()).data).toEqual([]);
    expect((await quittance.ledger.balances({ as_of: '2026-01-31', clock: 'chain' })).data[0]).toMatchObject({
      payable: '5.00',
      total: '4.99',
    });
    const entries = [];
    for await (const entry of quittance.ledger.entries({ from: '2026-01-01' })) entries.push(entry);
    expect(entries[0]?.lines[0]).toMatchObject({ account: 'payable', amount: '5.00' });
    expect((await quittance.ledger.settlement({ to: '2026-01-31' })).to).toBe('2026-01-31');
    for await (const line of quittance.ledger.settlementLines())
      expect(line).toMatchObject({ payable: '5.00', unapplied: '-5.00', total: '0.00' });
    expect((await quittance.sandbox.advance(session.id, { seconds: 60 })).session_id).toBe(session.id);
    expect((await quittance.sandbox.pay(session.id, { network: 'bsc', case: 'two_payers' })).case).toBe('two_payers');
  });

  it('has a method for every operation of the OpenAPI document', async () => {
    const { paths } = (await (await fetch(`${service.base}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const documented = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const called = new Set(service.observed.filter(({ status }) => status === 200).map(({ operation }) => operation));
    expect(documented.filter((operation) => !called.has(operation))).toEqual([]);
  });

  it('rejects with the type of error that says what to do', async () => {
    await expect(quittance.sessions.create({ amount: '1e3', currency: 'USD', order_id: 'x' })).rejects.toMatchObject({
      param: 'amount',
      requestId: expect.stringMatching(/^req_/) as string,
    });
    await expect(quittance.sessions.create({ amount: '0', currency: 'USD', order_id: 'x' })).rejects.toBeInstanceOf(
      InvalidRequestError,
    );
    await expect(quittance.refunds.get('re_none')).rejects.toBeInstanceOf(NotFoundError);
    await quittance.sessions.create({ amount: '1.00', currency: 'USD', order_id: 'taken' });
    await expect(
      quittance.sessions.create({ amount: '2.00', currency: 'USD', order_id: 'taken' }),
    ).rejects.toBeInstanceOf(ConflictError);
    const stranger = createClient({ baseUrl: service.base, apiKey: service.key.apiKey, apiSecret: 'wrong' });
    await expect(stranger.sessions.page()).rejects.toBeInstanceOf(AuthenticationError);
  });
});
