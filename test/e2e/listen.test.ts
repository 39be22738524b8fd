import { createServer } from 'node:http';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webhookHandler, type WebhookEvent } from '../../packages/client/src/webhooks.ts';
import { readAccess, startListening, trigger, type MerchantAccess } from '../../src/cli/listen.ts';
import { FAKE_DESKS } from '../support/fake-executors.ts';
import { startTestServer, type TestServer } from '../support/http-api.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SECRET = 'whs_test_of_the_shop';
const [EARLIER, LATER] = [1, 2].map((n) =>
  JSON.stringify({ id: `evt_176722566012345678${n}`, type: 'payment.completed', created_at: n, data: { object: {} } }),
);
let isTold = false;
let service: TestServer;
let access: MerchantAccess;
beforeAll(async () => {
  const events: typeof FAKE_DESKS.webhooks.events = async (_reader, { cursor = '', createdFromSec }) => {
    const feed = [EARLIER!, ...(isTold ? [LATER!] : [])];
    const bodies = createdFromSec === undefined ? feed.slice(Number(cursor)) : [];
    return { ok: true, value: { bodies, hasMore: false, nextCursor: String(feed.length) } };
  };
  service = await startTestServer({ ...FAKE_DESKS, webhooks: { ...FAKE_DESKS.webhooks, events } });
  access = {
    baseUrl: service.base,
    apiKey: service.key.apiKey,
    apiSecret: service.key.secret,
    webhookSecret: SECRET,
    headerPrefix: 'X-Service-',
  };
});
afterAll(() => service.close());

/** A shop's receiver on this machine. */
async function receiver() {
  const received: WebhookEvent[] = [];
  const server = createServer(
    (request, response) =>
      void webhookHandler({ secret: SECRET }, (event) => void received.push(event))(request, response),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    close: () => server.close(),
  };
}

const until = async (isSo: () => boolean): Promise<void> => {
  for (const end = Date.now() + 10_000; !isSo() && Date.now() < end;) await new Promise((wait) => setTimeout(wait, 20));
};

describe('quittance listen', () => {
  it('forwards events from now on, once and signed like webhooks, and survives a receiver that is down', async () => {
    const shop = await receiver();
    const said: string[] = [];
    const listening = await startListening(access, { forwardTo: shop.url, say: (line) => said.push(line), pollMs: 20 });
    isTold = true;
    await until(() => said.length > 1);
    await new Promise((wait) => setTimeout(wait, 100));
    await listening.close();
    shop.close();
    expect(shop.received.map(({ id }) => id)).toEqual(['evt_1767225660123456782']);
    expect(said).toEqual([`listening; forwarding to ${shop.url}`, 'payment.completed evt_1767225660123456782 -> 200']);

    isTold = false;
    const alone = await startListening(access, { forwardTo: shop.url, say: (line) => said.push(line), pollMs: 20 });
    isTold = true;
    await until(() => said.length > 3);
    await alone.close();
    expect(said.at(-1)).toMatch(/^payment\.completed evt_1767225660123456782 -> no answer \(/);
  });

  it('says what is missing, naming it', async () => {
    const options = { forwardTo: 'http://127.0.0.1:1/', say: () => undefined };
    await expect(startListening(access, { ...options, forwardTo: 'ftp://shop' })).rejects.toThrow('--forward-to');
    await expect(startListening({ ...access, webhookSecret: undefined }, options)).rejects.toThrow(
      'QUITTANCE_WEBHOOK_SECRET',
    );
    expect(() => readAccess(undefined, { QUITTANCE_URL: 'http://127.0.0.1' })).toThrow(
      'QUITTANCE_API_KEY, QUITTANCE_API_SECRET',
    );
    expect(() => readAccess('/nowhere.json', {})).toThrow('--credentials');
  });

  it('reads its keys from a file like sandbox.json', () => {
    const folder = temporaryFolder('listen');
    const file = join(folder, 'sandbox.json');
    writeFileSync(
      file,
      JSON.stringify({
        base_url: 'http://127.0.0.1:8080',
        merchant: { api_key: 'sk_test_a', api_secret: 'b', webhook_secret: 'c' },
      }),
    );
    expect(readAccess(file, {})).toMatchObject({
      baseUrl: 'http://127.0.0.1:8080',
      apiKey: 'sk_test_a',
      apiSecret: 'b',
      webhookSecret: 'c',
    });
    writeFileSync(file, '{}');
    expect(() => readAccess(file, {})).toThrow('must hold base_url');
  });
});

describe('quittance trigger', () => {
  it.each(['partial', 'expired', 'cancelled'])('produces %s on a new session', async (kind) => {
    expect(await trigger(access, kind, 'bsc')).toMatchObject({
      case: kind,
      session_id: expect.stringMatching(/^cs_/) as string,
    });
  });

  it('refuses an unknown case and an unknown network', async () => {
    await expect(trigger(access, 'magic', 'bsc')).rejects.toThrow('the case must be one of');
    await expect(trigger(access, 'exact', 'dogecoin')).rejects.toThrow('--network must be one of');
  });
});
