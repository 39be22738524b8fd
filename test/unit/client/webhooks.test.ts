import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import {
  verifyWebhook,
  webhookHandler,
  WebhookVerificationError,
  type WebhookEvent,
  type WebhookOptions,
} from '../../../packages/client/src/webhooks.ts';
import { PAYMENT_EVENT_EXAMPLE } from '../../../src/http/schemas/webhook.example.ts';

const SECRET = 'whsec_new';
const NOW_SEC = 1_767_225_700;
const BODY = JSON.stringify(PAYMENT_EVENT_EXAMPLE);
const options: WebhookOptions = { secret: SECRET, nowSec: () => NOW_SEC };

function headersFor(
  body: string,
  secrets: { readonly main: string; readonly next?: string } = { main: SECRET },
  timestamp: number | string = NOW_SEC,
): Record<string, string> {
  const nonce = '6f3b8a0e-5f0c-4b1e-9a53-0d2f1c7a9e44';
  const mac = (secret: string): string =>
    createHmac('sha256', secret).update(`${timestamp}.${nonce}.${body}`).digest('hex');
  return {
    'x-service-timestamp': String(timestamp),
    'x-service-nonce': nonce,
    'x-service-signature': mac(secrets.main),
    ...(secrets.next === undefined ? undefined : { 'x-service-signature-next': mac(secrets.next) }),
  };
}

describe('a webhook', () => {
  it('is verified from text, bytes and a Buffer, with headers in any form', async () => {
    const headers = headersFor(BODY);
    const mixed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    for (const body of [BODY, new TextEncoder().encode(BODY), Buffer.from(BODY)]) {
      for (const form of [headers, mixed, new Headers(headers)])
        expect(await verifyWebhook(body, form, options)).toEqual(PAYMENT_EVENT_EXAMPLE);
    }
  });

  it.each([-300, 300])('is accepted %i s away from now', async (offset) => {
    await expect(
      verifyWebhook(BODY, headersFor(BODY, { main: SECRET }, NOW_SEC + offset), options),
    ).resolves.toBeDefined();
  });

  const changed = (patch: Record<string, string | undefined>) => ({ ...headersFor(BODY), ...patch });
  it.each<[string, () => Promise<unknown>]>([
    ['301 s old', () => verifyWebhook(BODY, headersFor(BODY, { main: SECRET }, NOW_SEC - 301), options)],
    ['301 s ahead', () => verifyWebhook(BODY, headersFor(BODY, { main: SECRET }, NOW_SEC + 301), options)],
    ['dated in words', () => verifyWebhook(BODY, headersFor(BODY, { main: SECRET }, 'now'), options)],
    ['signed with another secret', () => verifyWebhook(BODY, headersFor(BODY, { main: 'other' }), options)],
    ['signed with the API secret', () => verifyWebhook(BODY, headersFor(BODY, { main: 'api-secret' }), options)],
    [
      'parsed and written again',
      () => verifyWebhook(JSON.stringify(JSON.parse(BODY), null, 1), headersFor(BODY), options),
    ],
    ['without a signature', () => verifyWebhook(BODY, changed({ 'x-service-signature': undefined }), options)],
    ['without a timestamp', () => verifyWebhook(BODY, changed({ 'x-service-timestamp': undefined }), options)],
    ['without a nonce', () => verifyWebhook(BODY, changed({ 'x-service-nonce': undefined }), options)],
    ['with an empty signature', () => verifyWebhook(BODY, changed({ 'x-service-signature': '' }), options)],
    ['with another nonce', () => verifyWebhook(BODY, changed({ 'x-service-nonce': 'other' }), options)],
    [
      'with a repeated signature header',
      () =>
        verifyWebhook(
          BODY,
          { ...headersFor(BODY), 'X-Service-Signature': headersFor(BODY)['x-service-signature'] },
          options,
        ),
    ],
    [
      'under another header prefix',
      () => verifyWebhook(BODY, headersFor(BODY), { ...options, headerPrefix: 'X-Shop-' }),
    ],
  ])('is refused when it is %s', async (_, verify) => {
    await expect(verify()).rejects.toBeInstanceOf(WebhookVerificationError);
  });

  it('is verified by the old or the new secret while the secret is rotated', async () => {
    const rotating = headersFor(BODY, { main: 'whsec_old', next: 'whsec_new' });
    for (const secret of ['whsec_old', 'whsec_new', ['whsec_old', 'whsec_new'], ['whsec_new']]) {
      await expect(verifyWebhook(BODY, rotating, { ...options, secret })).resolves.toBeDefined();
    }
    await expect(
      verifyWebhook(BODY, headersFor(BODY, { main: 'whsec_new' }), { ...options, secret: ['whsec_old', 'whsec_new'] }),
    ).resolves.toBeDefined();
  });

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['blank', '  '],
    ['none', []],
    ['one of two that is missing', [SECRET, undefined]],
    ['one of two that is empty', ['', SECRET]],
  ])('is not verified, and no handler starts, with a secret that is %s', async (_, secret) => {
    const without = { ...options, secret: secret as string };
    await expect(verifyWebhook(BODY, headersFor(BODY), without)).rejects.toThrow(
      'the webhook secret is missing or empty',
    );
    expect(() => webhookHandler(without, () => undefined)).toThrow('the webhook secret is missing or empty');
  });
});

