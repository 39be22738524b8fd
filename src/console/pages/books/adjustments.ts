import { html, type Html } from '../../../runtime/http/html.ts';
import { COINS } from '../../../domain/money/money.ts';
import { NATIVE_COIN, NETWORKS } from '../../../domain/networks/networks.ts';
import type { AdminArguments } from '../../../operator/server/commands.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { badge, changeForm, code, field, REASON, table, modeField, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, type ChangeRoute, type Visit } from '../../visit.ts';
import { approval, rejection } from '../operations/approval.ts';
import { words } from '../../words.ts';

interface Adjustment {
  readonly id: string;
  readonly status: string;
  readonly mode: string;
  readonly network: string;
  readonly coin: string;
  readonly lines: readonly {
    readonly account: string;
    readonly debit: string | null;
    readonly credit: string | null;
  }[];
  readonly reason: string;
  readonly attachment_sha256: string | null;
  readonly reverses: string | null;
  readonly reversed_by: string | null;
  readonly proposed_by: string;
}

/** Manual entries: one person proposes, two approvers sign the signer's terms; only another entry can reverse one. */
export function adjustmentRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/adjustments',
        action: 'treasury.read',
        show: async (visit) => ({ page: { title: words`Entries by hand`, body: await page(deps, visit) } }),
      },
      csvRoute('/adjustments', 'treasury.read', async (visit) => ({
        columns: columns(visit),
        pages: [await listed(deps, visit)],
      })),
    ],
    change: [
      proposal(deps, '/adjustments/propose', ['mode', 'network', 'coin', 'debit', 'credit', 'attachment']),
      proposal(deps, '/adjustments/reverse', ['reverses']),
      approval(
        deps,
        '/adjustments/approve',
        'ledger.approve-adjustment',
        ({ form }) => ({ id: form['id'] ?? '' }),
        '/adjustments',
      ),
      rejection(deps, '/adjustments', {
        action: 'books.adjust',
        command: 'ledger.reject-adjustment',
        title: 'cancel an entry by hand',
        what: 'entry',
      }),
    ],
  };
}

/** Newest first. */
const listed = async (deps: ConsoleDeps, { mode }: Visit): Promise<readonly Adjustment[]> =>
  (await run<{ adjustments: readonly Adjustment[] }>(deps, 'ledger.adjustments')).adjustments
    .filter((adjustment) => adjustment.mode === mode)
    .toReversed();

async function page(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  return html`<p>${csvLink(visit)}</p>
    ${table(words`Entries by hand`, columns(visit), await listed(deps, visit), words`No manual entries yet.`)}
    ${visit.can('books.adjust') && proposalForm(visit)}`;
}

const columns = (visit: Visit): Column<Adjustment>[] => [
  { name: words`Entry`, cell: ({ id, mode }) => html`${code(id)}<small>${mode}</small>` },
  {
    name: words`Status`,
    cell: ({ status, reversed_by: by }) =>
      html`${badge(status)}${by !== null && html`<small>${words`reversed by ${by}`}</small>`}`,
  },
  {
    name: words`Lines`,
    cell: ({ lines, coin, network }) =>
      html`${lines.map(({ account, debit, credit }) => html`<div>${account}: ${debit === null ? `credit ${credit}` : `debit ${debit}`}</div>`)}
        <small>${words`${coin} on ${network}`}</small>`,
  },
  {
    name: words`Why`,
    cell: ({ reason, attachment_sha256: digest }) =>
      html`${reason}${digest !== null && html`<small>${words`document ${code(digest)}`}</small>`}`,
  },
  { name: words`Proposed by`, cell: (adjustment) => adjustment.proposed_by },
  { name: words`Decide`, isForm: true, cell: (adjustment) => acts(visit, adjustment) },
];

function acts(visit: Visit, { id, status, reversed_by: reversedBy }: Adjustment): Html | null {
  const hidden = (name: string): Html => html`<input type="hidden" name="${name}" value="${id}" />`;
  if (status === 'posted')
    return reversedBy === null && visit.can('books.adjust')
      ? changeForm(
          visit,
          '/adjustments/reverse',
          [hidden('reverses'), field({ ...REASON, hint: words`Why the entry is reversed.` })],
          words`Reverse`,
        )
      : null;
  return html`${visit.can('treasury.approve') && changeForm(visit, '/adjustments/approve', hidden('id'), words`Show the terms`)}
  ${visit.can('books.adjust') && changeForm(visit, '/adjustments/reject', [hidden('id'), field({ ...REASON, hint: words`Why the proposal is cancelled.` })], words`Cancel the proposal`, 'danger')}`;
}

function proposalForm(visit: Visit): Html {
  const coins = [...COINS, ...Object.values(NATIVE_COIN)];
  const lines = words`account=amount, for example expenses:other=12.50. Separate several with commas.`;
  return html`<h2>${words`Propose an entry`}</h2>
    <p>
      ${words`One coin on one network, with equal debits and credits. Two approvers other than you must agree. A posted entry
      never changes.`}
    </p>
    ${changeForm(
      visit,
      '/adjustments/propose',
      [
        modeField(visit),
        field({
          name: 'network',
          label: words`Network`,
          options: NETWORKS.map((network) => [network, network] as const),
        }),
        field({ name: 'coin', label: words`Coin`, options: coins.map((coin) => [coin, coin] as const) }),
        field({ name: 'debit', label: words`Debits`, required: true, hint: lines }),
        field({
          name: 'credit',
          label: words`Credits`,
          required: true,
          hint: words`In the same form, with the same total as the debits.`,
        }),
        field({
          name: 'attachment',
          label: words`SHA-256 of the supporting document`,
          max: 64,
          hint: words`Optional. Keep the document itself.`,
        }),
        field(REASON),
      ],
      words`Preview`,
    )}`;
}

function proposal(deps: ConsoleDeps, path: string, names: readonly string[]): ChangeRoute {
  const given = ({ form }: Visit): Record<string, string> =>
    Object.fromEntries(
      names.flatMap((name) => (form[name] === undefined || form[name] === '' ? [] : [[name, form[name]]])),
    );
  return {
    path,
    action: 'books.adjust',
    target: ({ form }) => form['reverses'] ?? `${form['debit']} ${form['coin']} on ${form['network']}`,
    toSign: async (visit) => ({
      kind: 'terms',
      title: 'propose an entry by hand',
      lines: [...Object.entries(given(visit)), ['reason', reasonIn(visit)]],
    }),
    run: async (visit) => {
      const args: AdminArguments = { ...given(visit), operator: visit.person.name, reason: reasonIn(visit) };
      const made = await run<{ id: string }>(deps, 'ledger.adjust', args);
      return { detail: made.id, shown: { to: '/adjustments?done=proposed' } };
    },
  };
}
