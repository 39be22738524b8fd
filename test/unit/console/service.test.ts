import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CommandRefused, type AdminArguments } from '../../../src/operator/server/commands.ts';
import { statusCommands } from '../../../src/operator/server/status.ts';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

const BEHIND = {
  ...{ projection: 'session-view@1', position: '7' as never, hasCaughtUp: false, lagEvents: 12, lagSec: 3.4 },
};
const FACTS = {
  ...{ ready: true, readOnly: false, version: '1.2.3', upSec: 7_260 },
  facts: [
    { name: 'signer', state: 'ok', detail: 'answers' },
    { name: 'rates', state: 'degraded', detail: '0 of 3 providers usable' },
    { name: 'accepted-risk:early-finality', state: 'degraded', detail: 'one confirmation for 1,000,000' },
    { name: 'chain:live:bsc', state: 'degraded', detail: 'read to 900 s ago' },
  ],
  webhooks: { waiting: 3, oldestAgeSec: 4_000, inFlight: 1, retrying: 2, suspended: 0 },
};

describe('the service', () => {
  const rebuilt: AdminArguments[] = [];
  let world: ConsoleWorld;
  let operator: TestPerson;
  let auditor: TestPerson;
  beforeAll(async () => {
    world = await ConsoleWorld.start({
      commands: {
        ...statusCommands({ status: () => FACTS }, { status: () => [BEHIND] }),
        'chain.status': async () => [],
        'chain.coverage': async () => [],
        'canary.history': async () => [],
        'inbox.list': async () => ({ transfers: [] }),
        'projection.rebuild': async (args) => {
          if (args['name'] !== 'session-view@1') throw new CommandRefused('name must be one of session-view@1');
          rebuilt.push(args);
          return { rebuilt: ['session-view@1'] };
        },
      },
    });
    operator = await world.person('Olga', { role: 'operator' });
    auditor = await world.person('Audrey', { role: 'auditor', untilSec: 1_810_000_000 });
  });
  afterAll(() => world.close());

  it('shows how far each look-up is behind, and what fails first', async () => {
    const { status, body } = await world.get('/service', operator);
    expect(status).toBe(200);
    expect(body).toMatch(/session-view@1[\s\S]*catching up[\s\S]*>12<[\s\S]*>3</);
    expect(body.indexOf('0 of 3 providers usable')).toBeLessThan(body.indexOf('answers'));
    expect(body).toContain('2 h');
    expect((await world.get('/service.csv', operator)).body).toBe(
      'Look-up,State,Events behind,Seconds behind,Position\r\nsession-view@1,catching up,12,3,7\r\n',
    );
  });

  it('says how many webhooks wait, and since when', async () => {
    const { body } = await world.get('/deliveries?mode=live', operator);
    expect(body).toMatch(/Waiting<\/dt>\s*<dd>3<[\s\S]*66 min old/);
  });

  it('needs attention where a check fails that has no entry of its own', async () => {
    const { body } = await world.get('/attention', operator);
    expect(body).toMatch(/A check of the service: degraded[\s\S]*rates[\s\S]*0 of 3 providers usable/);
    expect(body).toMatch(/A risk that the settings take[\s\S]*early-finality[\s\S]*operations\.md#floors-of-live-mode/);
    expect(body).not.toContain('chain:live:bsc');
  });

  it('is built again by an operator who says why, and by nobody else', async () => {
    const form = { name: 'session-view@1', reason: 'an order is missing' };
    expect((await world.get('/service', auditor)).body).not.toContain('/service/rebuild');
    expect((await world.post('/service/rebuild', auditor, form)).status).toBe(404);
    expect((await world.post('/service/rebuild', operator, { name: 'session-view@1' })).body).toContain('reason');
    expect((await world.post('/service/rebuild', operator, { ...form, name: 'sessions' })).body).toContain(
      'Name must be one of session-view@1.',
    );
    expect(rebuilt).toEqual([]);
    expect((await world.post('/service/rebuild', operator, form)).status).toBe(303);
    expect(rebuilt).toEqual([{ ...form, operator: 'Olga' }]);
  });
});
