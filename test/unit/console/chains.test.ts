import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

const covered = {
  mode: 'live',
  network: 'bsc',
  ranges: 2,
  since_the_beginning: false,
  from_block: 10,
  to_block: 90,
  to_time: 1_800_000_000,
  providers: ['one'],
  gaps: [{ from_block: 40, to_block: 49 }],
};

const status = {
  ...{ mode: 'live', network: 'bsc', chain_id: '56', head_block: 100, read_block: 99, read_to: 1_799_999_990 },
  ...{ final_block: 90, durable_block: 90, deposits_not_settled: 0, failed_reads_in_a_row: 0 },
  providers: [
    {
      ...{ provider: 'one.example', state: 'in use', why: null, head_block: 100, head_age: 3 },
      ...{ read_block: 99, read_age: 4, final_block: 90, final_age: 200 },
    },
    {
      ...{ provider: 'two.example', state: 'left out', why: 'serves chain 97', head_block: null, head_age: null },
      ...{ read_block: null, read_age: null, final_block: null, final_age: null },
    },
  ],
};

describe('the chains page', () => {
  let world: ConsoleWorld;
  let operator: TestPerson;
  let auditor: TestPerson;
  const rescans: AdminArguments[] = [];

  beforeAll(async () => {
    world = await ConsoleWorld.start({
      commands: {
        'chain.status': async () => [status],
        'chain.coverage': async () => [covered],
        'chain.rescan': async (args) => {
          rescans.push(args);
          return { transfers_to_us: 1, to_block: 49, recorded_to: 49 };
        },
      },
    });
    operator = await world.person('Olga', { role: 'operator' });
    auditor = await world.person('Aud', { role: 'auditor', untilSec: 1_800_086_400 });
  });
  afterAll(() => world.close());

  it('shows which blocks are not recorded as read, and reads exactly those again for people who may', async () => {
    const page = (await world.get('/chains', operator)).body;
    expect(page).toContain('bsc: blocks 40 to 49 are not recorded as read');
    const form = Object.fromEntries(
      [...page.matchAll(/<section class="card warn">.*?<\/section>/gs)].flatMap(([card]) =>
        [...card.matchAll(/name="(chain|from|to)" value="([^"]+)"/g)].map(([, name, value]) => [name!, value!]),
      ),
    );
    expect((await world.post('/chains/rescan', operator, { ...form, reason: 'a hole' })).status).toBe(303);
    expect(rescans).toEqual([{ mode: 'live', network: 'bsc', from: '40', to: '49', operator: 'Olga' }]);
    expect(world.actions().at(-1)).toMatchObject({ outcome: 'done', target: 'live/bsc 40 49' });
  });

  it('blocks that are not recorded as read need attention', async () => {
    const page = (await world.get('/attention', operator)).body;
    expect(page).toMatch(/Blocks of bsc are not recorded as read.*40 to 49/s);
  });

  it('shows for each provider how far it is, how long ago it reported that, and why it is not used', async () => {
    const page = (await world.get('/chains', auditor)).body.replaceAll(/\s+/g, ' ');
    expect(page).toMatch(/one\.example.*100<small>3 s ago.*99<small>4 s ago.*90<small>3 min ago/);
    expect(page).toMatch(/two\.example.*left out.*serves chain 97.*not asked/);
    expect((await world.get('/chains/providers.csv', auditor)).body.split('\r\n').slice(0, 2)).toEqual([
      'Provider,Network,Mode,State,Head,"Head, seconds ago",Read,"Read, seconds ago",Final,"Final, seconds ago"',
      'one.example,bsc,live,in use,100,3,99,4,90,200',
    ]);
  });

  it('shows an auditor the same without any action', async () => {
    const page = (await world.get('/chains', auditor)).body;
    expect(page).toContain('blocks 40 to 49 are not recorded as read');
    expect(page).not.toContain('Read them again');
    expect((await world.get('/chains/coverage.csv', auditor)).body.split('\r\n')[1]).toBe(
      'bsc,live,10 to 90 the newest ranges; older ones are in the event log,2027-01-15T08:00:00.000Z,one,40 to 49',
    );
  });
});
