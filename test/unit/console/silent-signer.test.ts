import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

let world: ConsoleWorld;
let operator: TestPerson;
beforeAll(async () => {
  world = await ConsoleWorld.start({
    commands: {
      'treasury.status': () => new Promise(() => undefined),
      'treasury.moves': async () => ({ moves: [] }),
      'treasury.outflows': async () => ({ outflows: [] }),
    },
  });
  operator = await world.person('Olga', { role: 'operator' });
});
afterAll(() => world.close());

it('a signer that does not answer hides nothing else of the treasury, and payouts can still be stopped', async () => {
  const { status, body } = await world.get('/treasury?mode=live', operator);
  expect(status).toBe(200);
  expect(body).toContain('the signer did not answer in time');
  expect(body).toContain('No payouts are in progress.');
  expect(body).toMatch(/action="\/treasury\/stop".*name="mode" value="live"/s);
});

it('a signer that does not answer needs attention', async () => {
  const { body } = await world.get('/attention', operator);
  expect(body).toMatch(/A check failed.*the signer did not answer in time/s);
});
