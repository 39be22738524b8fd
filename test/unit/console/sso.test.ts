import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { oidcSingleSignOn } from '../../../src/adapters/oidc/single-sign-on.ts';
import { SSO_CALLBACK } from '../../../src/console/pages/people/sso.ts';
import { grantsOf } from '../../../src/operator/people/people.ts';
import { ConsoleWorld, RP_OF_CONSOLE, SHOP, type Answer, type TestPerson } from '../../support/console-world.ts';
import { passkey } from '../../support/approvers.ts';
import { OpenIdProvider } from '../../support/openid-provider.ts';

describe('single sign-on', () => {
  let provider: OpenIdProvider;
  let world: ConsoleWorld;

  beforeAll(async () => {
    provider = await OpenIdProvider.start();
    const { issuer, clientId, clientSecret } = provider;
    const rules = {
      ...{ nameClaim: 'preferred_username', rolesClaim: 'groups' },
      roles: {
        'Payments Team': `support:${SHOP.id}`,
        Treasury: 'finance,approver',
        Gone: 'support:mer_gone',
        Ops: 'operator',
      },
      grantsOf: (text: string) => grantsOf(text, (id) => id === SHOP.id),
    };
    const redirectUri = `${RP_OF_CONSOLE.origin}${SSO_CALLBACK}`;
    world = await ConsoleWorld.start(
      {},
      { provider: oidcSingleSignOn({ issuer, clientId, clientSecret, scope: 'openid profile', redirectUri }), rules },
    );
  });
  afterAll(async () => {
    await world?.close();
    await provider?.close();
  });
  beforeEach(() => {
    provider.wrong = {};
    provider.isDown = false;
    provider.claims = { sub: '00u-bo', preferred_username: 'bo@shop.example', groups: ['Everybody', 'Payments Team'] };
  });

  const cookiesOf = ({ headers }: Answer): string[] => [headers['set-cookie'] ?? []].flat();
  /** As a browser goes there and back; `between` sees the address that the provider sends it to. */
  async function signIn(
    to = '/',
    between: (back: URL, cookie: string) => string = (_back, cookie) => cookie,
  ): Promise<Answer> {
    const there = await world.get(`/sign-in/sso?to=${encodeURIComponent(to)}`, null);
    expect(there.status).toBe(303);
    const cookie = cookiesOf(there)[0]!.split(';')[0]!;
    const answer = await fetch(there.headers['location'] as string, { redirect: 'manual' });
    const back = new URL(answer.headers.get('location')!);
    const sent = between(back, cookie);
    return world.get(back.pathname + back.search, null, {
      cookie: sent,
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
    });
  }
  const tokenOf = (answer: Answer): string => /^__Host-quittance=([\w-]+);/.exec(cookiesOf(answer).at(-1)!)![1]!;
  const events = (type: string): Record<string, unknown>[] =>
    world.store.events
      .filter((event) => event.type === type)
      .map(({ data }) => JSON.parse(data) as Record<string, unknown>);
  const refusal = (): string => (world.warnings.at(-1) as { why: string }).why;

  it('is offered on the sign-in page, and leads back to the requested page', async () => {
    expect((await world.get('/sign-in?to=%2Fm%2Fmer_shop', null)).body).toContain(
      'href="/sign-in/sso?to=%2Fm%2Fmer_shop"',
    );
    const answer = await signIn('/m/mer_shop');
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('<meta http-equiv="refresh" content="0;url=/m/mer_shop" />');
    expect(cookiesOf(answer)).toEqual([
      expect.stringMatching(/^__Host-quittance-sso=; .*SameSite=Lax; Max-Age=0; Secure$/),
      expect.stringMatching(/^__Host-quittance=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/),
    ]);
    expect((await signIn('//evil.example')).body).toContain('content="0;url=/"');
  });

  it('continues with a long filter, and at the beginning after one that fits in no cookie', async () => {
    const filtered = `/m/${SHOP.id}/payments?q=${'a'.repeat(1_000)}`;
    expect((await signIn(filtered)).body).toContain(`content="0;url=${filtered}"`);
    expect((await signIn(filtered.repeat(2))).body).toContain('content="0;url=/"');
  });

  it('signs somebody in with the roles of their groups, read again at each sign-in, and records each as an event', async () => {
    const before = events('SignedInBySso').length;
    const token = tokenOf(await signIn());
    const me = await world.get('/me', { token });
    for (const text of ['bo-shop.example', `support:${SHOP.id}`, `00u-bo at ${provider.issuer}`])
      expect(me.body).toContain(text);
    expect((await world.get(`/m/${SHOP.id}/payments`, { token })).status).toBe(200);
    expect((await world.get('/books', { token })).status).toBe(404);
    provider.claims['groups'] = 'Everybody,Treasury';
    const again = tokenOf(await signIn());
    expect((await world.get('/books', { token: again })).headers['location']).toMatch(/^\/books\//);
    expect((await world.get(`/m/${SHOP.id}/requests`, { token: again })).status).toBe(404);
    expect(events('SignedInBySso').slice(before)).toMatchObject([
      { subject: '00u-bo', issuer: provider.issuer, grants: [{ role: 'support', merchantId: SHOP.id }] },
      { grants: [{ role: 'finance' }, { role: 'approver' }] },
    ]);
    expect(events('PersonProvisioned').filter(({ subject }) => subject === '00u-bo')).toHaveLength(1);
  });

  it.each([
    ['no group that stands for a role', { groups: ['Everybody'] }, 'gives bo-shop.example no role'],
    ['groups of a merchant that is not there', { groups: ['Gone'] }, 'gives bo-shop.example no role'],
    [
      'groups named like what every object has',
      { groups: ['constructor', '__proto__'] },
      'gives bo-shop.example no role',
    ],
    ['no groups', { groups: 7 }, 'the claim groups gives'],
    ['no name', { preferred_username: ' ' }, 'the ID token has no name in the claim preferred_username'],
    ['the name of somebody else of the provider', { sub: '00u-other' }, 'is another person here'],
  ])('refuses people with %s, and says so', async (_, change, why) => {
    tokenOf(await signIn());
    Object.assign(provider.claims, change);
    const before = events('SignedInBySso').length;
    const answer = await signIn();
    expect(answer.status).toBe(403);
    expect(answer.body).toContain(why);
    expect(cookiesOf(answer).filter((cookie) => cookie.startsWith('__Host-quittance='))).toEqual([]);
    expect(events('SignedInBySso')).toHaveLength(before);
  });

  it('recognises people whatever name the provider gives them now, and keeps suspended ones out', async () => {
    provider.claims = { sub: '00u-dee', preferred_username: 'Dee', groups: ['Ops'] };
    await signIn();
    provider.claims['preferred_username'] = 'Deirdre';
    const token = tokenOf(await signIn());
    expect((await world.get('/me', { token })).body).toContain('Dee');
    expect(events('PersonProvisioned').filter(({ subject }) => subject === '00u-dee')).toMatchObject([{ name: 'Dee' }]);
    const { personId } = events('PersonProvisioned').find(({ subject }) => subject === '00u-dee') as {
      personId: string;
    };
    await world.people.suspend(personId, { by: 'Grace', reason: 'left' });
    for (const name of ['Deirdre', 'Somebody new']) {
      provider.claims['preferred_username'] = name;
      const answer = await signIn();
      expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('the person is suspended')]);
    }
    expect(events('PersonProvisioned').filter(({ subject }) => subject === '00u-dee')).toHaveLength(1);
  });

  it('makes one person of an identity that signs in under two names at once', async () => {
    const twin = (name: string) => ({
      issuer: 'https://sso',
      subject: 'twin',
      name,
      grants: [{ role: 'viewer', merchantId: null, untilSec: null }] as const,
    });
    const both = await Promise.all([
      world.people.signInBySso(twin('One'), 'test'),
      world.people.signInBySso(twin('Two'), 'test'),
    ]);
    expect(events('PersonProvisioned').filter(({ subject }) => subject === 'twin')).toHaveLength(2);
    expect(both.map(({ ok }) => ok).toSorted()).toEqual([false, true]);
    const first = both.findIndex(({ ok }) => ok);
    const again = await world.people.signInBySso(twin(['Two', 'One'][first]!), 'test');
    expect(again.ok && world.people.personOf(again.value.token)?.name).toBe(['One', 'Two'][first]);
  });

  it('takes over no invited person', async () => {
    const ada = await world.person('Ada', { role: 'operator' });
    provider.claims = { sub: '00u-ada', preferred_username: 'ADA', groups: ['Ops'] };
    expect((await signIn()).body).toContain('Ada is another person here, who signs in differently');
    await world.person('Ada Byron', { role: 'operator' });
    provider.claims['preferred_username'] = 'Ada   Byron ';
    expect((await signIn()).body).toContain('Ada Byron is another person here, who signs in differently');
    expect((await world.get('/people', ada)).status).toBe(200);
  });

  it.each([
    ['signed by another key', { key: true }],
    ['for another client', { token: { aud: 'another' } }],
    ['of another issuer', { token: { iss: 'https://evil.example' } }],
    ['of another request', { token: { nonce: 'another' } }],
    ['that is over', { token: { exp: 1 } }],
    ['with another state', { state: 'another' }],
  ])('accepts no response %s', async (_, wrong) => {
    provider.wrong = wrong;
    const answer = await signIn();
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('is not valid');
    expect(refusal()).not.toBe('');
  });

  it('accepts no response that another browser requested, that was used before, or that is too late', async () => {
    expect((await signIn('/', () => '')).status).toBe(403);
    expect((await signIn('/', (_back, cookie) => cookie.replace(/-\w{5}/, '-AAAAA'))).status).toBe(403);
    const sent: [string, string][] = [];
    expect(
      (await signIn('/', (back, cookie) => (sent.push([back.pathname + back.search, cookie]), cookie))).status,
    ).toBe(200);
    const [path, cookie] = sent[0]!;
    expect((await world.get(path, null, { cookie })).status).toBe(403);
    const late = await signIn('/', (_back, own) => ((world.nowMs += 601_000), own));
    expect(late.body).toContain('That took too long');
    expect(late.status).toBe(403);
  });

  it('says so when the provider does not respond, and asks it again for the next person', async () => {
    const other = await OpenIdProvider.start();
    const { issuer, clientId, clientSecret } = other;
    other.isDown = true;
    const single = oidcSingleSignOn({
      issuer,
      clientId,
      clientSecret,
      scope: 'openid',
      redirectUri: 'https://console.example/back',
    });
    const request = { state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) };
    await expect(single.authorizationUrl(request)).rejects.toThrow();
    other.isDown = false;
    const url = await single.authorizationUrl(request);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      state: 's',
      nonce: 'n',
    });
    await other.close();
  });

  it('accepts nobody of another tenant if one issuer serves them all', async () => {
    const host = 'https://login.microsoftonline.com';
    const { clientId, clientSecret, issuer } = provider;
    const real = fetch;
    // As Entra ID answers at an address of many tenants: the issuer is a pattern, and each tenant's tokens fill it.
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      const answer = await real(`${issuer}${new URL(url).pathname}`, init);
      const text = (await answer.text())
        .replace(`"issuer":"${issuer}"`, `"issuer":"${host}/{tenantid}/v2.0"`)
        .replaceAll(issuer, host);
      return new Response(text, answer);
    });
    const redirectUri = 'https://console.example/back';
    const request = { state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) };
    const redeemed = async (): Promise<unknown> => {
      const single = oidcSingleSignOn({ issuer: host, clientId, clientSecret, scope: 'openid', redirectUri });
      const { search } = await single.authorizationUrl(request);
      const back = new URL(
        (await real(`${issuer}/authorize${search}`, { redirect: 'manual' })).headers.get('location')!,
      );
      return single.redeem(back.searchParams, request);
    };
    provider.wrong = { token: { iss: `${host}/evil/v2.0`, tid: 'evil' } };
    await expect(redeemed()).rejects.toThrow(
      'the ID token is of the issuer https://login.microsoftonline.com/evil/v2.0, not of',
    );
    vi.unstubAllGlobals();
  });

  it('signs nothing: what needs a passkey still does, and registering one needs both the sign-in and a link', async () => {
    const grace = await world.person('Grace', { role: 'operator' });
    provider.claims = { sub: '00u-cy', preferred_username: 'Cy', groups: ['Ops'] };
    const key = passkey('Cy', 'P-256');
    const cy: TestPerson = { name: 'Cy', personId: '', key, token: tokenOf(await signIn()) };
    const asked = await world.post('/people', cy, { name: 'Mallory', roles: 'operator', reason: 'test' });
    expect([asked.status, asked.body]).toEqual([403, expect.stringContaining('you have none yet')]);
    const { credentialId, publicKey } = key.key as { credentialId: string; publicKey: string };
    const { personId } = events('PersonProvisioned').find(({ name }) => name === 'Cy') as { personId: string };
    expect((await world.post('/me/passkeys', cy, {})).status).toBe(403);
    const made = await world.postSigned(`/people/${personId}/link`, grace, { reason: 'needs to sign' });
    const link = /\/join\/[\w-]+/.exec(made.body)![0];
    expect((await world.get(link, null)).status).toBe(403);
    expect((await world.get(link, grace)).body).toContain('for somebody who signs in with single sign-on');
    expect((await world.post(link, grace, {})).status).toBe(403);
    expect((await world.get(link, cy)).body).toContain('data-register');
    const added = await world.people.addPasskey(personId, link.slice('/join/'.length), {
      credentialId,
      publicKey,
      label: 'key',
    });
    expect(added.ok).toBe(true);
    expect((await world.postSigned('/people', cy, { name: 'Ben', roles: 'viewer', reason: 'test' })).body).toContain(
      '/join/',
    );
    // Whoever leaves the organisation must not come in by the passkey alone.
    expect(await world.people.signIn(personId, { credentialId, signCount: 9 }, 'test')).toMatchObject({ ok: false });
    const roles = await world.postSigned(`/people/${personId}/roles`, grace, {
      roles: 'auditor@2027-01-31',
      reason: 'test',
    });
    expect(roles.body).toContain('heir roles come from single sign-on');
  });
});

describe('a console without single sign-on', () => {
  it('neither offers nor serves it', async () => {
    const world = await ConsoleWorld.start();
    expect((await world.get('/sign-in', null)).body).not.toContain('sso');
    expect((await world.get('/sign-in/sso', null)).headers['location']).toMatch(/^\/sign-in\?/);
    await world.close();
  });
});
