import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERSON_ROLES, type PersonRole } from '../../../src/domain/events/person-events.ts';
import { ACTIONS, isOfMerchant, ROLE_ACTIONS, type Action } from '../../../src/console/access.ts';
import { consoleRoutes } from '../../../src/console/routes.ts';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import type { ConsoleSso } from '../../../src/console/pages/people/sso.ts';
import { ROUTES } from '../../support/console-routes.ts';
import { ConsoleWorld, OTHER_SHOP, SHOP, type TestPerson } from '../../support/console-world.ts';

/** Role by role, what each may do; the code's own table is compared with this one. */
const MAY: Readonly<Record<Action, readonly PersonRole[]>> = {
  'payments.read': ['viewer', 'support', 'merchant_admin', 'finance', 'operator', 'auditor'],
  'payments.create': ['support', 'merchant_admin'],
  'payments.refund': ['support', 'merchant_admin'],
  'requests.read': ['viewer', 'support', 'merchant_admin', 'operator', 'auditor'],
  'webhooks.read': ['viewer', 'support', 'merchant_admin', 'operator', 'auditor'],
  'webhooks.redeliver': ['support', 'merchant_admin', 'operator'],
  'webhooks.change': ['merchant_admin', 'operator'],
  'keys.read': ['merchant_admin', 'operator', 'auditor'],
  'keys.change': ['merchant_admin', 'operator'],
  'settings.read': ['viewer', 'support', 'merchant_admin', 'finance', 'operator', 'auditor'],
  'settings.change': ['merchant_admin', 'operator'],
  'statements.read': ['merchant_admin', 'finance', 'auditor'],
  'attention.read': ['finance', 'operator', 'approver', 'auditor'],
  'chains.read': ['operator', 'auditor'],
  'chains.rescan': ['operator'],
  'deliveries.read': ['operator', 'auditor'],
  'service.read': ['operator', 'auditor'],
  'service.rebuild': ['operator'],
  'unmatched.read': ['finance', 'operator', 'auditor'],
  'unmatched.decide': ['operator'],
  'treasury.read': ['finance', 'operator', 'approver', 'auditor'],
  'treasury.propose': ['finance', 'operator'],
  'treasury.approve': ['approver'],
  'treasury.stop': ['operator', 'approver'],
  'treasury.compare': ['operator'],
  'books.read': ['finance', 'auditor'],
  'books.close': ['finance'],
  'books.adjust': ['finance'],
  'audit.read': ['finance', 'auditor'],
  'merchants.create': ['operator'],
  'people.read': ['operator', 'auditor'],
  'people.change': ['operator'],
  'actions.read': ['operator', 'auditor'],
};

const routes = consoleRoutes({
  merchants: () => [],
  commands: {},
  streams: {},
  people: { directory: { all: () => [] } },
  address: {},
} as unknown as ConsoleDeps);
const pathOf = (path: string, merchant: string): string => path.replace(':merchant', merchant).replaceAll(/:\w+/g, 'x');

describe('the table of roles', () => {
  it('is the one written here', () => {
    const given = Object.fromEntries(
      ACTIONS.map((action) => [action, PERSON_ROLES.filter((role) => ROLE_ACTIONS[role].includes(action))]),
    );
    expect(given).toEqual(MAY);
  });

  it('lets an auditor and a viewer change nothing', () => {
    for (const { action } of routes.change)
      if (action !== null) expect([...ROLE_ACTIONS.auditor, ...ROLE_ACTIONS.viewer], action).not.toContain(action);
  });

  it('lists every route with the action that it needs', () => {
    const found: Record<string, string[]> = {};
    for (const [method, all] of Object.entries({ GET: routes.read, POST: routes.change }))
      for (const { path, action } of all) (found[String(action)] ??= []).push(`${method} ${path}`);
    expect(found).toEqual(ROUTES);
  });

  it('has every address that the router answers, but for those of whoever has not signed in', async () => {
    const world = await ConsoleWorld.start({}, {} as ConsoleSso);
    const outside = [
      ...['GET /assets/:name', 'GET /live', 'GET /sign-in', 'POST /sign-in', 'GET /join/:token', 'POST /join/:token'],
      ...['GET /sign-in/sso', 'GET /sign-in/sso/callback'],
    ];
    expect(world.addresses.toSorted()).toEqual([...outside, ...Object.values(ROUTES).flat()].toSorted());
    await world.close();
  });

  it('names an action for every page except the personal ones, and a merchant in every path of a merchant', () => {
    for (const { path, action } of [...routes.read, ...routes.change]) {
      if (action === null) expect(path).toMatch(/^\/($|me|merchants$|search)/);
      else expect(path.startsWith('/m/:merchant'), path).toBe(isOfMerchant(action));
    }
  });
});

