import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ABSOLUTE_SEC, IDLE_SEC } from '../../../src/features/people/people.ts';
import { ConsoleWorld, signedForm, termsIn, type TestPerson } from '../../support/console-world.ts';

let world: ConsoleWorld;
let ada: TestPerson;
let ben: TestPerson;

beforeAll(async () => {
  world = await ConsoleWorld.start();
  ada = await world.person('Ada', { role: 'operator' });
  ben = await world.person('Ben', { role: 'operator' });
});
afterAll(() => world.close());

const invite = { name: 'Cleo', roles: 'viewer', reason: 'joins' };

describe('a request that no page of the console sent', () => {
  it.each([
    ['under another name of the host, as by DNS rebinding', { host: 'evil.example' }, 421],
    ['under the address in numbers', { host: '127.0.0.1:8082' }, 421],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['from another origin of the same site, such as the payer’s page', { 'sec-fetch-site': 'same-site' }, 403],
    ['from a link or a bookmark', { 'sec-fetch-site': 'none' }, 403],
    ['with another origin and no word of the site', { 'sec-fetch-site': '', origin: 'https://evil.example' }, 403],
    ['with an opaque origin', { origin: 'null' }, 403],
    ['with neither origin nor site', { 'sec-fetch-site': '', origin: '' }, 403],
    ['as JSON', { 'content-type': 'application/json' }, 415],
    ['as text', { 'content-type': 'text/plain' }, 415],
  ])('is refused: %s', async (_, headers, status) => {
    const before = world.store.events.length;
    expect((await world.post('/people', ada, invite, headers)).status).toBe(status);
    expect(world.store.events.length).toBe(before);
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])('is refused: %s', async (method) => {
    expect((await world.send(method, '/people', ada, {})).status).toBe(405);
  });

  it.each(['iframe', 'frame', 'embed', 'object'])('is shown in no %s', async (dest) => {
    const answer = await world.get('/me', ada, { 'sec-fetch-dest': dest });
    expect(answer.status).toBe(403);
    expect(answer.body).not.toContain('Ada');
  });

  it('gets headers that let nobody frame, sniff, cache or script the page', async () => {
    for (const path of ['/me', '/sign-in', '/assets/passkey.js', '/nothing']) {
      const { headers } = await world.get(path, ada);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['strict-transport-security']).toMatch(/^max-age=\d{8}/);
      expect(headers['access-control-allow-origin']).toBeUndefined();
      if (!path.startsWith('/assets')) expect(headers['cache-control']).toBe('no-store');
    }
  });
});

describe('the token of a form', () => {
  it.each([
    ['none', ''],
    ['a wrong one', 'A'.repeat(43)],
  ])('is needed: %s', async (_, csrf) => {
    const answer = await world.post('/people', ada, { ...invite, csrf });
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('belongs to another sign-in');
  });

  it('is of one sign-in: that of another person is no good', async () => {
    expect((await world.post('/people', ada, { ...invite, csrf: await world.csrfOf(ben) })).status).toBe(403);
  });

  it('is not the cookie, and cannot be used as one', async () => {
    const csrf = await world.csrfOf(ada);
    expect(csrf).not.toBe(ada.token);
    expect((await world.get('/me', { token: csrf })).status).toBe(303);
  });
});

