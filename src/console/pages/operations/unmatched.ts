import { html, type Html } from '../../../runtime/http/html.ts';
import type { AdminArguments } from '../../../operator/server/commands.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import {
  badge,
  changeForm,
  checkbox,
  code,
  facts,
  field,
  filterForm,
  link,
  MODE_IN_FILES,
  more,
  REASON,
  table,
  timeColumn,
  type Column,
  spelled,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, type ChangeRoute, type Visit, paramOf } from '../../visit.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

export interface Unmatched {
  readonly id: string;
  readonly state: string;
  readonly kind: string;
  readonly mode: 'live' | 'test';
  readonly network: string;
  readonly coin: string;
  readonly amount: string;
  readonly age_days: number;
  readonly from_address: string | null;
  readonly to_address: string;
  readonly tx_hash: string;
  readonly block_time: number;
  readonly order_id: string | null;
  readonly decision: { readonly actor: string; readonly reason: string; readonly because: string | null } | null;
  readonly sender?: { readonly kind: string; readonly name: string | null } | null;
}

interface Decided {
  readonly state: string;
  readonly target: string | null;
  readonly notes: readonly string[];
}

/** Money that pays no order: the commands of the inbox, each with a dry run first. */
export function unmatchedRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/unmatched',
        action: 'unmatched.read',
        show: async (visit) => ({
          page: { title: words`Unmatched transfers`, isLive: true, body: await listPage(deps, visit) },
        }),
      },
      csvRoute('/unmatched', 'unmatched.read', (visit) => ({
        columns: columns(visit),
        pages: everyPage(async (cursor) => {
          const { transfers: rows, next_cursor: next } = await listed(deps, visit, {
            limit: CSV_PAGE,
            ...(cursor !== null && { cursor }),
          });
          return { rows, next };
        }),
      })),
      {
        path: '/unmatched/:transfer',
        action: 'unmatched.read',
        show: async (visit) => {
          const transfer = await run<Unmatched>(deps, 'inbox.show', { transfer: paramOf(visit, 'transfer') });
          return {
            page: {
              title: words`${transfer.amount} ${transfer.coin}`,
              mode: transfer.mode,
              body: transferPage(visit, transfer),
            },
          };
        },
      },
    ],
    change: (['attach', 'return', 'undo'] as const).map((verb) => decision(deps, verb)),
  };
}

interface Listed {
  readonly transfers: readonly Unmatched[];
  readonly next_cursor: string | null;
}

/** Rows fetched at once. */
const CSV_PAGE = 500;

function listed(deps: ConsoleDeps, { query, mode }: Visit, place: AdminArguments): Promise<Listed> {
  const state = query.get('state') ?? '';
  return run<Listed>(deps, 'inbox.list', { mode, ...(state !== '' && { state }), ...place });
}

async function listPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query } = visit;
  const cursor = query.get('cursor') ?? '';
  const { transfers, next_cursor: next } = await listed(deps, visit, cursor === '' ? {} : { cursor });
  return html`${filterForm(
      '/unmatched',
      [
        {
          name: 'state',
          label: words`State`,
          value: query.get('state') ?? '',
          options: [
            ['', words`Open`],
            ['resolved', words`Decided`],
          ],
        },
      ],
      { mode: visit.mode },
    )}
    <p>${csvLink(visit)}</p>
    ${table(words`Unmatched transfers`, columns(visit), transfers, words`No unmatched transfers.`)} ${more(visit, next)}`;
}

const columns = (visit: Visit): Column<Unmatched>[] => [
  timeColumn(words`Received`, ({ block_time: sec }) => sec, visit),
  {
    name: words`Amount`,
    isNumber: true,
    cell: ({ id, amount, coin }) => link(`/unmatched/${encodeURIComponent(id)}`, `${amount} ${coin}`),
  },
  { name: words`Network`, cell: ({ network }) => network },
  MODE_IN_FILES,
  { name: words`Why it waits`, cell: ({ kind }) => spelled(kind) },
  { name: words`State`, cell: ({ state }) => badge(state) },
  { name: words`Age in days`, isNumber: true, cell: (transfer) => transfer.age_days },
  { name: words`From`, cell: (transfer) => code(transfer.from_address) },
];

