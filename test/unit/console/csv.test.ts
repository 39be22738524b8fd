import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../../src/console/routes.ts';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import { CommandRefused, type AdminArguments } from '../../../src/operator/server/commands.ts';
import { ConsoleWorld, SHOP, type TestPerson } from '../../support/console-world.ts';

const routes = consoleRoutes({ commands: {}, streams: {}, merchants: () => [] } as unknown as ConsoleDeps);
/** Files that are parts of a page, or whole reports, under an address of their own. */
const PAGE_OF: Readonly<Record<string, string>> = {
  '/books/:mode/trial-balance': '/books/:mode',
  '/chains/coverage': '/chains',
  '/m/:merchant/payments/totals': '/m/:merchant/payments',
  '/chains/providers': '/chains',
};

const transfer = (id: number) => ({
  id: `t${id}`,
  state: 'open',
  kind: 'late',
  mode: 'live',
  network: 'bsc',
  coin: 'USDT',
  amount: `${id}.00`,
  age_days: 1,
  from_address: '=HYPERLINK("http://evil.example")',
  to_address: '0x2',
  tx_hash: '0x3',
  block_time: 1_800_000_000,
  order_id: null,
  decision: null,
});
const move = {
  id: 'mv_1',
  kind: 'withdrawal',
  status: 'waiting_for_approval',
  mode: 'live',
  network: 'bsc',
  coin: 'USDT',
  amount: '5.00',
  ...{ to_address: '0x5', requested_by: '<Ada & "Co">', approved_by: [], waiting: null },
};

describe('a table as a file', () => {
  let world: ConsoleWorld;
  let operator: TestPerson;
  const asked: AdminArguments[] = [];

  beforeAll(async () => {
    world = await ConsoleWorld.start({
      commands: {
        'inbox.list': async (args) => {
          asked.push(args);
          if (args['mode'] === 'neither') throw new CommandRefused('mode must be test or live');
          return args['cursor'] === undefined
            ? { transfers: [transfer(1), transfer(2)], next_cursor: 'c2' }
            : { transfers: [transfer(3)], next_cursor: null };
        },
        'treasury.moves': async () => ({ moves: [move] }),
        'treasury.status': async () => ({ signers: [], treasuries: [] }),
      },
    });
    operator = await world.person('Olga', { role: 'operator' }, { role: 'approver' });
  });
  afterAll(() => world.close());

  it('is available only to people who may see its page', () => {
    const files = routes.read.filter(({ path }) => path.endsWith('.csv'));
    expect(files.length).toBeGreaterThan(15);
    for (const { path, action } of files) {
      const page = path.slice(0, -'.csv'.length);
      const shown = routes.read.find((route) => route.path === (PAGE_OF[page] ?? page));
      if (shown) expect([path, action]).toEqual([path, shown.action]);
      else expect(path).toContain('/:month/');
    }
  });

  it('has every row under the filters of the page, whatever page of them is shown, and nothing that a spreadsheet would run', async () => {
    const { headers, body } = await world.get('/unmatched.csv?state=resolved&mode=live&cursor=c9', operator);
    expect(headers['content-disposition']).toBe('attachment; filename="unmatched.csv"');
    expect(body.split('\r\n').slice(0, 2)).toEqual([
      'Received,Amount,Network,Mode,Why it waits,State,Age in days,From',
      `2027-01-15T08:00:00.000Z,1.00 USDT,bsc,live,late,open,1,"'=HYPERLINK(""http://evil.example"")"`,
    ]);
    expect(body.trim().split('\r\n')).toHaveLength(4);
    expect(asked).toMatchObject([
      { state: 'resolved', mode: 'live' },
      { state: 'resolved', mode: 'live', cursor: 'c2' },
    ]);
    expect(asked[0]).not.toHaveProperty('cursor');
    const page = await world.get('/unmatched?state=resolved&cursor=c2', operator);
    expect(page.body).toContain('href="/unmatched.csv?state=resolved"');
  });

  it('has the words of a cell, and no forms', async () => {
    const { body } = await world.get('/treasury.csv', operator);
    expect(body).toBe(
      'Move,Status,Amount,Network,Mode,To,Proposed by,Approved by\r\nwithdrawal mv_1,waiting for approval,5.00 USDT,bsc,live,0x5,"<Ada & ""Co"">",nobody yet\r\n',
    );
  });

  it('that is refused shows a page with the reason, not a broken file', async () => {
    const answer = await world.get('/unmatched.csv?mode=neither', operator);
    expect([answer.status, answer.headers['content-disposition']]).toEqual([400, undefined]);
    expect(answer.body).toContain('mode must be live or test');
  });

  it('without rows has its header', async () => {
    const admin = await world.person('Mia', { role: 'merchant_admin', merchantId: SHOP.id });
    expect((await world.get(`/m/${SHOP.id}/webhooks.csv`, admin)).body).toBe(
      'Created,Event,Status,Attempts,Last answer\r\n',
    );
  });
});