describe('a sign-in', () => {
  let theft: TestPerson;
  beforeEach(async () => {
    theft = { ...ada, token: await world.signIn(ada) };
  });

  it('is in a cookie that scripts cannot read and no other site sends, of this host alone', async () => {
    const answer = await world.get('/sign-in', null);
    const number = /name="number" value="([^"]+)"/.exec(answer.body)![1]!;
    const text = `Sign in to the Quittance console\nnumber: ${number}`;
    const form = new URLSearchParams({
      number,
      'response-0': signedForm({ text, number }, ada)['response-0']!,
      to: '//evil.example',
      zone: 'Europe/Lisbon',
    });
    const signedIn = await world.send('POST', '/sign-in', null, {}, form.toString());
    expect(signedIn.status).toBe(303);
    expect(signedIn.headers['location']).toBe('/');
    const [cookie, zone] = signedIn.headers['set-cookie'] as string[];
    expect(cookie).toMatch(/^__Host-quittance=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/);
    expect(zone).toMatch(/^zone=Europe%2FLisbon;/);
    const again = await world.send('POST', '/sign-in', null, {}, form.toString());
    expect(again.status, 'the same answer of the passkey again').toBe(403);
    expect(again.headers['set-cookie']).toBeUndefined();
  });

  it.each([
    ['without the person being verified', { verified: false }],
    ['made for another site', { origin: 'https://evil.example' }],
    ['made for another host', { rpId: 'evil.example' }],
    ['made for registering', { type: 'webauthn.create' }],
  ])('is refused for a signature %s', async (_, change) => {
    const number = /name="number" value="([^"]+)"/.exec((await world.get('/sign-in', null)).body)![1]!;
    const text = `Sign in to the Quittance console\nnumber: ${number}`;
    const form = new URLSearchParams({
      number,
      'response-0': signedForm({ text, number }, ada, change)['response-0']!,
    });
    expect((await world.send('POST', '/sign-in', null, {}, form.toString())).status).toBe(403);
  });

  it('ends after half an hour without a request', async () => {
    world.nowMs += (IDLE_SEC - 1) * 1000;
    expect((await world.get('/me', theft)).status).toBe(200);
    world.nowMs += IDLE_SEC * 1000;
    expect((await world.get('/me', theft)).status).toBe(303);
  });

  it('ends after twelve hours whatever is done with it', async () => {
    for (let spent = 0; spent < ABSOLUTE_SEC; spent += IDLE_SEC - 60) {
      expect((await world.get('/me', theft)).status).toBe(200);
      world.nowMs += (IDLE_SEC - 60) * 1000;
    }
    expect((await world.get('/me', theft)).status).toBe(303);
  });

  it('that was stolen can be ended from another browser, and then works for nobody', async () => {
    const own = { ...ada, token: await world.signIn(ada) };
    const stolen = /name="sign_in" value="(sin_\w+)"/.exec((await world.get('/me', own)).body)![1]!;
    expect((await world.post('/me/sign-out', own, { sign_in: stolen })).status).toBe(303);
    expect((await world.get('/me', theft)).status).toBe(303);
    expect((await world.get('/me', own)).status).toBe(200);
  });

  it('ends at once when its person is suspended', async () => {
    const dora = await world.person('Dora', { role: 'viewer' });
    ada.token = await world.signIn(ada);
    expect((await world.postSigned(`/people/${dora.personId}/suspend`, ada, { reason: 'left' })).status).toBe(303);
    expect((await world.get('/me', dora)).status).toBe(303);
    await expect(world.signIn(dora)).rejects.toThrow('suspended');
  });

  it('is not to be had with two cookies, or with one of another form', async () => {
    const cookie = `__Host-quittance=${theft.token}`;
    expect((await world.get('/me', null, { cookie: `${cookie}; ${cookie}` })).status).toBe(303);
    expect((await world.get('/me', null, { cookie: `__Host-quittance=${theft.token}x` })).status).toBe(303);
    expect((await world.get('/me', null, { cookie: `quittance-console=${theft.token}` })).status).toBe(303);
  });
});

describe('terms that a passkey signs', () => {
  beforeEach(async () => {
    ada.token = await world.signIn(ada);
    ben.token = await world.signIn(ben);
  });
  const unused = (): string => `Person ${world.store.events.length}`;

  it('allow the change once: the same signature again is refused', async () => {
    const form = { ...invite, name: unused() };
    const terms = termsIn((await world.post('/people', ada, form)).body)!;
    expect(terms.text).toContain(`name: ${form.name}\nroles: viewer\nreason: joins\nby: Ada\nnumber: `);
    const signed = { ...form, ...signedForm(terms, ada) };
    const done = await world.post('/people', ada, signed);
    expect(done.body).toContain('/join/');
    expect(world.actions().at(-1)).toMatchObject({ action: 'people.change', outcome: 'done' });
    expect((await world.post('/people', ada, signed)).status).toBe(409);
    expect(world.actions().at(-1)).toMatchObject({ outcome: 'refused' });
  });

  it.each([
    ['with other terms than were signed', { roles: 'operator' }],
    ['with another name', { name: 'Mallory' }],
  ])('allow nothing else: %s', async (_, change) => {
    const form = { ...invite, name: unused() };
    const terms = termsIn((await world.post('/people', ada, form)).body)!;
    const answer = await world.post('/people', ada, { ...form, ...change, ...signedForm(terms, ada) });
    expect(answer.status).toBe(409);
    expect(answer.body).not.toContain('/join/');
  });

  it('count only from the person’s own passkey, verified, on this site, and in time', async () => {
    const form = { ...invite, name: unused() };
    const terms = termsIn((await world.post('/people', ada, form)).body)!;
    expect((await world.post('/people', ada, { ...form, ...signedForm(terms, ben) })).status).toBe(403);
    expect((await world.post('/people', ada, { ...form, ...signedForm(terms, ada, { verified: false }) })).status).toBe(
      403,
    );
    expect(
      (await world.post('/people', ada, { ...form, ...signedForm(terms, ada, { origin: 'https://evil.example' }) }))
        .status,
    ).toBe(403);
    expect(
      (await world.post('/people', ben, { ...form, ...signedForm(terms, ben) })).status,
      'terms of another person',
    ).toBe(409);
    world.nowMs += 6 * 60_000;
    expect((await world.post('/people', ada, { ...form, ...signedForm(terms, ada) })).status).toBe(409);
  });

  it('cannot be made to show a line that somebody typed', async () => {
    const form = { ...invite, name: unused(), reason: 'joins\nname: Somebody else\u2028by: Ben' };
    const terms = termsIn((await world.post('/people', ada, form)).body)!;
    expect(terms.text.split('\n').filter((line) => line.startsWith('name: '))).toHaveLength(1);
    expect(terms.text.split('\n').filter((line) => line.startsWith('by: '))).toEqual(['by: Ada']);
  });
});

