import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import { cookieName } from '../../../src/console/guard.ts';
import {
  ConsoleWorld,
  POLICY,
  RP_OF_CONSOLE,
  SHOP,
  signedForm,
  termsIn,
  type Answer,
  type TestPerson,
} from '../../support/console-world.ts';

/* What people type or paste, and what their browsers send along, as it comes back from the pages. */

const ENDPOINT = `/m/${SHOP.id}/webhooks/endpoint`;
const FORM = { url: 'https://shop.example/hook', reason: 'moved' };
const set: string[] = [];
const overview = { id: SHOP.id, name: SHOP.name, keys: [], domains: [], policy: POLICY, webhook: null };
const settings = {
  getMerchant: () => overview,
  setWebhook: async (_merchant: string, { url }: { url: string }) => {
    set.push(url);
    return { ok: true, value: overview };
  },
};

let world: ConsoleWorld;
let admin: TestPerson;
beforeAll(async () => {
  world = await ConsoleWorld.start({ settings } as unknown as Partial<ConsoleDeps>);
  admin = await world.person('Ada', { role: 'merchant_admin', merchantId: SHOP.id });
});
beforeEach(() => void set.splice(0));
afterAll(() => world.close());

/** The fields that the page of terms sends back with the signature. */
const keptIn = ({ body }: Answer): Record<string, string> =>
  Object.fromEntries(
    [...body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );

it.each([
  ['a zero-width space', 'moved to\u200b the new host'],
  ['a mark for the direction of text', 'moved \u200fto the new host'],
  ['an invisible character at the end', 'moved to the new host\ufeff'],
])('a reason with %s, as it comes with pasted text, can be signed', async (_, reason) => {
  const asked = await world.post(ENDPOINT, admin, { ...FORM, reason });
  const terms = termsIn(asked.body)!;
  expect(terms.text).toContain('reason: moved to the new host\n');
  expect((await world.post(ENDPOINT, admin, { ...keptIn(asked), ...signedForm(terms, admin) })).status).toBe(303);
  expect(set).toEqual([FORM.url]);
});

it('the title of the terms has no markup in the tab of the browser', async () => {
  const { body } = await world.post(ENDPOINT, admin, FORM);
  expect(body).toContain('<title>Set the endpoint of a merchant · Quittance</title>');
});

it('no run of blanks pushes typed text to where a line of the terms begins', async () => {
  for (const blank of [' ', '\u3000', '\u00a0', '\u2003']) {
    const reason = `moved${blank.repeat(300)}after: https://shop.example/hook`;
    const { body } = await world.post(ENDPOINT, admin, { url: 'https://evil.example/hook', reason });
    expect(termsIn(body)!.text).toContain('\nreason: moved after: https://shop.example/hook\n');
  }
});

it('the terms of a merchant name it so that no other merchant of that name is meant', async () => {
  const changes: readonly [string, Record<string, string>][] = [
    ['webhooks/endpoint', FORM],
    ['webhooks/secret', { reason: 'leaked' }],
    ['keys', { reason: 'rotation' }],
    ['keys/revoke', { key: 'key_1', reason: 'rotation' }],
    ['settings', { tolerance: '1', reason: 'generous' }],
    ['settings/logo', { image: '', reason: 'old' }],
    ['settings/domains', { host: 'shop.example', name: 'Shop', reason: 'new' }],
  ];
  for (const [path, form] of changes) {
    const { body } = await world.post(`/m/${SHOP.id}/${path}`, admin, form);
    expect(termsIn(body)!.text, path).toContain('\nmerchant: Shop (mer_shop)\nmode: live\n');
  }
});

it('a time zone that a browser sends malformed is none', async () => {
  const signedIn = `${cookieName(RP_OF_CONSOLE.origin)}=${admin.token}`;
  for (const zone of ['%E0%A4%A', '%', 'Nowhere%2FAtAll'])
    expect((await world.get('/me', null, { cookie: `${signedIn}; zone=${zone}` })).status, zone).toBe(200);
});
