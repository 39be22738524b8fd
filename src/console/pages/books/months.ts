import { html, type Html } from '../../../runtime/http/html.ts';
import { dayOf, isMonth, monthOf } from '../../../domain/values/calendar.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { modeOf, run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import { badge, changeForm, code, field, link, REASON, table, timeColumn, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type Visit } from '../../visit.ts';
import { amountOf } from '../../../domain/money/money.ts';
import { must } from '../../../domain/values/must.ts';
import { sumsOf } from '../operations/attention.ts';
import { booksTabs, type Balance } from './books.ts';
import type { ChainStatus } from '../operations/chains.ts';
import type { Unmatched } from '../operations/unmatched.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { words, type Words } from '../../words.ts';

interface Check {
  readonly what: Words;
  readonly isDone: boolean;
  readonly detail: string | number | Words;
  /** Null for somebody who may not open the page. */
  readonly to: string | null;
}

interface Periods {
  readonly periods: readonly {
    readonly period: string;
    readonly closed_at: number;
    readonly actor: string;
    readonly entry: string;
  }[];
}

interface TrialBalance {
  readonly balanced: boolean;
  readonly entries: number;
  readonly accounts: readonly Balance[];
}

/** Closing a month, with a checklist first. The checklist only advises; the command decides. */
export function monthRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      csvRoute('/books/:mode/months', 'books.read', async (visit) => ({
        columns: closedColumns(visit),
        pages: [(await run<Periods>(deps, 'ledger.periods', { mode: modeOf(visit.params['mode']) })).periods],
      })),
      {
        path: '/books/:mode/months',
        action: 'books.read',
        show: async (visit) => ({
          page: {
            title: words`Months`,
            mode: modeOf(visit.params['mode']),
            body: html`${booksTabs(visit)} ${await monthsPage(deps, visit)}`,
          },
        }),
      },
    ],
    change: [
      {
        path: '/books/:mode/months',
        action: 'books.close',
        target: ({ form, params }) => `${form['month']} ${params['mode']}`,
        toSign: async (visit) => {
          const month = visit.form['month'] ?? '';
          if (!isMonth(month)) throw new Refused(words`month must be a month such as 2026-10`);
          await refuseWhatCannotBeClosed(deps, visit, month);
          const open = (await checks(deps, visit)).filter(({ isDone }) => !isDone);
          return {
            kind: 'terms',
            title: 'close a month permanently',
            lines: [
              ['month', month],
              ['mode', modeOf(visit.params['mode'])],
              ...open.map(({ what, detail }) => ['not resolved', `${String(what)}: ${String(detail)}`] as const),
              ['reason', reasonIn(visit)],
            ],
          };
        },
        run: async (visit) => {
          const mode = modeOf(visit.params['mode']);
          const closed = await run<{ period: string }>(deps, 'ledger.close', {
            month: visit.form['month'] ?? '',
            mode,
            actor: visit.person.name,
          });
          return { detail: closed.period, shown: { to: `/books/${mode}/months?done=closed` } };
        },
      },
    ],
  };
}

const closedColumns = (visit: Visit): Column<Periods['periods'][number]>[] => [
  { name: words`Month`, cell: ({ period }) => link(`${visit.path}/${period}`, period) },
  timeColumn(words`Closed`, ({ closed_at: sec }) => sec, visit),
  { name: words`By`, cell: ({ actor }) => actor },
  { name: words`Event`, cell: ({ entry }) => code(entry) },
];

async function monthsPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const mode = modeOf(visit.params['mode']);
  const { periods } = await run<Periods>(deps, 'ledger.periods', { mode });
  const before = monthBefore(visit);
  return html`<p>${csvLink(visit)}</p>
    ${table(words`Closed months`, closedColumns(visit), periods, words`No months are closed yet.`)}
    <h2>${words`Checklist`}</h2>
    ${table(
      words`Checklist`,
      [
        { name: words`Check`, cell: ({ what, to }: Check) => (to === null ? what : link(to, what)) },
        { name: words`State`, cell: ({ isDone }: Check) => badge(isDone ? 'done' : 'unresolved') },
        { name: words`Result`, cell: ({ detail }: Check) => detail },
      ],
      await checks(deps, visit),
      words`None.`,
    )}
    ${
      visit.can('books.close') &&
      html`<h2>${words`Close a month`}</h2>
        ${changeForm(
          visit,
          visit.path,
          [
            field({
              name: 'month',
              label: words`Month`,
              value: periods.some(({ period }) => period === before) ? '' : before,
              required: true,
              hint: words`The figures of a closed month never change. What is found later is booked in the open month.`,
            }),
            field(REASON),
          ],
          words`Preview`,
        )}`
    }`;
}