describe('people among themselves', () => {
  beforeEach(async () => {
    ada.token = await world.signIn(ada);
    ben.token = await world.signIn(ben);
  });

  it('cannot give themselves roles', async () => {
    const answer = await world.postSigned(`/people/${ada.personId}/roles`, ada, {
      roles: 'operator,finance,approver',
      reason: 'more',
    });
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('nobody can change their own roles');
  });

  it('cannot take over somebody else with a link: two operators must agree, and neither is the person', async () => {
    const erin = await world.person('Erin', { role: 'finance' });
    const link = `/people/${erin.personId}/link`;
    expect((await world.postSigned(link, ada, { reason: 'lost' })).body).toContain('two operators agree');
    expect((await world.postSigned(`/people/${erin.personId}/recover`, ada, { reason: 'lost' })).status).toBe(303);
    expect((await world.postSigned(link, ada, { reason: 'lost' })).body).toContain('another operator');
    expect((await world.postSigned(link, ben, { reason: 'lost' })).body).toContain('the person can refuse until');
  });

  it('cannot recover access through somebody whom they or another of theirs invited, however the names are written', async () => {
    const mallory = await world.person('Mallory', { role: 'operator' });
    const eve = await world.personBy('Mallory', 'Eve', { role: 'operator' });
    const ivo = await world.personBy('Eve', 'Ivo', { role: 'operator' });
    const kim = await world.personBy('Mallory', 'Kim', { role: 'operator' });
    const gus = await world.person('Gus', { role: 'finance' });
    const recover = `/people/${gus.personId}/recover`;
    const link = `/people/${gus.personId}/link`;
    expect((await world.postSigned(recover, ivo, { reason: 'lost' })).status).toBe(303);
    for (const other of [mallory, eve, kim])
      expect((await world.postSigned(link, other, { reason: 'lost' })).body).toContain('neither let the other in');
    expect((await world.postSigned(link, ben, { reason: 'lost' })).body).toContain('the person can refuse until');
    const before = world.nowMs;
    world.nowMs += 86_400_000;
    ben.token = await world.signIn(ben);
    expect((await world.postSigned(link, ben, { reason: 'lost' })).body).toContain('/join/');
    world.nowMs = before;
  });

  it('tell everybody in every open sign-in that their access is being recovered, and any of these can refuse it', async () => {
    const hal = await world.person('Hal', { role: 'finance' });
    const other = { ...hal, token: await world.signIn(hal) };
    await world.postSigned(`/people/${hal.personId}/recover`, ada, { reason: 'lost' });
    for (const place of ['/me', '/nowhere'])
      for (const session of [hal, other])
        expect((await world.get(place, session)).body).toMatch(
          /Ada reported that you lost every passkey\..*another operator can make a link.*\/me\/recovery/s,
        );
    expect((await world.get('/me', ben)).body).not.toContain('/me/recovery');
    expect((await world.post('/me/recovery/refuse', other, {})).status).toBe(303);
    expect((await world.get('/me', hal)).body).not.toContain('/me/recovery');
    expect((await world.postSigned(`/people/${hal.personId}/link`, ben, { reason: 'lost' })).body).toContain(
      'request recovery first',
    );
  });

  it('cannot be two of one name, however it is written', async () => {
    const answer = await world.postSigned('/people', ada, { name: 'ADA', roles: 'viewer', reason: 'again' });
    expect(answer.body).toContain('already exists');
    const alike = await world.postSigned('/people', ada, { name: 'MaI1ory', roles: 'viewer', reason: 'again' });
    expect(alike.body).toContain('Mallory already exists');
  });

  it('are shown no markup of each other', async () => {
    await world.postSigned('/people', ada, {
      name: unusedName(),
      roles: 'viewer',
      reason: '<script>alert(1)</script>',
    });
    const page = await world.get('/actions?search=%3Cscript', ada);
    expect(page.body).not.toContain('<script>alert');
    expect(page.body).toContain('&lt;script&gt;');
  });

  const unusedName = (): string => `Person ${world.store.events.length}`;
});

describe('a name that every object has', () => {
  it.each(['constructor', 'toString', '__proto__'])('is no notice and no passkey: %s', async (name) => {
    const page = await world.get(`/me?done=${name}`, ada);
    expect([page.status, page.body.includes('class="notice"')]).toEqual([200, false]);
    const asked = await world.post('/me/passkeys/remove', ada, { credential: name });
    expect([asked.status, termsIn(asked.body)?.text]).toEqual([200, expect.stringContaining('passkey: unknown')]);
  });
});
