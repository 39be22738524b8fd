import { describe, expect, it } from 'vitest';
import type { Grant, PersonEvent } from '../../../../src/domain/events/person-events.ts';
import type { MerchantId } from '../../../../src/domain/values/ids.ts';
import { personTable } from '../../../../src/features/shared/handlers/person-handler.ts';
import {
  decidePerson,
  type PersonCommand,
  type PersonState,
} from '../../../../state-machines/person/person.decider.ts';

const NOW = 1_800_000_000;
const RESERVED = ['command line', 'Merchant', 'OPERATOR', 'clock', 'Console', 'command  line ', 'operator '];
const viewer: Grant = { role: 'viewer', merchantId: null, untilSec: null };
const wanted = { by: 'Grace', reason: 'test' };
const link = (linkHash: string) => ({ linkHash, expiresAtSec: NOW + 100 });
const invited: PersonCommand = {
  type: 'Invite',
  personId: 'psn_ada',
  name: 'Ada',
  grants: [viewer],
  ...wanted,
  ...link('first'),
  nowSec: NOW,
};
const passkey = (credentialId: string, linkHash: string): PersonCommand => ({
  type: 'AddPasskey',
  passkey: { credentialId, publicKey: 'key', label: 'laptop', linkHash, addedAtSec: NOW },
});
const signedIn = (signInId: string, credentialId: string, signedInAtSec = NOW): PersonCommand => ({
  type: 'SignIn',
  signIn: {
    signInId,
    tokenHash: signInId,
    credentialId,
    signCount: 1,
    signedInAtSec,
    endsAtSec: NOW + 100,
    browser: 'test',
  },
});
const newLink = (by: string, linkHash: string, byHost = false, nowSec = NOW, letInBy = [by]): PersonCommand => ({
  type: 'IssueLink',
  ...{ by, reason: 'lost', byHost, nowSec, letInBy },
  ...link(linkHash),
});
const WAIT_SEC = 86_400;
const LATER = NOW + WAIT_SEC;
const recovery = (by: string, letInBy = [by], nowSec = NOW): PersonCommand => ({
  type: 'RequestRecovery',
  ...{ by, reason: 'lost', letInBy, delaySec: WAIT_SEC, nowSec },
});

/** The state after the commands, each of which must be accepted. */
function given(...commands: PersonCommand[]): PersonState {
  return commands.reduce<PersonState>((state, command) => {
    const decision = decidePerson(command, state);
    if (!decision.ok) throw new Error(decision.refusal.message);
    return personTable.replay(decision.events, state);
  }, personTable.initial);
}

function when(command: PersonCommand, state: PersonState): readonly PersonEvent[] | string {
  const decision = decidePerson(command, state);
  if (!decision.ok) return decision.refusal.message;
  // What is decided must be legal.
  personTable.replay(decision.events, state);
  return decision.events;
}

const active = (): PersonState => given(invited, passkey('one', 'first'));

describe('an invitation', () => {
  it.each([
    ['a name that a line could hide in', { name: 'Ada\nby: Ben' }, 'name must be'],
    ['a name that pages show like that of somebody else', { name: 'Ada  Byron' }, 'single blanks'],
    ['a name with a blank that nobody sees', { name: 'Ada ' }, 'single blanks'],
    ['no role', { grants: [] }, 'roles must be'],
    ['no reason', { reason: ' ' }, 'reason must be'],
    [
      'a merchant admin of every merchant',
      { grants: [{ ...viewer, role: 'merchant_admin' as const }] },
      'needs a merchant',
    ],
    [
      'an operator of one merchant',
      { grants: [{ ...viewer, role: 'operator' as const, merchantId: 'mer_a' as MerchantId }] },
      'whole service',
    ],
    ['an auditor without an end', { grants: [{ ...viewer, role: 'auditor' as const }] }, 'an end date'],
    [
      'an auditor for ever',
      { grants: [{ ...viewer, role: 'auditor' as const, untilSec: NOW + 400 * 86_400 }] },
      'within a year',
    ],
    ['a role that has ended', { grants: [{ ...viewer, untilSec: NOW }] }, 'already have ended'],
  ])('is refused with %s', (_, change, why) => {
    expect(when({ ...invited, ...change }, personTable.initial)).toContain(why);
  });

  it.each(RESERVED)('is refused for the name “%s”, which records give to no person', (name) => {
    expect(when({ ...invited, name }, personTable.initial)).toContain('name must not be');
  });

  it('is good for one passkey, and for as long as it says', () => {
    expect(when(passkey('two', 'first'), active())).toContain('was used');
    const late = {
      type: 'AddPasskey',
      passkey: { credentialId: 'x', publicKey: 'k', label: '', linkHash: 'first', addedAtSec: NOW + 100 },
    } as const;
    expect(when(late, given(invited))).toContain('has expired');
    expect(when(passkey('one', 'other'), given(invited))).toContain('was used');
  });

  it('can be replaced by its creator while it is unused', () => {
    const again = given(invited, newLink('Grace', 'second'));
    expect(when(passkey('one', 'first'), again)).toContain('replaced');
    expect(when(newLink('Somebody', 'third'), again)).toContain('two operators');
  });
});

