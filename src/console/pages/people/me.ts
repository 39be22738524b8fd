import { html, type Html } from '../../../runtime/http/html.ts';
import type { PasskeyState, PersonContext } from '../../../../state-machines/person/person.state.ts';
import { grantText } from '../../../operator/people/people.ts';
import { accepted, type ConsoleDeps } from '../../deps.ts';
import { changeForm, code, facts, field, isZone, table, time, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { Refused, type ChangeRoute, type Visit } from '../../visit.ts';
import { zoneCookie } from '../outside.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

/** The person's own passkeys and sign-ins. */
export function meRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const { people, address } = deps;
  return {
    read: [
      {
        path: '/me',
        action: null,
        show: async (visit) => {
          const body = mePage(visit, ownOf(deps, visit), (signIn) => people.isOpen(signIn), address);
          return { page: { title: html`${visit.person.name}`, body } };
        },
      },
      // A preference of the browser, not a fact about the person, so it is not an event.
      {
        path: '/me/zone',
        action: null,
        show: async ({ query }) => ({ to: '/me?done=zone', cookie: zoneCookie(zoneIn(query)) }),
      },
    ],
    change: ownChanges(deps),
  };
}

const ownOf = ({ people }: ConsoleDeps, { person }: Visit): PersonContext =>
  must(people.directory.find(person.personId));

function ownChanges(deps: ConsoleDeps): ChangeRoute[] {
  const { people } = deps;
  const done = (detail: string, notice: string) => ({ detail, shown: { to: `/me?done=${notice}` } });
  return [
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
        const wanted = { by: person.name, reason: 'another passkey' };
        const { token } = accepted(await people.issueLink(person.personId, wanted, false));
        return { detail: 'a link for another passkey', shown: { to: `/join/${token}` } };
      },
    },
    {
      path: '/me/passkeys/remove',
      action: null,
      target: ({ form }) => form['credential'] ?? '',
      toSign: async (visit) => ({
        kind: 'terms',
        title: 'remove a passkey',
        lines: [['passkey', labelOf(ownOf(deps, visit).passkeys, visit.form['credential'] ?? '')]],
      }),
      run: async ({ person, form }) => {
        const wanted = { by: person.name, reason: 'removed by its person' };
        accepted(await people.removePasskey(person.personId, form['credential'] ?? '', wanted));
        return done('removed', 'passkey');
      },
    },
    {
      path: '/me/recovery/refuse',
      action: null,
      target: ({ person }) => person.name,
      run: async ({ person }) => {
        accepted(await people.refuseRecovery(person.personId, { by: person.name, reason: 'refused by its person' }));
        return done('refused', 'recovery-refused');
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
  ];
}

const labelOf = (passkeys: PersonContext['passkeys'], id: string): string =>
  (Object.hasOwn(passkeys, id) && passkeys[id]?.added.label) || 'unknown';

type SignIn = PersonContext['signIns'][string];

function mePage(
  visit: Visit,
  me: PersonContext,
  isOpen: (signIn: SignIn) => boolean,
  address: ConsoleDeps['address'],
): Html {
  const passkeys = Object.values(me.passkeys);
  return html`${facts([
      [words`Roles`, me.grants.map(grantText).join(', ')],
      ...(me.identity
        ? ([[words`Single sign-on`, words`${me.identity.subject} at ${me.identity.issuer}`]] as const)
        : []),
      [words`Signed in`, time(visit.person.signedInAtSec, visit)],
      [words`Ends by`, time(visit.person.endsAtSec, visit)],
      [words`Time zone`, visit.zone],
    ])}
    ${changeForm(visit, '/me/sign-out', html``, words`Sign out`)}
    <h2>${words`Passkeys`}</h2>
    ${passkeys.length === 0 ? NO_PASSKEYS : passkeysPart(visit, passkeys)}
    <h2>${words`Sign-ins`}</h2>
    ${signInsPart(visit, Object.values(me.signIns).filter(isOpen))}
    ${visit.can('treasury.approve') && approverPart(visit, passkeys, address)}
    <h2>${words`Time zone`}</h2>
    <form method="get" action="/me/zone" class="form">
      ${field({ name: 'zone', label: words`Time zone`, value: visit.zone, hint: words`For example Europe/Lisbon. Times are shown in this zone beside UTC.` })}
      <p><button class="quiet">${words`Use this time zone`}</button></p>
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
  return html`<h2>${words`As an approver`}</h2>
    <p>
      ${words`Your approvals count only if the signer's own settings list your passkey. Whoever runs the signer adds your
      entry to ${html`<code>PAYOUT_APPROVERS</code>`}; the console cannot.`}
    </p>
    ${
      entries.length === 0
        ? html`<p class="empty">${words`The entry appears here once you have a passkey.`}</p>`
        : html`<pre class="terms" tabindex="0">${JSON.stringify(entries, null, 2)}</pre>`
    }`;
}

const NO_PASSKEYS = html`<p>
  ${words`You have none, since you sign in with single sign-on. Moving money or changing keys, settings or people takes a
  passkey's signature. Ask an operator for a link to register one, and open it in this browser.`}
</p>`;

function passkeysPart(visit: Visit, passkeys: readonly PasskeyState[]): Html {
  const remove = ({ added }: PasskeyState): Html =>
    changeForm(
      visit,
      '/me/passkeys/remove',
      html`<input type="hidden" name="credential" value="${added.credentialId}" />`,
      words`Remove`,
      'danger',
    );
  const columns: Column<PasskeyState>[] = [
    { name: words`Name`, cell: ({ added }) => added.label },
    { name: words`Added`, cell: ({ added }) => time(added.addedAtSec, visit) },
    { name: words`ID`, cell: ({ added }) => code(added.credentialId) },
    { name: words`Remove`, cell: (passkey) => (passkeys.length > 1 ? remove(passkey) : words`your last passkey`) },
  ];
  return html`${
    passkeys.length < 2 &&
    html`<div class="card warn">
      <p>
        ${words`You have one passkey. Register a second on another device or key: if you lose your only one, it takes two
        operators to let you in again.`}
      </p>
    </div>`
  }
  ${table(words`Passkeys`, columns, passkeys, words`None`)}
  ${changeForm(visit, '/me/passkeys', html``, words`Add a passkey on this device`)}`;
}

function signInsPart(visit: Visit, signIns: readonly SignIn[]): Html {
  const end = (signInId: string): Html =>
    changeForm(
      visit,
      '/me/sign-out',
      html`<input type="hidden" name="sign_in" value="${signInId}" />`,
      words`End`,
      'danger',
    );
  const columns: Column<SignIn>[] = [
    { name: words`Since`, cell: ({ signedInAtSec }) => time(signedInAtSec, visit) },
    { name: words`Browser`, cell: ({ browser }) => browser },
    {
      name: words`End`,
      cell: ({ signInId }) => (signInId === visit.person.signInId ? words`this sign-in` : end(signInId)),
    },
  ];
  return table(words`Sign-ins`, columns, signIns, words`None`);
}

function zoneIn(query: URLSearchParams): string {
  const zone = query.get('zone') ?? '';
  if (zone === '' || !isZone(zone)) throw new Refused(words`zone: ${zone} is no time zone such as Europe/Lisbon`);
  return zone;
}
