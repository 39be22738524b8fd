import { html, type Html } from '../../../runtime/http/html.ts';
import type { PasskeyState, PersonContext } from '../../../../state-machines/person/person.state.ts';
import { grantText } from '../../../operator/people/people.ts';
import type { ConsoleDeps } from '../../deps.ts';
import { changeForm, code, facts, field, isZone, table, time, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { Refused, type Visit } from '../../visit.ts';
import { zoneCookie } from '../outside.ts';
import { must } from '../../../domain/values/must.ts';

/** The person's own passkeys and sign-ins. */
export function meRoutes({ people, address }: ConsoleDeps): ConsoleRoutes {
  const own = ({ person }: Visit): PersonContext => must(people.directory.find(person.personId));
  const done = (detail: string, notice: string) => ({ detail, shown: { to: `/me?done=${notice}` } });
  return {
    read: [
      {
        path: '/me',
        action: null,
        show: async (visit) => {
          const body = mePage(visit, own(visit), (signIn) => people.isOpen(signIn), address);
          return { page: { title: visit.person.name, body } };
        },
      },
      // A preference of the browser, not a fact about the person, so it is not an event.
      {
        path: '/me/zone',
        action: null,
        show: async ({ query }) => ({ to: '/me?done=zone', cookie: zoneCookie(zoneIn(query)) }),
      },
    ],
    change: [
      {
        path: '/me/passkeys',
        action: null,
        target: ({ person }) => person.name,
        toSign: async ({ person }) => ({
          kind: 'terms',
          title: 'make a link for another passkey',
          lines: [['person', person.name]],
        }),
        run: async ({ person }) => {
          const made = await people.issueLink(person.personId, { by: person.name, reason: 'another passkey' }, false);
          if (!made.ok) throw new Refused(made.refusal.message);
          const to = `/join/${made.value.token}`;
          return { detail: 'a link for another passkey', shown: { to } };
        },
      },
      {
        path: '/me/passkeys/remove',
        action: null,
        target: ({ form }) => form['credential'] ?? '',
        toSign: async (visit) => ({
          kind: 'terms',
          title: 'remove a passkey',
          lines: [['passkey', own(visit).passkeys[visit.form['credential'] ?? '']?.added.label ?? 'unknown']],
        }),
        run: async ({ person, form }) => {
          const removed = await people.removePasskey(person.personId, form['credential'] ?? '', {
            by: person.name,
            reason: 'removed by its person',
          });
          if (!removed.ok) throw new Refused(removed.refusal.message);
          return done('removed', 'passkey');
        },
      },
      {
        path: '/me/sign-out',
        action: null,
        target: ({ form, person }) => form['sign_in'] || person.signInId,
        run: async ({ person, form }) => {
          const signInId = form['sign_in'] || person.signInId;
          await people.signOut(person.personId, signInId, { by: person.name, reason: 'signed out' });
          return signInId === person.signInId
            ? { detail: 'signed out', shown: { to: '/sign-in' } }
            : done('signed out', 'signed-out');
        },
      },
    ],
  };
}

type SignIn = PersonContext['signIns'][string];

function mePage(
  visit: Visit,
  me: PersonContext,
  isOpen: (signIn: SignIn) => boolean,
  address: ConsoleDeps['address'],
): Html {
  const passkeys = Object.values(me.passkeys);
  return html`${facts([
      ['Roles', me.grants.map(grantText).join(', ')],
      ...(me.identity ? ([['Single sign-on', `${me.identity.subject} at ${me.identity.issuer}`]] as const) : []),
      ['Signed in', time(visit.person.signedInAtSec, visit)],
      ['Ends by', time(visit.person.endsAtSec, visit)],
      ['Time zone', visit.zone],
    ])}
    ${changeForm(visit, '/me/sign-out', html``, 'Sign out')}
    <h2>Passkeys</h2>
    ${passkeys.length === 0 ? NO_PASSKEYS : passkeysPart(visit, passkeys)}
    <h2>Sign-ins</h2>
    ${signInsPart(visit, Object.values(me.signIns).filter(isOpen))}
    ${visit.can('treasury.approve') && approverPart(visit, passkeys, address)}
    <h2>Time zone</h2>
    <form method="get" action="/me/zone" class="form">
      ${field({ name: 'zone', label: 'Time zone', value: visit.zone, hint: 'For example Europe/Lisbon. Times are shown in this zone beside UTC.' })}
      <p><button class="quiet">Use this time zone</button></p>
    </form>`;
}

function approverPart(
  { person: { name } }: Visit,
  passkeys: readonly PasskeyState[],
  { rpId, origin }: ConsoleDeps['address'],
): Html {
  const entries = passkeys.map(({ added: { credentialId, publicKey } }) => ({
    ...{ name, kind: 'webauthn', credentialId, publicKey },
    ...{ rpId, origin },
  }));
  return html`<h2>As an approver</h2>
    <p>
      Your approvals count only if the signer's own settings list your passkey. Whoever runs the signer adds
      ${entries.length === 0 ? 'it' : 'this entry'} to <code>PAYOUT_APPROVERS</code>; the console cannot.
    </p>
    ${
      entries.length === 0
        ? html`<p class="empty">The entry appears here once you have a passkey.</p>`
        : html`<pre class="terms" tabindex="0">${JSON.stringify(entries, null, 2)}</pre>`
    }`;
}

const NO_PASSKEYS = html`<p>
  You have none, since you sign in with single sign-on. Moving money or changing keys, settings or people takes a
  passkey's signature. Ask an operator for a link to register one, and open it in this browser.
</p>`;

function passkeysPart(visit: Visit, passkeys: readonly PasskeyState[]): Html {
  const remove = ({ added }: PasskeyState): Html =>
    changeForm(
      visit,
      '/me/passkeys/remove',
      html`<input type="hidden" name="credential" value="${added.credentialId}" />`,
      'Remove',
      'danger',
    );
  const columns: Column<PasskeyState>[] = [
    { name: 'Name', cell: ({ added }) => added.label },
    { name: 'Added', cell: ({ added }) => time(added.addedAtSec, visit) },
    { name: 'ID', cell: ({ added }) => code(added.credentialId) },
    { name: 'Remove', cell: (passkey) => (passkeys.length > 1 ? remove(passkey) : 'your last passkey') },
  ];
  return html`${
    passkeys.length < 2 &&
    html`<div class="card warn">
      <p>
        You have one passkey. Register a second on another device or key: if you lose your only one, it takes two
        operators to let you in again.
      </p>
    </div>`
  }
  ${table('Passkeys', columns, passkeys, 'None')}
  ${changeForm(visit, '/me/passkeys', html``, 'Add a passkey on this device')}`;
}

function signInsPart(visit: Visit, signIns: readonly SignIn[]): Html {
  const end = (signInId: string): Html =>
    changeForm(
      visit,
      '/me/sign-out',
      html`<input type="hidden" name="sign_in" value="${signInId}" />`,
      'End',
      'danger',
    );
  const columns: Column<SignIn>[] = [
    { name: 'Since', cell: ({ signedInAtSec }) => time(signedInAtSec, visit) },
    { name: 'Browser', cell: ({ browser }) => browser },
    { name: 'End', cell: ({ signInId }) => (signInId === visit.person.signInId ? 'this sign-in' : end(signInId)) },
  ];
  return table('Sign-ins', columns, signIns, 'None');
}

function zoneIn(query: URLSearchParams): string {
  const zone = query.get('zone') ?? '';
  if (zone === '' || !isZone(zone)) throw new Refused(`zone: ${zone} is no time zone such as Europe/Lisbon`);
  return zone;
}
