import { afterEach, expect, test } from 'vitest';
import type { Positions } from '../../../src/ports/event-log/positions.ts';
import { startTestServer, type TestServer } from '../../support/http-api.ts';

let server: TestServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const start = async (shown: Awaited<ReturnType<Positions['shownUpTo']>>, asked: string[] = []): Promise<TestServer> =>
  (server = await startTestServer({
    positions: { reported: async () => 'C:12/P:12', shownUpTo: async (given) => (asked.push(given), shown) },
  }));
const LIST = '/v1/payment/sessions';
const given = { headers: { 'Quittance-Position': 'C:9/P:9' } };

test('every response to a key has a position, and a list waits for the position that the caller has seen', async () => {
  const asked: string[] = [];
  const { call } = await start('shown', asked);
  const answers = [
    await call('GET', LIST),
    await call('GET', LIST, undefined, given),
    await call('GET', '/v1/refunds/no'),
  ];
  expect(answers.map(({ headers }) => headers.get('quittance-position'))).toEqual([
    'C:12/P:12',
    'C:12/P:12',
    'C:12/P:12',
  ]);
  expect([answers.map(({ status }) => status), asked]).toEqual([[200, 200, 404], ['C:9/P:9']]);
});

test('a node that is behind says when to ask again instead of giving an old list', async () => {
  const { call } = await start('behind');
  const answer = await call('GET', LIST, undefined, given);
  expect([answer.status, answer.headers.get('retry-after'), answer.json]).toMatchObject([
    503,
    '1',
    { error: { code: 'service_unavailable' } },
  ]);
});

test('what is read from its stream does not wait', async () => {
  const { call } = await start('behind');
  expect((await call('GET', '/api/v1/checkout/sessions/cs_none', undefined, given)).status).toBe(404);
});

test('a position that no response contained is refused by name', async () => {
  const { call } = await start('malformed');
  const answer = await call('GET', LIST, undefined, given);
  expect([answer.status, answer.json]).toMatchObject([
    400,
    { error: { code: 'invalid_request', param: 'Quittance-Position' } },
  ]);
});

test('with a single node no position is returned, and a sent one has no effect', async () => {
  server = await startTestServer();
  const answer = await server.call('GET', LIST, undefined, given);
  expect([answer.status, answer.headers.get('quittance-position')]).toEqual([200, null]);
});
