import { html, type Html } from '../../../runtime/http/html.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { readerOf, run, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { badge, filterForm, link, more, table, timeColumn, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { type Visit, merchantOf } from '../../visit.ts';
import { clockField, dayField, given } from '../books/books.ts';
import { monthLinks } from '../books/month-statement.ts';

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
        show: async (visit) => ({ page: { title: 'Statement', body: await page(deps, visit) } }),
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
  return html`${filterForm(here, [dayField(query, 'from', 'From (UTC)'), dayField(query, 'to', 'To the end of'), clockField(query)])}
    <h2>Opening balance</h2>
    ${table('Opening balance', OWED, report.opening, 'Nothing was owed.')}
    <h2>Changes</h2>
    <p>${csvLink(visit)}</p>
    ${table('Changes', changeColumns(visit), report.data, 'No changes in this range.')}
    ${more(visit, report.pagination.next_cursor)}
    <h2>Closing balance</h2>
    ${table('Closing balance', OWED, report.closing, 'Nothing is owed.')}
    ${monthLinks(
      visit,
      closed.periods.map(({ period }) => period),
    )}`;
}

const AMOUNTS = [
  { name: 'Payable', isNumber: true, cell: ({ payable }: Owed) => payable },
  { name: 'Not applied', isNumber: true, cell: ({ unapplied }: Owed) => unapplied },
  { name: 'Reserved for refunds', isNumber: true, cell: (owed: Owed) => owed.refunds_reserved },
  { name: 'Total', isNumber: true, cell: ({ total }: Owed) => total },
] as const;

const OWED: Column<Owed>[] = [{ name: 'Coin', cell: ({ coin, network }) => `${coin} on ${network}` }, ...AMOUNTS];

const changeColumns = (visit: Visit): Column<StatementLine>[] => [
  timeColumn('Recorded', (line) => line.recorded_at, visit),
  { name: 'What', cell: ({ kind }) => badge(kind) },
  {
    name: 'Order',
    cell: ({ session_id: id, order_id: order }) =>
      id === null ? order : link(`${merchantPath(merchantOf(visit))}/payments/${id}`, order ?? id),
  },
  { name: 'Coin', cell: ({ coin, network }) => `${coin} on ${network}` },
  ...AMOUNTS,
  { name: 'Transaction', cell: (line) => line.tx_hash, onlyInFiles: true },
];