describe('a link for somebody with passkeys', () => {
  const asked = (letInBy?: string[]): PersonState =>
    given(invited, passkey('one', 'first'), recovery('Grace', letInBy));

  it('is made by themselves, or by two operators once the person had time to refuse', () => {
    expect(when(newLink('Ada', 'second'), active())).toMatchObject([{ type: 'JoinLinkIssued' }]);
    expect(when(newLink('Grace', 'second'), active())).toContain('two operators');
    expect(when(newLink('GRACE', 'second', false, LATER), asked())).toContain('another operator');
    expect(when(newLink('Ben', 'second', false, LATER - 1), asked())).toContain('the person can refuse until');
    expect(when(newLink('Ben', 'second', false, LATER), asked())).toMatchObject([
      { type: 'JoinLinkIssued', data: { recovers: true } },
    ]);
    expect(when(newLink('Ben', 'second', false, LATER + 7 * 86_400), asked())).toContain('two operators');
    expect(when(recovery('ada'), active())).toContain('nobody can recover their own access');
  });

  it.each([
    ['let in by the other', ['grace'], ['ben', 'grace']],
    ['who let the other in', ['grace', 'ben'], ['ben']],
    ['let in by the same person', ['grace', 'mallory'], ['ben', 'eve', 'mallory']],
  ])('is not made by a second operator %s', (_, first, second) => {
    expect(when(newLink('Ben', 'second', false, LATER, second), asked(first))).toContain('neither let the other in');
  });

  it('is not made once the person refused, and no longer lets anybody in', () => {
    const refuse: PersonCommand = { type: 'RefuseRecovery', by: 'Ada', reason: 'I am here' };
    const refused = given(invited, passkey('one', 'first'), recovery('Grace'), refuse);
    expect(when(newLink('Ben', 'second', false, LATER), refused)).toContain('request recovery first');
    const made = newLink('Ben', 'second', false, LATER);
    const linked = given(invited, passkey('one', 'first'), recovery('Grace'), made);
    expect(linked.context).toMatchObject({ recovery: { by: 'Grace', linkBy: 'Ben' }, link: { linkHash: 'second' } });
    const stopped = given(invited, passkey('one', 'first'), recovery('Grace'), made, refuse);
    expect(when(passkey('two', 'second'), stopped)).toContain('was used');
    expect(when({ ...refuse, by: 'Grace' }, asked())).toContain('only the person');
    expect(when(refuse, active())).toContain('no recovery was requested');
  });

  it('is made once, and another request begins no new wait while one waits', () => {
    expect(when(recovery('Ben'), asked())).toContain('already requested recovery');
    const linked = given(invited, passkey('one', 'first'), recovery('Grace'), newLink('Ben', 'second', false, LATER));
    expect(when(newLink('Carol', 'third', false, LATER), linked)).toContain('request recovery first');
  });

  it('records who could have come in with it', () => {
    const recovered = given(
      ...[invited, passkey('one', 'first'), recovery('Grace'), newLink('Ben', 'second', false, LATER)],
      passkey('two', 'second'),
      newLink('Ada', 'third'),
      passkey('three', 'third'),
    );
    expect(recovered.context.letInBy).toEqual(['Grace', 'Ben']);
  });

  it('is made at the machine itself without anybody else', () => {
    expect(when(newLink('command line', 'second', true), active())).toMatchObject([{ type: 'JoinLinkIssued' }]);
  });
});

