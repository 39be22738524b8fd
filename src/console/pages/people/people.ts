import { html, type Html } from '../../../runtime/http/html.ts';
import type { PersonContext, Recovery } from '../../../../state-machines/person/person.state.ts';
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
  spelled,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { Visit } from '../../visit.ts';
import { peopleChanges, personOf } from './people-changes.ts';
import { sameName } from '../../../domain/values/names.ts';
import { must } from '../../../domain/values/must.ts';
import { words, type Words } from '../../words.ts';

const ROLES_HINT = words`Separated by commas: ${PERSON_ROLES.join(', ')}. Add :mer_… for one merchant, or @2027-03-31 for a last day.`;
const SHOWN = 100;

/** Who may use the console, and everything that they did. */
export function peopleRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const { people } = deps;
  return {
    read: [
      {
        path: '/people',
        action: 'people.read',
        show: async (visit) => ({ page: { title: words`People`, body: peoplePage(visit, people.directory.all()) } }),
      },
      {
        path: '/people/:person',
        action: 'people.read',
        show: async (visit) => {
          const person = personOf(deps, visit);
          return { page: { title: html`${must(person.invited).name}`, body: personPage(deps, visit, person) } };
        },
      },
      {
        path: '/actions',
        action: 'actions.read',
        show: async (visit) => ({ page: { title: words`Actions`, isLive: true, body: actionsPage(deps, visit) } }),
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
  { name: words`Name`, cell: ({ invited }) => link(`/people/${must(invited).personId}`, must(invited).name) },
  { name: words`Roles`, cell: ({ grants }) => grants.map(grantText).join(', ') },
  { name: words`Passkeys`, isNumber: true, cell: ({ passkeys }) => Object.keys(passkeys).length },
  { name: words`State`, cell: (person) => badge(stateOf(person)) },
];

function peoplePage(visit: Visit, everybody: readonly PersonContext[]): Html {
  return html`<p>${csvLink(visit)}</p>
    ${table(words`People`, PEOPLE_COLUMNS, everybody, words`No people yet.`)}
    ${
      visit.can('people.change') &&
      html`<h2>${words`Invite somebody`}</h2>
        ${changeForm(
          visit,
          '/people',
          [
            field({
              name: 'name',
              label: words`Name`,
              required: true,
              max: 64,
              hint: words`As colleagues know them. It is part of every record and cannot be changed.`,
            }),
            field({ name: 'roles', label: words`Roles`, required: true, hint: ROLES_HINT }),
            field(REASON),
          ],
          words`Create the invitation`,
        )}`
    }`;
}

const stateOf = ({ suspended, passkeys, identity }: PersonContext): string =>
  suspended ? 'suspended' : Object.keys(passkeys).length === 0 && identity === null ? 'invited' : 'active';

function personPage(deps: ConsoleDeps, visit: Visit, person: PersonContext): Html {
  const { invited, grants, passkeys, suspended, signIns } = person;
  const recovery = deps.people.recoveryOf(must(invited).personId);
  const isSelf = visit.person.personId === must(invited).personId;
  const here = `/people/${must(invited).personId}`;
  const own = deps.people.directory.entries().filter(({ event }) => event.data.personId === must(invited).personId);
  return html`${facts([
      [words`State`, badge(stateOf(person))],
      [words`Roles`, grants.map(grantText).join(', ')],
      person.identity === null
        ? [words`Invited by`, must(invited).by]
        : [words`Single sign-on`, words`${person.identity.subject} at ${person.identity.issuer}`],
      [
        words`Passkeys`,
        Object.values(passkeys)
          .map(({ added }) => added.label)
          .join(', ') || words`none`,
      ],
      [words`Open sign-ins`, Object.values(signIns).filter((signIn) => deps.people.isOpen(signIn)).length],
      [words`Recovery`, recovery ? recoveryText(recovery, visit) : words`none`],
    ])}
    ${
      visit.can('people.change') &&
      !isSelf &&
      html`<h2>${words`Roles and access`}</h2>
        ${person.identity === null && changeForm(visit, `${here}/roles`, [field({ name: 'roles', label: words`Roles`, value: grants.map(grantText).join(', '), hint: ROLES_HINT }), field(REASON)], words`Change the roles`)}
        ${changeForm(visit, `${here}/${suspended ? 'reinstate' : 'suspend'}`, field({ ...REASON, name: 'reason' }), suspended ? words`Reinstate` : words`Suspend and sign out everywhere`, 'danger')}
        ${
          !suspended &&
          html`<h2>${words`Lost passkeys`}</h2>
            <p>
              ${words`Recovery takes two operators, neither of whom let the other in: one requests it, and another creates the link once
              the person had time to refuse.`}
            </p>
            ${
              recovery !== null
                ? mayRecover(recovery, visit) &&
                  changeForm(visit, `${here}/link`, field(REASON), words`Create a recovery link`, 'danger')
                : Object.keys(passkeys).length > 0
                  ? changeForm(visit, `${here}/recover`, field(REASON), words`Request recovery`, 'danger')
                  : changeForm(
                      visit,
                      `${here}/link`,
                      field(REASON),
                      person.identity === null
                        ? words`Create a new invitation link`
                        : words`Create a link for their first passkey`,
                    )
            }`
        }`
    }
    <h2>${words`What they did`}</h2>
    ${table(words`What they did`, columnsOf(deps, visit), own.slice(0, SHOWN), words`Nothing yet.`)}`;
}

const recoveryText = ({ by, linkBy, opensAtSec }: Recovery, visit: Visit): Words =>
  linkBy === null
    ? words`requested by ${by}; another operator can create the link from ${time(opensAtSec, visit)}`
    : words`requested by ${by}; ${linkBy} created the link`;

const mayRecover = ({ by, linkBy, opensAtSec }: Recovery, { person, nowSec }: Visit): boolean =>
  linkBy === null && opensAtSec <= nowSec && !sameName(by, person.name);

/** A row with everything that the record says about an entry. */
function columnsOf(deps: ConsoleDeps, visit: Visit): Column<PersonEntry>[] {
  const of = (entry: PersonEntry, name: string): string => {
    const value = presentEntry(entry)[name];
    return typeof value === 'string' ? value : '';
  };
  const toWhat = (entry: PersonEntry): string => of(entry, 'target') || of(entry, 'name') || of(entry, 'browser');
  return [
    {
      name: words`When`,
      cell: ({ atMs }) => time(Math.floor(atMs / 1000), visit),
      text: ({ atMs }) => new Date(atMs).toISOString(),
    },
    { name: words`Who`, cell: (entry) => whoOf(deps, entry) },
    {
      name: words`What`,
      cell: (entry) => (entry.event.type === 'ActionTaken' ? entry.event.data.action : wordsOf(entry.event.type)),
    },
    {
      name: words`To`,
      cell: (entry) => (toWhat(entry) === '' ? null : html`<span class="long">${toWhat(entry)}</span>`),
      text: toWhat,
    },
    {
      name: words`Outcome`,
      cell: (entry) => (entry.event.type === 'ActionTaken' ? badge(entry.event.data.outcome) : null),
      text: (entry) => of(entry, 'outcome'),
    },
    {
      name: words`Detail`,
      cell: (entry) =>
        html`<span class="long">${of(entry, 'detail') || of(entry, 'label') || '–'}</span
          >${of(entry, 'reason') && html`<small>${words`Reason: ${of(entry, 'reason')}`}</small>`}`,
      text: (entry) => of(entry, 'detail') || of(entry, 'label') || null,
    },
    { name: words`Reason`, cell: (entry) => of(entry, 'reason') || null, onlyInFiles: true },
    { name: words`Request`, cell: ({ correlationId }) => correlationId, onlyInFiles: true },
  ];
}

/** Who did it: the person named in the event, otherwise the person whose record it is. */
function whoOf({ people }: ConsoleDeps, { event }: PersonEntry): string {
  return 'by' in event.data
    ? event.data.by
    : (people.directory.find(event.data.personId)?.invited?.name ?? event.data.personId);
}

const wordsOf = (type: string): Words => spelled(type.replaceAll(/([a-z])([A-Z])/g, '$1_$2'));

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
      { name: 'search', label: words`Text`, type: 'search', value: query.get('search') ?? '' },
      { name: 'person', label: words`Person`, value: query.get('person') ?? '' },
      {
        name: 'outcome',
        label: words`Outcome`,
        value: query.get('outcome') ?? '',
        options: [
          ['', words`Any`],
          ['done', words`Done`],
          ['refused', words`Refused`],
        ],
      },
    ])}
    <p>
      ${words`${found.length} entries`} · ${link(withQuery('/actions.csv', query, { from: null }), words`Download CSV`)}
    </p>
    ${table(words`Actions`, columnsOf(deps, visit), found.slice(from, from + SHOWN), words`No actions match the filters.`)}
    ${found.length > from + SHOWN && html`<p>${link(withQuery('/actions', query, { from: String(from + SHOWN) }), words`Older`)}</p>`}`;
}
