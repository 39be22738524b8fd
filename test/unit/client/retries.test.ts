import { describe, expect, it } from 'vitest';
import { createClient, type ClientOptions } from '../../../packages/client/src/client.ts';
import {
  ApiError,
  ConnectionError,
  InvalidRequestError,
  RateLimitedError,
  ServiceError,
} from '../../../packages/client/src/errors.ts';

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  readonly atMs: number;
}
type Step =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | 'network'
  | 'not-json';

/** A service that answers as told, one step a request; the last step repeats. */
function scripted(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const sent: Sent[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const step = steps[Math.min(sent.length, steps.length - 1)]!;
    sent.push({
      method: init.method!,
      url,
      headers: init.headers as Record<string, string>,
      body: init.body as string | undefined,
      atMs: Date.now(),
    });
    if (step === 'network') throw new TypeError('fetch failed');
    if (step === 'not-json') return new Response('<html>bad gateway</html>', { status: 502 });
    return Response.json(step.body ?? {}, { status: step.status, headers: step.headers ?? {} });
  };
  const client = createClient({
    baseUrl: 'https://pay.example/',
    apiKey: 'sk_test_x',
    apiSecret: 's',
    fetch,
    ...options,
  });
  return { client, sent };
}
const failure = (status: number, code: string, headers: Record<string, string> = {}): Step => ({
  status,
  body: { error: { code, message: 'm', request_id: 'r' } },
  headers,
});
const ORDER = { amount: '1.00', currency: 'USD', order_id: 'o' };

describe('the client', () => {
  it.each<[string, Step]>([
    ['the network fails', 'network'],
    ['a proxy answers 502', 'not-json'],
    ['the service fails', failure(500, 'internal_error')],
    ['the service cannot take it now', failure(503, 'service_unavailable')],
    ['two requests met', failure(409, 'conflict')],
    ['the body came too late', failure(408, 'request_timeout')],
  ])('tries again when %s, with one idempotency key and a new signature', async (_, step) => {
    const { client, sent } = scripted([step, { status: 200, body: { id: 'cs_1' } }]);
    expect(await client.sessions.create(ORDER)).toEqual({ id: 'cs_1' });
    expect(sent).toHaveLength(2);
    const [first, second] = sent as [Sent, Sent];
    expect(second.headers['Idempotency-Key']).toBe(first.headers['Idempotency-Key']);
    expect(second.headers['X-Service-Nonce']).not.toBe(first.headers['X-Service-Nonce']);
    expect(second.body).toBe(first.body);
    expect(second.atMs - first.atMs).toBeGreaterThan(150);
  });

  it('waits for as long as the service says', async () => {
    const { client, sent } = scripted([failure(429, 'rate_limited', { 'Retry-After': '1' }), { status: 200 }]);
    await client.refunds.create({ session_id: 'cs_1' });
    expect(sent[1]!.atMs - sent[0]!.atMs).toBeGreaterThanOrEqual(990);
  });

  it.each<[Step, typeof ApiError]>([
    [failure(400, 'invalid_request'), InvalidRequestError],
    [failure(409, 'order_id_conflict'), ApiError],
    [failure(401, 'authentication_failed'), ApiError],
    [failure(404, 'not_found'), ApiError],
  ])('does not repeat a request that was understood and refused', async (step, kind) => {
    const { client, sent } = scripted([step]);
    await expect(client.sessions.create(ORDER)).rejects.toBeInstanceOf(kind);
    expect(sent).toHaveLength(1);
  });

  it('sends the furthest position that it received with reads, and none with writes', async () => {
    const positions = ['C:900/P:900', 'C:1000/P:1000', 'C:950/P:950', null];
    const answers = positions.map((position): Step => ({
      status: 200,
      headers: position === null ? {} : { 'Quittance-Position': position },
    }));
    const { client, sent } = scripted(answers);
    await client.sessions.create(ORDER);
    await client.sessions.get('cs_1');
    await client.refunds.create({ session_id: 'cs_1' });
    await client.sessions.get('cs_1');
    await client.sessions.get('cs_1');
    expect(sent.map(({ headers }) => headers['Quittance-Position'])).toEqual([
      undefined,
      'C:900/P:900',
      undefined,
      'C:1000/P:1000',
      'C:1000/P:1000',
    ]);
  });

  it('gives up after the configured retries, with a typed error', async () => {
    const limited = scripted([failure(429, 'rate_limited')], { maxRetries: 1 });
    await expect(limited.client.sessions.get('cs_1')).rejects.toBeInstanceOf(RateLimitedError);
    expect(limited.sent).toHaveLength(2);
    const failing = scripted(['not-json'], { maxRetries: 0 });
    await expect(failing.client.sessions.get('cs_1')).rejects.toMatchObject({
      name: 'ServiceError',
      status: 502,
      code: 'unknown',
    });
    await expect(failing.client.sessions.get('cs_1')).rejects.toBeInstanceOf(ServiceError);
    await expect(scripted(['network'], { maxRetries: 0 }).client.merchant.get()).rejects.toBeInstanceOf(
      ConnectionError,
    );
  });

  it('keeps a given idempotency key, and sends none without a POST', async () => {
    const { client, sent } = scripted([{ status: 200 }]);
    await client.refunds.create({ session_id: 'cs_1' }, { idempotencyKey: 'mine' });
    await client.refunds.get('re_1');
    await client.merchant.change({ tolerance: '0.10' });
    expect(sent.map(({ headers }) => headers['Idempotency-Key'])).toEqual(['mine', undefined, undefined]);
    expect(sent.map(({ headers }) => headers['Content-Type'])).toEqual([
      'application/json',
      undefined,
      'application/json',
    ]);
  });

  it('stops at once when it is aborted, also while it waits', async () => {
    const { client, sent } = scripted([failure(503, 'service_unavailable', { 'Retry-After': '60' })]);
    const abort = new AbortController();
    const call = client.sessions.get('cs_1', { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 50);
    await expect(call).rejects.toThrow('enough');
    expect(sent).toHaveLength(1);
  });

  it('writes ids into paths as data', async () => {
    const { client, sent } = scripted([{ status: 200 }]);
    await client.sessions.get('../../v1/merchant?x=#');
    expect(sent[0]!.url).toBe('https://pay.example/api/v1/checkout/sessions/..%2F..%2Fv1%2Fmerchant%3Fx%3D%23');
  });

  it('walks a list by cursor to its end, one request a page', async () => {
    const page = (ids: string[], next: string | null): Step => ({
      status: 200,
      body: {
        data: ids.map((id) => ({ id })),
        pagination: { page_size: 100, has_more: next !== null, next_cursor: next },
      },
    });
    const { client, sent } = scripted([page(['a', 'b'], 'c1'), page(['c'], 'c2'), page(['d'], null)]);
    const ids: string[] = [];
    for await (const session of client.sessions.all({ status: 'paid', order_id: undefined! })) ids.push(session.id);
    expect(ids).toEqual(['a', 'b', 'c', 'd']);
    expect(sent.map(({ url }) => new URL(url).search)).toEqual(
      ['', 'c1', 'c2'].map((cursor) => `?status=paid&page_size=100&cursor=${cursor}`),
    );
  });

  it('fetches no page beyond what the loop needs', async () => {
    const { client, sent } = scripted([
      {
        status: 200,
        body: { data: [{ id: 'a' }], pagination: { page_size: 100, has_more: true, next_cursor: 'more' } },
      },
    ]);
    for await (const _ of client.refunds.all()) break;
    expect(sent).toHaveLength(1);
  });
});
