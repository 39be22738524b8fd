import { html, type Html } from '../../../runtime/http/html.ts';
import type { PersonContext } from '../../../../state-machines/person/person.state.ts';
import { grantText, presentEntry } from '../../../operator/people/people.ts';
import { PERSON_ROLES } from '../../../domain/events/person-events.ts';
import { personIdOf } from '../../../features/people/people.ts';
import type { PersonEntry } from '../../../features/people/directory.ts';
import type { ConsoleDeps } from '../../deps.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import {
  badge,
  changeForm,
  facts,
  field,
  filterForm,
  link,
  REASON,
  table,
  time,
  withQuery,
  type Column,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { Visit } from '../../visit.ts';
import { peopleChanges, personOf } from './people-changes.ts';
import { must } from '../../../domain/values/must.ts';

const ROLES_HINT = `Separated by commas: ${PERSON_ROLES.join(', ')}. Add :mer_… for one merchant, or @2027-03-31 for a last day.`;
const SHOWN = 100;

/** Who may use the console, and everything that they did. */
export function peopleRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const { people } = deps;
  return {
    read: [
      {
        path: '/people',
        action: 'people.read',
        show: async (visit) => ({ page: { title: 'People', body: peoplePage(visit, people.directory.all()) } }),
      },
      {
        path: '/people/:person',
        action: 'people.read',
        show: async (visit) => {
          const person = personOf(deps, visit);
          return { page: { title: must(person.invited).name, body: personPage(deps, visit, person) } };
        },
      },
      {
        path: '/actions',
        action: 'actions.read',
        show: async (visit) => ({ page: { title: 'Actions', isLive: true, body: actionsPage(deps, visit) } }),
      },
      csvRoute('/people', 'people.read', () => ({ columns: PEOPLE_COLUMNS, pages: [people.directory.all()] })),
      csvRoute('/actions', 'actions.read', (visit) => ({
        columns: columnsOf(deps, visit),
        pages: [entriesFor(deps, visit)],
      })),
    ],
    change: peopleChanges(deps),
  };
}

const PEOPLE_COLUMNS: readonly Column<PersonContext>[] = [
  { name: 'Name', cell: ({ invited }) => link(`/people/${must(invited).personId}`, must(invited).name) },
  { name: 'Roles', cell: ({ grants }) => grants.map(grantText).join(', ') },
  { name: 'Passkeys', isNumber: true, cell: ({ passkeys }) => Object.keys(passkeys).length },
  { name: 'State', cell: (person) => badge(stateOf(person)) },
];

function peoplePage(visit: Visit, everybody: readonly PersonContext[]): Html {
  return html`<p>${csvLink(visit)}</p>
    ${table('People', PEOPLE_COLUMNS, everybody, 'No people yet.')}
    ${
      visit.can('people.change') &&
      html`<h2>Invite somebody</h2>
        ${changeForm(
          visit,
          '/people',
          [
            field({
              name: 'name',
              label: 'Name',
              required: true,
              max: 64,
              hint: 'As colleagues know them. It is part of every record and cannot be changed.',
            }),
            field({ name: 'roles', label: 'Roles', required: true, hint: ROLES_HINT }),
            field(REASON),
          ],
          'Create the invitation',
        )}`
    }`;
}

const stateOf = ({ suspended, passkeys, identity }: PersonContext): string =>
  suspended ? 'suspended' : Object.keys(passkeys).length === 0 && identity === null ? 'invited' : 'active';

function personPage(deps: ConsoleDeps, visit: Visit, person: PersonContext): Html {
  const { invited, grants, passkeys, suspended, recovery, signIns } = person;
  const isSelf = visit.person.personId === must(invited).personId;
  const here = `/people/${must(invited).personId}`;
  const own = deps.people.directory.entries().filter(({ event }) => event.data.personId === must(invited).personId);
  return html`${facts([
      ['State', badge(stateOf(person))],
      ['Roles', grants.map(grantText).join(', ')],
      person.identity === null
        ? ['Invited by', must(invited).by]
        : ['Single sign-on', `${person.identity.subject} at ${person.identity.issuer}`],
      [
        'Passkeys',
        Object.values(passkeys)
          .map(({ added }) => added.label)
          .join(', ') || 'none',
      ],
      ['Open sign-ins', Object.values(signIns).filter((signIn) => deps.people.isOpen(signIn)).length],
      ['Recovery', recovery ? `requested by ${recovery.by}; another operator creates the link` : 'none'],
    ])}
    ${
      visit.can('people.change') &&
      !isSelf &&
      html`<h2>Roles and access</h2>
        ${person.identity === null && changeForm(visit, `${here}/roles`, [field({ name: 'roles', label: 'Roles', value: grants.map(grantText).join(', '), hint: ROLES_HINT }), field(REASON)], 'Change the roles')}
        ${changeForm(visit, `${here}/${suspended ? 'reinstate' : 'suspend'}`, field({ ...REASON, name: 'reason' }), suspended ? 'Reinstate' : 'Suspend and sign out everywhere', 'danger')}
        ${
          !suspended &&
          html`<h2>Lost passkeys</h2>
            <p>Recovery takes two operators: one requests it and another creates the link.</p>
            ${
              recovery !== null && recovery.by.toLowerCase() !== visit.person.name.toLowerCase()
                ? changeForm(visit, `${here}/link`, field(REASON), 'Create a recovery link', 'danger')
                : recovery === null && Object.keys(passkeys).length > 0
                  ? changeForm(visit, `${here}/recover`, field(REASON), 'Request recovery', 'danger')
                  : changeForm(
                      visit,
                      `${here}/link`,
                      field(REASON),
                      person.identity === null
                        ? 'Create a new invitation link'
                        : 'Create a link for their first passkey',
                    )
            }`
        }`
    }
    <h2>What they did</h2>
    ${table('What they did', columnsOf(deps, visit), own.slice(0, SHOWN), 'Nothing yet.')}`;
}

