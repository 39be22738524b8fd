import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  eventually,
  signedCall,
  startRunningSandbox,
  type ApiAnswer,
  type RunningSandbox,
} from '../support/running-sandbox.ts';

/* One merchant never sees, changes or learns of another's, and test keys never reach live facts (OWASP API1:2023). */

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../..');

interface Merchant {
  readonly id: string;
  readonly api_key: string;
  readonly api_secret: string;
}

let sandbox: RunningSandbox;
let owner: Merchant;
let stranger: Merchant;
let live: Merchant;
/** Everything of the owner's that could be asked for by id. */
let ids: { session: string; unpaid: string; refund: string; event: string; order: string };

const cli = async (...args: string[]): Promise<unknown> => {
  const { stdout } = await run(process.execPath, [resolve(repository, 'bin/quittance.mjs'), ...args, '--json'], {
    env: { ...process.env, DATA_DIR: sandbox.dataDir },
  });
  return JSON.parse(stdout);
};
const call = (merchant: Merchant, method: string, path: string, body?: unknown) =>
  signedCall(sandbox.facts.base_url, merchant, method, path, body);
const register = (name: string, mode: string) =>
  cli(
    'merchant',
    'create',
    '--name',
    name,
    '--mode',
    mode,
    ...(mode === 'test' ? ['--webhook-url', sandbox.facts.webhook_inbox.replace(/\/$/, '')] : []),
  ) as Promise<Merchant>;

beforeAll(async () => {
  sandbox = await startRunningSandbox({ env: { SANDBOX_NETWORKS: 'ethereum,bsc' } });
  owner = await register('Owner of secrets', 'test');
  stranger = await register('Stranger', 'test');
  live = await register('Live', 'live');
  const order = {
    amount: '10.00',
    currency: 'USDT',
    order_id: 'private-order',
    description: 'private words',
    metadata: { note: 'private note' },
  };
  const session = (await call(owner, 'POST', '/api/v1/checkout/sessions/create', order)).json.id as string;
  const unpaid = (
    await call(owner, 'POST', '/api/v1/checkout/sessions/create', { ...order, order_id: 'private-order-2' })
  ).json.id as string;
  await cli('sandbox', 'pay', session, '--network', 'bsc');
  await eventually(
    'payment',
    async () => (await call(owner, 'GET', `/api/v1/checkout/sessions/${session}`)).json.payment_status === 'paid',
  );
  const refund = (
    await call(owner, 'POST', '/v1/refunds', { session_id: session, amount: { value: '1.00', currency: 'USDT' } })
  ).json.id as string;
  const events = await eventually('the event', async () => {
    const { data } = (await call(owner, 'GET', '/v1/webhooks/deliveries')).json as { data: readonly { id: string }[] };
    return data.length > 0 ? data : null;
  });
  ids = { session, unpaid, refund, event: events[0]!.id, order: 'private-order' };
});

afterAll(async () => {
  await sandbox?.stop();
  if (sandbox) rmSync(sandbox.dataDir, { recursive: true, force: true });
});

/** An id of the same form that nothing has. */
const absent = (id: string): string => `${id.slice(0, -12)}${[...id.slice(-12)].reverse().join('')}`;
const withoutRequestId = ({ status, json }: ApiAnswer) => ({
  status,
  json: { ...json, error: { ...json.error, request_id: '' } },
});

const byId: readonly [string, (id: typeof ids) => [string, string, unknown?]][] = [
  ['get a session', ({ session }) => ['GET', `/api/v1/checkout/sessions/${session}`]],
  [
    'get a session with all of it',
    ({ session }) => ['GET', `/api/v1/checkout/sessions/${session}?expand=refunds,events,timeline`],
  ],
  ['get a refund with its session', ({ refund }) => ['GET', `/v1/refunds/${refund}?expand=session`]],
  [
    'get a session by its other prefix',
    ({ session }) => ['GET', `/api/v1/checkout/sessions/${session.replace('cs_', 'sess_')}`],
  ],
  ['cancel a session', ({ unpaid }) => ['POST', `/api/v1/checkout/sessions/${unpaid}/cancel`]],
  ['explain a session', ({ session }) => ['GET', `/v1/payment/sessions/${session}/timeline`]],
  ['pay a session in the sandbox', ({ unpaid }) => ['POST', `/v1/sandbox/sessions/${unpaid}/pay`, { network: 'bsc' }]],
  [
    'refund a session',
    ({ session }) => ['POST', '/v1/refunds', { session_id: session, amount: { value: '1.00', currency: 'USDT' } }],
  ],
  ['get a refund', ({ refund }) => ['GET', `/v1/refunds/${refund}`]],
  ['get a delivery', ({ event }) => ['GET', `/v1/webhooks/deliveries/${event}`]],
  ['repeat a delivery', ({ event }) => ['POST', `/v1/webhooks/deliveries/${event}/redeliver`]],
];

