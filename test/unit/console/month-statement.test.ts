import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { NoStatement } from '../../../src/operator/books/documents.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SAMPLES } from '../../fixtures/events/samples.ts';
import { shownEvent } from '../../../src/features/audit/issued.ts';
import { ConsoleWorld, OTHER_SHOP, SHOP, type TestPerson } from '../../support/console-world.ts';

let world: ConsoleWorld;
let admin: TestPerson;
const created: AdminArguments[] = [];
beforeAll(async () => {
  const data = { ...SAMPLES.StatementIssued, merchantId: SHOP.id };
  const evidence = {
    ...shownEvent({ id: 'e-1', type: 'StatementIssued', atMs: 1, data: JSON.stringify(data) }),
    verifier_key: 'key',
  };
  const commands = {
    'ledger.month-statement': async ({ month }: AdminArguments) => {
      if (month !== '2027-01') throw new NoStatement('month: there is no statement');
      return { ...evidence, checkpoint: { size: 7, root_hash: 'root' } };
    },
    'ledger.statements': async (args: AdminArguments) => {
      created.push(args);
      return { statements: [{}] };
    },
    'ledger.periods': async () => ({ periods: [{ period: '2027-01' }, { period: '2026-12' }] }),
  };
  world = await ConsoleWorld.start({ commands });
  admin = await world.person('Mia', { role: 'merchant_admin', merchantId: SHOP.id });
});
afterAll(() => world.close());

it('a merchant reads the statement of a closed month: what it is owed above zero, when it was made, and what proves it', async () => {
  const page = await world.get(`/m/${SHOP.id}/statement/2027-01`, admin);
  expect(page.status).toBe(200);
  const text = page.body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  expect(text).toMatch(/payable USDT on bsc 0\.00 0\.00 105\.10 105\.10/);
  expect(text).toContain('Made 2027-01-15');
  expect(text).toContain(SAMPLES.StatementIssued.linesSha256);
  const file = await world.get(`/m/${SHOP.id}/statement/2027-01/evidence.json`, admin);
  expect(JSON.parse(file.body)).toMatchObject({ type: 'StatementIssued', merchant_id: SHOP.id });
});

it('merchants cannot read that of another merchant, of the operator, or of an invalid month', async () => {
  for (const path of [
    `/m/${OTHER_SHOP.id}/statement/2027-01`,
    '/books/live/months/2027-01',
    `/m/${SHOP.id}/statement/may`,
  ])
    expect((await world.get(path, admin)).status, path).toBe(404);
});

it('a closed month without a statement says that nothing moved; an open month is not there', async () => {
  const closed = await world.get(`/m/${SHOP.id}/statement/2026-12`, admin);
  expect(closed.status).toBe(200);
  expect(closed.body).toContain('Nothing was owed to Shop in 2026-12');
  expect((await world.get(`/m/${SHOP.id}/statement/2026-12/evidence.json`, admin)).status).toBe(400);
  expect((await world.get(`/m/${SHOP.id}/statement/2027-02`, admin)).status).toBe(404);
});

it('finance creates the statements of a closed month that lacks them; others are told to ask', async () => {
  const finance = await world.person('Fin', { role: 'finance' });
  const page = (await world.get('/books/live/months/2026-12', finance)).body;
  const path = '/books/live/months/2026-12/statements';
  expect(page).toContain(`action="${path}"`);
  expect((await world.get(`/m/${SHOP.id}/statement/2026-12`, admin)).body).toContain('Somebody of finance can create');
  expect((await world.post(path, admin, { reason: 'missing' })).status).toBe(404);
  const done = await world.post(path, finance, { reason: 'missing' });
  expect(done.headers['location']).toBe('/books/live/months/2026-12?done=statements');
  expect(created).toEqual([{ mode: 'live', month: '2026-12', actor: 'Fin' }]);
});
