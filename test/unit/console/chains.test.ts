import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdminArguments } from '../../../src/operator/commands.ts';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

const covered = {
  ...{
    mode: 'live',
    network: 'bsc',
    ranges: 2,
    since_the_beginning: false,
    from_block: 10,
    to_block: 90,
    to_time: 1_800_000_000,
    providers: ['one'],
  },
  gaps: [{ from_block: 40, to_block: 49 }],
};

describe('the page of the chains', () => {
  let world: ConsoleWorld;
  let operator: TestPerson;
  let auditor: TestPerson;
  const rescans: AdminArguments[] = [];

  beforeAll(async () => {
    world = await ConsoleWorld.start({
      commands: {
        'chain.status': async () => [],
        'chain.coverage': async () => [covered],
        'chain.rescan': async (args) => {
          rescans.push(args);
          return { transfers_to_us: 1 };
        },
      },
    });
    operator = await world.person('Olga', { role: 'operator' });
    auditor = await world.person('Aud', { role: 'auditor', untilSec: 1_800_086_400 });
  });
  afterAll(() => world.close());

  it('says which blocks are not recorded as read, and reads exactly those again for whoever may', async () => {
    const page = (await world.get('/chains', operator)).body;
    expect(page).toContain('bsc (live): blocks 40 to 49 are not recorded as read');
    const form = Object.fromEntries(
      [...page.matchAll(/<section class="card warn">.*?<\/section>/gs)].flatMap(([card]) =>
        [...card.matchAll(/name="(chain|from|to)" value="([^"]+)"/g)].map(([, name, value]) => [name!, value!]),
      ),
    );
    expect((await world.post('/chains/rescan', operator, { ...form, reason: 'a hole' })).status).toBe(303);
    expect(rescans).toEqual([{ mode: 'live', network: 'bsc', from: '40', to: '49', operator: 'Olga' }]);
  });

  it('shows an auditor the same and lets them do nothing', async () => {
    const page = (await world.get('/chains', auditor)).body;
    expect(page).toContain('blocks 40 to 49 are not recorded as read');
    expect(page).not.toContain('Read them again');
    expect((await world.get('/chains/coverage.csv', auditor)).body.split('\r\n')[1]).toBe(
      'bsc,live,10 to 90 the newest ranges; older ones are in the ledger,2027-01-15T08:00:00.000Z,one,40 to 49',
    );
  });
});
