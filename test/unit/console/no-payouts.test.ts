import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

/* A process without the keys of a treasury, which may be the only one. */

let world: ConsoleWorld;
let operator: TestPerson;
beforeAll(async () => {
  const none = async () => [];
  const commands = {
    'inbox.list': async () => ({ transfers: [], next_cursor: null }),
    ...{ 'chain.status': none, 'chain.coverage': none, 'canary.history': none },
  };
  world = await ConsoleWorld.start({ commands });
  operator = await world.person('Olga', { role: 'operator' });
});
afterAll(() => world.close());

it.each(['/attention', '/treasury'])('%s says that nothing is paid out here, and calls it no failure', async (path) => {
  const { status, body } = await world.get(path, operator);
  expect(status).toBe(200);
  expect(body).toContain('This process pays nothing out');
  expect(body).not.toContain('A check failed');
});