describe('single sign-on', () => {
  const bySso = (signInId: string, change: object = {}, grants: readonly Grant[] = [viewer]): PersonCommand => ({
    type: 'SignInBySso',
    ...{ personId: 'psn_bo', name: 'Bo' },
    signIn: {
      signInId,
      tokenHash: signInId,
      signedInAtSec: NOW,
      endsAtSec: NOW + 100,
      browser: 'test',
      issuer: 'https://sso',
      subject: '1',
      grants,
      ...change,
    },
  });
  const support: Grant = { role: 'support', merchantId: null, untilSec: null };

  it('creates the person, with the roles of each sign-in', () => {
    expect(when(bySso('a'), personTable.initial)).toMatchObject([
      { type: 'PersonProvisioned' },
      { type: 'SignedInBySso' },
    ]);
    const { context } = given(bySso('a'), bySso('b', {}, [support]));
    expect(context).toMatchObject({
      invited: { name: 'Bo', by: 'https://sso' },
      identity: { subject: '1' },
      grants: [support],
      passkeys: {},
    });
    expect(Object.keys(context.signIns)).toEqual(['a', 'b']);
  });

  it('keeps the first name of a renamed person, and keeps a suspended one out under any name', () => {
    const renamed = { ...bySso('b'), name: 'Mallory' } as PersonCommand;
    expect(when(renamed, given(bySso('a')))).toMatchObject([{ type: 'SignedInBySso', data: { personId: 'psn_bo' } }]);
    expect(given(bySso('a'), renamed).context.invited?.name).toBe('Bo');
    expect(when(renamed, given(bySso('a'), { type: 'Suspend', ...wanted }))).toContain('suspended');
  });

  it.each(RESERVED)('creates nobody named %s, which is reserved in records', (name) => {
    expect(when({ ...bySso('a'), name } as PersonCommand, personTable.initial)).toContain('name must not be');
  });

  it('takes over nobody who was invited or has another subject or issuer', () => {
    expect(when({ ...bySso('a'), personId: 'psn_ada', name: 'Ada' } as PersonCommand, active())).toContain(
      'another person here',
    );
    expect(when(bySso('b', { subject: '2' }), given(bySso('a')))).toContain('another person here');
    expect(when(bySso('b', { issuer: 'https://evil' }), given(bySso('a')))).toContain('another person here');
    expect(when({ ...invited, personId: 'psn_bo', name: 'Bo' }, given(bySso('a')))).toContain('already exists');
  });

  it('lets nobody in without permitted roles, without a name, or while suspended', () => {
    expect(when(bySso('a', {}, []), personTable.initial)).toContain('roles must be');
    expect(when(bySso('a', {}, [{ ...viewer, role: 'auditor' }]), personTable.initial)).toContain('an end date');
    expect(when({ ...bySso('a'), name: 'Bo\nby: Ada' } as PersonCommand, personTable.initial)).toContain(
      'name must be',
    );
    const suspended = given(bySso('a'), { type: 'Suspend', ...wanted });
    expect(suspended.context.signIns).toEqual({});
    expect(when(bySso('b'), suspended)).toContain('suspended');
  });

  it('is the only place to change its roles, and gives nobody a first passkey by itself', () => {
    const bo = given(bySso('a'));
    expect(when({ type: 'ChangeRoles', ...wanted, grants: [support], nowSec: NOW }, bo)).toContain('single sign-on');
    expect(when(newLink('Bo', 'first'), bo)).toContain('a link from somebody else');
    expect(when(newLink('Grace', 'first'), bo)).toMatchObject([{ type: 'JoinLinkIssued' }]);
    expect(
      given(bySso('a'), newLink('Grace', 'first'), passkey('one', 'first'), newLink('Bo', 'second')).context.link
        ?.linkHash,
    ).toBe('second');
  });

  it('has a limited number of sign-ins at once: the oldest ends', () => {
    const many = given(...Array.from({ length: 20 }, (_, index) => bySso(`s${index}`, { signedInAtSec: NOW + index })));
    expect(when(bySso('new', { signedInAtSec: NOW + 99 }), many)).toMatchObject([
      { type: 'SignedOut', data: { signInId: 's0' } },
      { type: 'SignedInBySso' },
    ]);
  });
});

describe('a person', () => {
  it('who is suspended is signed out, and can neither sign in nor get a link', () => {
    const suspended = given(invited, passkey('one', 'first'), signedIn('a', 'one'), { type: 'Suspend', ...wanted });
    expect(suspended.context.signIns).toEqual({});
    expect(when(signedIn('b', 'one'), suspended)).toContain('suspended');
    expect(when(newLink('Ada', 'second', true), suspended)).toContain('suspended');
    expect(when({ type: 'Reinstate', by: 'Ada', reason: 'me' }, suspended)).toContain(
      'nobody can reinstate themselves',
    );
  });

  it('changes neither their own roles nor their last passkey', () => {
    expect(when({ type: 'ChangeRoles', by: 'ada', reason: 'more', grants: [viewer], nowSec: NOW }, active())).toContain(
      'their own roles',
    );
    expect(when({ type: 'RemovePasskey', credentialId: 'one', ...wanted }, active())).toContain('the last passkey');
  });

  it('loses the sign-ins of a removed passkey', () => {
    const two = given(
      invited,
      passkey('one', 'first'),
      newLink('Ada', 'second'),
      passkey('two', 'second'),
      signedIn('a', 'one'),
      signedIn('b', 'two'),
    );
    const left = given(
      ...[
        invited,
        passkey('one', 'first'),
        newLink('Ada', 'second'),
        passkey('two', 'second'),
        signedIn('a', 'one'),
        signedIn('b', 'two'),
      ],
      { type: 'RemovePasskey', credentialId: 'one', ...wanted },
    );
    expect(Object.keys(two.context.signIns)).toEqual(['a', 'b']);
    expect(Object.keys(left.context.signIns)).toEqual(['b']);
  });

  it('has a limited number of sign-ins at once: the oldest ends', () => {
    const many = given(
      invited,
      passkey('one', 'first'),
      ...Array.from({ length: 20 }, (_, index) => signedIn(`s${index}`, 'one', NOW + index)),
    );
    expect(when(signedIn('new', 'one', NOW + 99), many)).toMatchObject([
      { type: 'SignedOut', data: { signInId: 's0' } },
      { type: 'SignedIn' },
    ]);
  });
});
