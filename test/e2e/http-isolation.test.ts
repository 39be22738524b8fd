import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, startTestServer, type TestAnswer, type TestKey, type TestServer } from '../support/http-api.ts';

let service: TestServer;
let foreign: TestKey;
let live: TestKey;
let sessionId: string;
let refundId: string;

beforeAll(async () => {
  service = await startTestServer();
  foreign = service.keys.add(newKey('beta'));
  live = service.keys.add(newKey('alpha', 'live'));
  const created = await service.call('POST', '/api/v1/checkout/sessions/create', {
    amount: '10.00',
    currency: 'USD',
    order_id: 'private-order',
    metadata: { a: 'private' },
  });
  sessionId = created.json.id;
  service.api.pay(sessionId);
  refundId = (
    await service.call('POST', '/v1/refunds', { session_id: sessionId, amount: { value: '1.00', currency: 'USDT' } })
  ).json.id;
});
afterAll(() => service.close());

const absent = (id: string): string => id.slice(0, -8) + [...id.slice(-8)].reverse().join('');
const calls: Record<string, (id: { session: string; refund: string }, key: TestKey) => Promise<TestAnswer>> = {
  'get session': (id, key) => service.call('GET', `/api/v1/checkout/sessions/${id.session}`, undefined, { key }),
  'cancel session': (id, key) =>
    service.call('POST', `/api/v1/checkout/sessions/${id.session}/cancel`, undefined, { key }),
  'create refund': (id, key) => service.call('POST', '/v1/refunds', { session_id: id.session }, { key }),
  'get refund': (id, key) => service.call('GET', `/v1/refunds/${id.refund}`, undefined, { key }),
};

describe.each(Object.keys(calls))('%s with another’s id', (name) => {
  it.each(['another merchant', 'the same merchant in the other mode'])(
    'returns for %s what it returns for an absent id',
    async (who) => {
      const key = who === 'another merchant' ? foreign : live;
      const theirs = await calls[name]!({ session: sessionId, refund: refundId }, key);
      const none = await calls[name]!({ session: absent(sessionId), refund: absent(refundId) }, key);
      const comparable = ({ status, json }: TestAnswer) => ({ status, error: { ...json.error, request_id: '' } });
      expect(comparable(theirs)).toEqual(comparable(none));
      expect(theirs.status).toBe(404);
      expect(theirs.text).not.toContain('private');
      expect([...theirs.headers.keys()]).toEqual([...none.headers.keys()]);
    },
  );
});

it('the same order_id of another merchant or mode is another session', async () => {
  for (const key of [foreign, live]) {
    const answer = await service.call(
      'POST',
      '/api/v1/checkout/sessions/create',
      { amount: '99.00', currency: 'USD', order_id: 'private-order' },
      { key },
    );
    expect(answer.status).toBe(200);
    expect(answer.json.id).not.toBe(sessionId);
  }
});