describe('the webhook handler', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  async function serve(
    mount: (app: express.Express) => void,
  ): Promise<(body: string, headers: Record<string, string>) => Promise<{ status: number; body: unknown }>> {
    const app = express();
    mount(app);
    server = createServer(app).listen(0, '127.0.0.1');
    await new Promise((resolve) => server!.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    return async (body, headers) => {
      const response = await fetch(url, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json', ...headers },
      });
      return { status: response.status, body: await response.json() };
    };
  }

  it('passes the event on and acknowledges it', async () => {
    const events: WebhookEvent[] = [];
    const send = await serve((app) =>
      app.post(
        '/hook',
        webhookHandler(options, (event) => void events.push(event)),
      ),
    );
    expect(await send(BODY, headersFor(BODY))).toEqual({ status: 200, body: { received: true } });
    expect(events).toEqual([PAYMENT_EVENT_EXAMPLE]);
  });

  it('works behind express.raw() too', async () => {
    const send = await serve((app) =>
      app.post(
        '/hook',
        express.raw({ type: 'application/json' }),
        webhookHandler(options, () => {}),
      ),
    );
    expect((await send(BODY, headersFor(BODY))).status).toBe(200);
  });

  it('returns 401 with an error and passes nothing on if the signature is wrong', async () => {
    let called = 0;
    const send = await serve((app) =>
      app.post(
        '/hook',
        webhookHandler(options, () => void (called += 1)),
      ),
    );
    const answer = await send(BODY, headersFor(`${BODY} `));
    expect([answer.status, answer.body, called]).toEqual([401, { error: 'the signature is wrong' }, 0]);
    expect((await send('x'.repeat(300_000), headersFor(BODY))).status).toBe(401);
  });

  it('returns 500 if the event could not be handled, so that it is sent again', async () => {
    const send = await serve((app) =>
      app.post(
        '/hook',
        webhookHandler(options, () => Promise.reject(new Error('database'))),
      ),
    );
    expect(await send(BODY, headersFor(BODY))).toEqual({
      status: 500,
      body: { error: 'the event could not be handled' },
    });
  });

  it('tells `onError` why, and responds whatever that does', async () => {
    const told: unknown[] = [];
    const onError = (error: unknown): never => {
      told.push(error);
      throw new Error('the log is full');
    };
    const failure = new Error('database');
    const send = await serve((app) =>
      app.post(
        '/hook',
        webhookHandler({ ...options, onError }, () => Promise.reject(failure)),
      ),
    );
    expect((await send(BODY, headersFor(`${BODY} `))).status).toBe(401);
    expect((await send(BODY, headersFor(BODY))).status).toBe(500);
    expect(told).toEqual([expect.any(WebhookVerificationError), failure]);
  });

  it('says in so many words that a parsed body cannot be verified', async () => {
    await expect(verifyWebhook(JSON.parse(BODY) as string, headersFor(BODY), options)).rejects.toThrow(
      'needs the raw body',
    );
    await expect(verifyWebhook(undefined as unknown as string, headersFor(BODY), options)).rejects.toThrow(TypeError);
  });

  it('says what is wrong when the body was parsed before', async () => {
    const send = await serve((app) =>
      app.use(express.json()).post(
        '/hook',
        webhookHandler(options, () => {}),
      ),
    );
    const answer = await send(BODY, headersFor(BODY));
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([
      500,
      expect.stringContaining('before express.json()'),
    ]);
  });
});
