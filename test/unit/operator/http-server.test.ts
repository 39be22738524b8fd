import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { startAdminHttpServer } from '../../../src/operator/http-server.ts';
import { StoreUnavailable } from '../../../src/ports/event-store.ts';

const TOKEN = 'a-token-of-the-operator';
let close: () => void = () => undefined;
afterEach(() => close());

it('says when to ask again for what is made anew', async () => {
  const server = await startAdminHttpServer({
    ...{ host: '127.0.0.1', port: 0, token: TOKEN, streams: {}, onError: () => expect.unreachable() },
    routes: [{ method: 'GET', path: '/admin/inbox', command: 'inbox.list', query: [] }],
    commands: { 'inbox.list': () => Promise.reject(new StoreUnavailable('the rows of inbox@2 are being built')) },
  });
  close = () => server.close();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/inbox`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}`, connection: 'close' } });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await answer.json()).toEqual({ error: { code: 'service_unavailable', message: 'the rows of inbox@2 are being built' } });
});