/** A row with everything that the record says about an entry. */
function columnsOf(deps: ConsoleDeps, visit: Visit): Column<PersonEntry>[] {
  const of = (entry: PersonEntry, name: string): string => {
    const value = presentEntry(entry)[name];
    return typeof value === 'string' ? value : '';
  };
  const toWhat = (entry: PersonEntry): string => of(entry, 'target') || of(entry, 'name') || of(entry, 'browser');
  return [
    {
      name: 'When',
      cell: ({ atMs }) => time(Math.floor(atMs / 1000), visit),
      text: ({ atMs }) => new Date(atMs).toISOString(),
    },
    { name: 'Who', cell: (entry) => whoOf(deps, entry) },
    {
      name: 'What',
      cell: (entry) => (entry.event.type === 'ActionTaken' ? entry.event.data.action : wordsOf(entry.event.type)),
    },
    {
      name: 'To',
      cell: (entry) => (toWhat(entry) === '' ? null : html`<span class="long">${toWhat(entry)}</span>`),
      text: toWhat,
    },
    {
      name: 'Outcome',
      cell: (entry) => (entry.event.type === 'ActionTaken' ? badge(entry.event.data.outcome) : null),
      text: (entry) => of(entry, 'outcome'),
    },
    {
      name: 'Detail',
      cell: (entry) =>
        html`<span class="long">${of(entry, 'detail') || of(entry, 'label') || '–'}</span
          >${of(entry, 'reason') && html`<small>Reason: ${of(entry, 'reason')}</small>`}`,
      text: (entry) => of(entry, 'detail') || of(entry, 'label') || null,
    },
    { name: 'Reason', cell: (entry) => of(entry, 'reason') || null, onlyInFiles: true },
    { name: 'Request', cell: ({ correlationId }) => correlationId, onlyInFiles: true },
  ];
}

/** Who did it: the person named in the event, otherwise the person whose record it is. */
function whoOf({ people }: ConsoleDeps, { event }: PersonEntry): string {
  return 'by' in event.data
    ? event.data.by
    : (people.directory.find(event.data.personId)?.invited?.name ?? event.data.personId);
}

const wordsOf = (type: string): string => type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();

function entriesFor(deps: ConsoleDeps, { query }: Visit): PersonEntry[] {
  const text = (query.get('search') ?? '').toLowerCase();
  const who = query.get('person') ?? '';
  const outcome = query.get('outcome') ?? '';
  const whoId = who === '' ? null : personIdOf(who);
  return deps.people.directory
    .entries()
    .filter(
      (entry) =>
        whoId === null || entry.event.data.personId === whoId || whoOf(deps, entry).toLowerCase() === who.toLowerCase(),
    )
    .filter(({ event }) => outcome === '' || (event.type === 'ActionTaken' && event.data.outcome === outcome))
    .filter((entry) => text === '' || JSON.stringify(presentEntry(entry)).toLowerCase().includes(text));
}

function actionsPage(deps: ConsoleDeps, visit: Visit): Html {
  const { query } = visit;
  const found = entriesFor(deps, visit);
  const from = Math.max(0, Number(query.get('from') ?? '0') || 0);
  return html`${filterForm('/actions', [
      { name: 'search', label: 'Text', type: 'search', value: query.get('search') ?? '' },
      { name: 'person', label: 'Person', value: query.get('person') ?? '' },
      {
        name: 'outcome',
        label: 'Outcome',
        value: query.get('outcome') ?? '',
        options: [
          ['', 'Any'],
          ['done', 'Done'],
          ['refused', 'Refused'],
        ],
      },
    ])}
    <p>${found.length} entries · ${link(withQuery('/actions.csv', query, { from: null }), 'Download CSV')}</p>
    ${table('Actions', columnsOf(deps, visit), found.slice(from, from + SHOWN), 'No actions match the filters.')}
    ${found.length > from + SHOWN && html`<p>${link(withQuery('/actions', query, { from: String(from + SHOWN) }), 'Older')}</p>`}`;
}
