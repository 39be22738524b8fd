import { html, type Html } from '../../../runtime/http/html.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { readerOf, run, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { badge, filterForm, link, more, table, timeColumn, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { type Visit, merchantOf } from '../../visit.ts';
import { clockField, dayField, given } from '../books/books.ts';
import { monthLinks } from '../books/month-statement.ts';
import { words } from '../../words.ts';

interface Owed {
  readonly network: string;
  readonly coin: string;
  readonly payable: string;
  readonly unapplied: string;
  readonly refunds_reserved: string;
  readonly total: string;
}

interface StatementLine extends Owed {
  readonly kind: string;
  readonly recorded_at: number;
  readonly order_id: string | null;
  readonly session_id: string | null;
  readonly tx_hash: string | null;
}

interface Report {
  readonly opening: readonly Owed[];
  readonly closing: readonly Owed[];
  readonly data: readonly StatementLine[];
  readonly pagination: { readonly next_cursor: string | null };
}

/** A printable statement of what a merchant is owed: opening balance, every change, closing balance. */
export function statementRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/m/:merchant/statement',
        action: 'statements.read',
        show: async (visit) => ({ page: { title: words`Statement`, body: await page(deps, visit) } }),
      },
      csvRoute('/m/:merchant/statement', 'statements.read', (visit) => ({
        columns: changeColumns(visit),
        pages: everyPage(async (cursor) => {
          const { data, pagination } = await reported(deps, visit, cursor);
          return { rows: data, next: pagination.next_cursor };
        }),
      })),
    ],
  };
}

const reported = (deps: ConsoleDeps, visit: Visit, cursor: string | null): Promise<Report> =>
  run<Report>(deps, 'ledger.settlement', {
    merchant_id: readerOf(visit).merchantId,
    ...given(visit.query, ['from', 'to', 'clock']),
    ...(cursor !== null && cursor !== '' && { cursor }),
  });

async function page(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query } = visit;
  const report = await reported(deps, visit, query.get('cursor'));
  const closed = await run<{ periods: readonly { period: string }[] }>(deps, 'ledger.periods', {
    mode: readerOf(visit).mode,
  });
  const here = `${merchantPath(merchantOf(visit))}/statement`;
  return html`${filterForm(here, [dayField(query, 'from', words`From (UTC)`), dayField(query, 'to', words`To the end of`), clockField(query)])}
    <h2>${words`Opening balance`}</h2>
    ${table(words`Opening balance`, OWED, report.opening, words`Nothing was owed.`)}
    <h2>${words`Changes`}</h2>
    <p>${csvLink(visit)}</p>
    ${table(words`Changes`, changeColumns(visit), report.data, words`No changes in this range.`)}
    ${more(visit, report.pagination.next_cursor)}
    <h2>${words`Closing balance`}</h2>
    ${table(words`Closing balance`, OWED, report.closing, words`Nothing is owed.`)}
    ${monthLinks(
      visit,
      closed.periods.map(({ period }) => period),
    )}`;
}

const AMOUNTS = [
  { name: words`Payable`, isNumber: true, cell: ({ payable }: Owed) => payable },
  { name: words`Not applied`, isNumber: true, cell: ({ unapplied }: Owed) => unapplied },
  { name: words`Reserved for refunds`, isNumber: true, cell: (owed: Owed) => owed.refunds_reserved },
  { name: words`Total`, isNumber: true, cell: ({ total }: Owed) => total },
] as const;

const OWED: Column<Owed>[] = [
  { name: words`Coin`, cell: ({ coin, network }) => words`${coin} on ${network}` },
  ...AMOUNTS,
];

const changeColumns = (visit: Visit): Column<StatementLine>[] => [
  timeColumn(words`Recorded`, (line) => line.recorded_at, visit),
  { name: words`What`, cell: ({ kind }) => badge(kind) },
  {
    name: words`Order`,
    cell: ({ session_id: id, order_id: order }) =>
      id === null ? order : link(`${merchantPath(merchantOf(visit))}/payments/${id}`, order ?? id),
  },
  { name: words`Coin`, cell: ({ coin, network }) => words`${coin} on ${network}` },
  ...AMOUNTS,
  { name: words`Transaction`, cell: (line) => line.tx_hash, onlyInFiles: true },
];
