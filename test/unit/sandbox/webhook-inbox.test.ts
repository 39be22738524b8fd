import { createHmac, hash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startWebhookInbox, type WebhookInbox } from '../../../src/sandbox/webhook-inbox.ts';

const SECRET = 'whsec_one';
let inbox: WebhookInbox;
beforeEach(async () => {
  inbox = await startWebhookInbox({ headerPrefix: 'X-Service-' });
  inbox.trust(SECRET);
});
afterEach(() => inbox.close());

interface Sent {
  body?: string;
  secret?: string;
  ageSec?: number;
  headers?: Record<string, string | undefined>;
  id?: string;
}

async function send({ body = '{"id":"evt_1"}', secret = SECRET, ageSec = 0, headers = {}, id = 'evt_1' }: Sent = {}) {
  const timestamp = String(Math.floor(Date.now() / 1000) - ageSec);
  const nonce = randomUUID();
  const all = {
    'content-type': 'application/json',
    'X-Service-Timestamp': timestamp,
    'X-Service-Nonce': nonce,
    'X-Service-Signature': createHmac('sha256', secret).update(`${timestamp}.${nonce}.${body}`).digest('hex'),
    'X-Service-Event-Type': 'payment.completed',
    'X-Service-Event-ID': id,
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const response = await request(inbox.webhookUrl, { method: 'POST', body, headers: given });
  return { status: response.statusCode, json: (await response.body.json()) as Record<string, unknown> };
}

describe('the webhook inbox', () => {
  it('accepts a signature over the exact bytes', async () => {
    const body = '{ "text": "ünï\\u0000" }\n';
    expect(await send({ body })).toEqual({ status: 200, json: { received: true } });
    expect(inbox.deliveries()[0]).toMatchObject({
      verdict: 'valid',
      body,
      eventId: 'evt_1',
      eventType: 'payment.completed',
      repeated: false,
    });
  });

  it('refuses everything else with 401', async () => {
    const refused: [Sent, string][] = [
      [{ secret: 'another' }, 'signature_wrong'],
      [{ headers: { 'X-Service-Signature': 'ab' } }, 'signature_wrong'],
      [{ headers: { 'X-Service-Signature': undefined } }, 'header_missing'],
      [{ headers: { 'X-Service-Nonce': undefined } }, 'header_missing'],
      [{ headers: { 'X-Service-Event-ID': undefined } }, 'header_missing'],
      [{ headers: { 'X-Service-Nonce': 'changed' } }, 'signature_wrong'],
      [{ ageSec: 301 }, 'timestamp_refused'],
      [{ ageSec: -302 }, 'timestamp_refused'],
      [{ headers: { 'X-Service-Timestamp': '1e9' } }, 'timestamp_refused'],
    ];
    for (const [sent, error] of refused) expect(await send(sent)).toEqual({ status: 401, json: { error } });
    expect(inbox.deliveries().map(({ verdict }) => verdict)).toEqual(refused.map(([, error]) => error).reverse());
  });

  it('marks a repeated event id, but only if it came with a valid signature before', async () => {
    await send({ secret: 'another' });
    await send();
    await send();
    expect(inbox.deliveries().map(({ repeated }) => repeated)).toEqual([true, false, false]);
  });

  it('accepts a new secret beside the old one', async () => {
    inbox.trust('whsec_two');
    expect((await send({ secret: 'whsec_two' })).status).toBe(200);
    expect((await send()).status).toBe(200);
  });

  it('keeps the last 200', async () => {
    for (let i = 0; i < 210; i += 1) await send({ id: `evt_${i}` });
    expect(inbox.deliveries()).toHaveLength(200);
    expect(inbox.deliveries()[0]!.eventId).toBe('evt_209');
  });

  it('limits the size of a body', async () => {
    const response = await request(inbox.webhookUrl, { method: 'POST', body: 'x'.repeat(2 * 1024 * 1024) }).catch(
      () => null,
    );
    if (response) {
      expect(response.statusCode).toBe(413);
      await response.body.dump();
    }
    expect(inbox.deliveries()).toEqual([]);
    expect((await send()).status).toBe(200);
  });

  it('uses the configured port, or another one if that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const second = await startWebhookInbox({ headerPrefix: 'X-Service-', port });
    expect(second.port).not.toBe(port);
    await second.close();
    await new Promise((resolve) => other.close(resolve));
    const third = await startWebhookInbox({ headerPrefix: 'X-Service-', port });
    expect(third.port).toBe(port);
    await third.close();
  });
});

describe('the page of the inbox', () => {
  it('shows what arrived, escaped', async () => {
    await send({
      body: '{"a":"<script>alert(1)</script>"}',
      id: '"><img src=x>',
      headers: { 'X-Service-Event-Type': '<b>&' },
    });
    const page = await request(inbox.pageUrl);
    const policy = String(page.headers['content-security-policy']);
    // Its own script, which the policy names by its hash, and no other.
    const ownScript = (html: string): string => {
      const [, script = ''] = /<script>(.*?)<\/script>/s.exec(html)!;
      expect(policy).toContain(`script-src 'sha256-${hash('sha256', script, 'base64')}'`);
      return html.replace(script, '').replace('<script></script>', '');
    };
    const html = ownScript(await page.body.text());
    expect(html).not.toMatch(/<script|<img|<b>|&lt;script/);
    const opened = new URL(/href="(\/\?open=\w+)#/.exec(html)![1]!, inbox.pageUrl);
    const withBody = ownScript(await (await request(opened)).body.text());
    expect(withBody).not.toMatch(/<script|<img|<b>/);
    expect(withBody).toContain('&lt;script&gt;');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(html).toContain('width=device-width');
    expect(html).toContain('<meta charset="utf-8">');
  });

  it('names the order, and keeps the body open that its URL names while it reloads', async () => {
    await send({ body: '{"data":{"object":{"order_id":"A-17 <i>"}}}', id: 'evt_17' });
    const html = await (await request(inbox.pageUrl)).body.text();
    expect(html).toContain('order A-17 &lt;i&gt;');
    const opened = new URL(/href="(\/\?open=\w+)#/.exec(html)![1]!, inbox.pageUrl);
    await send({ body: '{}', id: 'evt_18' });
    for (const look of [1, 2]) {
      const page = await (await request(opened)).body.text();
      expect(page.match(/<pre/g), `look ${look}`).toHaveLength(1);
      expect(page).toContain('&quot;order_id&quot;: &quot;A-17');
    }
  });

  it('applies its own style under its own policy', async () => {
    const page = await request(inbox.pageUrl);
    const style = /<style>([\s\S]*)<\/style>/.exec(await page.body.text())![1]!;
    const digest = (await import('node:crypto')).createHash('sha256').update(style).digest('base64');
    expect(page.headers['content-security-policy']).toContain(`'sha256-${digest}'`);
  });

  it('is for this machine only, and there is nothing else', async () => {
    const foreign = await request(inbox.pageUrl, { headers: { host: 'evil.example' } });
    expect(foreign.statusCode).toBe(400);
    await foreign.body.dump();
    for (const [method, path] of [
      ['GET', '/x'],
      ['PUT', '/webhook'],
      ['POST', '/'],
      ['GET', '/webhook'],
    ] as const) {
      const response = await request(new URL(path, inbox.pageUrl), { method });
      expect(response.statusCode).toBe(404);
      await response.body.dump();
    }
  });
});