/** Before anybody signs it; the command decides. */
async function refuseWhatCannotBeClosed(deps: ConsoleDeps, { nowSec, params }: Visit, month: string): Promise<void> {
  if (month >= monthOf(dayOf(nowSec))) throw new Refused(words`${month} is not over yet (in UTC).`);
  const { periods } = await run<Periods>(deps, 'ledger.periods', { mode: modeOf(params['mode']) });
  if (periods.some(({ period }) => period === month)) throw new Refused(words`${month} is closed already.`, 409);
}

function monthBefore({ nowSec }: Visit): string {
  const before = new Date(nowSec * 1000);
  before.setUTCDate(0);
  return before.toISOString().slice(0, 7);
}

const countOf = ({ length }: readonly unknown[]): Words | number => (length === 0 ? words`none` : length);

async function checks(deps: ConsoleDeps, visit: Visit): Promise<Check[]> {
  const mode = modeOf(visit.params['mode']);
  const looked = async (
    what: Words,
    to: string | null,
    look: () => Promise<Pick<Check, 'isDone' | 'detail'>>,
  ): Promise<Check> => {
    try {
      return { what, to, ...(await look()) };
    } catch (error) {
      return { what, to, isDone: false, detail: messageOf(error) };
    }
  };
  const trialBalance = run<TrialBalance>(deps, 'ledger.trial-balance', { mode });
  return Promise.all([
    looked(words`Debits equal credits`, `/books/${mode}`, async () => {
      const { balanced, entries } = await trialBalance;
      return { isDone: balanced, detail: words`${entries} entries` };
    }),
    looked(words`Deposits that are not final`, `/books/${mode}/months`, async () => {
      const month = visit.form['month'] ?? monthBefore(visit);
      const { not_final } = await run<{ not_final: unknown[] }>(deps, 'ledger.close', { month, mode, dryRun: true });
      return {
        isDone: not_final.length === 0,
        detail:
          not_final.length === 0
            ? words`none in ${month}`
            : words`${not_final.length} in ${month}; a month closed now would never contain them`,
      };
    }),
    looked(words`Transfers that wait for a decision`, inMode('/unmatched', mode), async () => {
      const { transfers } = await run<{ transfers: Unmatched[] }>(deps, 'inbox.list', { mode, limit: 500 });
      return { isDone: transfers.length === 0, detail: countOf(transfers) };
    }),
    looked(words`Networks that cannot be read`, visit.can('chains.read') ? inMode('/chains', mode) : null, async () => {
      const chains = (await run<ChainStatus[]>(deps, 'chain.status')).filter((chain) => chain.mode === mode);
      const failing = chains.filter((chain) => chain.failed_reads_in_a_row > 0 || chain.read_to === null);
      return {
        isDone: failing.length === 0,
        detail: failing.map(({ network }) => network).join(', ') || words`none of ${chains.length}`,
      };
    }),
    looked(words`Payouts in progress`, inMode('/treasury', mode), async () => {
      const [{ moves }, { accounts }] = await Promise.all([
        run<{ moves: { mode: string }[] }>(deps, 'treasury.moves'),
        trialBalance,
      ]);
      const own = moves.filter((move) => move.mode === mode);
      const refunds = accounts
        .filter(({ account, credit }) => account.endsWith(':refunds-reserved') && amountOf(credit ?? '0') > 0n)
        .map(({ coin, credit }) => ({ coin, amount: must(credit) }));
      const detail = refunds.length === 0 ? countOf(own) : words`${own.length}, and refunds of ${sumsOf(refunds)}`;
      return { isDone: own.length + refunds.length === 0, detail };
    }),
  ]);
}
