import { html, type Html } from '../../../runtime/http/html.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { csvRoute, csvLink } from '../../csv.ts';
import { badge, changeForm, code, facts, field, inWords, link, REASON, table, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, type ChangeRoute, type Visit } from '../../visit.ts';
import { words } from '../../words.ts';

interface LookUp {
  readonly name: string;
  readonly position: string | null;
  readonly caught_up: boolean;
  readonly lag_events: number;
  readonly lag_seconds: number;
}

interface Check {
  readonly name: string;
  readonly state: 'ok' | 'degraded' | 'down' | 'refusing';
  readonly detail: string | null;
}

interface ServiceStatus {
  readonly ready: boolean;
  readonly read_only: boolean;
  readonly version: string;
  readonly up_seconds: number;
  readonly checks: readonly Check[];
  readonly webhooks: {
    readonly waiting: number;
    readonly oldest_age_seconds: number;
    readonly in_flight: number;
    readonly retrying: number;
    readonly suspended_endpoints: number;
  };
  readonly look_ups: readonly LookUp[];
}

export const serviceStatus = (deps: ConsoleDeps): Promise<ServiceStatus> => run<ServiceStatus>(deps, 'service.status');

/** The process that serves the console: what it checks, what waits to be sent, and how far its look-ups are behind. */
export const serviceRoutes = (deps: ConsoleDeps): ConsoleRoutes => ({
  read: [
    {
      path: '/service',
      action: 'service.read',
      show: async (visit) => ({
        page: { title: words`Service`, isLive: true, body: servicePage(visit, await serviceStatus(deps)) },
      }),
    },
    csvRoute('/service', 'service.read', async () => ({
      columns: LOOK_UPS,
      pages: [(await serviceStatus(deps)).look_ups],
    })),
  ],
  change: [rebuild(deps)],
});

/** What waits to be delivered by this process. */
export async function deliveriesWaiting(deps: ConsoleDeps): Promise<Html> {
  const { webhooks } = await serviceStatus(deps);
  return facts([
    [words`Waiting`, webhooks.waiting],
    [words`Oldest of them`, webhooks.waiting === 0 ? null : words`${inWords(webhooks.oldest_age_seconds)} old`],
    [words`Being sent`, webhooks.in_flight],
    [words`Failed, to be sent again`, webhooks.retrying],
    [words`Suspended endpoints`, webhooks.suspended_endpoints],
  ]);
}

function servicePage(visit: Visit, { ready, read_only: readOnly, version, ...status }: ServiceStatus): Html {
  return html`${facts([
      [words`State`, badge(readOnly ? 'read_only' : ready ? 'ready' : 'not_ready')],
      [words`Version`, version],
      [words`Running for`, inWords(status.up_seconds)],
    ])}
    <h2>${words`Checks`}</h2>
    ${table(words`Checks`, CHECKS, status.checks.toSorted(failingFirst), words`None.`)}
    <h2>${words`Look-ups`}</h2>
    <p>
      ${words`Lists and totals are read from look-ups, which follow the event log and can be built from it at any time.`}
      ${csvLink(visit)}
    </p>
    ${table(words`Look-ups`, LOOK_UPS, status.look_ups, words`This process has none.`)}
    ${visit.can('service.rebuild') && rebuildForm(visit, status.look_ups)}
    <p>${link('/deliveries', words`Deliveries`)} · ${link('/chains', words`Chains`)}</p>`;
}

/** The service's own words, which the log and the status page have, too. */
export const detailPart = (detail: string | null): Html | null =>
  detail === null ? null : html`<span lang="en" dir="ltr">${detail}</span>`;

const failingFirst = (one: Check, other: Check): number => Number(one.state === 'ok') - Number(other.state === 'ok');

const CHECKS: readonly Column<Check>[] = [
  { name: words`Check`, cell: ({ name }) => code(name) },
  { name: words`State`, cell: ({ state }) => badge(state) },
  { name: words`Detail`, cell: ({ detail }) => detailPart(detail), text: ({ detail }) => detail },
];

const LOOK_UPS: readonly Column<LookUp>[] = [
  { name: words`Look-up`, cell: ({ name }) => code(name) },
  { name: words`State`, cell: (lookUp) => badge(lookUp.caught_up ? 'current' : 'catching_up') },
  { name: words`Events behind`, isNumber: true, cell: (lookUp) => lookUp.lag_events },
  { name: words`Seconds behind`, isNumber: true, cell: (lookUp) => Math.round(lookUp.lag_seconds) },
  { name: words`Position`, cell: ({ position }) => position, onlyInFiles: true },
];

const rebuildForm = (visit: Visit, lookUps: readonly LookUp[]): Html =>
  html`<h2>${words`Build again`}</h2>
    <p>
      ${words`For a look-up that shows something else than the events say. The old one answers until the new one is
      complete, which takes minutes with millions of events.`}
    </p>
    ${changeForm(
      visit,
      '/service/rebuild',
      [
        field({
          name: 'name',
          label: words`Look-up`,
          options: [...lookUps.map(({ name }) => [name, name] as const), ['', words`All of them`]],
        }),
        field(REASON),
      ],
      words`Build again`,
    )}`;

const rebuild = (deps: ConsoleDeps): ChangeRoute => ({
  path: '/service/rebuild',
  action: 'service.rebuild',
  target: ({ form }) => form['name'] || 'all',
  run: async (visit) => {
    const reason = reasonIn(visit);
    const name = visit.form['name'] ?? '';
    const args = { ...(name !== '' && { name }), operator: visit.person.name, reason };
    const { rebuilt } = await run<{ rebuilt: string[] }>(deps, 'projection.rebuild', args);
    return { detail: rebuilt.join(', '), shown: { to: '/service?done=rebuilt' } };
  },
});
