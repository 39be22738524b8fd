import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import { ConsoleWorld, OTHER_SHOP, SHOP, termsIn } from '../../support/console-world.ts';

const registered: unknown[] = [];
const settings = {
  registerMerchant: async (...given: unknown[]) => {
    registered.push(given);
    return {
      ok: true,
      value: { id: OTHER_SHOP.id, mode: 'test', api_key: 'key-1', api_secret: 'secret-1', webhook_secret: 'hook-1' },
    };
  },
};

let world: ConsoleWorld;
beforeAll(async () => {
  world = await ConsoleWorld.start({ settings } as unknown as Partial<ConsoleDeps>);
});
afterAll(() => world.close());

it('an operator creates a merchant after signing its name, and is shown the secrets once', async () => {
  const operator = await world.person('Olga', { role: 'operator', merchantId: null });
  const form = { name: 'Mug shop', mode: 'test', reason: 'signed the contract' };
  const asked = await world.post('/merchants', operator, form);
  expect(termsIn(asked.body)!.text).toContain('name: Mug shop\nmode: test\nreason: signed the contract');
  expect(registered).toEqual([]);
  const made = await world.postSigned('/merchants', operator, form);
  expect(registered).toMatchObject([[{ name: 'Mug shop', mode: 'test' }, { actor: 'person:Olga' }]]);
  for (const secret of ['key-1', 'secret-1', 'hook-1']) expect(made.body).toContain(`<code>${secret}</code>`);
  expect(world.actions().at(-1)).toMatchObject({
    action: 'merchants.create',
    target: 'Mug shop',
    detail: OTHER_SHOP.id,
  });
  expect((await world.get('/merchants', operator)).body).not.toContain('secret-1');
});

it('people who may not create merchants see no form for it', async () => {
  const admin = await world.person('Ada', { role: 'merchant_admin', merchantId: SHOP.id });
  const finance = await world.person('Fay', { role: 'finance', merchantId: null });
  for (const person of [admin, finance])
    expect((await world.get('/merchants', person)).body).not.toContain('Create a merchant');
});
