import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:http';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { createTokenBucketLimiter } from '../../../src/adapters/memory/token-bucket.ts';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { linkRoutes } from '../../../src/checkout/link.routes.ts';
import { LANGUAGES } from '../../../src/checkout/languages.ts';
import type { PaymentLinkId, SessionId } from '../../../src/domain/values/ids.ts';
import type { PayerLinks, PaymentLinkView } from '../../../src/features/payment-links/payment-links.ts';
import { StoreUnavailable } from '../../../src/ports/event-log/event-store.ts';
import { ConcurrencyExhausted } from '../../../src/runtime/commands/handler.ts';
import { MERCHANT_ID } from '../../support/session-facts.ts';

const linkId = `pl_${'a'.repeat(20)}` as PaymentLinkId;
const SESSION = `cs_${'b'.repeat(32)}` as SessionId;
const link: PaymentLinkView = {
  linkId,
  merchantId: MERCHANT_ID,
  mode: 'test',
  amount: '1234.50',
  currency: 'EUR',
  description: '<b>Concert</b>',
  maxUses: 3,
  ...{ maxOpen: 2, maxUnpaidPerDay: 10 },
  ...{ endsAtSec: null, createdAtSec: 1, status: 'on', switchedOff: null, made: 0, paid: 0, open: 0, unpaidOfDay: 0 },
};
const shop = { name: 'Mug shop', host: null, contact: 'mailto:a@mugs.example', logo: null };
let server: Server | null = null;

async function served(
  view: Partial<PaymentLinkView> = {},
  pay: (press: string) => Promise<unknown> = async () => ({ ok: true, value: SESSION }),
  address = '203.0.113.9',
) {
  const presses: string[] = [];
  const visitors: string[] = [];
  const made = new Map<string, SessionId>();
  const app = express();
  const router = express.Router();
  const german = LANGUAGES.find(({ code }) => code === 'de')!;
  linkRoutes(
    router,
    {
      api: {
        linkFor: async (id) => (id === linkId ? { link: { ...link, ...view }, shop } : null),
        shopFor: async (id) => (id === linkId ? shop : null),
        paymentOf: async (id, press) => (id === linkId ? { sessionId: made.get(press) ?? null } : null),
        pay: async (_id, { press, visitor }) => {
          presses.push(press);
          visitors.push(visitor);
          const outcome = (await pay(press)) as Awaited<ReturnType<PayerLinks['pay']>>;
          if (outcome.ok) made.set(press, outcome.value);
          return outcome;
        },
        waitSec: async () => 1_234,
      },
      ...{ clock: { nowMs: () => 0 }, random: nodeRandom, clientAddress: () => address, sandbox: false },
      limiter: {
        visitors: createTokenBucketLimiter({ ratePerSec: 0.01, burst: 2 }),
        links: createTokenBucketLimiter({ ratePerSec: 1, burst: 60 }),
      },
    },
    {
      languageOf: (request) => (request.query['lang'] === 'de' ? german : LANGUAGES[0]!),
      notFound: (_request, response) => void response.status(404).end(),
    },
  );
  app.use(router);
  server = createServer(app);
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = (path = `/l/${linkId}`) => fetch(`${base}${path}`);
  const post = (press: string, headers: Record<string, string> = {}) =>
    fetch(`${base}/l/${linkId}?lang=de`, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: new URLSearchParams({ press }),
    });
  return { get, post, presses, visitors };
}
const pressOn = (page: string): string => /name="press" value="([^"]+)"/.exec(page)![1]!;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

describe('the page of a link for many payments', () => {
  it('says who asks for how much and creates nothing when it is loaded, however often', async () => {
    const { get, presses } = await served();
    const [one, two] = await Promise.all([get(), get()]);
    const page = await one.text();
    expect(page).toContain('Pay €1,234.50');
    expect(page).toContain('&lt;b&gt;Concert&lt;/b&gt;');
    expect(page).toContain('Mug shop');
    expect(pressOn(page)).not.toBe(pressOn(await two.text()));
    expect(one.headers.get('content-security-policy')).toContain(`form-action 'self'`);
    expect(one.headers.get('cache-control')).toBe('private, no-cache');
    expect(page).toContain(`action="/l/${linkId}?pay&amp;lang=en"`);
    expect(presses).toEqual([]);
    expect((await get('/l/pl_nothing')).status).toBe(404);
    expect((await get(`/l/pl_${'c'.repeat(20)}`)).status).toBe(404);
  });

  it('leads visitors who press to their payment, in their language, and to the same one for the same press', async () => {
    const { get, post, presses } = await served();
    const press = pressOn(await (await get()).text());
    const made = await post(press);
    expect([made.status, made.headers.get('location')]).toEqual([303, `/pay/${SESSION}?lang=de`]);
    expect((await post(press)).headers.get('location')).toBe(`/pay/${SESSION}?lang=de`);
    expect(presses).toHaveLength(1);
    // What is written down tells nobody where the visitor was.
    expect(presses[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it('lets one visitor create few payments, and none from the page of another site', async () => {
    const { get, post, presses } = await served();
    const press = pressOn(await (await get()).text());
    expect((await post(press, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(200);
    expect(presses).toEqual([]);
    // Going back to a payment that is there takes nothing of the limit.
    for (let again = 0; again < 3; again += 1) expect((await post(press)).status).toBe(303);
    expect((await post('another page')).status).toBe(303);
    const limited = await post('a third one');
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await post(press)).status).toBe(303);
    expect(presses).toHaveLength(2);
  });

  it('tells a visitor with too many unpaid payments when they can create another, and reveals their network to nobody', async () => {
    const refusal = { code: 'rate_limited', message: 'too many' };
    const { post, visitors } = await served({}, async () => ({ ok: false, refusal }), '2001:db8:1:2::3');
    const refused = await post('a page');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1234']);
    expect(await refused.text()).toMatch(/nicht bezahlt/);
    server!.close();
    const neighbour = await served({}, undefined, '2001:db8:1:ffff::9');
    await neighbour.post('another page');
    expect(neighbour.visitors).toEqual(visitors);
    expect(visitors[0]).toMatch(/^[0-9a-f]{3}$/);
  });

  it.each([
    ['off', 410, 'switched this link off'],
    ['over', 410, 'end date'],
    ['used_up', 410, 'as often as it could be'],
    ['busy', 200, 'Others are paying'],
    ['paused', 200, 'Try again later'],
  ] as const)('says that a link is %s, and then has no button', async (status, code, words) => {
    const { get } = await served({ status });
    const answer = await get();
    const page = await answer.text();
    expect(answer.status).toBe(code);
    expect(page).toContain(words);
    expect(page).not.toContain('<button');
  });

  it('says so if no payment can be created now', async () => {
    const refused = await served({}, async () => ({
      ok: false,
      refusal: { code: 'service_unavailable', message: 'no network' },
    }));
    const answer = await refused.post('x');
    expect(answer.status).toBe(503);
    expect(await answer.text()).not.toContain('no network');
    server!.close();
    const unavailable = await served({}, () => Promise.reject(new StoreUnavailable('gone')));
    expect((await unavailable.post('x')).status).toBe(503);
    server!.close();
    const crowded = await served({}, () => Promise.reject(new ConcurrencyExhausted('others won')));
    expect((await crowded.post('x')).status).toBe(503);
  });
});
