import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiKeyId, MerchantId } from '../../../src/domain/values/ids.ts';
import { RequestLog, type LoggedRequest } from '../../../src/features/shared/request-log.ts';
import { newKey, startTestServer, type TestKey, type TestServer } from '../../support/http-api.ts';

/* What a merchant can look up of its own requests. */

let service: TestServer;
let other: TestKey;
beforeAll(async () => {
  service = await startTestServer({ requestLog: new RequestLog() });
  other = service.keys.add(newKey('beta'));
});
afterAll(() => service.close());

const listed = async (
  query: string,
  key = service.key,
): Promise<{ data: Record<string, unknown>[]; pagination: Record<string, unknown> }> =>
  (await service.call('GET', `/v1/requests${query}`, undefined, { key })).json;

describe('the log of requests', () => {
  it("has each by its response's id, with what was refused and why", async () => {
    const refused = await service.call(
      'POST',
      '/api/v1/checkout/sessions/create',
      '{"amount":"1.00","currency":"USD","order_id":""}',
      {},
    );
    const id = refused.json.error.request_id;
    const found = (await service.call('GET', `/v1/requests/${id}`, undefined, {})).json;
    expect(found).toEqual({
      id,
      method: 'POST',
      target: '/api/v1/checkout/sessions/create',
      operation: 'createPaymentSession',
      key_id: service.key.keyId,
      ...{ status: 400, error_code: 'invalid_request', param: 'order_id', authentication_fault: null },
      ...{ at: expect.any(Number), duration_ms: expect.any(Number) },
    });
    expect((await service.call('GET', `/v1/requests/${id}`, undefined, { key: other })).status).toBe(404);
    expect((await service.call('GET', '/v1/requests/req_none', undefined, {})).status).toBe(404);
  });

  it('has what was not let in for a key of the test mode, with the check that failed', async () => {
    const nope = await service.call('GET', '/v1/refunds?page=1', undefined, {
      key: { ...service.key, secret: 'nope' },
    });
    const { data } = await listed('?status=401');
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      ...{ id: nope.json.error.request_id, operation: 'listRefunds', target: '/v1/refunds?page=1' },
      ...{ status: 401, error_code: 'authentication_failed', authentication_fault: 'signature' },
    });
    const live = service.keys.add(newKey('delta', 'live'));
    await service.call('GET', '/v1/refunds', undefined, { key: { ...live, secret: 'nope' } });
    expect((await listed('?status=401', live)).data).toEqual([]);
  });

  it('has the keys of the metadata that was searched for, and none of the values', async () => {
    const asked = {
      'metadata[customer]=ada%40example.com&page=1&metadata[plan]=':
        'metadata[customer]=[redacted]&page=1&metadata[plan]=[redacted]',
      'page=1&metadata%5Bcustomer%5D=ada@example.com': 'page=1&metadata[customer]=[redacted]',
      'metadata[customer]%3Dada@example.com': 'metadata=[redacted]',
      'Metadata=ada@example.com&page=1': 'metadata=[redacted]&page=1',
      'metadata[%FF&=ada@example.com=b': 'metadata=[redacted]&=ada@example.com=b',
    };
    for (const [query, kept] of Object.entries(asked)) {
      await service.call('GET', `/v1/payment/sessions?${query}`, undefined, {});
      expect((await listed('?page_size=1')).data[0]).toMatchObject({
        operation: 'listPaymentSessions',
        target: `/v1/payment/sessions?${kept}`,
      });
    }
  });

  it('is paged newest first, and contains only the caller’s requests', async () => {
    for (let count = 0; count < 3; count += 1) await service.call('GET', '/v1/transactions', undefined, { key: other });
    const first = await listed('?page_size=2', other);
    expect(first.pagination).toMatchObject({ page_size: 2, has_more: true, next_cursor: first.data[1]!.id });
    const second = await listed(`?page_size=2&cursor=${String(first.pagination.next_cursor)}`, other);
    const ids = [...first.data, ...second.data].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...first.data, ...second.data].every((request) => request.key_id === other.keyId)).toBe(true);
    expect(await listed('?cursor=req_none', other)).toMatchObject({ error: { param: 'cursor' } });
    expect(await listed('?status=abc', other)).toMatchObject({ error: { param: 'status' } });
  });

  it('keeps the newest thousand of a merchant and drops the merchant that was idle longest', () => {
    const log = new RequestLog();
    const entry = (merchant: number, number: number): LoggedRequest => ({
      requestId: `req_${merchant}_${number}`,
      merchantId: `mer_${merchant}` as MerchantId,
      mode: 'test',
      keyId: 'key_1' as ApiKeyId,
      ...{ atMs: number, durationMs: 1, method: 'GET', target: '/', operation: 'x', status: 200 },
      ...{ errorCode: null, param: null, authenticationFault: null },
    });
    const owner = (merchant: number) => ({ merchantId: `mer_${merchant}` as MerchantId, mode: 'test' as const });
    for (let number = 0; number < 2_500; number += 1) log.note(entry(0, number));
    const kept = log.before(owner(0), undefined)!;
    expect([kept.length, kept[0]?.requestId, kept.at(-1)?.requestId]).toEqual([1_000, 'req_0_2499', 'req_0_1500']);
    for (let merchant = 1; merchant <= 200; merchant += 1) log.note(entry(merchant, 0));
    expect(log.before(owner(0), undefined)).toEqual([]);
    expect(log.before(owner(1), undefined)).toHaveLength(1);
  });
});
