import { html } from '../../../runtime/http/html.ts';
import type { Outcome } from '../../../features/shared/merchant-api.ts';
import type { NewLink } from '../../../features/people/people.ts';
import { grantsOf, grantText } from '../../../operator/people/people.ts';
import type { Grant } from '../../../domain/events/person-events.ts';
import type { PersonContext } from '../../../../state-machines/person/person.state.ts';
import { accepted, byPerson, type ConsoleDeps } from '../../deps.ts';
import { link } from '../../parts.ts';
import { NO_SUCH, reasonIn, type ChangeRoute, type Shown, type Visit } from '../../visit.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

/** The person named in the path. Throws `Refused`. */
export function personOf({ people }: ConsoleDeps, { params }: Visit): PersonContext {
  const person = people.directory.find(params['person'] ?? '');
  if (!person?.invited) throw NO_SUCH();
  return person;
}

/** Changes of people. Each takes a signature, since whoever controls people controls the money. */
export function peopleChanges(deps: ConsoleDeps): ChangeRoute[] {
  const { people } = deps;
  const rolesIn = ({ form }: Visit): Grant[] =>
    grantsOf(form['roles'] ?? '', (id) => deps.merchants().some((merchant) => merchant.id === id));
  const rolesText = (visit: Visit): string => rolesIn(visit).map(grantText).join(', ');
  const id = ({ params }: Visit): string => must(params['person']);
  const change = (
    path: string,
    what: string,
    notice: string,
    run: (visit: Visit) => Promise<Outcome<unknown>>,
  ): ChangeRoute => ({
    ...ofPerson(deps, path, what),
    run: async (visit) => {
      accepted(await run(visit));
      return { detail: what, shown: { to: `/people/${id(visit)}?done=${notice}` } };
    },
  });
  const roles = change('roles', 'change the roles of a person', 'roles', (visit) =>
    people.changeRoles(id(visit), rolesIn(visit), byPerson(visit)),
  );
  return [
    {
      path: '/people',
      action: 'people.change',
      target: ({ form }) => form['name'] ?? '',
      toSign: async (visit) => ({
        kind: 'terms',
        title: 'invite a person',
        lines: Object.entries({ name: visit.form['name'] ?? '', roles: rolesText(visit), reason: reasonIn(visit) }),
      }),
      run: async (visit) => {
        const name = visit.form['name'] ?? '';
        return {
          detail: rolesText(visit),
          shown: shownOnce(deps, name, accepted(await people.invite(name, rolesIn(visit), byPerson(visit)))),
        };
      },
    },
    {
      ...roles,
      toSign: async (visit) => ({
        kind: 'terms',
        title: 'change the roles of a person',
        lines: Object.entries({
          person: must(personOf(deps, visit).invited).name,
          roles: rolesText(visit),
          reason: reasonIn(visit),
        }),
      }),
    },
    change('suspend', 'suspend a person', 'suspended', (visit) => people.suspend(id(visit), byPerson(visit))),
    change('reinstate', 'reinstate a person', 'reinstated', (visit) => people.reinstate(id(visit), byPerson(visit))),
    change('recover', 'ask for recovery: every passkey of a person is lost', 'recovery', (visit) =>
      people.requestRecovery(id(visit), byPerson(visit)),
    ),
    {
      ...ofPerson(deps, 'link', 'make a link that lets somebody in as this person'),
      run: async (visit) => {
        const made = accepted(await people.issueLink(id(visit), byPerson(visit), false));
        return { detail: 'link', shown: shownOnce(deps, must(personOf(deps, visit).invited).name, made) };
      },
    },
  ];
}

const ofPerson = (deps: ConsoleDeps, path: string, title: string): Omit<ChangeRoute, 'run'> => ({
  path: `/people/:person/${path}`,
  action: 'people.change',
  target: (visit: Visit) => must(personOf(deps, visit).invited).name,
  toSign: async (visit: Visit) => ({
    kind: 'terms',
    title,
    lines: Object.entries({ person: must(personOf(deps, visit).invited).name, reason: reasonIn(visit) }),
  }),
});

const shownOnce = ({ address }: ConsoleDeps, name: string, { token }: NewLink): Shown => ({
  page: {
    title: words`New link: shown once`,
    body: html`<p>
        ${words`Send it to ${html`<b>${name}</b>`} by a way that only they read. It is good for one passkey, for a day.`}
      </p>
      <p class="secret"><code>${address.origin}/join/${token}</code></p>
      <p>${link('/people', words`Back to the people`)}</p>`,
  },
});
