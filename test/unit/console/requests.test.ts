import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiKeyId } from '../../../src/domain/values/ids.ts';
import { RequestLog } from '../../../src/features/shared/request-log.ts';
import { ConsoleWorld, OTHER_SHOP, SHOP, type TestPerson } from '../../support/console-world.ts';

describe('the request log', () => {
  let world: ConsoleWorld;
  let support: TestPerson;
  const requestLog = new RequestLog();
  const note = (requestId: string, status: number, merchant = SHOP): void =>
    requestLog.note({
      requestId,
      status,
      merchantId: merchant.id,
      mode: merchant.mode,
      keyId: 'key_1' as ApiKeyId,
      atMs: 1_800_000_000_000,
      durationMs: 4,
      ...{ method: 'POST', target: `/api/v1/of-${requestId}`, operation: 'createPaymentSession' },
      errorCode: status < 400 ? null : 'invalid_request',
      param: status < 400 ? null : 'amount',
      authenticationFault: null,
    });
  const get = (path: string) => world.get(`/m/${SHOP.id}/requests${path}`, support);

  beforeAll(async () => {
    world = await ConsoleWorld.start({ requestLog });
    support = await world.person('Sue', { role: 'support', merchantId: SHOP.id });
    note('req_good', 200);
    note('req_bad', 400);
    note('req_other', 400, OTHER_SHOP);
  });
  afterAll(() => world.close());

  it('shows the requests of the merchant only, newest first, with filters', async () => {
    const all = (await get('')).body;
    expect(all.indexOf('req_bad')).toBeLessThan(all.indexOf('req_good'));
    expect(all).toContain('invalid_request: amount');
    expect(all).not.toContain('req_other');
    expect((await get('?status=4')).body).not.toContain('req_good');
    expect((await get('?find=of-req_good')).body).not.toContain('req_bad');
    expect((await get('?cursor=req_bad')).body).not.toContain('of-req_bad');
  });

  it('names the invalid filter', async () => {
    expect((await get('?status=four')).body).toContain('status must be');
    expect((await get('?cursor=req_nothing')).body).toContain('cursor names a request');
  });

  it('finds a request by its id, in the box too, and none of another merchant', async () => {
    expect((await get('/req_bad')).body).toContain('/api/v1/of-req_bad');
    expect((await get('/req_other')).status).toBe(404);
    const found = await world.get('/search?q=req_bad', support);
    expect([found.status, found.headers['location']]).toEqual([303, `/m/${SHOP.id}/requests/req_bad`]);
    expect((await world.get('/search?q=req_other', support)).body).toContain('Nothing found.');
  });

  it('continues page by page', async () => {
    for (let number = 0; number < 60; number++) note(`req_many_${number}`, 200);
    const next = /href="([^"]*cursor=req_many_10)"/.exec((await get('?find=many')).body)?.[1];
    expect(next).toBeDefined();
    const second = (await world.get(next!.replaceAll('&amp;', '&'), support)).body;
    expect(second).toContain('of-req_many_9');
    expect(second).not.toContain('of-req_many_10');
  });
});
