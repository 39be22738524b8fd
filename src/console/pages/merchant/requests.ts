import { html, type Html } from '../../../runtime/http/html.ts';
import { toSec } from '../../../ports/clock.ts';
import type { LoggedRequest } from '../../../features/shared/request-log.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { readerOf, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { code, facts, filterForm, link, more, table, time, timeColumn, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { NO_SUCH, Refused, type Visit, paramOf, merchantOf } from '../../visit.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

const PAGE = 50;

/**
 * The recent requests of a merchant's programs and their responses, without bodies, as in `GET /v1/requests` and
 * `quittance requests`.
 */
export function requestPages({ requestLog }: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/m/:merchant/requests',
        action: 'requests.read',
        show: (visit) =>
          Promise.resolve({ page: { title: words`Requests`, isLive: true, body: listPage(requestLog, visit) } }),
      },
      csvRoute('/m/:merchant/requests', 'requests.read', (visit) => ({
        columns: columnsOf(visit),
        pages: [requestLog.before(readerOf(visit), undefined, isWanted(visit.query)) ?? []],
      })),
      {
        path: '/m/:merchant/requests/:request',
        action: 'requests.read',
        show: (visit) => {
          const found = requestLog.find(readerOf(visit), paramOf(visit, 'request'));
          if (!found) throw NO_SUCH();
          return Promise.resolve({ page: { title: words`Request`, body: requestPage(visit, found) } });
        },
      },
    ],
  };
}

function listPage(log: ConsoleDeps['requestLog'], visit: Visit): Html {
  const { query } = visit;
  const here = `${merchantPath(merchantOf(visit))}/requests`;
  const cursor = query.get('cursor');
  const found = log.before(readerOf(visit), cursor ?? undefined, isWanted(query));
  if (found === null) throw new Refused(words`cursor names a request that is not kept any more: begin with the newest`);
  const rows = found.slice(0, PAGE);
  const next = found.length > PAGE ? must(rows.at(-1)).requestId : null;
  return html`<p>
      ${words`The latest thousand requests that this process answered since it started, without bodies and secrets.`}
      ${csvLink(visit)}
    </p>
    ${filterForm(here, [
      {
        name: 'status',
        label: words`Status`,
        value: query.get('status') ?? '',
        hint: words`Such as 400, or 4 for all from 400 to 499.`,
      },
      {
        name: 'find',
        label: words`Find`,
        type: 'search',
        value: query.get('find') ?? '',
        hint: words`Part of a request ID, path or operation.`,
      },
    ])}
    ${table(words`Requests`, columnsOf(visit), rows, words`No requests match the filters.`)} ${more(visit, next)}`;
}

/** The filters of the URL. Throws `Refused` with the name of the filter at fault. */
function isWanted(query: URLSearchParams): (request: LoggedRequest) => boolean {
  const status = query.get('status')?.trim() ?? '';
  const text = query.get('find')?.trim() ?? '';
  if (!/^(?:[1-5](?:\d\d)?)?$/.test(status))
    throw new Refused(words`status must be an HTTP status such as 400, or its first digit`);
  return (request) =>
    String(request.status).startsWith(status) &&
    [request.requestId, request.target, request.operation].some((part) => part.includes(text));
}

const columnsOf = (visit: Visit): Column<LoggedRequest>[] => [
  timeColumn(words`When`, ({ atMs }) => toSec(atMs), visit),
  {
    name: words`Request`,
    cell: ({ requestId }) => link(`${merchantPath(merchantOf(visit))}/requests/${requestId}`, code(requestId)),
  },
  { name: words`Call`, cell: ({ method, target }) => html`${method} ${code(target)}` },
  { name: words`Status`, cell: ({ status }) => statusBadge(status) },
  {
    name: words`Error`,
    cell: ({ errorCode, param }) => errorCode && `${errorCode}${param === null ? '' : `: ${param}`}`,
  },
  { name: words`Took`, isNumber: true, cell: ({ durationMs }) => words`${durationMs} ms` },
];

const statusBadge = (status: number): Html =>
  html`<span class="badge ${status < 400 ? 'good' : status < 500 ? 'warn' : 'bad'}">${status}</span>`;

const requestPage = (visit: Visit, request: LoggedRequest): Html => {
  const key = `${merchantPath(merchantOf(visit))}/keys`;
  const known = [
    [words`Request`, code(request.requestId)],
    [words`When`, time(toSec(request.atMs), visit)],
    [words`Call`, html`${request.method} ${code(request.target)}`],
    [words`Operation`, request.operation],
    [
      words`API key`,
      visit.can('keys.read', merchantOf(visit).id) ? link(key, code(request.keyId)) : code(request.keyId),
    ],
    [words`Status`, statusBadge(request.status)],
    [words`Error`, request.errorCode],
    [words`Field at fault`, request.param],
    [words`Failed signature check`, request.authenticationFault],
    [words`Took`, words`${request.durationMs} ms`],
  ] as const;
  return html`${facts(known.filter(([, value]) => value !== null))}
    <p>${link(`${merchantPath(merchantOf(visit))}/requests`, words`All requests`)}</p>`;
};