describe.each([
  ['another merchant', () => stranger],
  ['a live key', () => live],
])('%s', (_, merchant) => {
  it.each(byId)('may not %s: the response is that of an unknown id', async (_name, request) => {
    const [method, path, body] = request(ids);
    const foreign = await call(merchant(), method, path, body);
    const fakeIds = {
      ...ids,
      session: absent(ids.session),
      unpaid: absent(ids.unpaid),
      refund: absent(ids.refund),
      event: absent(ids.event),
    };
    const [fakeMethod, fakePath, fakeBody] = request(fakeIds);
    const nothing = await call(merchant(), fakeMethod, fakePath, fakeBody);
    expect(foreign.status).toBe(404);
    expect(withoutRequestId(foreign)).toEqual(withoutRequestId(nothing));
  });

  it.each([
    '/v1/payment/sessions',
    '/v1/payment/sessions?order_id=private-order',
    '/v1/payment/sessions?cursor=',
    '/v1/payment/sessions?metadata[note]=private%20note&expand=refunds',
    '/v1/transactions',
    '/v1/transactions?order_id=private-order',
    '/v1/refunds',
    '/v1/webhooks/deliveries',
    '/v1/events',
    '/v1/merchant',
  ])('sees nothing of it in %s', async (path) => {
    const { status, json } = await call(merchant(), 'GET', path);
    expect(status).toBe(200);
    const text = JSON.stringify(json);
    for (const secret of [ids.session, ids.unpaid, ids.refund, ids.event, owner.id, 'private', 'Owner of secrets'])
      expect(text).not.toContain(secret);
    if ('data' in json && Array.isArray(json.data)) expect(json.data).toEqual([]);
  });

  it('has its own session for the same order_id', async () => {
    const { status, json } = await call(merchant(), 'POST', '/api/v1/checkout/sessions/create', {
      amount: '10.00',
      currency: 'USDT',
      order_id: 'private-order',
    });
    // A live key has no network in a sandbox, so it gets no session at all.
    if (merchant().api_key.startsWith('sk_live_'))
      expect([status, json.error?.code]).toEqual([503, 'service_unavailable']);
    else expect([status, json.id === ids.session]).toEqual([200, false]);
  });
});

it("the owner's data is unchanged", async () => {
  expect((await call(owner, 'GET', `/api/v1/checkout/sessions/${ids.unpaid}`)).json).toMatchObject({
    status: 'open',
    metadata: { note: 'private note' },
  });
  const refunds = (await call(owner, 'GET', '/v1/refunds')).json.data as readonly { id: string }[];
  expect(refunds.map(({ id }) => id)).toEqual([ids.refund]);
});

it('the owner finds sessions by their metadata until they are erased', async () => {
  const found = async (query: string): Promise<readonly string[]> => {
    const { status, json } = await call(owner, 'GET', `/v1/payment/sessions?${query}`);
    expect(status).toBe(200);
    return (json.data as readonly { id: string }[]).map(({ id }) => id);
  };
  expect(await found('metadata[note]=private%20note')).toEqual([ids.unpaid, ids.session]);
  expect(await found('metadata[note]=private%20note&status=paid&network=bsc')).toEqual([ids.session]);
  expect(await found('metadata[note]=private')).toEqual([]);
  await cli('forget', ids.unpaid);
  expect(await found('metadata[note]=private%20note')).toEqual([ids.session]);
});

it('the owner gets in one request what otherwise takes several', async () => {
  const { json: session } = await call(
    owner,
    'GET',
    `/api/v1/checkout/sessions/${ids.session}?expand=refunds,events,timeline`,
  );
  expect(session['refunds']).toEqual([(await call(owner, 'GET', `/v1/refunds/${ids.refund}`)).json]);
  expect(session['events']).toContainEqual(expect.objectContaining({ type: 'payment.completed' }));
  expect(session.timeline).toMatchObject({ session_id: ids.session, conclusion: expect.stringMatching(/^Paid/) });
  const { json: refund } = await call(owner, 'GET', `/v1/refunds/${ids.refund}?expand=session`);
  expect(refund['session']).toEqual((await call(owner, 'GET', `/api/v1/checkout/sessions/${ids.session}`)).json);
  const listed = (await call(owner, 'GET', '/v1/payment/sessions?expand=refunds&status=paid')).json;
  expect(listed['data']).toMatchObject([{ id: ids.session, refunds: session['refunds'] }]);
  expect((await call(owner, 'GET', '/v1/refunds?expand=session')).json['data']).toMatchObject([
    { id: ids.refund, session: { id: ids.session } },
  ]);
});