function transferPage(visit: Visit, transfer: Unmatched): Html {
  const here = `/unmatched/${encodeURIComponent(transfer.id)}`;
  return html`${facts([
    [words`State`, badge(transfer.state)],
    [words`Network`, `${transfer.network} (${transfer.mode})`],
    [words`Amount`, `${transfer.amount} ${transfer.coin}`],
    [words`From`, code(transfer.from_address)],
    [
      words`Kind of sender`,
      transfer.sender ? html`${spelled(transfer.sender.kind)} ${transfer.sender.name}` : words`unknown`,
    ],
    [words`To`, code(transfer.to_address)],
    [words`Transaction`, code(transfer.tx_hash)],
    [words`Order of the address`, transfer.order_id],
    [words`Decided`, transfer.decision ? `${transfer.decision.actor}: ${transfer.decision.reason}` : words`not yet`],
  ])}
  ${
    visit.can('unmatched.decide') &&
    (transfer.decision === null || transfer.state === 'open'
      ? html`<h2>${words`Attach it to a payment`}</h2>
          ${changeForm(visit, `${here}/attach`, [field({ name: 'session', label: words`Payment`, required: true, hint: words`cs_…` }), field(REASON)], words`Preview`)}
          <h2>${words`Return it to the sender`}</h2>
          ${changeForm(
            visit,
            `${here}/return`,
            [
              checkbox(
                'acknowledge',
                words`The sender confirmed that they can receive at this contract or exchange address`,
              ),
              field(REASON),
            ],
            words`Preview`,
          )}`
      : html`<h2>${words`Undo the decision`}</h2>
          ${changeForm(visit, `${here}/undo`, field(REASON), words`Preview`)}`)
  }`;
}

/** The state after each decision. */
const BECOMES = { attach: 'attached', return: 'returning', undo: 'open' } as const;

/** What the dry run says is part of what the passkey signs. */
function decision(deps: ConsoleDeps, verb: 'attach' | 'return' | 'undo'): ChangeRoute {
  const argsOf = (visit: Visit, dryRun: boolean) => ({
    transfer: paramOf(visit, 'transfer'),
    actor: visit.person.name,
    reason: reasonIn(visit),
    dryRun,
    ...(verb === 'attach' && { session: visit.form['session'] ?? '' }),
    ...(visit.form['acknowledge'] === 'yes' && { acknowledgeSender: true }),
  });
  return {
    path: `/unmatched/:transfer/${verb}`,
    action: 'unmatched.decide',
    target: ({ params }) => must(params['transfer']),
    toSign: async (visit) => {
      const transfer = await run<Unmatched>(deps, 'inbox.show', { transfer: paramOf(visit, 'transfer') });
      const { notes } = await run<Decided>(deps, `inbox.${verb}`, argsOf(visit, true));
      return {
        kind: 'terms',
        title: `${verb} an unmatched transfer`,
        lines: [
          ['transfer', transfer.id],
          ['amount', `${transfer.amount} ${transfer.coin} on ${transfer.network} (${transfer.mode})`],
          ['from', transfer.from_address ?? 'unknown'],
          ...(verb === 'attach' ? [['payment', visit.form['session'] ?? ''] as const] : []),
          ['becomes', BECOMES[verb]],
          ...notes.map((note) => ['note', note] as const),
          ['reason', reasonIn(visit)],
        ],
      };
    },
    run: async (visit) => {
      const { state, target } = await run<Decided>(deps, `inbox.${verb}`, argsOf(visit, false));
      return {
        detail: `${state} ${target ?? ''}`,
        shown: { to: `/unmatched/${encodeURIComponent(paramOf(visit, 'transfer'))}?done=decided` },
      };
    },
  };
}
