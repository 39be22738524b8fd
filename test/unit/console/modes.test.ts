import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MerchantId } from '../../../src/domain/values/ids.ts';
import { firstMode, switched } from '../../../src/console/modes.ts';
import type { ShownMerchant } from '../../../src/console/visit.ts';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { ConsoleWorld, SHOP, type TestPerson } from '../../support/console-world.ts';

const chain = (mode: string, network: string) => ({
  ...{ mode, network, chain_id: '1', head_block: 9, read_block: 9, read_to: 1_800_000_000, final_block: 8 },
  ...{ durable_block: 8, deposits_not_settled: 0, failed_reads_in_a_row: 0, providers: [] },
});
const move = (mode: string, id: string) => ({
  ...{ id, kind: 'withdrawal', status: 'waiting_for_approval', mode, network: 'bsc', coin: 'USDT', amount: '5.00' },
  ...{ to_address: '0x5', requested_by: 'Olga', requested_at: 1_799_999_000, approved_by: [], waiting: null },
});
const comparison = (mode: string, failures: number) => ({
  ...{ mode, network: 'bsc', kind: 'treasury', failures, why: 'no provider answered', overdueSec: 0 },
});
const BAND = 'Test mode: no real money';
const ANY_LINK = /href="\/(?!assets)([^"]*)"/g;

describe('the modes', () => {
  let world: ConsoleWorld;
  let operator: TestPerson;
  let support: TestPerson;
  const asked: AdminArguments[] = [];

  beforeAll(async () => {
    world = await ConsoleWorld.start({
      commands: {
        'chain.status': async () => [chain('live', 'ethereum'), chain('test', 'tron')],
        'chain.coverage': async () => [],
        'treasury.moves': async () => ({ moves: [move('live', 'wd_live'), move('test', 'wd_test')] }),
        'treasury.outflows': async () => ({ outflows: [] }),
        'treasury.status': async () => ({
          signers: [
            { mode: 'live', stopped: false },
            { mode: 'test', stopped: true },
          ],
          treasuries: [],
          comparisons: [comparison('live', 1), comparison('test', 2)],
        }),
        'treasury.stop': async (args) => {
          asked.push(args);
          return { stopped: true };
        },
        'inbox.list': async (args) => {
          asked.push(args);
          return { transfers: [], next_cursor: null };
        },
      },
    });
    operator = await world.person('Olga', { role: 'operator' });
    support = await world.person('Sue', { role: 'support', merchantId: SHOP.id });
  });
  afterAll(() => world.close());

  it('are marked by a band, and by one switch that shows the current mode', async () => {
    const live = (await world.get('/chains', operator)).body;
    expect(live).not.toContain(BAND);
    expect(live).toMatch(/href="\/chains\?mode=live"\s+aria-current="true"/);
    const test = (await world.get('/chains?mode=test', operator)).body;
    expect(test).toContain(BAND);
    expect(test).toMatch(/href="\/chains\?mode=test"\s+aria-current="true"/);
  });

  it('each have lists of their own', async () => {
    const body = async (path: string): Promise<string> => (await world.get(path, operator)).body;
    expect(await body('/chains?mode=live')).toMatch(/ethereum<small>(?!.*tron<small>)/s);
    expect(await body('/chains?mode=test')).toMatch(/tron<small>(?!.*ethereum<small>)/s);
    expect((await body('/chains.csv?mode=test')).split('\r\n').length).toBe(3);
    const treasury = await body('/treasury?mode=test');
    expect(treasury).toContain('wd_test');
    expect(treasury).not.toContain('wd_live');
    expect(await body('/merchants?mode=test')).not.toContain(SHOP.id);
    expect(await body('/merchants')).toContain(SHOP.id);
    await body('/unmatched?mode=test');
    expect(asked.at(-1)).toMatchObject({ mode: 'test' });
  });

  it('keep showing what needs attention in the other one', async () => {
    const { body } = await world.get('/attention?mode=live', operator);
    expect(body).toContain('A withdrawal waits for approval');
    expect(body).not.toContain('The signer is stopped');
    expect(body).toContain('need attention in test mode');
    expect(body).not.toContain('The books cannot be compared');
    const inTest = (await world.get('/attention?mode=test', operator)).body;
    expect(inTest).toContain('The signer is stopped');
    expect(inTest).toContain('The books cannot be compared with bsc');
    expect(inTest).toContain('no provider answered');
  });

  it('stay in the URL: every menu link keeps the mode, a form returns to it, and an invalid one is refused', async () => {
    const { body } = await world.get('/treasury?mode=test', operator);
    const menu = /<nav aria-label="Main">.*?<\/nav>/s.exec(body)![0];
    const links = [...menu.matchAll(ANY_LINK)].map(([, to]) => to!);
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((to) => !to.endsWith('?mode=test'))).toEqual([]);
    const stopped = await world.post('/treasury/stop', operator, {
      ...{ mode: 'test', reason: 'odd', back: '/treasury?mode=test' },
    });
    expect(stopped.headers['location']).toBe('/treasury?done=stopped&mode=test');
    expect((await world.get('/chains?mode=neither', operator)).status).toBe(400);
    // The answer to a form leads to the page of the form, as it has no address of its own.
    const form = { network: 'bsc', reason: 'odd', back: '/treasury/balances?mode=test' };
    const answer = (await world.post('/treasury/compare', operator, form)).body;
    const modes = /<nav class="modes".*?<\/nav>/s.exec(answer)![0];
    expect([...modes.matchAll(ANY_LINK)].map(([, to]) => to)).toEqual([
      'treasury/balances?mode=live',
      'treasury/balances?mode=test',
    ]);
  });

  it('need no switch for people of a single merchant', async () => {
    const { body } = await world.get(`/m/${SHOP.id}/payments`, support);
    expect(body).not.toContain('aria-label="Mode"');
  });
});

describe('the switch', () => {
  const merchant: ShownMerchant = { id: 'mer_a' as MerchantId, name: 'A', mode: 'live' };
  it.each([
    ['/chains', {}, null, '/chains?mode=test'],
    ['/books/live', { mode: 'live' }, null, '/books/test'],
    ['/books/live/months', { mode: 'live' }, null, '/books/test/months'],
    ['/books/live/months/2026-10', { mode: 'live', month: '2026-10' }, null, '/books/test'],
    ['/books/live/account', { mode: 'live' }, null, '/books/test'],
    ['/unmatched/bsc:0x1:0', { transfer: 'bsc:0x1:0' }, null, '/unmatched?mode=test'],
    ['/m/mer_a/payments', { merchant: 'mer_a' }, merchant, '/merchants?mode=test'],
  ] as const)('leads from %s to the same page of the other mode, or to its list', (path, params, of, to) => {
    expect(switched({ path, params, merchant: of }, 'test')).toBe(to);
  });

  it('begins with real money once there is a merchant for it', () => {
    expect(firstMode([])).toBe('test');
    expect(firstMode([{ ...merchant, mode: 'test' }, merchant])).toBe('live');
  });
});