describe('every page and every change', () => {
  let world: ConsoleWorld;
  const people = new Map<PersonRole, TestPerson>();
  const untilSec = 1_800_086_400;

  beforeAll(async () => {
    world = await ConsoleWorld.start();
    for (const role of PERSON_ROLES) {
      const merchantId = role === 'merchant_admin' || role === 'viewer' || role === 'support' ? SHOP.id : null;
      people.set(
        role,
        await world.person(`${role} of the shop`, { role, merchantId, ...(role === 'auditor' && { untilSec }) }),
      );
    }
  });
  afterAll(() => world.close());

  it.each(PERSON_ROLES)('are open to %s where the table says so, and not there elsewhere', async (role) => {
    const person = people.get(role)!;
    for (const { path, action } of routes.read) {
      if (action === null) continue;
      const { status } = await world.get(pathOf(path, SHOP.id), person);
      const isThere = MAY[action].includes(role);
      // A page that needs what this world lacks says so, or that there is nothing of the name.
      if (!isThere) expect(status, `${role} ${path}`).toBe(404);
      else if (!path.includes('/:', 4)) expect(status, `${role} ${path}`).not.toBe(404);
    }
    for (const { path, action } of routes.change) {
      if (action === null) continue;
      const before = world.actions().length;
      const answer = await world.post(pathOf(path, SHOP.id), person, { reason: 'test' });
      if (MAY[action].includes(role)) continue;
      expect(answer.status, `${role} ${path}`).toBe(404);
      const recorded = world.actions().slice(before);
      expect(recorded).toMatchObject([{ action, outcome: 'refused', personId: person.personId }]);
    }
  });

  it.each(['viewer', 'support', 'merchant_admin'] as const)(
    'of another merchant do not exist for %s, and the attempt is recorded',
    async (role) => {
      const person = people.get(role)!;
      for (const merchant of [OTHER_SHOP.id, 'mer_nobody', '__proto__', 'constructor']) {
        for (const { path, action } of routes.read.filter(({ path: one }) => one.startsWith('/m/'))) {
          const before = world.warnings.length;
          expect((await world.get(pathOf(path, merchant), person)).status, `${path} ${action}`).toBe(404);
          expect(world.warnings.slice(before)).toMatchObject([{ person: person.personId, action }]);
        }
        for (const { path } of routes.change.filter(({ path: one }) => one.startsWith('/m/'))) {
          const before = world.actions().length;
          expect((await world.post(pathOf(path, merchant), person, { reason: 'test' })).status, path).toBe(404);
          expect(world.actions().slice(before)).toMatchObject([{ outcome: 'refused', personId: person.personId }]);
        }
      }
    },
  );

  it('end for an auditor with their time', async () => {
    const auditor = people.get('auditor')!;
    expect((await world.get('/people', auditor)).status).toBe(200);
    world.nowMs = untilSec * 1000;
    auditor.token = await world.signIn(auditor);
    expect((await world.get('/people', auditor)).status).toBe(404);
  });
});
