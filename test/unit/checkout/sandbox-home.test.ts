import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { sandboxHomeRoutes, type SandboxHome } from '../../../src/checkout/sandbox-home.ts';
import type { SessionId } from '../../../src/domain/values/ids.ts';

const ID = 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4' as SessionId;
const HOME: SandboxHome = {
  merchantId: 'mer_1',
  networks: [
    { network: 'ethereum', simulated: false },
    { network: 'tron', simulated: true },
  ],
  unavailable: [{ network: 'solana', reason: 'no <binary>' }],
  inboxUrl: 'http://127.0.0.1:4001/',
  statusUrl: 'http://127.0.0.1:4002',
  consoleUrl: 'http://localhost:4003',
  factsFile: 'data/sandbox.json',
  order: () => Promise.resolve({ ok: true, value: { sessionId: ID } }),
};

let server: Server | null = null;
afterEach(() => server?.close());

async function served(home: SandboxHome | null): Promise<string> {
  server = createServer(express().use(sandboxHomeRoutes(() => home)));
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the first page of a sandbox', () => {
  it('links to everything that runs and says what did not start, with all text escaped', async () => {
    const response = await fetch(await served(HOME));
    const page = await response.text();
    expect(response.status).toBe(200);
    expect([...page.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
      'data:,',
      'http://127.0.0.1:4001/',
      'http://127.0.0.1:4002/',
      'http://localhost:4003',
      '/docs',
      '/openapi.json',
    ]);
    expect(page).toContain('did not start: no &lt;binary&gt;');
    expect(page).toContain('a stand-in for the chain');
    expect(response.headers.get('content-security-policy')).toContain("form-action 'self'");
  });

  it('leaves out the console if it is switched off', async () => {
    expect(await (await fetch(await served({ ...HOME, consoleUrl: null }))).text()).not.toContain('Console');
  });

  it('leads from the button to the page of a new order, by POST alone', async () => {
    const base = await served(HOME);
    const made = await fetch(`${base}/demo-order`, { method: 'POST', redirect: 'manual' });
    expect([made.status, made.headers.get('location')]).toEqual([303, `/pay/${ID}`]);
    expect((await fetch(`${base}/demo-order`)).status).toBe(404);
  });

  it('says why no order was created', async () => {
    const refusal = { code: 'service_unavailable', message: 'no network can currently accept USDT' } as const;
    const base = await served({ ...HOME, order: () => Promise.resolve({ ok: false, refusal }) });
    const response = await fetch(`${base}/demo-order`, { method: 'POST' });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('No order was made: no network can currently accept USDT.');
  });

  it('says that it is starting until all of it runs', async () => {
    const base = await served(null);
    for (const [path, method] of [
      ['/', 'GET'],
      ['/demo-order', 'POST'],
    ] as const) {
      const response = await fetch(`${base}${path}`, { method });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    }
  });
});
