import { hash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { PNG } from 'pngjs';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import { ConsoleWorld, POLICY, SHOP, signedForm, termsIn, type TestPerson } from '../../support/console-world.ts';

/* The logo and the domains are what payers trust: each change takes a passkey that signed what they become. */

const pictureOf = (shade: number): string =>
  PNG.sync
    .write(Object.assign(new PNG({ width: 8, height: 4 }), { data: Buffer.alloc(128, shade) }))
    .toString('base64');
const IMAGE = pictureOf(200);
const SETTINGS = `/m/${SHOP.id}/settings`;
const made: unknown[] = [];
const did = (what: string) => async (_merchant: string, given: unknown) => {
  made.push([what, given]);
  return { ok: true, value: { logo: null, host: 'shop.example', domain_id: 'dom_2' } };
};
const settings = {
  getMerchant: (id: string) => ({
    id,
    name: SHOP.name,
    keys: [],
    domains: [{ domain_id: 'dom_1', host: 'old.example', name: 'Old' }],
    policy: POLICY,
    logo: null,
  }),
  ...{ setLogo: did('logo'), addDomain: did('add'), removeDomain: did('remove') },
};

let world: ConsoleWorld;
let admin: TestPerson;
beforeAll(async () => {
  world = await ConsoleWorld.start({ settings } as unknown as Partial<ConsoleDeps>);
  admin = await world.person('Ada', { role: 'merchant_admin', merchantId: SHOP.id });
});
beforeEach(() => void made.splice(0));
afterAll(() => world.close());

it.each([
  [
    'logo',
    { image: IMAGE },
    `SHA-256 ${hash('sha256', Buffer.from(IMAGE, 'base64'), 'hex')}, shown as 8 by 4 pixels`,
    ['logo', IMAGE],
  ],
  ['logo', { image: '' }, 'logo: none: it is taken away', ['logo', null]],
  [
    'domains',
    { host: 'shop.example', name: 'Shop' },
    'added: shop.example (Shop)\ndomains until now: old.example (Old)',
    ['add', { host: 'shop.example', name: 'Shop' }],
  ],
  ['domains/remove', { domain: 'dom_1' }, 'removed: old.example (Old)', ['remove', 'dom_1']],
])('a change of the %s takes a passkey that signed what it becomes: %o', async (path, form, words, change) => {
  const asked = await world.post(`${SETTINGS}/${path}`, admin, { ...form, reason: 'a new face' });
  expect(termsIn(asked.body)!.text).toContain(words);
  expect(made).toEqual([]);
  const done = await world.postSigned(`${SETTINGS}/${path}`, admin, { ...form, reason: 'a new face' });
  expect(done.status).toBe(303);
  expect(made).toEqual([change]);
});

it.each([
  ['logo', { image: IMAGE }, { image: pictureOf(100) }],
  ['domains', { host: 'shop.example', name: 'Shop' }, { host: 'evil.example' }],
])('a signature for one %s sets no other', async (path, form, other) => {
  const signed = { ...form, reason: 'test' };
  const terms = termsIn((await world.post(`${SETTINGS}/${path}`, admin, signed)).body)!;
  expect(
    (await world.post(`${SETTINGS}/${path}`, admin, { ...signed, ...other, ...signedForm(terms, admin) })).status,
  ).toBe(409);
  expect(made).toEqual([]);
});

it('an invalid value is refused before anything is signed', async () => {
  expect((await world.post(`${SETTINGS}/logo`, admin, { image: 'junk', reason: 'test' })).body).toContain(
    'logo must be a PNG image in base64',
  );
  expect((await world.post(`${SETTINGS}/domains/remove`, admin, { domain: 'dom_9', reason: 'test' })).status).toBe(404);
  expect((await world.post(`${SETTINGS}/logo`, admin, { image: IMAGE })).body).toContain('reason must be');
});
